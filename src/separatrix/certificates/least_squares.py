"""How far weights can be from the least-squares optimum: a certificate to be checked again.

What is proved, and how, stands in `least_squares_bounds`. Nothing here knows how the weights were
found.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.canonical import named_rows
from separatrix.certificates.enclosed_sums import ROOM
from separatrix.certificates.json_form import named_json
from separatrix.certificates.least_squares_bounds import prove
from separatrix.problem.signed import as_matrix

__all__ = ["LeastSquaresOptimality", "check_least_squares", "targets_of"]

_ROWS_AT_A_TIME = 65536


@dataclass(frozen=True)
class LeastSquaresOptimality:
    """Weights, and how far from the optimum of `task` they can be at the most.

    `perturbation`: they are the exact solution of data that differ by no more than this share.
    `gap`: the objective is above its minimum by no more than this share of itself (1 says nothing).
    `objective` is rounded up, and `least` is below every objective there is.
    """

    weights: tuple[tuple[float, ...], ...]
    ridge: float
    intercept: bool
    task: str
    objective: float
    least: float
    perturbation: float
    gap: float
    tolerance: float
    dense: bool
    data_sha256: str
    n_rows: int
    n_features: int
    rows_sha256: str = ""  # of rows and classes alone, by which a file names them
    names: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether either bound is within the tolerance."""
        return min(self.perturbation, self.gap) <= self.tolerance

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        X, y, T, s = _given(self.in_its_form(X), y, sample_weight, self.task)
        W = np.array(self.weights)
        fits = (self.n_rows, self.n_features) == X.shape and W.shape == (T.shape[1], X.shape[1] + 1)
        if not fits or _sha256(X, T, s) != self.data_sha256:
            return False
        if (self.rows_sha256, self.names) not in (("", ()), _named(X, y, s, self.task)):
            return False
        objective, least, perturbation, gap = prove(X, T, s, W, self.ridge, self.intercept)
        return bool(
            objective <= self.objective
            and least >= self.least
            and perturbation <= self.perturbation
            and gap <= self.gap
        )

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        names = "ridge", "weights", "objective", "least", "gap"
        claim = {name: getattr(self, name) for name in names}
        return named_json("least-squares", self, (self.n_rows, self.n_features), claim)

    def in_its_form(self, X: Any) -> Any:
        """Return X dense or sparse, as it was: sparse rows are not moved, and round otherwise."""
        if sp.issparse(X) == self.dense:
            return X.toarray() if self.dense else sp.csr_array(X)
        return X

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        said = f"the exact solution of data that differ by at most {self.perturbation:.1e}"
        if self.gap < 1.0:
            said += f"; the squared error is within {self.gap:.1e} of the least possible"
        return f"proved: {said}" if self.holds else f"not to the tolerance, but proved: {said}"


def targets_of(y: Any, task: str) -> np.ndarray:
    """Return what is to be fitted: signs for two classes, 1-of-K codes for more, or the values.

    >>> targets_of(["a", "c", "b"], "classification").tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    if task == "regression":
        values = np.asarray(y, dtype=np.float64)
        return values.reshape(len(values), -1)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) <= 2:
        return np.where(codes == len(classes) - 1, 1.0, -1.0)[:, None]
    return np.eye(len(classes))[codes]


def check_least_squares(
    X: Any,
    y: Any,
    coef: np.ndarray,
    intercept: np.ndarray,
    *,
    sample_weight: Any = None,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    task: str = "classification",
    tolerance: float = 1e-9,
) -> LeastSquaresOptimality:
    """Compute both bounds from the data, rounding outwards."""
    X, y, T, s = _given(X, y, sample_weight, task)
    W = np.column_stack([intercept, coef])
    objective, least, perturbation, gap = prove(X, T, s, W, ridge, fit_intercept, ROOM)
    rows_sha256, names = _named(X, y, s, task)
    return LeastSquaresOptimality(
        weights=tuple(tuple(row) for row in W.tolist()),
        ridge=float(ridge),
        intercept=fit_intercept,
        task=task,
        objective=objective,
        least=least,
        perturbation=perturbation,
        gap=gap,
        tolerance=float(tolerance),
        dense=not sp.issparse(X),
        data_sha256=_sha256(X, T, s),
        n_rows=len(T),
        n_features=int(X.shape[1]),
        rows_sha256=rows_sha256,
        names=names,
    )


def _given(
    X: Any, y: Any, sample_weight: Any, task: str
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels, targets and weights; rows of weight 0 are not there."""
    X = as_matrix(X).astype(np.float64, copy=False)
    y = np.asarray(y)
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    s = np.broadcast_to(s, len(y))
    if (s == 0.0).any():
        X, y, s = X[s > 0.0], y[s > 0.0], s[s > 0.0]
    return X, y, targets_of(y, task), np.ascontiguousarray(s)


def _named(X: Any, y: Any, s: np.ndarray, task: str) -> tuple[str, tuple[str, ...]]:
    return named_rows(X, y, s) if task == "classification" else ("", ())


def _sha256(X: Any, T: np.ndarray, s: np.ndarray) -> str:
    """Fingerprint the data in canonical form: dense and sparse copies are the same data."""
    digest = hashlib.sha256(b"separatrix-least-squares-1\n")
    digest.update(np.array([*X.shape, T.shape[1]], dtype="<i8").tobytes())
    for begin in range(0, X.shape[0], _ROWS_AT_A_TIME):
        piece = X[begin : begin + _ROWS_AT_A_TIME]
        if sp.issparse(piece):
            piece = sp.csr_array(piece, copy=True)
            piece.eliminate_zeros()
            piece.sort_indices()
            starts, columns, values = piece.indptr, piece.indices, piece.data
        else:
            there = piece != 0.0
            starts = np.append(0, np.cumsum(there.sum(axis=1)))
            columns, values = (
                np.broadcast_to(np.arange(X.shape[1]), there.shape)[there],
                piece[there],
            )
        for part, form in ((starts, "<i8"), (columns, "<i8"), (values, "<f8")):
            digest.update(np.ascontiguousarray(part, dtype=form).data)
    digest.update(T.astype("<f8").tobytes())
    digest.update(s.astype("<f8").tobytes())
    return digest.hexdigest()
