"""Many classes by one machine a pair of classes, which vote."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.votes import pairs_of, tally
from separatrix.estimators._many import ManyClasses, Task

__all__ = ["OneVsOne"]


class OneVsOne(ManyClasses):
    """One machine a pair of classes, fitted on their rows alone; the class of most votes wins.

    Among classes of equal votes the one with the larger sum of margins wins.

    Parameters
    ----------
    estimator
        Any two-class classifier, of this library or of scikit-learn, with ``decision_function`` or
        ``predict_proba``.
    n_jobs : int or None
        Threads over the machines; None uses every core. The answer does not depend on it.

    Attributes
    ----------
    estimators_, pairs_, classes_
        The machines, the two class numbers of each, and the classes.
    certificate_, certificates_
        The certificates of all machines as one, and in a list: None for a machine that has none.
        ``check(X, y)`` proves all again.

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
