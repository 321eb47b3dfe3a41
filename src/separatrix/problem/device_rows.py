"""Dense rows on a device, standing where a matrix stands.

    rows @ w          X w               computed there, in float64 whatever X is stored in
    shares @ rows     X^T shares
    rows[places]      some rows, as a tensor on the device

A problem whose X is of this kind is solved there (`solvers.linear.device`). The rows are brought
over once and serve every class, fold and C; what does not fit comes in chunks, pass by pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from separatrix._device import Chunks, is_tensor, on_host, rows_on, torch_module
from separatrix._sparse import sparse as sp

# So many entries are laid out in float64 at a time: a share of a GPU's memory, or of a cache.
_GPU_ENTRIES, _CPU_ENTRIES = 1 << 26, 1 << 19
# Of so few, float64 copies cost nothing.
_FEW_ENTRIES = 1 << 20

Found = TypeVar("Found")


class DeviceRows:
    """Rows on a device, and what was found out about them."""

    __array_ufunc__ = None  # so that NumPy's products come here

    def __init__(
        self, X: Any, device: Any, *, chunk_rows: int | None = None, given: Any = None
    ) -> None:
        torch = torch_module()
        few = X.shape[0] * X.shape[1] <= _FEW_ENTRIES if len(X.shape) == 2 else False
        kind = torch.float64 if few and chunk_rows is None else None
        # What the caller holds, where that is an array, has the same numbers.
        self.is_the_callers = isinstance(given, np.ndarray) or is_tensor(given)
        self.source, self.device = given if self.is_the_callers else X, device
        self.chunks = Chunks(X, device, dtype=kind, chunk_rows=chunk_rows)
        self.shape = self.chunks.shape
        self.dtype = np.dtype(np.float64 if self.chunks.dtype is torch.float64 else np.float32)
        self._found: dict[str, Any] = {}

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Rows and columns."""
        return 2

    @property
    def size(self) -> int:
        """How many entries there are."""
        return self.shape[0] * self.shape[1]

    def once(self, name: str, make: Callable[[], Found]) -> Found:
        """Return what was made under this name before; make it where it was not."""
        if name not in self._found:
            self._found[name] = make()
        found: Found = self._found[name]
        return found

    def pieces(self) -> Iterator[tuple[int, int, Any]]:
        """Go over the rows once, as (start, stop, tensor), so many that a float64 copy is small."""
        entries = _GPU_ENTRIES if self.device.type == "cuda" else _CPU_ENTRIES
        height = max(1, entries // max(1, self.shape[1]))
        for begin, end, chunk in self.chunks:
            for start in range(begin, end, height):
                stop = min(start + height, end)
                yield start, stop, chunk[start - begin : stop - begin]

    def tensor(self, values: Any) -> Any:
        """Return numbers as float64 on the device."""
        torch = torch_module()
        return torch.as_tensor(np.array(values, dtype=np.float64), device=self.device)

    def __matmul__(self, w: Any) -> np.ndarray:
        """Return X w."""
        right = self.tensor(w)
        out = right.new_empty((self.shape[0], *right.shape[1:]))
        for start, stop, piece in self.pieces():
            out[start:stop] = piece.double() @ right
        return np.asarray(out.cpu().numpy())

    def __rmatmul__(self, shares: Any) -> np.ndarray:
        """Return shares X."""
        left = self.tensor(shares)
        out = left.new_zeros((*left.shape[:-1], self.shape[1]))
        for start, stop, piece in self.pieces():
            out += left[..., start:stop] @ piece.double()
        return np.asarray(out.cpu().numpy())

    def __getitem__(self, places: Any) -> Any:
        """Return some of the rows as a tensor on the device."""
        if self.chunks.is_resident:
            if isinstance(places, np.ndarray):
                places = torch_module().as_tensor(places, device=self.device)
            return self.chunks.tensor[places]
        if is_tensor(self.source) and isinstance(places, np.ndarray):
            places = torch_module().as_tensor(places, device=self.source.device)
        return rows_on(self.source[places], self.device, self.chunks.dtype, check=False)

    def to_host(self) -> np.ndarray:
        """Return all rows as a NumPy array: for few."""
        return np.concatenate([block for _, block in host_blocks(self.source)])


def host_blocks(source: Any, height: int = 1 << 14) -> Iterator[tuple[slice, np.ndarray]]:
    """Go over rows as NumPy arrays, wherever they are.

    >>> [block.shape for _, block in host_blocks(np.zeros((3, 1)), 2)]
    [(2, 1), (1, 1)]
    """
    for start in range(0, source.shape[0], height):
        own = slice(start, min(start + height, source.shape[0]))
        yield own, np.asarray(on_host(source[own]))


# ---- rows in float64, block by block, however they are stored: dense, CSR, or on a device


def blocks(X: Any, entries: int, most_rows: int | None = None) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of so many entries; those on a device have the height that suits it."""
    n, d = X.shape
    if isinstance(X, DeviceRows):
        for start, stop, piece in X.pieces():
            yield slice(start, stop), piece.double()
        return
    most_rows = most_rows or max(n, 1)
    if not sp.issparse(X):
        step = min(most_rows, max(1, entries // max(d, 1)))
        for begin in range(0, n, step):
            rows = slice(begin, min(n, begin + step))
            yield rows, np.asarray(X[rows], dtype=np.float64)
        return
    entries = max(entries, 4 * d)
    if X.nnz <= entries and n <= most_rows and X.dtype == np.float64:
        yield slice(0, n), X
        return
    begin = 0
    while begin < n:
        # At least one row, and as many more as the entries allow.
        end = int(np.searchsorted(X.indptr, int(X.indptr[begin]) + entries, side="right")) - 1
        rows = slice(begin, min(n, begin + most_rows, max(end, begin + 1)))
        first, last = int(X.indptr[rows.start]), int(X.indptr[rows.stop])
        starts = X.indptr[rows.start : rows.stop + 1] - first
        values = np.asarray(X.data[first:last], dtype=np.float64)
        shape = (rows.stop - rows.start, d)
        yield rows, sp.csr_array((values, X.indices[first:last], starts), shape=shape)
        begin = rows.stop


def with_data(block: Any, data: np.ndarray) -> Any:
    """Return the sparse block with other entries."""
    return sp.csr_array((data, block.indices, block.indptr), shape=block.shape)
