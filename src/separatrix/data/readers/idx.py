"""IDX files, as MNIST and its kin come: images in one file, their labels in another beside it."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.sources.streams import Source, open_source
from separatrix.errors import DataError

__all__ = ["is_idx", "parse_idx", "read_labels_beside"]

_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def is_idx(data: bytes) -> bool:
    """Whether the first four bytes are those of an IDX file."""
    return len(data) >= 8 and data[:2] == b"\0\0" and data[2] in _TYPES and 1 <= data[3] <= 4


def parse_idx(source: Source) -> NDArray[Any]:
    r"""Return the array an IDX file holds.

    >>> parse_idx(Source("x", b"\0\0\x08\x01\0\0\0\x02\x05\x07", "", "", "")).tolist()
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
