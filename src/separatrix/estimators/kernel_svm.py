"""The kernel machine as a scikit-learn classifier."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from separatrix.certificates.kernel_gap import KernelGaps
from separatrix.checker.exact import at_most
from separatrix.core.checks import costs_of, one_of, positive, several_classes
from separatrix.core.keeping import one_or_all
from separatrix.core.kernel_direct import KernelCrammerSinger, keep_direct, refuse_direct
from separatrix.core.kernel_machines import (
    KernelProblem,
    Task,
    first_goal,
    no_kernel_margin,
    solve_kernel_machines,
)
from separatrix.core.linear_model import CalibratedProbabilities, decided, tally
from separatrix.core.models import with_settings
from separatrix.core.proving import About, Effort, Fitted, solve_and_prove
from separatrix.estimators._kernel_base import KernelClassifier, brought_for_kernel
from separatrix.estimators._validate import (
    number_support,
    present_rows,
    row_weights,
    threads_of,
    worked_on,
)
from separatrix.estimators.linear_svm import held_out_calibration
from separatrix.estimators.replay import numbered
from separatrix.problem.canonical import data_of, signs_of
from separatrix.problem.fingerprint import fingerprint, spare_threads
from separatrix.problem.many_classes import KernelDirect
from separatrix.problem.signed import entries_of
from separatrix.solvers.kernels import chunking
from separatrix.solvers.kernels.kernel_rows import kernel_rows
from separatrix.solvers.running.drive import Status, begun, one_thread

__all__ = ["KernelSVM"]


@with_settings
class KernelSVM(CalibratedProbabilities, KernelClassifier):
    """Support vector machine with a kernel; its objective is proved within `tol` of the optimum.

    Minimises ``1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i (w.phi(x_i) + b))`` over w and b, where
    ``phi(x).phi(z) = K(x, z)`` and s are the sample weights: the objective of scikit-learn's SVC.
    Works on chunks of about a thousand rows whose kernel values are computed together.

    Parameters
    ----------
    C : float, default=1.0
        What a row inside the margin costs; inf for the hard margin in the kernel's space.
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or function, default="rbf"
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``, ``tanh(gamma x.z + coef0)``,
        ``x.z``, a square matrix in place of X, or ``function(A, B)`` that returns a matrix.
    degree : int, default=3
        The degree of "poly".
    gamma : "scale", "auto" or float, default="scale"
        The factor of "rbf", "poly" and "sigmoid". "scale" is 1 / (columns * variance of X),
        "auto" is 1 / columns.
    coef0 : float, default=0.0
        The constant of "poly" and "sigmoid".
    solver : {"auto", "smo", "chunking"}, default="auto"
        "smo" moves the two dual variables that violate optimality most, then looks again at all
        rows. "chunking" solves the problem of a quarter of the rows, at most 1024, with the others
        fixed, then takes the next chunk. "auto" takes chunks of 1024; where pairs make no progress
        and rows are few, it factors the kernel matrix. All end with the same proof. "smo" and
        "chunking" stop at `tol`, so that `n_iter_` and `kernel_rows_` can be compared.
    tol : float, default=0.001
        Stop when (objective - lower bound) <= tol * objective, and that is proved.
    cache_size : float, default=500.0
        Megabytes for rows of the kernel matrix.
    class_weight : None, "balanced" or dict, default=None
        Factors on the sample weights, by class.
    max_seconds : float or None, default=None
        A budget. A fit that it ends gives the best point so far, its gap, and a warning.
    multi_class : {"ovo", "ovr", "direct"}, default="ovo"
        Several classes: one model for each pair, with votes; one for each class against the rest;
        or all at once ("direct": Crammer-Singer), for positive semidefinite kernels and finite C
        only. Two classes: "ovo" and "ovr" are the same model, "direct" is that model for 2 C.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        What `decision_function` returns for more than two classes: a score a class, or with
        multi_class="ovo" the scores of the models, a column a pair. `predict` is the same.
    probability : bool, default=False
        Whether to calibrate probabilities on five held-out folds (five more fits).
    n_jobs : int or None, default=None
        Threads over kernel values; None uses every core. The answer does not depend on it.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        Where kernel values of dense rows are computed (the extra gpu: torch). "auto" takes a GPU
        where there is one. A tensor is worked on where it is. Needs a kernel given by its name.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, n_support_
        The numbers of the support vectors, the rows themselves, their dual variables with the sign
        of their class (one row for each model), and the number of support vectors of each class.
    intercept_, classes_
        One intercept for each model; ``classes_[1]`` is the positive side of two classes. The
        models of pairs are in the order (0, 1), (0, 2), ... (1, 2), ..., the later class positive.
        "direct" has one intercept and one row of `dual_coef_` for each class.
    coef_ : array
        Weights of the features, a row a model; for kernel="linear" only.
    objective_, dual_objective_, gap_
        The objective, a lower bound on any, and their relative difference: proved.
    certificate_ : KernelGap
        The proof; ``certificate_.check(X, y)`` proves it again. `KernelGaps` for several classes,
        `KernelMulticlassGap` for direct.
    status_, n_iter_, n_passes_
        Why the fit ended, pair steps (an array: one number a model), and chunks.
    kernel_rows_ : float
        Kernel values that the steps needed, in rows of the kernel matrix; 0 for a matrix that was
        given. The proof computes its own and is not counted. Not for direct.

    See Also
    --------
    KernelSVMCV : C and gamma chosen by cross-validation.
    LinearSVM : the same objective without a kernel, for many rows.
    lift.Nystrom : a feature map that approximates a kernel.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> y = ["same", "same", "differ", "differ"]
    >>> model = sx.KernelSVM(C=10.0, kernel="rbf", gamma=1.0).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'same', 'differ', 'differ']
    >>> model.certificate_.check(X, y)
    True
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    solver: str = "auto"
    tol: float = 1e-3
    cache_size: float = 500.0
    class_weight: Any = None
    max_seconds: float | None = None
    multi_class: str = "ovo"
    decision_function_shape: str = "ovr"
    probability: bool = False
    n_jobs: int | None = None
    device: str = "cpu"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVM:
        """Find the machine and prove how close to the best it is."""
        kept, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        with worked_on(self, X):
            self._fitted(X, y, sample_weight)
            self._calibration = None
            if self.probability:
                self._calibration = held_out_calibration(self, X, y, sample_weight)
        number_support(self, kept)
        return self

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> KernelSVM:
        place, X, y, sample_weight = brought_for_kernel(self, X, y, sample_weight)
        X, codes, weights = self._pose(X, y, sample_weight)
        direct = self.multi_class == "direct"
        if direct:
            refuse_direct(self, place)
        effort = self._effort()
        order = self._order(codes)
        names = self._class_names()
        with one_thread(), ThreadPoolExecutor(effort.workers + 1) as pool:
            # The fingerprint is made meanwhile; it needs the data and nothing else.
            data = data_of(X, codes, len(names), True)
            threads = 1 if place is None else spare_threads()
            name = begun(pool, entries_of(X), partial(fingerprint, threads=threads), data)
            about = About(name, names)
            effort = dataclasses.replace(effort, pool=pool)
            sorted_X = X if order is None else _taken(X, order, self.kernel_.name)
            if direct:
                machine = KernelDirect(codes, len(names), self._costs(weights))
                problem = KernelProblem(self.kernel_, X, machine)
                found = solve_and_prove(KernelCrammerSinger, problem, effort, about)
            else:
                tasks = self._tasks(codes, weights, order)
                problem = KernelProblem(self.kernel_, sorted_X, tasks, order, place, self.solver)
                machines, rows = solve_kernel_machines(problem, effort, about)
        if direct:
            keep_direct(self, X, codes, found)
        else:
            self._keep(X, codes, machines, order)
            self.kernel_rows_ = float(rows)
        if self.status_ is not Status.OPTIMAL:
            self._tell()
        return self

    # ---- posing

    def _pose(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        positive("C", self.C, infinite=True)
        positive("tol", self.tol)
        positive("cache_size", self.cache_size)
        positive("max_seconds", self.max_seconds, optional=True)
        one_of("solver", self.solver, ("auto", "smo", "chunking"))
        one_of("multi_class", self.multi_class, ("ovo", "ovr", "direct"))
        if self.solver != "auto" and self.multi_class == "direct":
            raise ValueError(
                f"multi_class='direct' gives one row at a time its dual variables: use "
                f"solver='auto', or multi_class='ovo' with solver={self.solver!r}."
            )
        one_of("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        if self.decision_function_shape == "ovo" and self.multi_class != "ovo":
            raise ValueError(
                f"decision_function_shape='ovo' needs multi_class='ovo': with multi_class="
                f"{self.multi_class!r} there are no models of pairs."
            )
        threads_of(self.n_jobs)  # which refuses 0
        X, y = self._kernel_data(X, y, sample_weight)
        self.classes_, codes = several_classes(self, y)
        weights = row_weights(self, codes, sample_weight, self.class_weight)
        self._check_symmetry(X)
        return X, codes, weights

    def _costs(self, weights: np.ndarray) -> np.ndarray:
        if np.isinf(self.C):
            return np.where(weights > 0.0, np.inf, 0.0)
        return costs_of(self.C, weights)

    def _pairs(self) -> list[tuple[int, int]]:
        """Return the machines as (class, class it is set against), -1 standing for the rest."""
        k = len(self.classes_)
        if k == 2:
            return [(1, -1)]
        if self.multi_class == "ovr":
            return [(i, -1) for i in range(k)]
        return [(j, i) for i in range(k) for j in range(i + 1, k)]

    def _tasks(
        self, codes: np.ndarray, weights: np.ndarray, order: np.ndarray | None
    ) -> list[Task]:
        """Return every machine over the rows in their order."""
        costs, at = self._costs(weights), slice(None) if order is None else order
        return [
            Task(k, rest, signs, np.where(signs != 0.0, costs[at], 0.0))
            for k, rest in self._pairs()
            for signs in [signs_of(codes[at], k, rest)]
        ]

    def _order(self, codes: np.ndarray) -> np.ndarray | None:
        """Return rows by class where machines take two classes each, so that theirs are runs."""
        if len(self.classes_) == 2 or self.multi_class != "ovo":
            return None
        return np.argsort(codes, kind="stable")

    def _effort(self) -> Effort:
        seconds = np.inf if self.max_seconds is None else float(self.max_seconds)
        return Effort(
            tol=float(self.tol),
            cache_bytes=int(float(self.cache_size) * 2**20),
            workers=threads_of(self.n_jobs),
            deadline=time.perf_counter() + seconds,
        )

    # ---- what a fit leaves

    def _keep(
        self, X: Any, codes: np.ndarray, machines: list[Fitted], order: np.ndarray | None
    ) -> None:
        proofs = tuple(_in_given_order(machine.proof, order) for machine in machines)
        several = len(proofs) > 1
        worst = max(machines, key=lambda machine: _BADNESS[machine.status])
        self.status_ = worst.status
        if self.status_ is Status.NOT_SEPARABLE:
            error = no_kernel_margin(X, codes, proofs[machines.index(worst)])
            if error is not None:
                raise error
            self.status_ = Status.UNPROVED
        self.certificate_ = KernelGaps(proofs) if several else proofs[0]
        self.objective_ = one_or_all([proof.primal for proof in proofs])
        self.dual_objective_ = one_or_all([proof.dual for proof in proofs])
        self.gap_ = max(proof.gap for proof in proofs)
        self.intercept_ = np.array([proof.bias for proof in proofs])
        self.n_iter_ = np.array([machine.updates for machine in machines], dtype=np.int64)
        self.n_passes_ = float(max(machine.passes for machine in machines))
        signs = [signs_of(codes, proof.positive, proof.negative) for proof in proofs]
        shares = np.array([s * p.multipliers for s, p in zip(signs, proofs, strict=True)])
        self._keep_support(X, shares)
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))

    def _tell(self) -> None:
        if self.status_ is Status.STATIONARY:
            proofs = getattr(self.certificate_, "machines", (self.certificate_,))
            most = max(proof.violation for proof in proofs)
            reached = f"No pair is out of order by more than {at_most(most, 3)}"
        else:
            reached = f"The gap reached is {at_most(self.gap_, 3)}, tolerance: {self.tol:g}"
        other = "" if self.solver == "auto" else "; or use solver='auto'"
        warnings.warn(
            f"{type(self).__name__}: {self.status_.cause}. {reached}. What to do: "
            f"{_REMEDIES.get(self.status_, self.status_.remedy)}{other}.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores: one a row for two classes, otherwise one a class.

        For one-vs-one they are votes, with the sum of scores, brought below a third, to part ties;
        or, with ``decision_function_shape="ovo"``, the scores of the pairs (0, 1), (0, 2), ...,
        above zero for the later class.
        """
        scores = self._machine_scores(X)
        if scores.shape[1] > 1 and self.decision_function_shape == "ovo":
            return scores
        return self._by_class(scores)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every row."""
        scores = self._class_scores(X)
        return decided(self.classes_, scores)

    def _class_scores(self, X: Any) -> np.ndarray:
        return self._by_class(self._machine_scores(X))

    def _by_class(self, scores: np.ndarray) -> np.ndarray:
        """Return a score a class from those of the models; of two classes the one there is."""
        if scores.shape[1] == 1:
            return scores.ravel()
        if self.multi_class != "ovo":
            return scores
        return tally(scores, self._voting_pairs(), len(self.classes_))

    def _model_of_a_fold(self) -> KernelSVM:
        """Return an unfitted model like this one, to score held-out rows."""
        plain = {"probability": False, "decision_function_shape": "ovr"}
        folded: KernelSVM = clone(self).set_params(**plain)
        return folded

    def _not_calibrated(self) -> Exception:
        return NotFittedError("Fit again: probability=True was set after the last fit.")

    def _voting_pairs(self) -> list[tuple[int, int]]:
        """Return the two classes of every machine: a positive score speaks for the second."""
        return [(below, above) for above, below in self._pairs()]

    def _work(self) -> str:
        steps = "steps of a row" if self.multi_class == "direct" else "pair steps"
        return f"{np.sum(self.n_iter_):,} {steps} in {self.n_passes_:,.0f} chunks"

    def _facts(self) -> list[tuple[str, str]]:
        return [*super()._facts(), ("support", f"{len(self.support_):,} rows")]

    # ---- replay

    def _replay(self, X: Any, y: Any) -> Iterator[chunking.PairFrame]:
        """Return the start and every pair step that `fit` makes until it first looks for a proof.

        The machines of several classes follow one another.
        """
        if self.multi_class == "direct":
            raise ValueError(
                "The direct model has no replay: use multi_class='ovo' or 'ovr', whose models "
                "are shown one after another."
            )
        X, codes, weights = self._pose(X, y, None)
        effort, order = self._effort(), self._order(codes)
        tasks = self._tasks(codes, weights, order)
        sorted_X = X if order is None else _taken(X, order, self.kernel_.name)
        how = {"precise": bool(np.isinf(self.C)), "as_needed": self.solver != "auto"}
        rows = kernel_rows(self.kernel_, sorted_X, effort.cache_bytes, None, **how)

        def frames() -> Iterator[chunking.PairFrame]:
            for number, task in enumerate(tasks):
                machine = task.machine()
                members = None if order is None else order[machine.members]
                goal = first_goal(effort, self.kernel_, task, self.solver)
                run = chunking.replay_pairs(machine, rows, *goal)
                yield from numbered(run, number, members, len(codes))

        return frames()


def _taken(X: Any, order: np.ndarray, kernel: str) -> Any:
    return X[order][:, order] if kernel == "precomputed" else X[order]


def _in_given_order(proof: Any, order: np.ndarray | None) -> Any:
    """Return the proof with its rows as they were given, not sorted by class."""
    if order is None:
        return proof
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return dataclasses.replace(
        proof,
        multipliers=proof.multipliers[back],
        costs=proof.costs[back],
        margins=proof.margins[back],
    )


_BADNESS = {
    Status.OPTIMAL: 0,
    Status.UNPROVED: 1,
    Status.STATIONARY: 2,
    Status.BUDGET: 3,
    Status.NOT_SEPARABLE: 4,
}
_REMEDIES = {
    Status.BUDGET: "raise max_seconds, or use what is here, whose gap is proved",
    Status.UNPROVED: "raise tol, or divide the largest columns, whose rounding hides the rest",
}
