"""Texts to features: bags of words and n-grams, counted, binary or tf-idf, named or hashed.

Counts, order and names are those of scikit-learn's CountVectorizer, and tf-idf is that of its
TfidfVectorizer: idf = ln((1 + n) / (1 + df)) + 1, each row then scaled to length one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled
from separatrix._sparse import sparse
from separatrix.data.arrow import from_texts, to_numpy
from separatrix.data.encodings.labels import (
    Encoding,
    Numbered,
    labels,
    maybe_text,
    numbers,
    required,
    texts,
)
from separatrix.data.encodings.tokens import (
    _BITS,
    _PRIME,
    _TABLE_SIZES,
    Tokeniser,
    Tokens,
    _kinds_table,
    tokenise,
)
from separatrix.errors import DataError

WEIGHTINGS = ("counts", "binary", "tfidf")
_MIX = 1000003
_MOST_REMEMBERED = 1 << 20


class Grams(NamedTuple):
    """n-grams of one length: names and hashes of the distinct ones, and which stands where."""

    names: list[str]
    hashes: NDArray[np.int64]
    ids: NDArray[np.int64]
    ends: NDArray[np.int64]


@compiled
def _count(
    ids: NDArray[np.int64],
    ends: NDArray[np.int64],
    places: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    indptr: NDArray[np.int64],
) -> int:
    """Count the features of each text; a negative id is no feature."""
    filled = 0
    token = 0
    indptr[0] = 0
    for document in range(ends.shape[0]):
        first = filled
        while token < ends[document]:
            feature = ids[token]
            if feature >= 0:
                place = places[feature]
                if place >= first:
                    values[place] += 1.0
                else:
                    places[feature] = filled
                    indices[filled] = feature
                    values[filled] = 1.0
                    filled += 1
            token += 1
        indptr[document + 1] = filled
    return filled


def _counted(ids: NDArray[np.int64], ends: NDArray[np.int64], width: int) -> sparse.csr_matrix:
    indices, values = np.empty(len(ids), dtype=np.int32), np.empty(len(ids))
    indptr = np.empty(len(ends) + 1, dtype=np.int64)
    filled = _count(ids, ends, np.full(width, -1, dtype=np.int64), indices, values, indptr)
    if filled < 2**31:
        indptr = indptr.astype(np.int32)
    counts = sparse.csr_matrix(
        (values[:filled].copy(), indices[:filled].copy(), indptr), shape=(len(ends), width)
    )
    counts.sort_indices()
    return counts


def _without(tokens: Tokens, stop_words: Sequence[str]) -> Grams:
    """Leave out stop words, as if they were not in the texts."""
    if not stop_words:
        return Grams(tokens.words, tokens.hashes, tokens.ids, tokens.ends)
    unwanted = set(stop_words)
    kept = np.array([word not in unwanted for word in tokens.words] + [True])[tokens.ids]
    before = np.concatenate([[0], np.cumsum(kept)])
    return Grams(tokens.words, tokens.hashes, tokens.ids[kept], before[tokens.ends])


def longer_grams(shorter: Grams, words: Grams, length: int) -> Grams:
    """Extend each n-gram by the word that follows it in the same text."""
    starts = np.concatenate([[0], words.ends[:-1]]) if len(words.ends) else words.ends
    sizes = np.maximum(words.ends - starts - (length - 1), 0)
    ends = np.cumsum(sizes)
    within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes, sizes)
    short_sizes = np.maximum(words.ends - starts - (length - 2), 0)
    prefix = shorter.ids[np.repeat(np.cumsum(short_sizes) - short_sizes, sizes) + within]
    following = words.ids[np.repeat(starts, sizes) + within + length - 1]
    width = len(words.names)
    keys, ids = np.unique(prefix * width + following, return_inverse=True)
    first, last = keys // max(1, width), keys % max(1, width)
    names = [
        f"{shorter.names[a]} {words.names[b]}"
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
    hashes = (shorter.hashes[first] * _MIX + words.hashes[last]) & _BITS
    return Grams(names, hashes, ids, ends)


def _all_grams(documents: Sequence[str], ngrams: tuple[int, int], stop: Sequence[str]) -> list[Any]:
    words = grams = _without(tokenise(documents), stop)
    levels = [words]
    for length in range(2, ngrams[1] + 1):
        grams = longer_grams(grams, words, length)
        levels.append(grams)
    return levels[ngrams[0] - 1 :]


def total(levels: list[Grams], columns: list[NDArray[np.int64]], width: int) -> Any:
    """Count each level into the columns given for its n-grams, and add up."""
    parts = [
        _counted(np.append(column, -1)[level.ids], level.ends, width)
        for level, column in zip(levels, columns, strict=True)
    ]
    summed = parts[0]
    for part in parts[1:]:
        summed = summed + part
    return summed


@dataclass(frozen=True)
class TextEncoding(Encoding):
    """How texts become features; ``vocabulary`` is empty in hashing mode."""

    kind_of_data = "texts"

    vocabulary: tuple[str, ...] = ()
    ngrams: tuple[int, int] = (1, 1)
    weighting: str = "counts"
    stop_words: tuple[str, ...] = ()
    hashing: int = 0
    idf: tuple[float, ...] = ()
    classes: tuple[Any, ...] = ()
    column: str | None = None
    target: str | None = None

    @property
    def feature_names(self) -> Sequence[str]:
        """The n-gram of each column of X, or its number in hashing mode."""
        return Numbered("hash", 0, self.hashing) if self.hashing else list(self.vocabulary)

    def encode(self, documents: Sequence[str]) -> sparse.csr_matrix:
        """Turn texts into X; words that are not in the vocabulary are left out."""
        levels = _all_grams(documents, self.ngrams, self.stop_words)
        if self.hashing:
            columns = [level.hashes % self.hashing for level in levels]
            return self.weigh(total(levels, columns, self.hashing))
        place = {gram: number for number, gram in enumerate(self.vocabulary)}
        columns = [
            np.array([place.get(name, -1) for name in level.names], dtype=np.int64)
            for level in levels
        ]
        return self.weigh(total(levels, columns, len(self.vocabulary)))

    def weigh(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """Turn counts into the weighting of training, in place."""
        if self.weighting == "binary":
            X.data[:] = 1.0
        if self.weighting == "tfidf":
            X.data *= np.asarray(self.idf)[X.indices]
            rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            lengths = np.sqrt(np.bincount(rows, weights=X.data**2, minlength=X.shape[0]))
            X.data /= lengths[rows]
        return X

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        plain = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self.__dict__.items()
        }
        return {"kind": "text", **plain}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> TextEncoding:
        """Return the encoding that plain data describe.

        >>> encoding = TextEncoding(("cat", "dog"), weighting="tfidf", idf=(1.0, 2.0))
        >>> TextEncoding.from_dict(encoding.to_dict()) == encoding
        True
        """
        fields = {key: value for key, value in plain.items() if key != "kind"}
        fields["vocabulary"] = texts(fields["vocabulary"], "a vocabulary must be words")
        fields["stop_words"] = texts(fields["stop_words"], "stop words must be words")
        fields["idf"] = numbers(fields["idf"], "idf must be numbers")
        fields["classes"] = labels(fields["classes"])
        low, high = fields["ngrams"]
        hashing, width = fields["hashing"], len(fields["vocabulary"])
        whole = all(type(each) is int for each in (low, high, hashing))
        required(whole and 0 <= hashing < 2**31, "ngrams and hashing must be whole numbers")
        required((hashing > 0) != (width > 0), "words must be named or hashed")
        weighed = fields["weighting"] == "tfidf"
        required(len(fields["idf"]) == weighed * width, "idf must be one number a word")
        for name in ("column", "target"):
            maybe_text(fields[name], f"{name} must be a name")
        return _checked(cls(**{**fields, "ngrams": (low, high)}))


class TextEncoder:
    """Encodes texts block by block, as `TextEncoding.encode` does, looking each word up once."""

    def __init__(self, encoding: TextEncoding) -> None:
        self._encoding = encoding
        self._single = encoding.ngrams == (1, 1) and not encoding.hashing
        stopped = set(encoding.stop_words)
        words = encoding.vocabulary if self._single else ()
        self._place = {word: at for at, word in enumerate(words) if word not in stopped}
        self._forget()

    def _forget(self) -> None:
        self._tokeniser, self._columns = Tokeniser(), np.empty(0, dtype=np.int64)

    def encode(self, documents: Sequence[str]) -> sparse.csr_matrix:
        """Return the next texts as rows of X."""
        if not self._single:
            return self._encoding.encode(documents)
        ids, ends = self._tokeniser.number(documents)
        new = self._tokeniser.words(len(self._columns))
        found = np.array([self._place.get(word, -1) for word in new], dtype=np.int64)
        self._columns = np.concatenate([self._columns, found])
        counted = _counted(np.append(self._columns, -1)[ids], ends, len(self._encoding.vocabulary))
        if len(self._tokeniser) > _MOST_REMEMBERED:
            self._forget()  # a stream may bring new words for ever
        return self._encoding.weigh(counted)


def ordered(levels: list[Grams]) -> tuple[list[str], list[NDArray[np.int64]]]:
    """Return the n-grams that occur, sorted, and where those of each level stand among them."""
    occurs = np.concatenate(
        [np.bincount(level.ids, minlength=len(level.names)) > 0 for level in levels]
    )
    names = [name for level in levels for name in level.names]
    order = _sorted_places(names)
    order = order[occurs[order]]
    places = np.full(len(names), -1, dtype=np.int64)
    places[order] = np.arange(len(order))
    cuts = np.cumsum([len(level.names) for level in levels])[:-1]
    return [names[at] for at in order.tolist()], np.split(places, cuts)


def _sorted_places(names: list[str]) -> NDArray[np.int64]:
    """Return the places of the names in the order of their code points."""
    import pyarrow.compute as pc

    try:
        # The order of UTF-8 bytes is the order of code points.
        return to_numpy(pc.array_sort_indices(from_texts(names))).astype(np.int64)
    except UnicodeEncodeError:  # half of a surrogate pair, alone
        return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)


def _checked(options: TextEncoding) -> TextEncoding:
    if options.weighting not in WEIGHTINGS:
        raise DataError(
            f"weighting must be one of {', '.join(WEIGHTINGS)}; got {options.weighting!r}"
        )
    low, high = options.ngrams
    if not 1 <= low <= high <= 9:
        raise DataError(f"ngrams must be two lengths from 1 to 9 in order; got {options.ngrams}")
    if options.hashing and options.weighting == "tfidf":
        raise DataError("hashing keeps no counts of texts, so tfidf is not possible with it")
    if options.stop_words == ("english",):
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return replace(options, stop_words=tuple(sorted(ENGLISH_STOP_WORDS)))
    return options


def fit_text(
    documents: Sequence[str], options: TextEncoding, max_features: int | None = None
) -> tuple[TextEncoding, sparse.csr_matrix]:
    """Learn a vocabulary; return the encoding and the texts as X.

    >>> encoding, X = fit_text(["a good film", "good, good"], TextEncoding())
    >>> encoding.feature_names, X.toarray().tolist()
    (['film', 'good'], [[1.0, 1.0], [0.0, 2.0]])
    """
    options = _checked(options)
    if options.hashing:
        return options, options.encode(documents)
    levels = _all_grams(documents, options.ngrams, options.stop_words)
    names, columns = ordered(levels)
    if not names:
        raise DataError("there are no words of two or more letters in the texts")
    X = total(levels, columns, len(names))
    if max_features is not None and max_features < len(names):
        totals = np.asarray(X.sum(axis=0)).ravel()
        kept = np.sort(np.argsort(-totals, kind="stable")[:max_features])
        X, names = X[:, kept].tocsr(), [names[at] for at in kept]
    idf: tuple[float, ...] = ()
    if options.weighting == "tfidf":
        appearing = np.bincount(X.indices, minlength=len(names))
        idf = tuple((np.log((1 + X.shape[0]) / (1 + appearing)) + 1).tolist())
    encoding = replace(options, vocabulary=tuple(names), idf=idf)
    return encoding, encoding.weigh(X)


# ---- texts, one a line, hashed in one compiled pass


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
