"""Newton's method for the (penalised) log-likelihood, free or with one coefficient held.

Fisher scoring where all leverages are small; else the exact Hessian, made positive definite by the
absolute values of its eigenvalues. Steps are cut where the linear predictor would move far, and
halved until the value grows.

Maxima of Firth's penalised likelihood, which may have several: the best of many starts.

It is not concave. With x = (1, 20), both labels 1 and no intercept, there are maxima at 0.0583 and
1.0986. They are far apart in the linear predictor of rows of high leverage, so the starts are zero,
fits that leave such rows out, points far along those fits, and points drawn around the first: each
coefficient times a number of its own.

Where no row stands out zero is the only start. Of 2,445 small problems, many of them heavy-tailed,
a better maximum than that from zero was known for 107: their largest leverages were 0.29 and more,
at least 1.84 times the mean, and the largest squared length of a row in standard errors was 5.6.

Newton's method works in the basis Z = X T, whose columns are orthonormal: neither the scale of the
columns nor a large mean matters there. Coefficients of the columns are ``T theta``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.infer import loops
from separatrix.infer.likelihood import Likelihood, Point
from separatrix.infer.loops import (
    FARTHEST,
    LEAST_CURVATURE,
    MOST_STEPS,
    NEARBY,
    NOISE,
    ROUGH,
    SMALL_LEVERAGE,
)

_CLOSE = 1e-10  # of a standard error
_LIGHT = -20  # an exponent of two
_SHRINKING = 0.03
_MOST_WORK = 2e9  # products for one exact Hessian


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the method ended, and how far the next step would go, in standard errors."""

    point: Point
    decrement: float
    steps: int
    longest: float = np.nan  # the largest squared length of a row, in standard errors, if known

    @property
    def converged(self) -> bool:
        """Whether the next step is negligible."""
        return self.decrement < 1e-6


def scaled_step(point: Point, held: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Return Newton's step and its length in standard errors.

    `held` is a linear form that must not change.
    """
    L = point.factor
    g = solve_triangular(L, point.score, lower=True, check_finite=False)
    A, exact = metric(point)
    free = None
    if held is not None:
        c = solve_triangular(L, held, lower=True, check_finite=False)
        free = np.linalg.qr(c[:, None], mode="complete")[0][:, 1:]
        g = free.T @ g
    if exact:
        values, vectors = np.linalg.eigh(A if free is None else free.T @ A @ free)
        s = vectors @ ((vectors.T @ g) / np.maximum(abs(values), LEAST_CURVATURE))
    else:
        s = g
    s = s if free is None else free @ s
    step = solve_triangular(L.T, s, lower=False, check_finite=False)
    return step, float(np.linalg.norm(s))


def metric(point: Point) -> tuple[np.ndarray, bool]:
    """Return the negative Hessian in whitened coordinates, and whether it is exact."""
    like, d = point.like, len(point.theta)
    exact = like.firth and float(point.q.max()) > 1e-4 and len(like.y) * d**3 < _MOST_WORK
    if like.firth and not exact and float(point.q.max()) > SMALL_LEVERAGE:
        exact = True
    return point.newton_matrix(exact), exact


def maximise(
    like: Likelihood,
    theta: np.ndarray,
    held: np.ndarray | None = None,
    target: float | None = None,
    near: Point | None = None,
) -> Maximum:
    """Climb from a point to a maximum; the linear form `held` keeps its value, or the target.

    A maximum `near` says how the penalty bends.
    """
    heaviest = int(np.frexp(like.weights.max(initial=0.0))[1])
    if heaviest < _LIGHT and not like.firth:
        # Where all weights are tiny, the next step is always a small share of a standard error.
        found = maximise(like.in_units(-heaviest // 2), theta, held, target, near)
        return replace(found, point=like.at(found.point.theta))
    if held is not None and not like.firth:
        return _maximise_free(like, theta, held)
    if like.is_narrow:
        usual = np.eye(len(theta)) if near is None else near.look.A
        return _compiled_climb(like, theta, held, target, usual)
    with np.errstate(all="ignore"):
        return _climb(like, theta, held)


def _compiled_climb(
    like: Likelihood,
    theta: np.ndarray,
    held: np.ndarray | None,
    target: float | None,
    usual: np.ndarray,
) -> Maximum:
    form = np.zeros(len(theta)) if held is None else np.ascontiguousarray(held)
    start, look = np.ascontiguousarray(theta, dtype=np.float64), like.new_look()
    goal = float(form @ start) if target is None else target
    found, value, size, steps = loops.climb(like.posed, start, form, goal, usual, _CLOSE, look)
    if np.isnan(value):
        raise np.linalg.LinAlgError("the information is singular at the start")
    return Maximum(like.at(found, float(value)), float(size), int(steps), float(look.facts[0]))


def _climb(like: Likelihood, theta: np.ndarray, held: np.ndarray | None) -> Maximum:
    point, size, last, steps, far = like.at(theta), np.inf, np.inf, 0, FARTHEST
    while steps < MOST_STEPS:
        step, size = scaled_step(point, held)
        if size < _CLOSE or not np.isfinite(step).all():
            break
        along = like.Z @ step
        moved = float(abs(along).max(initial=0.0))
        scale = min(1.0, far / moved) if moved > 0.0 else 1.0
        sure = moved < NEARBY and size < 0.5 * last
        if sure and like.firth:
            sure = float(point.q.max()) < SMALL_LEVERAGE
        # Next to the maximum steps shrink for certain, and the value is too flat to compare.
        better = _moved(point, step, along, 1.0) if sure else _climbed(point, step, along, scale)
        if better is None or (size < ROUGH and size > 0.5 * last):
            break  # rounding hides what is left
        share, point, last = size / last, better, size
        steps, far = steps + 1, 2.0 * far
        if sure and 0.0 < share < _SHRINKING and size * share < _CLOSE:
            return Maximum(point, size * share, steps)  # the next step would be as short as that
    return Maximum(point, size, steps)


def _maximise_free(like: Likelihood, theta: np.ndarray, held: np.ndarray) -> Maximum:
    """Climb in the directions that leave the form alone, which may be well posed on their own."""
    free = np.linalg.qr(held[:, None], mode="complete")[0][:, 1:]
    ridge = None if like.ridge is None else like.ridge @ free
    reduced = Likelihood(
        like.Z @ free, like.y, like.weights, like.offset + like.Z @ theta, ridge=ridge,
        pull=None if like.ridge is None else like.at(theta).pulled,
    )  # fmt: skip
    found = maximise(reduced, np.zeros(len(held) - 1))
    point = like.at(theta + free @ found.point.theta)
    return Maximum(point, found.decrement, found.steps)


def _moved(point: Point, step: np.ndarray, along: np.ndarray, scale: float) -> Point:
    """Return the point ahead; `along` is the change of the linear predictor."""
    return point.like.at(point.theta + scale * step, eta=point.eta + scale * along)


def _climbed(point: Point, step: np.ndarray, along: np.ndarray, scale: float) -> Point | None:
    """Return a point of a larger value along the step; None where rounding hides any."""
    noise = NOISE * (abs(point.plain) + float(np.sqrt(len(point.eta))))
    gain = float(point.score @ step)
    for _ in range(40):
        found = _moved(point, step, along, scale)
        try:
            if found.value >= point.value + 1e-4 * scale * gain - noise:
                return found
        except np.linalg.LinAlgError:
            pass
        scale *= 0.5 if scale < 0.1 else 0.25
    return None


# ---- maxima of Firth's penalised likelihood, which may have several: the best of many starts


_SMALL = 2e6  # rows times squared columns for which many starts are tried
_LEFT_OUT = (1, 2, 3, 5, 8)
_FAR = (3.0, 10.0, 30.0)
_SPREADS, _DRAWN = (0.5, 1.0, 2.0), 6  # of the logarithm of such a number, and how many of each
_SAME = 1e-7
_MANY_ROWS, _MANY_ENTRIES, _EVERY, _NEAR = 50, 200_000, 8, 20.0
_LEVERAGE, _TIMES_THE_MEAN, _LENGTH = 0.2, 1.5, 3.0


def best_maximum(
    like: Likelihood, more: tuple[np.ndarray, ...] = ()
) -> tuple[Maximum, list[np.ndarray]]:
    """Return the best maximum found, and all different ones where rows stand out.

    `more` are points to climb from besides.
    """
    d = like.Z.shape[1]
    n = len(like.y)
    found = [maximise(like, _first_start(like))]
    if not more and (not like.firth or n * d * d > _SMALL or d == 0):
        return found[0], []
    if not more and not stands_out(like, found[0]):
        return found[0], []
    for start in [*_starts(like, found[0]), *more]:
        try:
            found.append(maximise(like, start))
        except np.linalg.LinAlgError:
            continue
    good = [each for each in found if each.converged] or found
    good.sort(key=lambda each: -each.point.value)
    distinct: list[Maximum] = []
    for each in good:
        scale = _SAME * (1.0 + abs(each.point.eta))
        if not any((abs(each.point.eta - other.point.eta) < scale).all() for other in distinct):
            distinct.append(each)
    return good[0], [each.point.theta for each in distinct]


def _first_start(like: Likelihood) -> np.ndarray:
    """Return zero; with many rows the maximum likelihood fit of some of them, if it is near."""
    n, d = like.Z.shape
    zero = np.zeros(d)
    if n < _MANY_ROWS * d or n * d < _MANY_ENTRIES:
        return zero
    some = like.rows(np.arange(0, n, _EVERY))
    try:
        found = maximise(replace(some, firth=False), zero)
    except np.linalg.LinAlgError:
        return zero
    start = like.at(found.point.theta)
    if not found.converged or float(abs(start.eta - like.offset).max()) > _NEAR:
        return zero
    return start.theta if start.plain > like.at(zero).plain else zero


def stands_out(like: Likelihood, found: Maximum) -> bool:
    """Whether a row is so far from the others that there may be other maxima."""
    longest = found.longest if found.longest >= 0.0 else float(found.point.q.max(initial=0.0))
    if longest < _LENGTH:
        return False
    most = float(_leverages(like).max(initial=0.0))
    mean = like.Z.shape[1] / float(like.weights.sum())
    return most >= _LEVERAGE and most >= _TIMES_THE_MEAN * mean


def _leverages(like: Likelihood) -> np.ndarray:
    """Return the leverage of one copy of each row where all probabilities are equal."""
    L = np.linalg.cholesky((like.Z * like.weights[:, None]).T @ like.Z)
    return np.asarray((np.linalg.solve(L, like.Z.T) ** 2).sum(axis=0))


def _starts(like: Likelihood, first: Maximum) -> list[np.ndarray]:
    """Return points to climb from: without the rows of highest leverage, far out, and around."""
    order, d = np.argsort(-_leverages(like)), like.Z.shape[1]
    starts = []
    for k in _LEFT_OUT:
        rest = np.sort(order[k:])
        if len(rest) < d or np.linalg.matrix_rank(like.Z[rest]) < d:
            break
        try:
            starts.append(maximise(like.rows(rest), np.zeros(d)).point.theta)
        except np.linalg.LinAlgError:
            continue
    theta = first.point.theta
    for far in _FAR:
        starts.append(far * theta)
    starts += [far * part for part in starts[: len(_LEFT_OUT)] for far in (2.0, 5.0)]
    draw = np.random.default_rng(0)
    for spread in _SPREADS:
        starts += list(theta * np.exp(spread * draw.normal(size=(_DRAWN, d))))
    return starts


# ---- columns that depend on earlier ones, and an orthonormal basis of the others


_ALIASED = 1e-11  # R's `glm` takes a column as dependent below this share of its length
_FEW_ENTRIES = 1 << 20
_ONE_SCALE, _FAR_FROM_DEPENDENT = 1e4, 1e-2


def independent_columns(X: np.ndarray) -> np.ndarray:
    """Return the numbers of the columns that do not depend on those before them, as R has it.

    >>> independent_columns(np.array([[1.0, 1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 4.0, 5.0]])).tolist()
    [0, 1]
    """
    lengths = np.linalg.norm(X, axis=0)
    if _factor(X, lengths) is not None:
        return np.arange(X.shape[1])
    kept: list[int] = []
    Q = np.empty((X.shape[0], min(X.shape)), order="F")
    for j, length in enumerate(lengths):
        if length == 0.0 or len(kept) == Q.shape[1]:
            continue
        column = X[:, j] / length
        done = Q[:, : len(kept)]
        for _ in range(2):
            column = column - done @ (done.T @ column)
        rest = float(np.linalg.norm(column))
        if rest > _ALIASED:
            Q[:, len(kept)] = column / rest
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def orthonormal(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Z and T with ``Z = X T``, and ``Z' Z = 1`` or nearly so; T is upper triangular.

    Large data whose columns are far from dependent, and of one scale, are their own basis: Newton's
    method gains nothing there.
    """
    lengths = np.linalg.norm(X, axis=0)
    lengths[lengths == 0.0] = 1.0
    L = _factor(X, lengths)
    if L is None:
        Q, R = np.linalg.qr(X / lengths)
        return Q, np.linalg.solve(R, np.eye(len(R))) / lengths[:, None]
    if X.size > _FEW_ENTRIES and lengths.max() <= _ONE_SCALE * lengths.min():
        return X, np.eye(X.shape[1])
    T = np.triu(np.linalg.solve(L, np.eye(len(L))).T) / lengths[:, None]
    return X @ T, T


def _factor(X: np.ndarray, lengths: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor of the columns' cosines; None unless they are far from dependent.

    Its diagonal says which share of each column those before it leave.
    """
    if not X.shape[1] or not (lengths > 0.0).all():
        return None
    with np.errstate(all="ignore"):
        gram = X.T @ X / lengths / lengths[:, None]
        try:
            L = np.linalg.cholesky(gram)
        except np.linalg.LinAlgError:
            return None
    return L if bool((L.diagonal() > _FAR_FROM_DEPENDENT).all()) else None
