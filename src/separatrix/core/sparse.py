"""Sparse weights, of two classes or of all at once: `l1_ratio` above 0, fitted and proved.

The largest C at which all weights are zero, exactly: where a path of sparse weights begins.

With w = 0 the best b is known in closed form, and with it the dual point: a_i = C s_i k S' / S,
S the weight of all rows, S' that of the other class, k = 1 for the logistic loss and 4 for the
squared hinge (without b, a_i = C s_i / 2 and 2 C s_i). So u = C v, v does not depend on C, and all
weights are zero where C max_j |v_j| <= l. Where columns have groups, the root mean square over the
group stands in place of |v_j|. The multinomial model has v_jk = sum_i s_i (1[k = y_i] - p_k) x_ij,
p_k the share of class k in the weight of all rows (without b, 1/K), and the root mean square over
the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.column_sizes import Sized
from separatrix.certificates.enclosed_sums import row_sums
from separatrix.certificates.enclosure import Enclosure, rounded
from separatrix.certificates.sparse_gap import SparseGap, root_means
from separatrix.certificates.sparse_softmax_gap import SparseSoftmaxGap
from separatrix.core.proving import About, Effort, Fitted, first_tolerance
from separatrix.problem.exact_sums import column_sums
from separatrix.problem.losses import NAMES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.many_classes import SoftmaxProblem
from separatrix.problem.signed import Known, on_device
from separatrix.problem.sparse_penalty import SparseProblem, SparseSoftmaxProblem
from separatrix.solvers.linear.claims import balanced
from separatrix.solvers.running.drive import NO_LIMIT, Status
from separatrix.solvers.sparse import class_working_set, working_set


def as_sparse(
    problem: MachineProblem, ratio: float, groups: np.ndarray | None = None
) -> MachineProblem:
    """Return the problem with sparse weights; the same one where the ratio is 0."""
    if not ratio:
        return problem
    if problem.is_hard or problem.ridge == 0.0:
        raise ValueError("l1_ratio above 0 needs a finite C. Got C=inf instead. Use a large C.")
    if on_device(problem.X):
        raise ValueError("l1_ratio above 0 is solved on the processor: use device='cpu'.")
    return SparseProblem(
        problem.rows, problem.costs, problem.loss, ridge=1.0 - ratio, l1=ratio, groups=groups
    )


def as_sparse_softmax(
    problem: SoftmaxProblem,
    ratio: float,
    groups: np.ndarray | None = None,
    known: Known | None = None,
) -> SparseSoftmaxProblem:
    """Return the multinomial problem with whole columns at zero."""
    if on_device(problem.X):
        raise ValueError("l1_ratio above 0 is solved on the processor: use device='cpu'.")
    return SparseSoftmaxProblem(
        problem.X,
        problem.codes,
        problem.n_classes,
        problem.costs,
        problem.fit_intercept,
        ridge=1.0 - ratio,
        l1=ratio,
        groups=groups,
        known=known,
    )


class _WorkingSet:
    """What both methods share: the run on a working set of columns, and what is proved of it."""

    attempts: int
    solver: Any
    aimed_at = 1.0  # of the tolerance

    def __init__(self, problem: Any, effort: Effort, about: About, first: Any, report: Any) -> None:
        self.problem, self.effort, self.about, self.report = problem, effort, about, report
        self.aim = self.aimed_at * first_tolerance(problem, effort)
        self.state = self.solver.start(
            problem, tol=self.aim, first=first, max_passes=effort.max_passes
        )

    def solve(self) -> Status:
        """Run the solver."""
        self.state.tol = self.aim
        return self.effort.go_on(self.solver, self.state, NO_LIMIT, self.report, 1)

    def _prove(self, kind: Any, rows: Any, labels: np.ndarray, **more: Any) -> float:
        """Prove the gap, and which columns are zero."""
        problem, name = self.problem, self.about.fingerprint.result()
        self.proof = kind.proved(
            rows.once("sized", lambda: Sized(problem.X)),
            labels,
            find_zeros=bool(name),  # a proof that is not handed on, as those of folds
            costs=problem.costs,
            weights=self.solver.without_dust(self.state),
            ridge=problem.ridge,
            l1=problem.l1,
            groups=() if problem.groups is None else tuple(problem.groups.tolist()),
            data_sha256=name,
            tol=self.effort.tol,
            classes=self.about.classes,
            **more,
        )
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim lower."""
        self.aim *= 0.01
        return status is Status.OPTIMAL

    def fitted(self, status: Status) -> Fitted:
        """Return the model."""
        return Fitted(self.proof, status, self.state.updates, self.state.passes, "working_set")


class SparseHyperplane(_WorkingSet):
    """Two classes, or one against the rest, with weights that are mostly zero."""

    attempts, solver = 3, working_set

    def prove(self, is_last: bool) -> float:
        """Prove the gap, and which columns are zero."""
        problem, alpha = self.problem, self.state.alpha
        if problem.has_free_bias:
            alpha = balanced(alpha, problem.signs, problem.upper)
        return self._prove(
            SparseGap,
            problem.rows,
            problem.signs,
            loss=NAMES[problem.loss],
            multipliers=alpha,
            intercept=problem.rows.fit_intercept,
            positive=self.about.positive,
        )

    def fitted(self, status: Status) -> Fitted:
        """Return the model."""
        bias = float(self.state.w[0])
        return replace(
            super().fitted(status),
            weights=self.proof.weights.copy(),
            signs=self.problem.signs,
            bias_interval=(bias, bias),
        )


class SparseMultinomial(_WorkingSet):
    """All classes at once, with columns whose weights are zero for every class."""

    attempts, solver = 4, class_working_set
    aimed_at = 0.9  # the proof adds rounding

    def prove(self, is_last: bool) -> float:
        """Prove the gap, and which columns are zero."""
        problem = self.problem
        return self._prove(
            SparseSoftmaxGap,
            problem,
            problem.codes,
            intercept=problem.fit_intercept,
            share=self.state.share,
        )


# ---- the largest C at which all weights are zero, exactly: where a path of sparse weights begins


_MOST_EXACT = 2_000_000  # entries
_FEW_WEIGHTS = 32


def largest_cost_of_zero(
    X: Any,
    signs: np.ndarray,
    weights: np.ndarray,
    loss: str,
    l1_ratio: float,
    intercept: bool,
    groups: np.ndarray | None = None,
) -> float:
    """Return the largest float64 C at which every weight is zero; inf where no column matters.

    `groups` numbers the group of each column, from 0.

    >>> X, signs = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> largest_cost_of_zero(X, signs, np.ones(2), "logistic", 1.0, True)
    1.0
    """
    plus, minus = _total(weights[signs > 0.0]), _total(weights[signs < 0.0])
    factor = Fraction(1) if loss == "logistic" else Fraction(4)
    if intercept:
        if not (plus and minus):
            return math.inf
        of_plus, of_minus = factor * minus / (plus + minus), factor * plus / (plus + minus)
    else:
        of_plus = of_minus = factor / 2
    shares = weights * np.where(signs > 0.0, float(of_plus), -float(of_minus))
    found = row_sums(X, shares, rounded=2)  # each share is rounded twice
    sizes = found.size() if groups is None else root_means(found.square(), groups)
    near, enough = _near_the_largest(sizes, X.shape[0], l1_ratio)
    if enough is not None:
        return enough
    sums = partial(_class_sums, X, np.where(signs > 0.0, 1, 0), weights, 2)

    def exactly(j: int) -> Fraction:
        below, above = sums(j)
        return of_plus * above - of_minus * below

    if groups is None:
        exact = max((abs(exactly(j)) for j in near.tolist()), default=Fraction(0))
        return _over(l1_ratio, exact)
    return _by_groups(near, groups, lambda j: exactly(j) ** 2, Fraction(l1_ratio))


def largest_cost_of_zero_classes(
    X: Any,
    codes: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    l1_ratio: float,
    intercept: bool,
    groups: np.ndarray | None = None,
) -> float:
    """Return the largest float64 C at which all weights of the multinomial model are zero.

    >>> X, codes = np.array([[1.0], [-1.0]]), np.array([1, 0])
    >>> largest_cost_of_zero_classes(X, codes, np.ones(2), 2, 1.0, True)
    1.0
    """
    masses = [_total(weights[codes == k]) for k in range(n_classes)]
    if not all(masses):
        return math.inf
    parts = [m / sum(masses) if intercept else Fraction(1, n_classes) for m in masses]
    table = [[float((k == own) - p) for k, p in enumerate(parts)] for own in range(n_classes)]
    found = row_sums(X, weights[:, None] * np.array(table)[codes], rounded=2)
    numbers = np.arange(X.shape[1]) if groups is None else groups
    squares = found.square()
    flat = Enclosure(squares.low.ravel(), squares.high.ravel())
    sizes = root_means(flat, np.repeat(numbers, n_classes))[::n_classes]
    near, enough = _near_the_largest(sizes, X.shape[0], l1_ratio)
    if enough is not None:
        return enough

    def square(j: int) -> Fraction:
        sums = _class_sums(X, codes, weights, n_classes, j)
        whole = sum(sums, Fraction(0))
        pulls = (own - p * whole for own, p in zip(sums, parts, strict=True))
        return sum((pull * pull for pull in pulls), Fraction(0)) / n_classes

    return _by_groups(near, numbers, square, Fraction(l1_ratio))


def _near_the_largest(
    sizes: Enclosure, n_rows: int, l1_ratio: float
) -> tuple[np.ndarray, float | None]:
    """Return the columns that may be the largest; of too many for exact sums, also a C below."""
    near = np.flatnonzero(sizes.high >= float(sizes.low.max(initial=0.0)))
    if len(near) * n_rows <= _MOST_EXACT:
        return near, None
    return near, _over(l1_ratio, Fraction(float(sizes.high.max(initial=0.0))))


def _over(l1_ratio: float, size: Fraction) -> float:
    """Return l over the size, rounded down."""
    return rounded(Fraction(l1_ratio) / size)[0] if size else math.inf


def _by_groups(
    near: np.ndarray, groups: np.ndarray, square: Callable[[int], Fraction], l1: Fraction
) -> float:
    """Return l over the root of the largest mean of squares over a group, rounded down."""
    members = [np.flatnonzero(groups == g).tolist() for g in np.unique(groups[near])]
    squares = [sum((square(j) for j in each), Fraction(0)) / len(each) for each in members]
    return _over_the_root(l1, max(squares, default=Fraction(0)))


def _over_the_root(value: Fraction, square: Fraction) -> float:
    """Return the largest float64 that is at most value / sqrt(square)."""
    if not square:
        return math.inf
    ratio = value * value / square
    p, q = ratio.numerator, ratio.denominator
    found = rounded(Fraction(math.isqrt((p * q) << 256), q << 128))[0]
    higher = math.nextafter(found, math.inf)
    return higher if math.isfinite(higher) and Fraction(higher) ** 2 <= ratio else found


def _class_sums(
    X: Any, codes: np.ndarray, weights: np.ndarray, n_classes: int, j: int
) -> list[Fraction]:
    """Return sum_i s_i x_ij over the rows of each class, exactly."""
    column = X[:, [j]].toarray() if sp.issparse(X) else X[:, [j]]
    found = []
    for k in range(n_classes):
        values, counted = column[codes == k], weights[codes == k]
        distinct = np.unique(counted)
        if len(distinct) > _FEW_WEIGHTS:
            parts = zip(counted.tolist(), values[:, 0].tolist(), strict=True)
            exact = (Fraction(s) * Fraction(x) for s, x in parts if x)
        else:  # rows of one weight are added first, which is quick
            each = (np.ascontiguousarray(values[counted == s]) for s in distinct)
            sums = (column_sums(rows, np.ones(len(rows)))[1] for rows in each)
            exact = (Fraction(s) * x for s, x in zip(distinct.tolist(), sums, strict=True))
        found.append(sum(exact, Fraction(0)))
    return found


def _total(weights: np.ndarray) -> Fraction:
    """Return the sum, exactly."""
    values, counts = np.unique(weights, return_counts=True)
    parts = zip(values.tolist(), counts.tolist(), strict=True)
    return sum((Fraction(value) * count for value, count in parts), Fraction(0))
