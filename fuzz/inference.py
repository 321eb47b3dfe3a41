"""Inference on generated problems: every number within its enclosure when recomputed at 300 bits.

    python -m fuzz.inference --problems 10000 [--seed 0]

Problems are separated, quasi-separated, overlapping, collinear, of rare events, heavy-tailed, or
have columns of sizes 1e-8 to 1e8; methods take turns. What is counted as wrong: a fit that did not
converge, a number outside its enclosure, or its enclosure without the number at 300 bits; a number
without an enclosure; a certificate that does not hold. Separated rows that do not count in the
limit are left out at 300 bits by the direction of the certificate, in exact arithmetic.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from tests.naive import inference as naive

import separatrix as sx

__all__ = ["drawn", "run"]

KINDS = ("complete", "quasi", "overlap", "collinear", "rare", "scale", "heavy")
METHODS = ("mle", "firth", "ridge")
NAMES = ("estimate", "std_error", "lower", "upper", "lr", "p_value")


def drawn(number: int) -> tuple[np.ndarray, np.ndarray, str, str]:
    """Return rows, labels, the kind of problem and the method."""
    rng = np.random.default_rng(number)
    kind, method = KINDS[number % 7], METHODS[number // 7 % 3]
    d = int(rng.integers(1, 4))
    n = int(rng.integers(d + 5, 40))
    X = rng.standard_cauchy(size=(n, d)) if kind == "heavy" else rng.normal(size=(n, d))
    b = 1.5 * rng.normal(size=d + 1)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-np.clip(b[0] + X @ b[1:], -30, 30)))).astype(int)
    if kind == "complete":
        y = (b[0] + X @ b[1:] > 0).astype(int)
    elif kind == "quasi":
        X[:, 0] = rng.random(n) < 0.3
        y[X[:, 0] == 1.0] = 1
    elif kind == "collinear" and d > 1:
        X[:, -1] = X[:, :-1] @ rng.integers(-2, 3, d - 1) + 1.0
    elif kind == "rare":
        y[:] = 0
        y[rng.integers(0, n, 2)] = 1
    elif kind == "scale":
        X = X * 10.0 ** rng.uniform(-8, 8, d)
    if y.min() == y.max():
        y[0] = 1 - y[0]
    return X, y, kind, method


def run(problems: int, seed: int = 0, say: Any = print, most_seconds: float = np.inf) -> Any:
    """Try so many problems; return the counts of what was tried and of what went wrong."""
    counts: Counter[str] = Counter()
    begun = time.monotonic()
    for number in range(seed, seed + problems):
        if time.monotonic() - begun > most_seconds:
            break
        for name in _wrong(number, counts):
            counts[name.split(":")[0]] += 1
            say(f"problem {number}: {name}")
        counts["problems"] += 1
    return counts


def _wrong(number: int, counts: Counter[str]) -> list[str]:
    X, y, kind, method = drawn(number)
    try:
        found = sx.inference(X, y, method)
    except ArithmeticError as error:
        return [f"an error: {error!r}"]
    counts[f"{kind}"] += 1
    wrong = [f"did not converge: {note}" for note in found.notes if "not found" in note
             or "stopped" in note]  # fmt: skip
    kept = [j for j, name in enumerate(found.names) if name not in found.aliased]
    for name in NAMES:
        low, high = (ends[kept] for ends in found.enclosures[name])
        value = found.table[name][kept]
        infinite = np.isinf(value) | (np.isinf(found.estimate[kept]) & (name == "std_error"))
        bare = np.isnan(low) & ~infinite
        if bare.any():
            wrong.append(f"no enclosure: {name} {method} {kind}")
        if not ((low <= value) & (value <= high) | np.isnan(low)).all():
            wrong.append(f"outside its own enclosure: {name}")
    if found.certificate is None or not found.certificate.check(X, y):
        return [*wrong, "the certificate does not hold: "]
    D = np.c_[np.ones(len(y)), X][:, kept]
    try:
        for name, j, number_ in _recomputed(found, D, y, method, kept):
            counts["numbers at 300 bits"] += 1
            low, high = found.enclosures[name]
            if not naive.inside(number_, low[j], high[j]):
                wrong.append(f"300 bits are outside: {name}, coefficient {j}")
    except (ArithmeticError, ZeroDivisionError) as error:
        wrong.append(f"no root at 300 bits: {error}")
    return wrong


def _recomputed(found: Any, D: np.ndarray, y: np.ndarray, method: str, kept: list[int]) -> Any:
    """Yield names, coefficients and numbers at 300 bits."""
    proof = found.certificate
    if any(proof.direction):
        yield from _recomputed_at_infinity(found, D, y, kept)
        return
    ridge = np.r_[0.0, np.ones(len(kept) - 1)] if method == "ridge" else None
    model = naive.Model(D, y, method, ridge=ridge)
    root, value, errors = model.maximum(found.estimate[kept].tolist())
    level = naive.precise(lambda: value - naive.quantile(0.95) / 2)()
    for place, j in enumerate(kept):
        points = proof.coefficients[place]
        yield "estimate", j, root[place]
        yield "std_error", j, errors[place]
        lr = naive.precise(
            lambda p=place, s=points: 2 * (value - model.restricted(p, list(s.null)))
        )()
        yield "lr", j, lr
        yield "p_value", j, naive.tail(lr)
        for side in ("lower", "upper"):
            near = getattr(points, f"{side}_point")
            if near:
                yield side, j, model.end(place, level, list(near))


def _counted(D: np.ndarray, y: np.ndarray, direction: Any) -> np.ndarray:
    """Return which rows a direction leaves at margin zero, exactly."""
    if not any(direction):
        return np.ones(len(y), dtype=bool)
    return np.array(
        [sum(Fraction(x) * k for x, k in zip(row, direction, strict=True)) == 0
         for row in D.tolist()]
    )  # fmt: skip


def _recomputed_at_infinity(found: Any, D: np.ndarray, y: np.ndarray, kept: list[int]) -> Any:
    """The same where estimates are infinite: the rows that count, the columns that points use."""
    proof = found.certificate
    rows = _counted(D, y, proof.direction)
    value = naive.flint.arb(0)
    if rows.any():
        point = np.array(proof.point)
        columns = np.flatnonzero(point)
        model = naive.Model(np.ascontiguousarray(D[rows][:, columns]), y[rows], "mle")
        root, value, errors = model.maximum(point[columns].tolist())
        for place, column in enumerate(columns):
            if np.isfinite(found.estimate[kept[column]]):
                yield "estimate", kept[column], root[place]
                yield "std_error", kept[column], errors[place]
    level = naive.precise(lambda: value - naive.quantile(0.95) / 2)()
    for place, j in enumerate(kept):
        points = proof.coefficients[place]
        own = _counted(D, y, points.direction)
        if not own.any():
            continue
        for side in ("lower", "upper"):
            near = np.array(getattr(points, f"{side}_point"))
            if len(near):
                columns = np.array(sorted({*np.flatnonzero(near).tolist(), place}))
                model = naive.Model(np.ascontiguousarray(D[own][:, columns]), y[own], "mle")
                at = int(np.flatnonzero(columns == place)[0])
                yield side, j, model.end(at, level, near[columns].tolist())
        if points.null and points.lr:
            null = np.array(points.null)
            columns = np.flatnonzero(null)
            lr = _lr_at_zero(D[own], y[own], columns, null, value)
            yield "lr", j, lr
            yield "p_value", j, naive.tail(lr)


@naive.precise
def _lr_at_zero(
    D: np.ndarray, y: np.ndarray, columns: np.ndarray, null: np.ndarray, top: Any
) -> Any:
    if not len(columns):
        return 2 * (top + len(y) * naive.flint.arb(2).log())
    model = naive.Model(np.ascontiguousarray(D[:, columns]), y, "mle")
    return 2 * (top - model.maximum(null[columns].tolist())[1])


def main() -> None:
    """Run as a command; the exit status is 1 where anything was wrong."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--problems", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--seconds", type=float, default=np.inf)
    chosen = options.parse_args()
    counts = run(chosen.problems, chosen.seed, most_seconds=chosen.seconds)
    right = {"problems", "numbers at 300 bits", *KINDS}
    for name, count in counts.items():
        print(f"{count:8,} {name}")
    wrong = sum(count for name, count in counts.items() if name not in right)
    print(f"{wrong} wrong")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
