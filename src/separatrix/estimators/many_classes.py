"""Many classes by copies of a two-class estimator: one a class, or one a pair of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import wraps
from types import MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from separatrix._device import on_host
from separatrix.certificates.two_bounds import Said, from_file, parts_hold
from separatrix.core.checks import several_classes
from separatrix.core.linear_model import SCORES_ONLY, Absent, available_unless, pairs_of, tally
from separatrix.estimators._base import AnswersInKind
from separatrix.estimators._validate import new_data, present_rows, threads_of, training_data
from separatrix.estimators.replay import frames_of, numbered

__all__ = ["ManyClasses", "OneVsOne", "OneVsRest"]

Task = tuple[np.ndarray | None, np.ndarray]  # the rows (None for all) and their labels


def _without_scores(wrapper: ManyClasses) -> str | None:
    inner = getattr(wrapper, "estimators_", [wrapper.estimator])[0]
    if hasattr(inner, "decision_function") or hasattr(inner, "predict_proba"):
        return None
    return (
        f"{type(inner).__name__} has neither decision_function nor predict_proba, and "
        f"{type(wrapper).__name__} needs one of them. Wrap an estimator that has."
    )


class _FitOffered:
    """A descriptor: `fit` with sample weights where the estimator inside takes them, else without.

    scikit-learn looks for ``sample_weight`` among the parameters before it gives weights to anyone.
    """

    def __init__(self, fit: Callable[..., Any]) -> None:
        self._fit = fit
        self.__doc__ = fit.__doc__

    def __get__(self, wrapper: Any, owner: type | None = None) -> Any:
        if wrapper is None:
            return self._fit
        if has_fit_parameter(wrapper.estimator, "sample_weight"):
            return MethodType(self._fit, wrapper)
        whole = self._fit

        @wraps(whole)
        def fit(X: Any, y: Any, *weights: Any, **named: Any) -> Any:
            if any(given is not None for given in (*weights, *named.values())):
                raise ValueError(
                    f"{type(wrapper.estimator).__name__} does not take sample_weight. Leave it "
                    "out, or repeat rows."
                )
            return whole(wrapper, X, y)

        del fit.__wrapped__  # whose parameters would be shown
        return fit


def _offered_by_estimator(fit: Callable[..., Any]) -> Any:
    return _FitOffered(fit)


class ManyClasses(AnswersInKind, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Many classes by copies of a two-class estimator."""

    estimators_: list[Any]
    classes_: np.ndarray
    n_features_in_: int

    predict_proba: Any = Absent(SCORES_ONLY)
    predict_log_proba: Any = Absent(SCORES_ONLY)

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def _labels(self, codes: np.ndarray) -> list[Task]:
        """Return the rows and the labels of every machine."""
        raise NotImplementedError

    @_offered_by_estimator
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ManyClasses:
        """Fit one copy of the estimator for every machine, in threads."""
        _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        X, y = training_data(self, X, y)
        self.classes_, codes = several_classes(self, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(on_host(sample_weight), X, dtype=np.float64)
        self.estimators_ = self._fitted(X, self._labels(codes), sample_weight)
        self.certificates_ = [getattr(one, "certificate_", None) for one in self.estimators_]
        if all(hasattr(one, "n_iter_") for one in self.estimators_):
            self.n_iter_ = int(max(np.max(one.n_iter_) for one in self.estimators_))
        return self

    def _fitted(self, X: Any, tasks: Sequence[Task], sample_weight: Any) -> list[Any]:
        def work(task: Task) -> Any:
            rows, labels = task
            one = clone(self.estimator)
            part = X if rows is None else X[rows]
            if sample_weight is None:
                return one.fit(part, labels)
            return one.fit(part, labels, sample_weight if rows is None else sample_weight[rows])

        workers = min(len(tasks), threads_of(self.n_jobs))
        if workers == 1:
            return [work(task) for task in tasks]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, tasks))

    def _replay(self, X: Any, y: Any) -> Iterator[Any]:
        """Return the frames of every machine, one machine after another."""
        X, y = training_data(self, X, y)
        self.classes_, codes = several_classes(self, y)
        if not (hasattr(self.estimator, "_replay") or hasattr(self.estimator, "_run")):
            raise TypeError(f"{type(self.estimator).__name__} has no updates to replay.")

        def frames() -> Iterator[Any]:
            for number, (rows, labels) in enumerate(self._labels(codes)):
                part = X if rows is None else X[rows]
                run = frames_of(clone(self.estimator), part, labels)
                yield from numbered(run, number, rows, len(codes))

        return frames()

    def _pairs(self) -> tuple[tuple[int, int], ...]:
        """Return which class each machine sets against which; -1 stands for all others."""
        raise NotImplementedError

    @property
    def certificate_(self) -> PartProofs:
        """The certificates of all machines as one; ``check(X, y)`` proves each again."""
        check_is_fitted(self)
        names = tuple(str(name) for name in self.classes_)
        proof = PartProofs(tuple(self.certificates_), self._pairs(), names)
        is_read = any(getattr(part, "is_read", False) for part in proof.parts)
        return from_file(proof) if is_read else proof

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove the certificate of every machine again from the data and the weights of the fit."""
        X = validate_data(
            self, on_host(X), reset=False, accept_sparse="csr", accept_large_sparse=True, dtype=None
        )
        return self.certificate_.check(X, on_host(y), sample_weight)

    def _margins(self, X: Any) -> np.ndarray:
        """Return one column a machine: above zero speaks for its second label."""
        check_is_fitted(self)
        X = new_data(self, X)
        return np.column_stack([_margin(one, X) for one in self.estimators_])

    def _scores(self, X: Any) -> np.ndarray:
        """Return one column a class."""
        raise NotImplementedError

    @available_unless(_without_scores)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return a score for every row and class; for two classes, that of the second."""
        check_is_fitted(self)
        if len(self.estimators_) == 1:
            return self._margins(X)[:, 0]
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every row."""
        check_is_fitted(self)
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


def _margin(one: Any, X: Any) -> np.ndarray:
    scorer: Callable[[Any], Any] | None = getattr(one, "decision_function", None)
    if scorer is not None:
        return np.ravel(scorer(X))
    return np.asarray(one.predict_proba(X)[:, 1] - 0.5)


class OneVsRest(ManyClasses):
    """One model for each class against all others; the largest score wins.

    Parameters
    ----------
    estimator : classifier
        Any two-class classifier, of this library or of scikit-learn, with ``decision_function`` or
        ``predict_proba``.
    n_jobs : int or None, default=None
        Threads over the models; None uses every core. The answer does not depend on it.

    Attributes
    ----------
    estimators_, classes_
        The models, one for each class (a single one for two classes), and the classes.
    certificate_, certificates_
        The certificates of all models as one, and in a list (None for a model without one).
        ``check(X, y)`` proves all of them again.

    See Also
    --------
    OneVsOne : one model for each pair of classes.
    LinearSVM : with multi_class="direct", all classes at once.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], list("aabbcc")
    >>> many = sx.OneVsRest(sx.LinearSVM()).fit(X, y)
    >>> many.predict([[0.5], [10.5]]).tolist(), len(many.certificates_), many.check(X, y)
    (['a', 'c'], 3, True)
    """

    def _labels(self, codes: np.ndarray) -> list[Task]:
        return [(None, (codes == k).astype(np.int64)) for _, k in self._pairs()]

    def _pairs(self) -> tuple[tuple[int, int], ...]:
        numbers = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return tuple((-1, k) for k in numbers)

    def _scores(self, X: Any) -> np.ndarray:
        return self._margins(X)


class OneVsOne(ManyClasses):
    """One model for each pair of classes, fitted on their rows; the class with most votes wins.

    Among classes of equal votes the one with the larger sum of margins wins.

    Parameters
    ----------
    estimator : classifier
        Any two-class classifier, of this library or of scikit-learn, with ``decision_function`` or
        ``predict_proba``.
    n_jobs : int or None, default=None
        Threads over the models; None uses every core. The answer does not depend on it.

    Attributes
    ----------
    estimators_, pairs_, classes_
        The models, the two class numbers of each, and the classes.
    certificate_, certificates_
        The certificates of all models as one, and in a list (None for a model without one).
        ``check(X, y)`` proves all of them again.

    See Also
    --------
    OneVsRest : one model for each class against the others.
    LinearSVM : with multi_class="direct", all classes at once.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], list("aabbcc")
    >>> many = sx.OneVsOne(sx.LinearSVM()).fit(X, y)
    >>> many.predict([[0.5], [5.5], [10.5]]).tolist(), many.pairs_
    (['a', 'b', 'c'], ((0, 1), (0, 2), (1, 2)))
    """

    pairs_: tuple[tuple[int, int], ...]

    def _labels(self, codes: np.ndarray) -> list[Task]:
        self.pairs_ = pairs_of(len(self.classes_))
        tasks: list[Task] = []
        for low, high in self.pairs_:
            rows = np.flatnonzero((codes == low) | (codes == high))
            tasks.append((rows, (codes[rows] == high).astype(np.int64)))
        return tasks

    def _pairs(self) -> tuple[tuple[int, int], ...]:
        return self.pairs_

    def _scores(self, X: Any) -> np.ndarray:
        return tally(self._margins(X), self.pairs_, len(self.classes_))


@dataclass(frozen=True, eq=False)
class PartProofs(Said):
    """One certificate a model, checked on its rows: of class b against a (-1: all others).

    A model that has none has None here, and then the whole does not hold.
    """

    parts: tuple[Any, ...]
    sides: tuple[tuple[int, int], ...]
    classes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every model has a claim."""
        return all(part is not None and bool(part.holds) for part in self.parts)

    @property
    def missing(self) -> int:
        """How many models have no certificate."""
        return sum(part is None for part in self.parts)

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove the claim of every model again, from its own rows."""
        classes, codes = np.unique(np.asarray(on_host(y)), return_inverse=True)
        if tuple(str(name) for name in classes) != self.classes or self.missing:
            return False
        if self.sides not in _ways(len(classes)) or len(self.parts) != len(self.sides):
            return False
        if sample_weight is not None:
            given = np.asarray(on_host(sample_weight), dtype=np.float64)
            sample_weight = np.broadcast_to(given, len(codes))
        return parts_hold(self.parts, self.sides, X, codes, sample_weight)

    def _sentence(self) -> str:
        if self.missing:
            return f"not proved: {self.missing} of {len(self.parts)} models have no certificate"
        if not self.holds:
            return next(part.in_words() for part in self.parts if not part.holds)
        first = self.parts[0].in_words().removeprefix("proved: ")
        return f"proved of each of the {len(self.parts)} models; of the first: {first}"


def _ways(n_classes: int) -> tuple[Any, ...]:
    """Return the pairs of each class against the rest, and of each class against each other."""
    each = pairs_of(n_classes)
    return (((-1, 1),) if n_classes == 2 else tuple((-1, b) for b in range(n_classes))), each
