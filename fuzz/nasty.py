"""Small problems that floating point dislikes, each drawn from a seed.

Sizes from 1e-300 to 1e300 (of all entries, of columns, of rows), equal rows with opposite labels,
constant and zero columns, collinear points, fewer rows than columns, one row a class, sample
weights of 0, 1e-300 and 1e300, every dtype and sparse layout that the library takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Nasty", "cost", "laid_out", "nasty"]

# Most rows and columns: nearly every fault that was found shows on few of both.
_SIZES = ((6, 3), (12, 6), (40, 12))
_SHARES = (0.8, 0.17, 0.03)


@dataclass(eq=False)
class Nasty:
    """Data as handed over (`X`, `y`, `weights`), and what they hold: `dense` and `codes`."""

    X: Any
    y: Any
    weights: np.ndarray | None
    dense: np.ndarray
    codes: np.ndarray
    n_classes: int
    layout: str

    def __str__(self) -> str:
        """Say what it takes to make the data again."""
        said = f"X={self.dense.tolist()}, y={self.codes.tolist()}, layout={self.layout}"
        return said if self.weights is None else f"{said}, weights={self.weights.tolist()}"


def nasty(
    rng: Any, n_classes: int = 2, weighted: bool = False, largest: float = 300.0, few: bool = False
) -> Nasty:
    """Draw a problem, of `few` rows if asked; no entry is beyond 10 to the power `largest`."""
    size = int(rng.choice(3, p=_SHARES))
    most_rows, most_columns = _SIZES[min(size, 1) if few else size]
    d = int(rng.integers(1, most_columns + 1))
    n = int(rng.integers(n_classes, max(n_classes, most_rows) + 1))
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    rng.shuffle(codes)
    X = _places(rng, codes, d)
    X = _sizes(rng, X, largest)
    X, codes = _degenerate(rng, X, codes)
    weights = _weights(rng, codes, n_classes) if weighted and rng.random() < 0.5 else None
    given, dense, layout = laid_out(rng, X)
    return Nasty(given, _labels(rng, codes, n_classes), weights, dense, codes, n_classes, layout)


def cost(rng: Any, infinite: float = 0.1) -> float:
    """Draw a C: from 1e-12 to 1e12, or infinity."""
    if rng.random() < infinite:
        return float("inf")
    kinds = [1.0, float(10.0 ** rng.integers(-12, 13)), float(10.0 ** rng.uniform(-12, 12))]
    return kinds[int(rng.integers(3))]


def _places(rng: Any, codes: np.ndarray, d: int) -> np.ndarray:
    n, kind = len(codes), int(rng.integers(6))
    apart = float(rng.choice([0.0, 0.5, 2.0, 10.0]))
    X = rng.normal(size=(n, d)) + apart * codes[:, None]
    if kind == 1:
        X = np.round(2.0 * X)
    elif kind == 2:
        X = rng.integers(-2, 3, size=(n, d)).astype(float)
    elif kind == 3:  # on one line
        X = np.outer(rng.normal(size=n) + apart * codes, rng.normal(size=d))
    elif kind == 4:  # small differences far from the origin
        X = X + 10.0 ** rng.integers(2, 10)
    elif kind == 5:
        X = np.round(X, 1)
    return np.asarray(X)


def _sizes(rng: Any, X: np.ndarray, largest: float) -> np.ndarray:
    n, d = X.shape
    reach = largest - 12.0
    kind = int(rng.integers(8))
    powers = np.zeros((n, d))
    moderate = min(reach, float(rng.choice([3.0, 8.0, 30.0, 150.0, 288.0])))
    if kind in (1, 5):
        powers = powers + rng.uniform(-moderate, moderate)
    if kind in (2, 5, 6):
        powers = powers + rng.uniform(-moderate, moderate, size=(1, d))
    if kind in (3, 6):
        powers = powers + rng.uniform(-moderate, moderate, size=(n, 1))
    if kind == 4:
        powers = rng.uniform(-moderate, moderate, size=(n, d))
    scale = 10.0 ** np.clip(powers, -300.0, reach)
    if kind == 5 or rng.random() < 0.5:
        scale = 2.0 ** np.round(np.log2(scale))
    return np.asarray(X * scale)


def _degenerate(rng: Any, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n, d = X.shape
    X = X.copy()
    if rng.random() < 0.15:  # equal rows, labels as they come
        X[rng.integers(n)] = X[rng.integers(n)]
    if rng.random() < 0.1:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0, -3.7e9, 1e-200, 0.1])
    if rng.random() < 0.1 and d > 1:
        X[:, 0] = X[:, 1] * rng.choice([1.0, -2.0, 1.0 + 2.0**-40])
    if rng.random() < 0.1:
        X[rng.random(size=X.shape) < 0.4] = 0.0
    if rng.random() < 0.05:
        X[rng.integers(n)] = 0.0
    if rng.random() < 0.05:
        X = np.nextafter(X, np.inf)
    return X, codes


def _weights(rng: Any, codes: np.ndarray, n_classes: int) -> np.ndarray:
    n, kind = len(codes), int(rng.integers(6))
    weights = rng.integers(0, 4, size=n).astype(float)
    if kind == 1:
        weights = 10.0 ** rng.uniform(-12, 12, size=n)
    elif kind == 2:
        weights = 10.0 ** rng.uniform(-300, -280, size=n)
    elif kind == 3:
        weights = rng.choice([0.0, 1e-300, 1.0, 1e12], size=n)
    elif kind == 4:
        weights = np.full(n, float(rng.choice([0.1, 1e-305, 1e280, 3.0])))
    elif kind == 5:
        weights = rng.random(size=n)
    if rng.random() < 0.7:  # else a class may have no row that counts: to be refused
        first = [int(np.flatnonzero(codes == k)[0]) for k in range(n_classes)]
        weights[first] = np.where(weights[first] == 0.0, 1.0, weights[first])
    return np.asarray(weights)


def _labels(rng: Any, codes: np.ndarray, n_classes: int) -> Any:
    kind = int(rng.integers(6))
    if kind == 0 and n_classes == 2:
        return codes.astype(bool)
    if kind == 1:
        return np.array([f"c{k}" for k in range(n_classes)])[codes]
    if kind == 2:
        return (codes * 3 - 4).tolist()
    if kind == 3:
        return codes.astype(np.float64) - 1.0
    return codes.copy()


def laid_out(rng: Any, X: np.ndarray) -> tuple[Any, np.ndarray, str]:
    """Return X in some dtype and layout, and the numbers that it then holds."""
    kind, largest = int(rng.integers(14)), float(abs(X).max(initial=0.0))
    if kind == 0 and largest < 3e38:
        X = X.astype(np.float32)
    if kind == 12 and largest < 6e4:
        X = X.astype(np.float16)
    if kind == 13:
        X = X > 0.0
    if kind == 1 and largest < 2.0**53:
        X = np.round(X).astype(rng.choice([np.int64, np.int32]) if largest < 2e9 else np.int64)
    dense, name = X.astype(np.float64), str(X.dtype)
    if kind == 2:
        return np.asfortranarray(X), dense, f"{name} Fortran"
    if kind == 3:
        return X.tolist(), dense, "lists"
    if kind in (4, 5):
        return _csr(rng, X), dense, f"{name} CSR, unsorted, with zeros and duplicates"
    if kind == 6:
        return sp.csc_array(X), dense, f"{name} CSC"
    if kind == 7:
        return sp.csr_matrix(X), dense, f"{name} CSR matrix"
    if kind == 8:
        return np.repeat(X, 2, axis=0)[::2], dense, f"{name} with strides"
    return X, dense, name


def _csr(rng: Any, X: np.ndarray) -> sp.csr_array:
    """Return CSR with shuffled columns, stored zeros, and entries as sums that do not round."""
    values: list[Any] = []
    places: list[int] = []
    starts = [0]
    wide = rng.random() < 0.5
    for row in X:
        entries = [(j, v) for j, v in enumerate(row) if v != 0.0 or rng.random() < 0.3]
        for j, v in list(entries):
            if rng.random() < 0.2 and v * 0.5 * 2.0 == v:
                entries.remove((j, v))
                entries += [(j, v * 0.5), (j, v * 0.5)]
        rng.shuffle(entries)
        places += [int(j) for j, _ in entries]
        values += [v for _, v in entries]
        starts.append(len(values))
    kind = np.int64 if wide else np.int32
    data = np.array(values, dtype=X.dtype)
    parts = (data, np.array(places, dtype=kind), np.array(starts, dtype=kind))
    return sp.csr_array(parts, shape=X.shape)
