"""Arrays in files (.npy, .npz, .safetensors, IDX), read without running anything a file says.

    for stored in arrays_in(source): stored.name, stored.shape, stored.take()

Nothing is unpickled: arrays of Python objects are refused. Headers have a largest size and are
matched, never evaluated; what they promise must be what follows, to the byte. Where a file is
mapped into memory, an array is a view of it, and only what is looked at is read.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.sources.streams import LARGEST_EXPANSION, SMALL_ENOUGH, Source, open_source
from separatrix.errors import DataError

ARRAYS = ("npy", "npz", "safetensors")
_NPY, _ZIP = b"\x93NUMPY", b"PK\x03\x04"
_MOST_HEADER = 1 << 16  # of an array; numpy's own are below 200 bytes
_MOST_INDEX = 1 << 22  # of a safetensors file, which may name many tensors
_MOST_ARRAYS = 1000
_MOST_DIMENSIONS = 32
_OBJECTS = "only a pickle can hold, and a pickle can run anything: save numbers"

_ITEM = (
    rb"\s*(?:(['\"])descr\1\s*:\s*(?P<descr>'[^'\\]*'|\"[^\"\\]*\"|\[[^\]]*\])"
    rb"|(['\"])fortran_order\3\s*:\s*(?P<fortran>True|False)"
    rb"|(['\"])shape\5\s*:\s*\((?P<shape>[0-9L,\s]*)\))\s*"
)
_HEADER_ITEM = re.compile(_ITEM)
_PLAIN_TYPE = re.compile(r"[<>|=]?[a-zA-Z][0-9]*")
_SAFE_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
    "I16": "<i2", "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
    "BOOL": "|b1",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array of a file: what its header says, and how to get at it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    take: Callable[[], NDArray[Any]] = field(repr=False)


def array_kind(start: bytes) -> str | None:
    """See from the first sixteen bytes which array file this is, if it is one.

    >>> array_kind(b"\\x93NUMPY\\x01\\x00"), array_kind(b"1,2,3")
    ('npy', None)
    """
    if start.startswith(_NPY):
        return "npy"
    if start.startswith(_ZIP):
        return "npz"
    # A length of eight bytes, far below 2^32, and JSON: no text begins so.
    if len(start) > 8 and start[4:9] == b"\0\0\0\0{":
        return "safetensors"
    return None


def arrays_in(source: Source, max_bytes: int | None = None) -> list[StoredArray]:
    """Return the arrays of a file of any of the three kinds."""
    kind = array_kind(bytes(source.data[:16]))
    if kind == "npz":
        return _npz(source, max_bytes)
    if kind == "safetensors":
        return _safetensors(source)
    if kind != "npy":
        raise source.error("this is no .npy, .npz or .safetensors file")
    octets = source.octets
    head = _header_of(source, bytes(source.data[: _MOST_HEADER + 12]), "")
    head.check_size(source, len(octets))
    return [StoredArray("", head.shape, head.dtype.str, lambda: head.array(octets))]


# ---- .npy


@dataclass(frozen=True)
class _Header:
    dtype: np.dtype[Any]
    fortran: bool
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """The bytes that the numbers take."""
        return math.prod(self.shape) * self.dtype.itemsize

    def check_size(self, source: Source, there: int) -> None:
        """Refuse a file that holds more or less than its header says."""
        if there != self.offset + self.size:
            raise source.error(
                f"the header promises {self.size:,} bytes of numbers, but "
                f"{max(0, there - self.offset):,} follow; get the file again"
            )

    def array(self, octets: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the array as a view of the bytes."""
        return _view(octets[self.offset :], self.dtype, self.shape, "F" if self.fortran else "C")


def _view(
    octets: NDArray[np.uint8], dtype: np.dtype[Any], shape: tuple[int, ...], order: Any = "C"
) -> NDArray[Any]:
    """Return bytes as an array; where they begin between two numbers, a copy."""
    aligned = octets.ctypes.data % max(1, dtype.alignment) == 0
    return (octets if aligned else octets.copy()).view(dtype).reshape(shape, order=order)


def _header_of(source: Source, start: bytes, name: str) -> _Header:
    """Read the header of an array, in the grammar that NumPy writes."""
    said = f" of {name!r}" if name else ""
    width = 2 if start[6:7] == b"\1" else 4
    length = int.from_bytes(start[8 : 8 + width], "little")
    begin = 8 + width
    if start[6:7] not in (b"\1", b"\2", b"\3") or len(start) < begin or length > _MOST_HEADER:
        raise source.error(f"the .npy header{said} is damaged or too long; save it with numpy.save")
    text = start[begin : begin + length]
    found = _items(text)
    if len(text) < length or found is None:
        raise source.error(f"the .npy header{said} is cut short or damaged; get the file again")
    parts = [part.strip(b" L") for part in found["shape"].split(b",") if part.strip()]
    if len(parts) > _MOST_DIMENSIONS or not all(
        part.isdigit() and len(part) < 13 for part in parts
    ):
        raise source.error(f"the .npy header{said} has a shape that no array has; get it again")
    return _Header(
        _dtype(source, found["descr"].decode("latin-1"), name),
        found["fortran"] == b"True",
        tuple(int(part) for part in parts),
        begin + length,
    )


def _items(text: bytes) -> dict[str, bytes] | None:
    """Return the three items of a header, or None where it has not these and no others."""
    text = text.strip()
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return None
    found: dict[str, bytes] = {}
    at, end = 1, len(text) - 1
    while text[at:end].strip():
        item = _HEADER_ITEM.match(text, at, end)
        if item is None:
            return None
        found |= {name: value for name, value in item.groupdict().items() if value is not None}
        at = item.end()
        if text[at : at + 1] == b",":
            at += 1
        elif at < end:
            return None
    return found if len(found) == 3 else None


def _dtype(source: Source, written: str, name: str) -> np.dtype[Any]:
    said = f"the array {name!r}" if name else "the array"
    if written.startswith("["):
        raise source.error(f"{said} holds records; save one array of numbers, and the labels apart")
    written = written[1:-1]
    if "O" in written:
        raise source.error(f"{said} holds Python objects, which {_OBJECTS}")
    try:
        kind = np.dtype(written) if _PLAIN_TYPE.fullmatch(written) else None
    except (TypeError, ValueError):
        kind = None
    if kind is None or kind.itemsize == 0:
        raise source.error(f"{said} is of an unknown type, {written[:40]!r}; save float32")
    return kind


# ---- .npz


def _npz(source: Source, max_bytes: int | None) -> list[StoredArray]:
    limit = max_bytes or max(SMALL_ENOUGH, LARGEST_EXPANSION * len(source.data))
    with _damage(source):
        archive = zipfile.ZipFile(io.BytesIO(source.data))
        members = archive.infolist()
    named = [each for each in members if each.filename.endswith(".npy")]
    if not named or len(members) > _MOST_ARRAYS:
        raise source.error(
            "this is a zip archive without arrays, or with too many; unpack it, or save the arrays "
            "with numpy.savez"
        )
    return [_member(source, archive, each, limit) for each in named]


def _member(source: Source, archive: Any, info: Any, limit: int) -> StoredArray:
    name = info.filename.removesuffix(".npy")
    if info.file_size > limit:
        raise source.error(
            f"the array {name[:40]!r} takes {info.file_size:,} bytes, more than the {limit:,} "
            "allowed; if you trust the file, allow more with max_bytes (--max-bytes)"
        )
    with _damage(source), archive.open(info) as stream:
        start = stream.read(_MOST_HEADER + 12)
    if not start.startswith(_NPY):
        raise source.error(f"{name[:40]!r} is not an array; save the arrays with numpy.savez")
    head = _header_of(source, start, name[:40])
    head.check_size(source, info.file_size)

    def take() -> NDArray[Any]:
        with _damage(source), archive.open(info) as stream:
            contents = stream.read(info.file_size + 1)
        head.check_size(source, len(contents))
        return head.array(np.frombuffer(contents, dtype=np.uint8))

    return StoredArray(name, head.shape, head.dtype.str, take)


class _damage:
    """Turns what a damaged archive does to its reader into one error."""

    _DAMAGES = (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
        RuntimeError, LookupError, OverflowError, MemoryError,
    )  # fmt: skip

    def __init__(self, source: Source) -> None:
        self._source = source

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, self._DAMAGES) and not isinstance(error, DataError):
            said = (str(error).split("\n")[0] or type(error).__name__)[:200]
            raise self._source.error(f"the .npz file is damaged ({said}); get it again") from None


# ---- .safetensors


def _safetensors(source: Source) -> list[StoredArray]:
    octets = source.octets
    length = int.from_bytes(bytes(source.data[:8]), "little")
    if length > min(_MOST_INDEX, len(octets) - 8):
        raise source.error("the header of the .safetensors file is cut short or too long")
    try:
        index = json.loads(bytes(source.data[8 : 8 + length]))
        named = {name: each for name, each in index.items() if name != "__metadata__"}
        return [_tensor(source, name, each, octets[8 + length :]) for name, each in named.items()]
    except DataError:
        raise
    except (ValueError, RecursionError, TypeError, LookupError, AttributeError) as error:
        said = (str(error).split("\n")[0] or type(error).__name__)[:200]
        raise source.error(
            f"the header of the .safetensors file is damaged ({said}); get it again"
        ) from None


def _tensor(source: Source, name: str, said: Any, data: NDArray[np.uint8]) -> StoredArray:
    kind, shape = said["dtype"], tuple(said["shape"])
    begin, end = said["data_offsets"]
    numbers = (*shape, begin, end)
    whole = all(type(number) is int and 0 <= number < 2**40 for number in numbers)
    if not whole or len(shape) > _MOST_DIMENSIONS:
        raise source.error(f"the tensor {name[:40]!r} has a shape or a place that is none")
    if kind not in _SAFE_TYPES:
        raise source.error(
            f"the tensor {name[:40]!r} is of type {str(kind)[:20]}, which cannot be read; save "
            "float32, float16 or bfloat16"
        )
    dtype = np.dtype(_SAFE_TYPES[kind])
    size = math.prod(shape) * dtype.itemsize
    if end - begin != size or end > len(data):
        raise source.error(
            f"the tensor {name[:40]!r} needs {size:,} bytes, and the file has "
            f"{max(0, min(end, len(data)) - begin):,} for it; get the file again"
        )

    def take() -> NDArray[Any]:
        values = _view(data[begin:end], dtype, shape)
        return _from_bfloat16(values) if kind == "BF16" else values

    return StoredArray(name, shape, "bf16" if kind == "BF16" else dtype.str, take)


def _from_bfloat16(halves: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return bfloat16 numbers as float32, whose upper half they are."""
    wide = np.zeros(halves.shape, dtype=np.uint32)
    np.left_shift(halves, 16, out=wide, dtype=np.uint32)
    return wide.view(np.float32)


# ---- IDX, as MNIST and its kin come


_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def is_idx(data: bytes) -> bool:
    """Whether the first four bytes are those of an IDX file."""
    return len(data) >= 8 and data[:2] == b"\0\0" and data[2] in _TYPES and 1 <= data[3] <= 4


def parse_idx(source: Source) -> NDArray[Any]:
    r"""Return the array an IDX file holds.

    >>> parse_idx(Source("x", b"\0\0\x08\x01\0\0\0\x02\x05\x07")).tolist()
    [5, 7]
    """
    data = source.data
    rank = data[3]
    if len(data) < 4 + 4 * rank:
        raise source.error("the IDX file is cut short in its header; get it again", 0)
    shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    kind = np.dtype(_TYPES[data[2]])
    size = kind.itemsize
    for length in shape:
        size *= length
    if size == 0 or len(data) - 4 - 4 * rank != size:
        raise source.error(
            f"the IDX header promises {size:,} bytes, but {len(data) - 4 - 4 * rank:,} follow; "
            "get the file again",
            0,
        )
    return np.frombuffer(data, dtype=kind, offset=4 + 4 * rank).reshape(shape)


def read_labels_beside(images: Source, n_images: int, max_bytes: int | None) -> NDArray[Any]:
    """Read the file of labels that belongs to a file of images, found by its name."""
    path = Path(images.name)
    beside = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    candidates = [beside, beside.with_suffix(""), beside.with_name(beside.name + ".gz")]
    found = next((each for each in candidates if each != path and each.exists()), None)
    if found is None:
        raise DataError(
            f"the labels belong in a file beside it, '{beside.name}', which is not there",
            file=images.name,
        )
    labels = parse_idx(open_source(os.fspath(found), max_bytes))
    if labels.ndim != 1 or len(labels) != n_images:
        raise DataError(
            f"there are {n_images} images, but the labels have the shape {labels.shape}",
            file=os.fspath(found),
        )
    return labels.astype(np.int64)
