"""Many classes by one machine a class, against all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators._many import ManyClasses, Task

__all__ = ["OneVsRest"]


class OneVsRest(ManyClasses):
    """One machine a class, set against all other classes; the largest score wins.

    Parameters
    ----------
    estimator
        Any two-class classifier, of this library or of scikit-learn, with ``decision_function`` or
        ``predict_proba``.
    n_jobs : int or None
        Threads over the machines; None uses every core. The answer does not depend on it.

    Attributes
    ----------
    estimators_, classes_
        The machines, one a class (one alone for two classes), and the classes.
    certificate_, certificates_
        The certificates of all machines as one, and in a list: None for a machine that has none.
        ``check(X, y)`` proves all again.

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
