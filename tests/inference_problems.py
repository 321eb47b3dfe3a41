"""Generated problems of inference, and their numbers at 300 bits: for the tests and the fuzz run.

Problems are separated, quasi-separated, overlapping, collinear, of rare events, heavy-tailed, or
have columns of sizes 1e-8 to 1e8.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import separatrix as sx
from tests.naive import inference as naive

KINDS = ("complete", "quasi", "overlap", "collinear", "rare", "scale", "heavy")
METHODS = ("mle", "firth", "ridge")
NAMES = ("estimate", "std_error", "lower", "upper", "lr", "p_value")


def method_of(number: int) -> str:
    """Return the method that is tried on a problem: they take turns."""
    return METHODS[number // len(KINDS) % len(METHODS)]


def kind_of(number: int) -> str:
    """Return the kind of a problem."""
    return KINDS[number % len(KINDS)]


def drawn(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and labels of a problem."""
    rng = np.random.default_rng(number)
    kind = kind_of(number)
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
    return X, y


def recomputed(found: Any, D: np.ndarray, y: np.ndarray, kept: list[int]) -> Any:
    """Yield names, coefficients and numbers at 300 bits, of columns of which some are kept."""
    proof = found.certificate
    if any(proof.direction):
        yield from _at_infinity(found, D, y, kept)
        return
    ridge = np.full(len(kept), 1.0 / proof.C if proof.method == "ridge" else 0.0)
    ridge[: int(proof.intercept)] = 0.0
    model = naive.Model(D, y, proof.method, ridge=ridge)
    root, value, errors = model.maximum(found.estimate[kept].tolist())
    level = naive.precise(lambda: value - naive.quantile(proof.level) / 2)()
    for place, j in enumerate(kept):
        points = proof.coefficients[place]
        yield "estimate", j, root[place]
        yield "std_error", j, errors[place]
        lr = naive.precise(
            lambda p=place, s=points: 2 * (value - model.restricted(p, list(s.null)))
        )()
        yield from _test(j, lr)
        for side in ("lower", "upper"):
            near = getattr(points, f"{side}_point")
            if near:
                yield side, j, model.end(place, level, list(near))


def _test(j: int, lr: Any) -> Any:
    """Yield a likelihood ratio and its tail; none is below zero, so that a ball around it is."""
    lr = naive.not_negative(lr)
    yield "lr", j, lr
    yield "p_value", j, naive.tail(lr)


def _counted(D: np.ndarray, y: np.ndarray, direction: Any) -> np.ndarray:
    """Return which rows a direction leaves at margin zero, exactly."""
    if not any(direction):
        return np.ones(len(y), dtype=bool)
    return np.array(
        [sum(Fraction(x) * k for x, k in zip(row, direction, strict=True)) == 0
         for row in D.tolist()]
    )  # fmt: skip


def _at_infinity(found: Any, D: np.ndarray, y: np.ndarray, kept: list[int]) -> Any:
    """The same where estimates are infinite: the rows that count, the columns that points use."""
    proof = found.certificate
    rows = _counted(D, y, proof.direction)
    value = naive.flint.arb(0)
    if rows.any():
        point = np.array(proof.point)
        used = [bool(point[k] or each.estimate) for k, each in enumerate(proof.coefficients)]
        columns = np.flatnonzero(used)
        model = naive.Model(np.ascontiguousarray(D[rows][:, columns]), y[rows], "mle")
        root, value, errors = model.maximum(point[columns].tolist())
        for place, column in enumerate(columns):
            if np.isfinite(found.estimate[kept[column]]):
                yield "estimate", kept[column], root[place]
                yield "std_error", kept[column], errors[place]
    level = naive.precise(lambda: value - naive.quantile(proof.level) / 2)()
    for place, j in enumerate(kept):
        points = proof.coefficients[place]
        own = _counted(D, y, points.direction)
        if not own.any():
            if points.lr:
                yield from _test(j, naive.precise(lambda: 2 * value)())
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
            yield from _test(j, _lr_at_zero(D[own], y[own], columns, null, value))


@naive.precise
def _lr_at_zero(
    D: np.ndarray, y: np.ndarray, columns: np.ndarray, null: np.ndarray, top: Any
) -> Any:
    if not len(columns):
        return 2 * (top + len(y) * naive.flint.arb(2).log())
    model = naive.Model(np.ascontiguousarray(D[:, columns]), y, "mle")
    return 2 * (top - model.maximum(null[columns].tolist())[1])


def holds_at_300_bits(whole: Any, X: np.ndarray, y: np.ndarray) -> bool:
    """Whether every number that a certificate claims is that of 300 bits, from our own points.

    The highest maximum is not decided here: such a claim must be made as we make it.
    """
    claim, free = whole["claim"], int(whole["data"]["intercept"])
    chosen, level = X[:, claim["columns"]], float.fromhex(claim["level"])
    C = float.fromhex(claim["C"])
    found = sx.inference(chosen, y, claim["method"], C=C, level=level, fit_intercept=bool(free))
    if found.certificate is None or (claim["maximum"], found.proof) == ("global", "local"):
        return False
    D = np.c_[np.ones((len(y), free)), chosen]
    every = list(range(chosen.shape[1] + free))
    numbers = {(name, j): number for name, j, number in recomputed(found, D, y, every)}
    for j, each in enumerate(claim["coefficients"]):
        for name in NAMES:
            if not each[name]:
                continue
            low, high = map(float.fromhex, each[name])
            if (name, j) not in numbers or not naive.inside(numbers[name, j], low, high):
                return False
        for runs, end in (("runs_down", "lower"), ("runs_up", "upper")):
            if each[runs] and not np.isinf(found.table[end][j]):
                return False
    return True
