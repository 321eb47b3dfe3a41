"""Sparse weights, fitted and proved: what `l1_ratio` above 0 means, and what it cannot be with."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from separatrix.certificates.column_sizes import Sized
from separatrix.certificates.sparse_gap import SparseGap
from separatrix.core.proving import About, Effort, Fitted, Hyperplane, first_tolerance
from separatrix.problem.device_rows import on_device
from separatrix.problem.losses import NAMES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.sparse_penalty import SparseProblem
from separatrix.solvers.linear.balance import balanced
from separatrix.solvers.running.drive import NO_LIMIT, Status
from separatrix.solvers.sparse import working_set

__all__ = [
    "SparseHyperplane",
    "as_sparse",
    "checked_groups",
    "checked_ratio",
    "method_of",
    "ratio_of",
    "refuse_with_l1",
]

_SOLVER = "working_set"
_TIGHTENINGS = 3


def ratio_of(model: Any) -> float:
    """Return `l1_ratio`, or the one that was chosen; 0 where there is neither."""
    return checked_ratio(getattr(model, "l1_ratio", getattr(model, "l1_ratio_", 0.0)))


def checked_ratio(ratio: Any) -> float:
    """Return the ratio: 0 for the ridge alone, 1 for the lasso; refuse what is not between."""
    good = isinstance(ratio, numbers.Real) and not isinstance(ratio, bool)
    if not (good and 0.0 <= float(ratio) <= 1.0):
        raise ValueError(f"l1_ratio must be a number from 0 to 1. Got {ratio!r} instead.")
    return float(ratio)


def refuse_with_l1(model: Any, loss: str, ratio: float) -> None:
    """Say in words what cannot be had together with sparse weights."""
    if not ratio:
        ratios = getattr(model, "l1_ratios", None)  # of which this is one
        if getattr(model, "groups", None) is not None and ratios is None:
            raise ValueError("groups are for sparse weights: l1_ratio must be above 0 with them.")
        return
    if loss == "hinge":
        raise ValueError(
            "l1_ratio above 0 needs a smooth loss. Got loss='hinge' instead. "
            "Use loss='squared_hinge', or LogisticRegression."
        )
    if model.intercept_penalty:
        raise ValueError(
            f"l1_ratio above 0 leaves the intercept free. Got intercept_penalty="
            f"{model.intercept_penalty!r} instead. Use intercept_penalty=0."
        )
    if model.multi_class == "direct":
        raise ValueError(
            "l1_ratio above 0 needs a smooth loss. Got multi_class='direct' instead. "
            "Use multi_class='ovr' or 'ovo', or LogisticRegression."
        )
    if model.solver != "auto":
        raise ValueError(
            f"l1_ratio above 0 has a solver of its own. Got solver={model.solver!r} instead. "
            "Use solver='auto'."
        )


def checked_groups(groups: Any, width: int) -> np.ndarray | None:
    """Return the group of each column, numbered in the order of their first columns.

    Given are a label for every column, or lists of column numbers; a column in no list is alone.

    >>> checked_groups(["red", "red", "size"], 3), checked_groups([[2, 0]], 3)
    (array([0, 0, 1]), array([0, 1, 0]))
    """
    listed = [] if groups is None else list(groups)
    if not listed:
        return None
    if all(isinstance(one, list | tuple | np.ndarray) for one in listed):
        labels: list[Any] = [("alone", j) for j in range(width)]
        taken: set[int] = set()
        for number, one in enumerate(listed):
            for j in one:
                whole = isinstance(j, numbers.Integral) and not isinstance(j, bool)
                if not whole or not 0 <= int(j) < width or int(j) in taken:
                    raise ValueError(
                        f"groups must number columns from 0 to {width - 1}, each once. "
                        f"Got {j!r} in group {number}."
                    )
                taken.add(int(j))
                labels[int(j)] = ("group", number)
    else:
        labels = listed
    if len(labels) != width:
        raise ValueError(
            f"groups must be a label for each of the {width} columns, or lists of column numbers. "
            f"Got {len(labels)} labels instead."
        )
    known: dict[Any, int] = {}
    try:
        return np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)
    except TypeError:
        raise ValueError("groups must be labels, or lists of column numbers, not both.") from None


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


def method_of(problem: MachineProblem, usual: Any = Hyperplane) -> Any:
    """Return what solves and proves a problem of two classes."""
    return SparseHyperplane if isinstance(problem, SparseProblem) else usual


class SparseHyperplane:
    """Two classes, or one against the rest, with weights that are mostly zero."""

    attempts = _TIGHTENINGS

    def __init__(
        self, problem: SparseProblem, effort: Effort, about: About, first: Any, report: Any
    ) -> None:
        self.problem, self.effort, self.about, self.report = problem, effort, about, report
        self.aim = first_tolerance(problem, effort)
        self.state = working_set.start(
            problem, tol=self.aim, first=first, max_passes=effort.max_passes
        )

    def solve(self) -> Status:
        """Run the solver."""
        self.state.tol = self.aim
        return self.effort.go_on(working_set, self.state, NO_LIMIT, self.report, 1)

    def prove(self, is_last: bool) -> float:
        """Prove the gap, and which columns are zero."""
        problem, about, state = self.problem, self.about, self.state
        alpha = state.alpha
        if problem.has_free_bias:
            alpha = balanced(alpha, problem.signs, problem.upper)
        name = about.fingerprint.result()
        self.proof = SparseGap.proved(
            problem.rows.once("sized", lambda: Sized(problem.X)),
            problem.signs,
            find_zeros=bool(name),  # a proof that is not handed on, as those of folds
            costs=problem.costs,
            loss=NAMES[problem.loss],
            weights=working_set.without_dust(state),
            multipliers=alpha,
            intercept=problem.rows.fit_intercept,
            ridge=problem.ridge,
            l1=problem.l1,
            groups=() if problem.groups is None else tuple(problem.groups.tolist()),
            positive=about.positive,
            data_sha256=name,
            tol=self.effort.tol,
            classes=about.classes,
        )
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim lower."""
        self.aim *= 0.01
        return status is Status.OPTIMAL

    def fitted(self, status: Status) -> Fitted:
        """Return the model."""
        state, bias = self.state, float(self.state.w[0])
        return Fitted(
            proof=self.proof,
            status=status,
            updates=state.updates,
            passes=state.passes,
            solver=_SOLVER,
            weights=self.proof.weights.copy(),
            signs=self.problem.signs,
            bias_interval=(bias, bias),
        )
