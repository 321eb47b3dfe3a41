"""One fitted model: estimates, errors, intervals and tests of every coefficient.

`Numbers` holds arrays over the columns of the design, the intercept first. NaN stands where a
column is aliased, infinite values where the likelihood has no maximum.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.certificates.likelihood_bounds import Metric, NoProof, Rows, metric_at
from separatrix.infer.likelihood import Likelihood, Point, normal_quantile
from separatrix.infer.loops import score_test
from separatrix.infer.newton import best_maximum, independent_columns, maximise, orthonormal
from separatrix.infer.profile import (
    End,
    Face,
    best_held,
    boundary_of_columns,
    face_of,
    profile_end,
    profile_root,
    runs_to,
    shifted,
)
from separatrix.problem.exact import SignedRows
from separatrix.solvers.running.drive import cores, one_thread
from separatrix.solvers.separability.infinite import row_space

_LARGE = 200_000  # entries from which coefficients are profiled in threads
_HIGHER, _MOST_STARTS = 1e-7, 20


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of the model, the intercept among them; labels 0 and 1; weights and offset."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    intercept: bool

    @property
    def signs(self) -> np.ndarray:
        """The labels as -1 and 1."""
        return np.where(self.y > 0.5, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class Task:
    """What is estimated: the method, its ridge, the level, and which errors."""

    method: str
    C: float = 1.0
    level: float = 0.95
    intervals: str = "profile"
    errors: str = "information"
    groups: np.ndarray | None = None


@dataclass(eq=False)
class Numbers:
    """What was found, one number a column."""

    estimate: np.ndarray
    std_error: np.ndarray
    lower: np.ndarray  # of the profile
    upper: np.ndarray
    lr: np.ndarray
    score: np.ndarray
    log_likelihood: float  # without a penalty, the supremum where there is no maximum
    penalised: float
    kept: np.ndarray  # columns that are not aliased
    maxima: int = 1
    face: Face | None = None
    metric: Metric | None = None  # of the estimate, where it was made
    fitted: np.ndarray | None = None  # probabilities
    covariance: np.ndarray | None = None  # of the kept columns
    points: dict[Any, Any] = field(default_factory=dict)  # where each number was found, for proofs
    failures: list[str] = field(default_factory=list)


def _empty(width: int) -> dict[str, Any]:
    names = ("estimate", "std_error", "lower", "upper", "lr", "score")
    return {name: np.full(width, np.nan) for name in names}


def fit_numbers(design: Design, task: Task) -> Numbers:
    """Estimate, and test every coefficient."""
    with one_thread():
        # With the ridge dependent columns share what one of them would have.
        every = np.arange(design.X.shape[1])
        kept = every if task.method == "ridge" else independent_columns(design.X)
        if task.method == "firth":
            return _finite(design, task, kept, None)
        face = face_of(design.X[:, kept], design.signs)
        if task.method == "mle" and face.kind in ("separable", "quasi-separable"):
            return _at_infinity(design, task, kept, face)
        return _finite(design, task, kept, face)


def _overlap(design: Design, kept: np.ndarray, beta: np.ndarray) -> tuple[Face, Metric | None]:
    """Decide whether the classes are separated: no, if a likelihood's maximum is proved near beta.

    The proof is that of the metric, which is needed later. Rows that single columns put strictly on
    their own side may leave others for which it is proved. Else the exact decision is made.
    """
    whole = np.ones(len(design.y), dtype=bool)
    rows = _rows_of(design, whole, kept)
    try:
        metric = metric_at(rows, beta)
    except NoProof:
        return face_of(rows.X, design.signs), None
    if metric.has_maximum:
        return Face("overlapping", whole), metric
    intercept = design.intercept and bool(kept[0] == 0)
    left = boundary_of_columns(rows.X[:, int(intercept) :], design.signs, intercept)
    if not left.all() and _has_maximum(_rows_of(design, left, kept)):
        return Face("quasi-separable", left), metric
    return face_of(rows.X, design.signs), metric


def _rows_of(design: Design, rows: np.ndarray, columns: np.ndarray) -> Rows:
    """Return rows, and of these columns those that are not zero there."""
    X = np.ascontiguousarray(design.X[rows][:, columns])
    X = np.ascontiguousarray(X[:, X.any(axis=0)])
    parts = design.y[rows], design.weights[rows], design.offset[rows]
    return Rows(X, *parts, np.zeros(X.shape[1]))


def _has_maximum(rows: Rows) -> bool:
    """Whether the likelihood of the rows is proved to have a maximum."""
    if not rows.X.size or len(independent_columns(rows.X)) < rows.X.shape[1]:
        return False
    Z, T = orthonormal(rows.X)
    found = maximise(Likelihood(Z, rows.y, rows.weights, rows.offset), np.zeros(len(T)))
    try:
        return found.converged and metric_at(rows, T @ found.point.theta).has_maximum
    except NoProof:
        return False


class _Fit:
    """A likelihood in a good basis, and its maximum."""

    def __init__(self, X: np.ndarray, design: Design, rows: np.ndarray | None, task: Task) -> None:
        chosen = slice(None) if rows is None else rows
        X = X[chosen]
        ridge = None
        if task.method == "ridge":
            # The penalty counts as rows: the basis is good for both together.
            pull = np.eye(X.shape[1])[int(design.intercept) :] / np.sqrt(task.C)
            both, self.T = orthonormal(np.vstack([X, pull]))
            self.Z, ridge = np.ascontiguousarray(both[: len(X)]), pull @ self.T
        else:
            self.Z, self.T = orthonormal(X)
        parts = (design.y[chosen], design.weights[chosen], design.offset[chosen])
        self.like = Likelihood(self.Z, *parts, firth=task.method == "firth", ridge=ridge)

    def coefficients(self, point: Point) -> np.ndarray:
        """Return the coefficients of the columns."""
        return np.asarray(self.T @ point.theta)

    def constant(self) -> float:
        """What the basis adds to 1/2 log |I|."""
        return float(np.linalg.slogdet(self.T)[1])


def _finite(
    design: Design,
    task: Task,
    kept: np.ndarray,
    given: Face | None,
    more: tuple[np.ndarray, ...] = (),
) -> Numbers:
    """Return the numbers of a maximum; `more` are points to climb from besides."""
    fit = _Fit(design.X[:, kept], design, None, task)
    best, several = best_maximum(fit.like, more)
    point, metric, face = best.point, None, given
    if face is None:
        face, metric = _overlap(design, kept, fit.coefficients(point))
    out = _empty(design.X.shape[1])
    out["estimate"][kept] = fit.coefficients(point)
    covariance = covariance_of(fit.T, point, task)
    out["std_error"][kept] = np.sqrt(covariance.diagonal())
    found = Numbers(
        **out,
        log_likelihood=point.plain,
        penalised=point.value - (fit.constant() if fit.like.firth else 0.0),
        kept=kept,
        maxima=max(1, len(several)),
        face=face,
        metric=metric,
        fitted=point.p,
        covariance=covariance,
    )
    if not best.converged:
        found.failures.append(f"the fit stopped {best.decrement:.1e} standard errors from its root")
    found.points["best"] = fit.coefficients(point)
    level = point.value - 0.5 * normal_quantile(task.level) ** 2
    profiles = task.intervals == "profile"

    def one(place: int) -> tuple[End | None, End | None, Point | None]:
        held = fit.T[place]
        low = high = None
        if profiles:
            low, high = (
                profile_end(fit.like, point, held, level, side, several) for side in (-1.0, 1.0)
            )
        return low, high, _restricted(fit, point, held, several)

    parts = _each(one, len(kept), design.X.size)
    # A fit with a coefficient at zero that is higher leads to a better maximum.
    higher = tuple(
        null.theta for *_, null in parts if null is not None and null.value > point.value + _HIGHER
    )
    if fit.like.firth and higher and len(more) < _MOST_STARTS:
        return _finite(design, task, kept, given, (*more, *higher))
    for place, (low, high, null) in enumerate(parts):
        j = int(kept[place])
        for end, column, side in ((low, found.lower, "lower"), (high, found.upper, "upper")):
            if end is not None:
                column[j] = end.value
                if end.point is not None:
                    found.points[j, side] = fit.coefficients(end.point)
                if not end.converged:
                    found.failures.append(f"an end of the interval of column {j} was not found")
        if null is not None:
            found.lr[j] = max(0.0, 2.0 * (point.value - null.value))
            found.score[j] = score_statistic(null, fit.T[place])
            found.points[j, "null"] = fit.coefficients(null)
    return found


def _each(one: Any, count: int, entries: int) -> list[Any]:
    """Work on each coefficient, in threads where there is much to do."""
    workers = min(cores(), count)
    if entries < _LARGE or workers < 2:
        return [one(place) for place in range(count)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, range(count)))


def _restricted(
    fit: _Fit, best: Point, held: np.ndarray, several: list[np.ndarray]
) -> Point | None:
    """Return the best fit with one coefficient at zero, started along the tangent."""
    along = np.linalg.solve(best.information, held)
    starts = [best.theta - along * float(held @ best.theta) / float(held @ along)]
    if several:
        starts += [np.zeros(len(held)), *shifted(several, held, 0.0)]
    return best_held(fit.like, starts, held, 0.0, best)


def score_statistic(null: Point, held: np.ndarray) -> float:
    """Return the score statistic of a linear form at the fit that holds it at zero."""
    like = null.like
    if like.is_narrow:
        form, theta = np.ascontiguousarray(held), np.ascontiguousarray(null.theta)
        return float(score_test(like.posed, theta, form, like.new_look()))
    step = np.linalg.solve(null.information, np.column_stack([held, null.score]))
    along = step[:, 0] / float(held @ step[:, 0])
    # The score along the direction that leaves the free scores at zero, over its deviation.
    return float(null.score @ along) ** 2 * float(held @ step[:, 0])


def covariance_of(T: np.ndarray, point: Point, task: Task) -> np.ndarray:
    """Return the covariance of the estimates: inverse information, or the sandwich of groups."""
    information = point.information
    if task.errors == "augmented":
        like = point.like
        h = like.weights * point.v * point.q
        information = (like.Z * (like.weights * point.v * (1.0 + h / like.weights))[:, None]).T @ (
            like.Z
        )
    half = np.linalg.solve(np.linalg.cholesky(information), T.T)
    if task.groups is None:
        return np.asarray(half.T @ half)
    bread = np.linalg.solve(information, T.T)
    names, codes = np.unique(task.groups, return_inverse=True)
    sums = np.zeros((len(names), len(T)))
    np.add.at(sums, codes, point.like.Z * point.residual[:, None])
    meat = sums.T @ sums * (len(names) / (len(names) - 1.0))
    return np.asarray(bread.T @ meat @ bread)


# ---- separated classes


def _at_infinity(design: Design, task: Task, kept: np.ndarray, face: Face) -> Numbers:
    X = design.X[:, kept]
    out = _empty(design.X.shape[1])
    rows = face.rows
    best: Point | None = None
    fitted = design.y.copy()
    value, places = 0.0, np.zeros(0, dtype=np.int64)
    runs = _each(lambda place: _runs(X, design.signs, place), len(kept), design.X.size)
    moving = np.array([any(faces) for faces in runs])
    covariance = np.full((len(kept), len(kept)), np.nan)
    if rows.any():
        order = np.argsort(moving, kind="stable")  # finite columns first
        places = order[_spanning(X[rows][:, order])]
        fit = _Fit(X[:, places], design, rows, task)
        best = maximise(fit.like, np.zeros(len(places))).point
        value, fitted[rows] = best.plain, best.p
        own = covariance_of(fit.T, best, _of_rows(task, rows))
        finite = ~moving[places]
        out["estimate"][kept[places[finite]]] = fit.coefficients(best)[finite]
        out["std_error"][kept[places[finite]]] = np.sqrt(own.diagonal())[finite]
        covariance[np.ix_(places[finite], places[finite])] = own[np.ix_(finite, finite)]
    found = Numbers(
        **out,
        log_likelihood=value,
        penalised=value,
        kept=kept,
        face=face,
        fitted=fitted,
        covariance=covariance,
    )
    if best is not None:
        whole = np.zeros(len(kept))
        whole[places] = fit.coefficients(best)
        found.points["best"], found.points["columns"] = whole, places
    level = value - 0.5 * normal_quantile(task.level) ** 2

    def one(place: int) -> Any:
        return _profile_at_infinity(X, design, task, place, level, runs[place])

    for place, (ends, null, points) in enumerate(_each(one, len(kept), design.X.size)):
        j = int(kept[place])
        if task.intervals == "profile":
            found.lower[j], found.upper[j] = ends
        found.points |= {(j, name): point for name, point in points.items()}
        found.lr[j] = max(0.0, 2.0 * (value - null[0]))
        found.score[j] = null[1]
        if moving[place]:
            found.std_error[j] = np.inf
            below, above = (run is not None for run in runs[place])
            sign = _direction_sign(face, place, below, above)
            found.estimate[j] = sign * np.inf
    return found


def _of_rows(task: Task, rows: np.ndarray) -> Task:
    if task.groups is None:
        return task
    return Task(task.method, task.C, task.level, task.intervals, task.errors, task.groups[rows])


def _runs(X: np.ndarray, signs: np.ndarray, place: int) -> tuple[Face | None, Face | None]:
    """Return directions of the cone that move a coefficient down and up, decided exactly."""
    return runs_to(X, signs, place, -1.0), runs_to(X, signs, place, 1.0)


def _spanning(X: np.ndarray) -> np.ndarray:
    """Return the columns that do not depend on those before them: exactly, and not nearly so."""
    rows = SignedRows(X, np.ones(len(X)), fit_intercept=False)
    exact = np.array(row_space(rows, []).pivots, dtype=np.int64)
    return exact[independent_columns(X[:, exact])]


def _direction_sign(face: Face, place: int, below: bool, above: bool) -> float:
    if below != above:
        return 1.0 if above else -1.0
    return 1.0 if not face.direction or face.direction[place] >= 0 else -1.0


def _profile_at_infinity(
    X: np.ndarray,
    design: Design,
    task: Task,
    place: int,
    level: float,
    runs: tuple[Face | None, Face | None],
) -> tuple[tuple[float, float], tuple[float, float], dict[str, Any]]:
    """Return both ends, value and score statistic at zero, and the points found."""
    signs = design.signs
    off = (runs[0] is not None, runs[1] is not None)
    points: dict[str, Any] = {
        f"{side} runs": face
        for side, face in zip(("lower", "upper"), runs, strict=True)
        if face is not None
    }
    others = np.delete(np.arange(X.shape[1]), place)
    face = face_of(X[:, others], signs)
    points["face"] = face
    endless = (-np.inf, np.inf)
    if not face.rows.any():
        return endless, (0.0, 0.0), points
    near = X[face.rows]
    free = others[_spanning(near[:, others])]
    columns = np.append(free, place)
    if len(_spanning(near[:, columns])) < len(columns):
        at_zero = maximise(
            _Fit(X[:, free], design, face.rows, task).like, np.zeros(len(free))
        ).point
        return endless, (at_zero.plain, 0.0), points
    fit = _Fit(X[:, columns], design, face.rows, task)
    held = fit.T[-1]
    null = maximise(fit.like, np.zeros(len(columns)), held).point
    ends = list(endless)
    best = None if any(off) else maximise(fit.like, null.theta).point
    for at, side in enumerate((-1.0, 1.0)):
        if task.intervals == "profile" and not off[at]:
            if best is None:
                end = profile_root(fit.like, null, held, level, side)
            else:
                end = profile_end(fit.like, best, held, level, side)
            ends[at] = end.value
            if end.point is not None:
                whole = np.zeros(X.shape[1])
                whole[columns] = fit.coefficients(end.point)
                points["lower" if at == 0 else "upper"] = whole
    whole = np.zeros(X.shape[1])
    whole[columns] = fit.coefficients(null)
    points["null"], points["columns"] = whole, columns
    return (ends[0], ends[1]), (null.plain, score_statistic(null, held)), points
