"""Classes as signed rows: the view ``z_i = y_i [1, x_i]`` of two classes, Kesler's of many.

A hyperplane ``w = [b, w_1 ... w_d]`` separates the classes when ``w.z_i > 0`` for every row i. The
rows z are never built: they are X and the signs, looked at together.

K weight vectors classify a row by the largest of ``w_k.[1, x]``. "Class k beats class l on row i"
is one linear inequality in the stacked weights ``w = [w_1 ... w_K]``: its signed row holds
``[1, x_i]`` in block k and ``-[1, x_i]`` in block l. So n samples of K classes are n (K - 1) signed
rows, and what finds a separating w for two classes finds one for many. These rows are not built
either, but by `two_classes_of`, which exact arithmetic decides about.

How far points are from the conditions that hold at the optimum (Karush, Kuhn, Tucker).

In plain float64, for those who look at them: no claim rests on these numbers.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from separatrix._device import on_host
from separatrix._sparse import sparse as sp
from separatrix.errors import DataError
from separatrix.problem.device_rows import DeviceRows

FloatArray = np.ndarray[Any, np.dtype[np.floating[Any]]]
_CHECKED = "_separatrix_checked"  # marks a matrix that `as_matrix` returned
_INT32_LIMIT = np.iinfo(np.int32).max

Matrix = Any  # a dense array, a CSR matrix or rows on a device, as `as_matrix` returns them


def on_device(X: Any) -> bool:
    """Whether X is rows on a device.

    >>> on_device(np.zeros((2, 2)))
    False
    """
    return isinstance(X, DeviceRows)


def as_matrix(X: Any) -> Matrix:
    """Return X as a C-ordered float array or a CSR matrix without duplicates; copy only if needed.

    Rows on a device stay there; a tensor that stands for itself comes to the processor.

    >>> as_matrix(np.array([[1, 2]])).dtype
    dtype('float64')
    """
    refuse_rounded(X)
    if sp.issparse(X):
        if getattr(X, _CHECKED, False):
            return X
        try:
            # A new matrix on the same arrays, so that the mark is not the caller's to keep.
            given = (X.data, X.indices, X.indptr) if X.format == "csr" else X
            csr = sp.csr_array(given, shape=X.shape)
            # The loops do not look twice: an index out of range would read foreign memory.
            csr.check_format(full_check=True)
        except ValueError as error:
            raise DataError(f"X is not a well-formed CSR matrix: {error}.") from error
        if not csr.has_canonical_format:  # added up as they are stored, as `toarray` does
            csr = csr.copy()
            csr.sum_duplicates()
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
        if csr.indices.dtype != np.int32 and max(csr.nnz, *csr.shape) < _INT32_LIMIT:
            # Half the index traffic in every pass, and one compiled version of every loop.
            indices, starts = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
            csr = sp.csr_array((csr.data, indices, starts), shape=csr.shape)
        setattr(csr, _CHECKED, True)
        return csr
    if on_device(X):
        return X
    X = np.asarray(X if isinstance(X, np.ndarray) else on_host(X))
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return np.ascontiguousarray(X, dtype=dtype)


def entries_of(X: Matrix) -> int:
    """Return how many entries are stored.

    >>> entries_of(np.eye(3))
    9
    """
    return int(X.nnz if sp.issparse(X) else X.shape[0] * X.shape[1])


def refuse_rounded(X: Any, name: str = "X") -> None:
    """Refuse numbers that float64 would round: what is proved would be of other data.

    These are whole numbers beyond 2^53, and long floats. Decimals are rounded, as in any file.
    Sparse matrices are refused too whose row starts are out of order.

    >>> refuse_rounded(np.array([[2**53]]))
    """
    if isinstance(X, np.ndarray):
        _refuse_rounded_values(X, name)
    elif sp.issparse(X):
        if not getattr(X, _CHECKED, False):
            _refuse_rounded_entries(X)
    elif not on_device(X):
        for values in _columns_of(on_host(X)):
            _refuse_rounded_values(values, name)


def _refuse_rounded_values(values: np.ndarray, name: str) -> None:
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "c":
        raise DataError(f"Complex data not supported. Give real and imaginary parts of {name}.")
    if kind in "iu" and size == 8:
        is_rounded = bool(((values > 2**53) | (values < -(2**53))).any())
    elif kind == "f" and size > 8:
        with np.errstate(over="ignore"):
            is_rounded = bool(((values.astype(np.float64) != values) & (values == values)).any())
    elif kind == "O":
        is_rounded = any(map(_is_rounded, values.ravel().tolist()))
    else:
        return
    if is_rounded:
        raise DataError(
            f"{name} has whole numbers beyond 2^53, or long floats, which float64 does not hold. "
            "Divide them, or subtract a constant, before they are converted."
        )


def _is_rounded(value: Any) -> bool:
    """Whether a whole number is not the float64 next to it."""
    return isinstance(value, int | np.integer) and not -(2**53) <= int(value) <= 2**53


def _refuse_rounded_entries(X: Any) -> None:
    """Look at the entries of a sparse matrix once those of one place are added up."""
    if X.format in ("csr", "csc", "bsr"):
        starts = X.indptr
        in_order = starts[0] == 0 and starts[-1] <= len(X.indices) and (np.diff(starts) >= 0).all()
        if not in_order:  # SciPy looks at them only where there are entries
            raise DataError("X is not a well-formed sparse matrix: its row starts do not ascend.")
    if X.dtype in (np.float32, np.float64):
        return
    if X.format in ("csr", "csc", "bsr"):
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise DataError(f"X is not a well-formed sparse matrix: {error}.") from error
    csr = sp.csr_array(X, copy=True)
    csr.sum_duplicates()
    _refuse_rounded_values(csr.data, "X")


def _columns_of(X: Any) -> Iterator[np.ndarray]:
    """Yield what a table or a list holds, before anything is rounded."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        yield from (
            column.drop_nulls().to_numpy()
            for column in frame.iter_columns()
            if column.dtype.is_integer() or column.dtype == nw.Object
        )
        return
    values = np.asarray(X)
    is_large = values.dtype.kind == "f" and bool((abs(values) >= 2**53).any())
    yield np.asarray(X, dtype=object) if is_large else values


Found = TypeVar("Found")


class Known:
    """What was computed from X alone, once, for many problems that share it.

    >>> known = Known()
    >>> known.get("sum", lambda: 1 + 2), known.get("sum", lambda: 1 / 0)
    (3, 3)
    """

    def __init__(self) -> None:
        self._lock, self._found = threading.RLock(), dict[Hashable, Any]()

    def get(self, name: Hashable, make: Callable[[], Found]) -> Found:
        """Return what was made under this name; make it where it was not."""
        with self._lock:
            if name not in self._found:
                self._found[name] = make()
            found: Found = self._found[name]
            return found


@dataclass(frozen=True, eq=False)
class SignedProblem:
    """Find w with ``w.z_i > 0`` for every row.

    >>> problem = SignedProblem(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]))
    >>> problem.signed_rows()
    array([[ 1.,  2.],
           [-1.,  1.]])
    >>> problem.margins(np.array([0.0, 1.0]))
    array([2., 1.])
    """

    X: Matrix
    signs: FloatArray
    fit_intercept: bool = True
    known: Known | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", as_matrix(self.X))
        object.__setattr__(self, "signs", np.ascontiguousarray(self.signs, dtype=np.float64))
        object.__setattr__(self, "fit_intercept", bool(self.fit_intercept))

    def once(self, name: Hashable, make: Callable[[], Found]) -> Found:
        """Return what `make` computes from X; where problems share X, that of the first of them."""
        return make() if self.known is None else self.known.get(name, make)

    @property
    def n_samples(self) -> int:
        """The number of rows of X."""
        return int(self.X.shape[0])

    @property
    def n_rows(self) -> int:
        """The number of signed rows: as many as samples."""
        return self.n_samples

    @property
    def dimension(self) -> int:
        """The length of w, the intercept included."""
        return int(self.X.shape[1]) + 1

    def weights(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Split w into coefficients (1 x d) and intercept (1,), as scikit-learn shapes them."""
        return w[None, 1:].copy(), w[:1] * self.fit_intercept

    def homogeneous(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """Join coefficients and intercept into one w."""
        return np.concatenate([np.ravel(intercept), np.ravel(coef)])

    def margins(self, w: FloatArray) -> FloatArray:
        """Return every ``w.z_i``, computed in float64."""
        bias = w[0] if self.fit_intercept else 0.0
        scores: FloatArray = self.signs * (self.X @ w[1:] + bias)
        return scores

    def signed_rows(self) -> FloatArray:
        """Build the rows z: for small problems, pictures and tests."""
        X = self.X.toarray() if sp.issparse(self.X) else self.X
        ones = np.full((self.n_samples, 1), float(self.fit_intercept))
        return self.signs[:, None] * np.hstack([ones, X.astype(np.float64)])


# ---- many classes: Kesler's construction

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
        object.__setattr__(self, "fit_intercept", bool(self.fit_intercept))

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


# ---- how far points are from the conditions that hold at the optimum (Karush, Kuhn, Tucker)


_VISIBLE = 1e-6
# A multiplier this close to its cost is at its cost: the exact balance moved it by rounding.
_NEAR = 1e-12


@dataclass(frozen=True)
class Violation:
    """One kind of optimality condition: how many rows miss it visibly, and the most any does."""

    kind: str
    rows: int
    largest: float

    @classmethod
    def of(cls, kind: str, misses: np.ndarray) -> Violation:
        """Count the misses that are visible."""
        return cls(kind, int((misses > _VISIBLE).sum()), float(misses.max(initial=0.0)))


def violations(
    loss: str,
    costs: np.ndarray,
    alpha: np.ndarray,
    margins: np.ndarray,
    w: np.ndarray,
    ridge: float,
    total: np.ndarray,
) -> tuple[Violation, ...]:
    """List them for two classes: `total` is the sum of rows that the multipliers alpha make."""
    used = costs > 0.0
    a, c, m = alpha[used], costs[used], margins[used]
    found: list[Violation] = []
    with np.errstate(over="ignore", invalid="ignore"):
        if loss == "hinge" or np.isinf(c).any():
            idle, bound = a == 0.0, a >= (1.0 - _NEAR) * c
            between = abs(m - 1.0)[~idle & ~bound]
            found += [
                Violation.of("no multiplier, yet a margin below 1", (1.0 - m)[idle]),
                Violation.of("multiplier at its cost, yet a margin above 1", (m - 1.0)[bound]),
                Violation.of("multiplier between, yet a margin that is not 1", between),
            ]
        else:
            square = loss == "squared_hinge"
            slope = 2.0 * np.maximum(0.0, 1.0 - m) if square else 0.5 * (1.0 - np.tanh(m / 2.0))
            off = abs(a / c - slope)
            found.append(Violation.of("multiplier that is not the loss's slope", off))
        found.append(_off_the_sum(w, ridge, total))
    return tuple(found)


def violations_by_class(
    costs: np.ndarray,
    rows: np.ndarray,
    rivals: np.ndarray,
    multipliers: np.ndarray,
    slopes: np.ndarray,
    codes: np.ndarray,
    W: np.ndarray,
    totals: np.ndarray,
) -> tuple[Violation, ...]:
    """List them for many classes at once; `slopes` are 1[k != y] + score_k."""
    with np.errstate(over="ignore", invalid="ignore"):
        highest = slopes.max(axis=1, initial=-math.inf)
        farther = (highest[rows] - slopes[rows, rivals])[multipliers > 0.0]
        spent = np.bincount(rows, multipliers, minlength=len(codes))
        left = costs - spent > _NEAR * costs
        short = (highest - slopes[np.arange(len(codes)), codes])[left]
        return (
            Violation.of("multiplier for a class that is not the nearest", farther),
            Violation.of("multipliers below the cost, yet a margin below 1", short),
            _off_the_sum(W, 1.0, totals),
        )


def _off_the_sum(w: np.ndarray, ridge: float, total: np.ndarray) -> Violation:
    """Say how far weights are from the sum of rows that multipliers make, as a share of both."""
    length = float(np.linalg.norm(w))
    away = float(np.linalg.norm(ridge * w - total)) / length if length > 0.0 else 0.0
    return Violation.of("weights that are not the sum of rows", np.array([away]))
