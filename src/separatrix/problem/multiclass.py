"""Many classes as one signed problem: Kesler's construction.

K weight vectors classify a row by the largest of ``w_k.[1, x]``. "Class k beats class l on row i"
is one linear inequality in the stacked weights ``w = [w_1 ... w_K]``: its signed row holds
``[1, x_i]`` in block k and ``-[1, x_i]`` in block l. So n samples of K classes are n (K - 1) signed
rows, and what finds a separating w for two classes finds one for many. The rows are never built,
but by `two_classes_of`, which exact arithmetic decides about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.problem.signed import FloatArray, Matrix, SignedProblem, as_matrix

_MOST_DENSE = 1 << 25  # entries


def row_and_rival(signed_row: int, codes: np.ndarray, n_classes: int) -> tuple[int, int]:
    """Return the sample that a signed row is made of, and the class that it must beat.

    >>> [row_and_rival(r, np.array([0, 2]), 3) for r in range(4)]
    [(0, 1), (0, 2), (1, 0), (1, 1)]
    """
    sample, place = divmod(signed_row, n_classes - 1)
    return sample, place + int(place >= codes[sample])  # its own class is passed over


@dataclass(frozen=True, eq=False)
class KeslerProblem:
    """Find w whose every true class beats every other class.

    >>> problem = KeslerProblem(np.array([[5.0], [7.0]]), np.array([0, 2]), n_classes=3)
    >>> problem.margins(np.array([1.0, 0.0, 0.0, 1.0, 0.0, 2.0])).tolist()
    [-4.0, -9.0, 13.0, 7.0]
    """

    X: Matrix
    codes: np.ndarray
    n_classes: int
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", as_matrix(self.X))
        object.__setattr__(self, "codes", np.ascontiguousarray(self.codes, dtype=np.int64))

    @property
    def n_samples(self) -> int:
        """The number of rows of X."""
        return int(self.X.shape[0])

    @property
    def n_rows(self) -> int:
        """The number of signed rows: one for each sample and each class it must beat."""
        return self.n_samples * (self.n_classes - 1)

    @property
    def dimension(self) -> int:
        """The length of the stacked w."""
        return self.n_classes * (int(self.X.shape[1]) + 1)

    def weights(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Split w into coefficients (K x d) and intercepts (K,)."""
        stacked = w.reshape(self.n_classes, -1)
        return stacked[:, 1:].copy(), stacked[:, 0] * self.fit_intercept

    def homogeneous(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """Join coefficients and intercepts into one w."""
        return np.hstack([np.asarray(intercept)[:, None], coef]).ravel()

    def margins(self, w: FloatArray) -> FloatArray:
        """Return by how much the true class beats each other class, in the order of the rows."""
        coef, intercept = self.weights(w)
        scores = self.X @ coef.T + (intercept if self.fit_intercept else 0.0)
        own = scores[np.arange(self.n_samples), self.codes]
        others = np.arange(self.n_classes)[None, :] != self.codes[:, None]
        margins: FloatArray = (own[:, None] - scores)[others]
        return margins


def two_classes_of(X: Matrix, codes: np.ndarray, n_classes: int, intercept: bool) -> SignedProblem:
    """Return Kesler's rows as two classes, over the weights of all classes less those of the first.

    Row i and class k give one row: [1, x_i] in the block of the later of k and i's own class, minus
    that in the block of the earlier one. Its sign says whether the later one is i's own.

    >>> problem = two_classes_of(np.array([[5.0], [7.0]]), np.array([0, 2]), 3, False)
    >>> problem.X.tolist(), problem.signs.tolist()
    ([[5.0, 0.0], [0.0, 5.0], [0.0, 7.0], [-7.0, 7.0]], [-1.0, -1.0, 1.0, 1.0])
    """
    n, K = len(codes), n_classes
    samples, places = np.divmod(np.arange(n * (K - 1)), K - 1)
    own = codes[samples]
    rivals = places + (places >= own)
    earlier, later = np.minimum(own, rivals), np.maximum(own, rivals)
    X = X.astype(np.float64, copy=False)
    sparse = sp.issparse(X) or n * (K - 1) ** 2 * (X.shape[1] + 1) > _MOST_DENSE
    if intercept:
        ones = np.ones((n, 1))
        X = sp.hstack([ones, X], format="csr") if sp.issparse(X) else np.hstack([ones, X])
    rows = sp.csr_array(X)[samples] if sparse else X[samples]
    blocks = []
    for k in range(1, K):
        factors = (later == k).astype(np.float64) - (earlier == k)
        blocks.append(sp.diags_array(factors) @ rows if sparse else factors[:, None] * rows)
    stacked: Matrix = sp.hstack(blocks, format="csr") if sparse else np.hstack(blocks)
    if sparse:
        stacked.eliminate_zeros()
    return SignedProblem(stacked, np.where(later == own, 1.0, -1.0), False)
