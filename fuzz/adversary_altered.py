"""One field of a claim altered: what is accepted afterwards must still be true."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

__all__ = ["with_one_altered"]

_FACTORS = (1.0 + 2.0**-52, 1.0 - 2.0**-53, 2.0, 0.5, 0.0, -1.0, 1e3, 1e-3, 1.0 + 1e-6, 1e-300)
# What nobody rests on, or what another field says; of which data a claim is has its own tests.
_LEFT = {"margins", "violations", "slack", "data_sha256", "rows_sha256", "names", "kernel"}
_LEFT |= {"classes", "task", "dense", "tolerance", "priors", "gaussians", "loss", "squares"}
_LEFT |= {"smallest", "machines", "exponents", "curved", "length", "separation"}
_INNER = ("inner",)


def with_one_altered(proof: Any, rng: Any) -> Any:
    """Return the claim with one of its fields altered at random."""
    inner = next((name for name in _INNER if hasattr(proof, name)), "")
    if inner and rng.random() < 0.7:
        return replace(proof, **{inner: _altered(getattr(proof, inner), rng)})
    return _altered(proof, rng)


def _altered(proof: Any, rng: Any) -> Any:
    named = [f.name for f in fields(proof) if f.init and f.name not in (*_LEFT, *_INNER)]
    name = str(rng.choice(named))
    return replace(proof, **{name: _other(getattr(proof, name), rng)})


def _other(value: Any, rng: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-2, -1, 1, 2]))
    if isinstance(value, float):
        return value * float(rng.choice(_FACTORS)) + (rng.random() < 0.1) * float(rng.normal())
    if isinstance(value, np.ndarray):
        return _other_array(value, rng)
    if isinstance(value, tuple) and value:
        values = list(value)
        i, j = (int(k) for k in rng.integers(len(values), size=2))
        way = int(rng.integers(5))
        if way == 0:
            values[i], values[j] = values[j], values[i]
        elif way == 1:
            values[i] = values[j]
        elif way == 2 and len(values) > 1:
            del values[i]
        else:
            values[i] = _other(values[i], rng)
        return tuple(values)
    return value


def _other_array(value: np.ndarray, rng: Any) -> np.ndarray:
    if not value.size:
        return value
    value, way = value.copy(), int(rng.integers(5))
    at: Any = ... if rng.random() < 0.2 else tuple(int(rng.integers(n)) for n in value.shape)
    if way == 0:
        value[at] = value.ravel()[int(rng.integers(value.size))]
    elif way == 1 and value.ndim == 1:
        value = value[::-1].copy()
    elif value.dtype.kind == "f":
        value[at] *= float(rng.choice(_FACTORS))
    else:
        value[at] += int(rng.choice([-1, 1]))
    return value
