"""Texts to weighted n-grams: what a study tries in place of plain counts.

    words       (1 + ln count) idf of words and pairs of words; marks and single letters are words
    characters  the same, joined with the 2 to 5 neighbouring characters inside each word
    ratios      1 where a word or pair occurs, times its log-count ratio (Wang and Manning, 2012)
    joined      ratios of words and pairs, joined with the characters

Each row is then scaled to length one (with characters, each half by itself). Of idf, and of the
ratios, rows of training alone decide; so do they of the vocabulary. Values are kept in single
precision: the last digit of a logarithm differs between computers, and a proof names its data by
every bit.

The log-count ratio of a gram is  ln (p / |p|) - ln (q / |q|)  with p and q its counts, plus one, in
a class and in all others. A linear model does not mind its sign, so of several classes the largest
absolute value is taken.

A column of sentences beside other columns becomes words, not hundreds of categories.

    comment: not bad at all   ->   comment: "not", comment: "not bad", ...   by tf-idf

Words and pairs of words that two rows of training share are kept. Each row of them has length one,
or is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix._sparse import sparse
from separatrix.data.encodings.columns import Column, Texts
from separatrix.data.encodings.labels import labels, maybe_text, numbers, required, texts
from separatrix.data.encodings.labels import texts as checked_texts
from separatrix.data.encodings.tokens import tokenise
from separatrix.data.encodings.words import Grams, TextEncoding, longer_grams, ordered, total

__all__ = [
    "GramEncoding",
    "GramTable",
    "GramWeights",
    "ProseCode",
    "TEXT_FEATURES",
    "WITH_PIECES",
    "aligned",
    "all_of",
    "count_grams",
    "fit_prose",
    "is_prose",
    "learn_weights",
    "weighed",
    "weightings",
]


TEXT_FEATURES = ("words", "ratios", "characters", "joined")
WITH_PIECES = ("characters", "joined")
_SHORTEST, _LONGEST = 2, 5  # characters
_OFTEN_ENOUGH = 2  # texts that a piece of a word must occur in
_MANY_GRAMS = 2_000_000  # of more words and pairs, those of one text alone are left out


class GramTable(NamedTuple):
    """n-grams by name, and how often each occurs in each text."""

    names: list[str]
    counts: sparse.csr_matrix


def count_grams(documents: Sequence[str], features: str) -> tuple[GramTable, ...]:
    """Count words and pairs of words and, where needed, the characters of words."""
    found = (_word_grams(documents),)
    return (*found, _character_grams(documents)) if features in WITH_PIECES else found


def weightings(features: str) -> tuple[str, ...]:
    """Return how each part is weighted: the words and pairs, then the pieces of words.

    >>> weightings("joined"), weightings("words")
    (('ratios', 'tf-idf'), ('tf-idf',))
    """
    words = "ratios" if features in ("ratios", "joined") else "tf-idf"
    return (words, "tf-idf") if features in WITH_PIECES else (words,)


def _word_grams(documents: Sequence[str]) -> GramTable:
    tokens = tokenise(documents, marks=True)
    words = Grams(tokens.words, tokens.hashes, tokens.ids, tokens.ends)
    levels = [words, longer_grams(words, words, 2)]
    names, columns = ordered(levels)
    return GramTable(names, total(levels, columns, len(names)))


def _character_grams(documents: Sequence[str]) -> GramTable:
    """Count the pieces of words: each word between blanks, with a blank before and after it."""
    numbers_of: dict[str, int] = {}
    words: list[list[int]] = []
    for document in documents:
        words.append([numbers_of.setdefault(w, len(numbers_of)) for w in document.lower().split()])
    in_texts = _matrix(words, len(numbers_of))
    grams: dict[str, int] = {}
    pieces = [[grams.setdefault(p, len(grams)) for p in _pieces(word)] for word in numbers_of]
    counts = (in_texts @ _matrix(pieces, len(grams))).tocsr()
    names = list(grams)
    order = sorted(range(len(names)), key=names.__getitem__)
    counts = counts[:, order]
    counts.sort_indices()
    return GramTable([names[at] for at in order], counts)


def _pieces(word: str) -> list[str]:
    padded = f" {word} "
    found: list[str] = []
    for length in range(_SHORTEST, _LONGEST + 1):
        if len(padded) <= length:
            return [*found, padded]
        found += [padded[at : at + length] for at in range(len(padded) - length + 1)]
    return found


def _matrix(rows: list[list[int]], width: int) -> sparse.csr_matrix:
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    indices = np.fromiter((at for row in rows for at in row), dtype=np.int64, count=indptr[-1])
    found = sparse.csr_matrix((np.ones(len(indices)), indices, indptr), (len(rows), width))
    found.sum_duplicates()
    return found


@dataclass(frozen=True)
class GramWeights:
    """The columns of a table of grams that are kept, and the weight of each."""

    kept: NDArray[np.int64]
    weights: NDArray[np.float32]


def learn_weights(
    table: GramTable,
    rows: NDArray[np.int64],
    codes: NDArray[np.int64],
    weighting: str,
    least: int,
) -> GramWeights:
    """Learn vocabulary and weights from some rows; `codes` number the classes of all rows."""
    counts = table.counts[rows]
    appearing = np.bincount(counts.indices, minlength=counts.shape[1])
    if least == 1 and (appearing > 0).sum() > _MANY_GRAMS:
        least = _OFTEN_ENOUGH
    kept = np.flatnonzero(appearing >= least)
    if weighting == "ratios":
        weights = _ratios(counts, codes[rows])[kept]
    else:
        weights = np.log((1 + len(rows)) / (1 + appearing[kept])) + 1.0
    return GramWeights(kept, weights.astype(np.float32))


def _ratios(counts: sparse.csr_matrix, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    present = sparse.csr_matrix((np.ones(counts.nnz), counts.indices, counts.indptr), counts.shape)
    whole = np.asarray(present.sum(axis=0)).ravel()
    largest = np.zeros(counts.shape[1])
    for k in np.unique(codes):
        inside = np.asarray(present[codes == k].sum(axis=0)).ravel()
        p, q = inside + 1.0, whole - inside + 1.0
        ratio = np.log(p / p.sum()) - np.log(q / q.sum())
        largest = np.maximum(largest, np.abs(ratio))
    return largest


def weighed(counts: sparse.csr_matrix, learned: GramWeights, weighting: str) -> sparse.csr_matrix:
    """Return rows of weighted grams, each of length one, or empty."""
    X = counts[:, learned.kept].tocsr()
    X.sort_indices()  # one order of sums, at training and later
    values = np.ones(X.nnz) if weighting == "ratios" else 1.0 + np.log(X.data)
    values *= learned.weights[X.indices]
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    lengths = np.sqrt(np.bincount(rows, weights=values**2, minlength=X.shape[0]))
    values /= np.where(lengths > 0.0, lengths, 1.0)[rows]
    return sparse.csr_matrix((values.astype(np.float32), X.indices, X.indptr), X.shape)


@dataclass(frozen=True)
class GramEncoding(TextEncoding):
    """How texts became weighted n-grams; `pieces` are those of characters."""

    features: str = "words"
    weights: tuple[float, ...] = ()
    pieces: tuple[str, ...] = ()
    piece_weights: tuple[float, ...] = ()

    @property
    def feature_names(self) -> Sequence[str]:
        """The n-gram of each column of X; characters stand in quotes."""
        return [*self.vocabulary, *(repr(piece) for piece in self.pieces)]

    def encode(self, documents: Sequence[str]) -> sparse.csr_matrix:
        """Turn texts into X; n-grams that are not in the vocabulary are left out."""
        known = [(self.vocabulary, self.weights), (self.pieces, self.piece_weights)]
        tables = count_grams(documents, self.features)
        parts = [
            weighed(aligned(table, names), all_of(weights), weighting)
            for table, (names, weights), weighting in zip(
                tables, known[: len(tables)], weightings(self.features), strict=True
            )
        ]
        return parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        names = ("vocabulary", "features", "weights", "pieces", "piece_weights", "classes")
        plain = {name: _plain(getattr(self, name)) for name in (*names, "column", "target")}
        return {"kind": "grams", **plain}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> GramEncoding:
        """Return the encoding that plain data describe.

        >>> encoding = GramEncoding(("cat", "cat !"), (1, 2), weights=(1.0, 2.0))
        >>> GramEncoding.from_dict(encoding.to_dict()) == encoding
        True
        """
        fields = {key: value for key, value in plain.items() if key != "kind"}
        required(fields["features"] in TEXT_FEATURES, "features of texts must be known")
        for names, weights in (("vocabulary", "weights"), ("pieces", "piece_weights")):
            fields[names] = texts(fields[names], f"{names} must be texts")
            fields[weights] = numbers(fields[weights], f"{weights} must be numbers")
            required(len(fields[names]) == len(fields[weights]), "each n-gram must have a weight")
        fitting = not fields["pieces"] or fields["features"] in WITH_PIECES
        required(fitting and bool(fields["vocabulary"]), "n-grams must be those of the features")
        fields["classes"] = labels(fields["classes"])
        for name in ("column", "target"):
            maybe_text(fields[name], f"{name} must be a name")
        return cls(**fields, ngrams=(1, 2))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def all_of(weights: Sequence[float]) -> GramWeights:
    """Return weights of columns that are all kept."""
    return GramWeights(np.arange(len(weights)), np.asarray(weights, dtype=np.float32))


def aligned(table: GramTable, names: Sequence[str]) -> sparse.csr_matrix:
    """Return the counts in the columns of training."""
    place = {name: at for at, name in enumerate(names)}
    columns = np.array([place.get(name, -1) for name in table.names], dtype=np.int64)
    counts = table.counts[:, columns >= 0].tocoo()
    found = columns[columns >= 0][counts.col]
    shape = (counts.shape[0], len(names))
    return sparse.csr_matrix((counts.data, (counts.row, found)), shape)


# ---- a column of sentences beside other columns becomes words, not hundreds of categories


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
