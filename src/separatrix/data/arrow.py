"""Arrow arrays from and to NumPy, by their buffers.

``pa.array(...)``, ``pa.scalar(...)`` and ``array.to_numpy()`` import pandas where it is installed,
which takes longer than reading most files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COPIED = 1 << 26


def opened(data: Any) -> Any:
    """Return a reader of bytes for Arrow's parsers, which work in threads of their own.

    Such a thread may let go of the bytes when Python has ended already; bytes of Python's would
    then end the process with an abort. So Arrow is given a copy, unless there are so many bytes
    that the work on them outlasts those threads.

    >>> opened(b"a,b").read()
    b'a,b'
    """
    import pyarrow as pa

    if len(data) > _COPIED:
        return pa.BufferReader(data)
    own = pa.allocate_buffer(len(data))
    np.frombuffer(own, dtype=np.uint8)[:] = np.frombuffer(data, dtype=np.uint8)
    return pa.BufferReader(own)


def from_numpy(values: NDArray[Any]) -> Any:
    """Return numbers as an Arrow array that shares their memory where it can.

    >>> from_numpy(np.array([1.5, -2.0])).to_pylist()
    [1.5, -2.0]
    """
    import pyarrow as pa

    values = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def from_texts(texts: Sequence[str]) -> Any:
    """Return texts as an Arrow array; half of a surrogate pair raises `UnicodeEncodeError`.

    >>> from_texts(["ab", "", "ü"]).to_pylist()
    ['ab', '', 'ü']
    """
    import pyarrow as pa

    octets = [text.encode() for text in texts]
    ends = np.zeros(len(octets) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in octets], out=ends[1:])
    kind = pa.large_string()
    if ends[-1] < 2**31:
        kind, ends = pa.string(), ends.astype(np.int32)
    parts = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(octets))]
    return pa.Array.from_buffers(kind, len(octets), parts)


def text_scalar(text: str) -> Any:
    """Return a text as Arrow's functions take it beside arrays."""
    return from_texts([text])[0]


def to_numpy(array: Any) -> NDArray[Any]:
    """Return an Arrow array of numbers or truth values; a gap among numbers is NaN.

    >>> to_numpy(from_numpy(np.arange(5))[2:]).tolist()
    [2, 3, 4]
    """
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    part = slice(array.offset, array.offset + len(array))
    kind = array.type.to_pandas_dtype()
    known, held = array.buffers()
    if held is None or not len(array):
        return np.empty(0, dtype=kind)
    if pa.types.is_boolean(array.type):
        return _bits(held)[part]
    values: NDArray[Any] = np.frombuffer(held, dtype=kind)[part]
    if array.null_count:
        return np.where(_bits(known)[part], values, np.nan)
    return values


def _bits(buffer: Any) -> NDArray[np.bool_]:
    octets = np.frombuffer(buffer, dtype=np.uint8)
    return np.unpackbits(octets, bitorder="little").view(np.bool_)
