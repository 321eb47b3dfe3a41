r"""Words of texts, numbered by compiled loops: the tokens of ``(?u)\b\w\w+\b`` on lower-cased text.

Text is lower-cased by Python itself, so every rule of Unicode holds, and handed to the loop as code
points. A word is a longest run of letters, digits and underscores in any script, of two or more.
Each new word is stored once; the loop returns the number of the word at each place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled

_CHUNK = 1 << 20  # code points at once
_TABLE_SIZES = (0x400, 0x10000, sys.maxunicode + 1)
_PRIME, _BITS = 16777619, 0x7FFFFFFF  # FNV-1a, kept to 31 bits so that no product overflows


class _Memory(NamedTuple):
    """Every word met so far: an open hash table of numbers, and the letters one after another."""

    slots: NDArray[np.int32]
    hashes: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    letters: NDArray[np.uint32]
    sizes: NDArray[np.int64]  # words, letters


@dataclass(frozen=True)
class Tokens:
    """The words of some texts: ``ids`` one text after another, ``ends`` where each text ends."""

    words: list[str]
    hashes: NDArray[np.int64]
    ids: NDArray[np.int64]
    ends: NDArray[np.int64]


@compiled
def _number_words(
    text: NDArray[np.uint32],
    ends: NDArray[np.int64],
    is_word: NDArray[np.bool_],
    memory: _Memory,
    ids: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> int:
    """Write the number of each word; long, since a call per word would double its cost."""
    slots, hashes, starts = memory.slots, memory.hashes, memory.starts
    lengths, letters, sizes = memory.lengths, memory.letters, memory.sizes
    mask = slots.shape[0] - 1
    at = 0
    token = 0
    for document in range(ends.shape[0]):
        end = ends[document]
        first_token = token
        while at < end:
            if not is_word[text[at]]:
                at += 1
                continue
            start = at
            mixed = 0
            while at < end and is_word[text[at]]:
                mixed = ((mixed ^ int(text[at])) * _PRIME) & _BITS
                at += 1
            length = at - start
            if length < 2:
                continue
            mixed ^= mixed >> 15
            slot = mixed & mask
            while True:
                word = slots[slot]
                if word < 0:
                    word = sizes[0]
                    place = sizes[1]
                    slots[slot] = word
                    hashes[word] = mixed
                    starts[word] = place
                    lengths[word] = length
                    for letter in range(length):
                        letters[place + letter] = text[start + letter]
                    sizes[0] += 1
                    sizes[1] += length
                    break
                if hashes[word] == mixed and lengths[word] == length:
                    place = starts[word]
                    same = 0
                    while same < length and letters[place + same] == text[start + same]:
                        same += 1
                    if same == length:
                        break
                slot = (slot + 1) & mask
            ids[token] = word
            token += 1
        counts[document] = token - first_token
    return token


@compiled
def _fill_slots(slots: NDArray[np.int32], hashes: NDArray[np.int64], n_words: int) -> None:
    mask = slots.shape[0] - 1
    slots[:] = -1
    for word in range(n_words):
        slot = hashes[word] & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = word


def _longer(array: NDArray[np.generic], size: int) -> NDArray[np.generic]:
    grown = np.empty(size, dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def _with_room(memory: _Memory, length: int) -> _Memory:
    """Return a memory in which any text of this length finds room."""
    n_words, n_letters = (int(size) for size in memory.sizes)
    words, letters = n_words + length // 3 + 1, n_letters + length
    if len(memory.slots) >= 2 * words and len(memory.letters) >= letters:
        return memory
    n_slots = 1 << (2 * words).bit_length()
    slots = np.empty(n_slots, dtype=np.int32)
    _fill_slots(slots, memory.hashes, n_words)
    by_word = [_longer(field, n_slots) for field in memory[1:4]]
    return _Memory._make([slots, *by_word, _longer(memory.letters, 2 * letters), memory.sizes])


def _empty_memory() -> _Memory:
    numbers = [np.empty(0, dtype=np.int64) for _ in range(3)]
    return _Memory(
        np.empty(0, dtype=np.int32),
        numbers[0],
        numbers[1],
        numbers[2],
        np.empty(0, dtype=np.uint32),
        np.zeros(2, dtype=np.int64),
    )


@lru_cache(maxsize=3)
def _word_table(size: int) -> NDArray[np.bool_]:
    """Mark the code points that belong to words, as the ``re`` module sees them."""
    table = np.zeros(size, dtype=bool)
    letters = np.arange(size, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for run in re.finditer(r"\w+", letters):
        table[run.start() : run.end()] = True
    return table


def _chunks(documents: Sequence[str]) -> Iterator[list[str]]:
    """Group lower-cased documents into chunks of about a million letters."""
    chunk: list[str] = []
    length = 0
    for document in documents:
        chunk.append(document.lower())
        length += len(chunk[-1])
        if length >= _CHUNK:
            yield chunk
            chunk, length = [], 0
    if chunk:
        yield chunk


def _decode(memory: _Memory, first: int = 0) -> list[str]:
    """Return the words from number `first` on."""
    n_words, n_letters = (int(size) for size in memory.sizes)
    if first == n_words:
        return []
    begin = int(memory.starts[first])
    letters = (
        memory.letters[begin:n_letters].astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    )
    starts = (memory.starts[first:n_words] - begin).tolist()
    lengths = memory.lengths[first:n_words].tolist()
    return [letters[at : at + length] for at, length in zip(starts, lengths, strict=True)]


class Tokeniser:
    """Numbers words in order of first appearance, and remembers them from call to call."""

    def __init__(self) -> None:
        self._memory = _empty_memory()

    def __len__(self) -> int:
        return int(self._memory.sizes[0])

    def words(self, first: int = 0) -> list[str]:
        """Return the words met so far, from number `first` on."""
        return _decode(self._memory, first)

    @property
    def hashes(self) -> NDArray[np.int64]:
        """A hash of every word met so far."""
        return self._memory.hashes[: len(self)].copy()

    def number(self, documents: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of the word at each place, and where each text ends."""
        all_ids, all_counts = [], []
        for chunk in _chunks(documents):
            joined = "".join(chunk)
            text = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            ends = np.cumsum([len(document) for document in chunk], dtype=np.int64)
            highest = int(text.max()) if len(text) else 0
            table = _word_table(next(size for size in _TABLE_SIZES if size > highest))
            self._memory = _with_room(self._memory, len(text))
            ids = np.empty(len(text) // 2 + 1, dtype=np.int32)
            counts = np.empty(len(chunk), dtype=np.int64)
            n_tokens = _number_words(text, ends, table, self._memory, ids, counts)
            all_ids.append(ids[:n_tokens].astype(np.int64))
            all_counts.append(counts)
        nothing = np.empty(0, dtype=np.int64)
        counted = np.cumsum(np.concatenate([*all_counts, nothing]))
        return np.concatenate([*all_ids, nothing]), counted


def tokenise(documents: Sequence[str]) -> Tokens:
    """Number the words of texts in order of first appearance.

    >>> found = tokenise(["The cat, the été", "a cat"])
    >>> found.words, found.ids.tolist(), found.ends.tolist()
    (['the', 'cat', 'été'], [0, 1, 0, 2, 1], [4, 5])
    """
    tokeniser = Tokeniser()
    ids, ends = tokeniser.number(documents)
    return Tokens(tokeniser.words(), tokeniser.hashes, ids, ends)
