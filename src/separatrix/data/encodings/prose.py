"""A column of sentences beside other columns becomes words, not hundreds of categories.

    comment: not bad at all   ->   comment: "not", comment: "not bad", ...   by tf-idf

Words and pairs of words that two rows of training share are kept. Each row of them has length one,
or is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix._sparse import sparse
from separatrix.data.encodings.base import numbers, required
from separatrix.data.encodings.base import texts as checked_texts
from separatrix.data.encodings.columns import Column, Texts
from separatrix.data.encodings.grams import (
    aligned,
    all_of,
    count_grams,
    learn_weights,
    weighed,
)

__all__ = ["ProseCode", "fit_prose", "is_prose"]

_WAY = "tf-idf"
_SHARED = 2  # rows of training that must share a word
_FEWEST_VALUES = 20  # beside other columns
_MANY_WORDS = 5.0  # on average: fewer are a name
_SAMPLE = 200


@dataclass(frozen=True)
class ProseCode:
    """The words and pairs of words of a column, with their weights."""

    dense: ClassVar[bool] = False

    name: str
    vocabulary: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def feature_names(self) -> list[str]:
        """The names of the features this column gives."""
        return [f'{self.name}: "{gram}"' for gram in self.vocabulary]

    def absent(self, n_rows: int) -> sparse.csr_matrix:
        """Return the features of a column that is not there."""
        return sparse.csr_matrix((n_rows, len(self.vocabulary)))

    def apply(self, column: Column, missing: frozenset[str], notes: list[str]) -> sparse.csr_matrix:
        """Return the weighted words of every row."""
        (table,) = count_grams(_documents(column.texts(missing)), "words")
        return weighed(aligned(table, self.vocabulary), all_of(self.weights), _WAY)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that say the same."""
        plain = {"vocabulary": list(self.vocabulary), "weights": list(self.weights)}
        return {"kind": "prose", "name": self.name, **plain}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> ProseCode:
        """Return the code that plain data describe.

        >>> code = ProseCode("note", ("a", "a b"), (1.0, 2.0))
        >>> ProseCode.from_fields({k: v for k, v in code.to_dict().items() if k != "kind"}) == code
        True
        """
        vocabulary = checked_texts(fields["vocabulary"], "words must be texts")
        weights = numbers(fields["weights"], "weights of words must be numbers")
        required(len(vocabulary) == len(weights) > 0, "each word must have a weight")
        return cls(fields["name"], vocabulary, weights)


def _documents(texts: Texts) -> Sequence[str]:
    values = [*texts.values, ""]  # a missing one is empty
    return [values[code] for code in texts.codes.tolist()]


def is_prose(texts: Texts) -> bool:
    """Whether texts differ in half of the rows or more, and have several words.

    >>> sentences = [f"the number {k} is no name" for k in range(30)]
    >>> is_prose(Texts(np.arange(30, dtype=np.int32), sentences))
    True
    >>> is_prose(Texts(np.arange(30, dtype=np.int32), [f"name {k}" for k in range(30)]))
    False
    """
    some = texts.values[:_SAMPLE]
    words = sum(len(value.split()) for value in some)
    return 2 * len(texts.values) >= max(1, len(texts.codes)) and words >= _MANY_WORDS * len(some)


def fit_prose(name: str, texts: Texts, notes: list[str]) -> ProseCode | None:
    """Learn the words of a column; None where there are few rows, or no two share a word."""
    if len(texts.values) < _FEWEST_VALUES:
        return None
    (table,) = count_grams(_documents(texts), "words")
    rows = np.arange(len(texts.codes))
    learned = learn_weights(table, rows, rows, _WAY, _SHARED)
    if not len(learned.kept):
        return None
    kept = tuple(table.names[at] for at in learned.kept.tolist())
    notes.append(
        f"{name}: sentences; {len(kept):,} words and pairs of words became features (to use its "
        f"words alone: text={name!r})"
    )
    return ProseCode(name, kept, tuple(learned.weights.astype(float).tolist()))
