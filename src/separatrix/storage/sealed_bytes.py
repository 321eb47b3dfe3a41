r"""A JSON header and arrays in one piece, under a SHA-256: read whole and unaltered, or refused.

bytes       what
0 .. 7      the name of the format
8 .. 39     SHA-256 of everything else: the name and all that follows
40 .. 47    the length of the header, little-endian
48 ..       the header: JSON, UTF-8
then        the arrays: safetensors, to the end
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np

from separatrix.errors import ModelFileError

_HASH_AT, _LENGTH_AT, _HEADER_AT = 8, 40, 48


def seal(name: bytes, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return header and arrays as one piece; the arrays must be C-ordered.

    >>> unseal(b"EXAMPLE1", seal(b"EXAMPLE1", {"a": 1}, {"b": np.zeros(2)}))
    ({'a': 1}, {'b': array([0., 0.])})
    """
    from safetensors.numpy import save

    # Half of a surrogate pair may stand in a word of the data, and must come back as it was.
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    body = struct.pack("<Q", len(text)) + text + save(arrays)
    return name + hashlib.sha256(name + body).digest() + body


def unseal(name: bytes, contents: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays; every fault is a `ModelFileError`."""
    from safetensors.numpy import load

    if not contents.startswith(name):
        raise ModelFileError("this is not a file of the kind expected.")
    digest = hashlib.sha256(name)
    digest.update(memoryview(contents)[_LENGTH_AT:])
    if len(contents) < _HEADER_AT or digest.digest() != contents[_HASH_AT:_LENGTH_AT]:
        raise ModelFileError(
            "the file is damaged or was altered: its SHA-256 is not the one it states. "
            "Get it anew from where it was saved."
        )
    (length,) = struct.unpack_from("<Q", contents, _LENGTH_AT)
    if length > len(contents) - _HEADER_AT:
        raise ModelFileError("the header is longer than the file.")
    end = _HEADER_AT + length
    try:
        header = json.loads(contents[_HEADER_AT:end].decode("utf-8", "surrogatepass"))
        arrays = load(contents[end:])
    except Exception as error:  # the hash is right, so someone wrote it so
        raise ModelFileError(f"the file is not well-formed: {error}") from error
    if not isinstance(header, dict):
        raise ModelFileError("the file is not well-formed: its header is no table of names.")
    return header, arrays
