r"""Texts, one a line, to hashed counts of words and n-grams, in one compiled pass.

The columns are those of ``TextEncoding(hashing=...)``: the words of ``\w\w+`` in lower case, FNV-1a
of their code points, longer n-grams mixed of the hashes of their words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled
from separatrix._sparse import sparse
from separatrix.data.encodings.tokens import _BITS, _PRIME, _TABLE_SIZES, _kinds_table
from separatrix.data.encodings.words import _MIX, TextEncoding

__all__ = ["hash_texts"]

_NEWLINE = 10


@compiled
def _hash_lines(  # type: ignore[no-untyped-def]
    text, is_word, width, low, high, binary, places, hashes, indices, values, starts
):
    """Write the features of each line; return how many there are."""
    filled = 0
    row = 0
    at = 0
    end = text.shape[0]
    starts[0] = 0
    while row < starts.shape[0] - 1:
        first = filled
        words = 0
        while at < end and text[at] != _NEWLINE:
            if not is_word[text[at]]:
                at += 1
                continue
            begin = at
            mixed = 0
            while at < end and is_word[text[at]]:
                mixed = ((mixed ^ int(text[at])) * _PRIME) & _BITS
                at += 1
            if at - begin < 2:
                continue
            mixed ^= mixed >> 15
            hashes[words] = mixed
            words += 1
            for length in range(low, min(high, words) + 1):
                gram = hashes[words - length]
                for word in range(words - length + 1, words):
                    gram = (gram * _MIX + hashes[word]) & _BITS
                feature = gram % width
                place = places[feature]
                if place >= first:
                    if not binary:
                        values[place] += 1.0
                else:
                    places[feature] = filled
                    indices[filled] = feature
                    values[filled] = 1.0
                    filled += 1
        at += 1
        row += 1
        starts[row] = filled
    # Where features stood here must not be taken for the next chunk's.
    for k in range(filled):
        places[indices[k]] = -1
    return filled


class _Places:
    """For each width, where each feature last stood: -1 between calls."""

    by_width: dict[int, NDArray[np.int64]] = {}

    @classmethod
    def of(cls, width: int) -> NDArray[np.int64]:
        if width not in cls.by_width:
            cls.by_width = {width: np.full(width, -1, dtype=np.int64)}
        return cls.by_width[width]


def hash_texts(texts: list[str], encoding: TextEncoding) -> Any:
    """Return the texts, none of which holds a line's end, as rows of hashed counts.

    >>> X = hash_texts(["The cat, the été", "a cat"], TextEncoding(hashing=16))
    >>> (X != TextEncoding(hashing=16).encode(["The cat, the été", "a cat"])).nnz
    0
    """
    joined = "\n".join(texts).lower()
    text = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    highest = int(text.max()) if len(text) else 0
    table = _kinds_table(next(size for size in _TABLE_SIZES if size > highest), False)
    low, high = encoding.ngrams
    most = (len(text) // 2 + 1) * (high - low + 1)
    indices, values = np.empty(most, dtype=np.int32), np.empty(most)
    starts = np.empty(len(texts) + 1, dtype=np.int32)
    filled = _hash_lines(
        text, table, encoding.hashing, low, high, encoding.weighting == "binary",
        _Places.of(encoding.hashing), np.empty(len(text) // 2 + 1, dtype=np.int64),
        indices, values, starts,
    )  # fmt: skip
    return sparse.csr_array(
        (values[:filled], indices[:filled], starts), shape=(len(texts), encoding.hashing)
    )
