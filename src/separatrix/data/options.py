"""The options of a reader; every one has a default."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from separatrix.errors import DataError

KINDS = (
    "libsvm", "csv", "text", "json", "arff", "excel", "parquet", "arrow", "idx", "npy", "npz",
    "safetensors",
)  # fmt: skip


@dataclass(frozen=True)
class ReadOptions:
    """How to read, where the file itself does not say it.

    kind: what the file is, one of ``KINDS``; seen from its contents by default.
    encoding: of the characters; UTF-8 by default, and for texts latin-1 where that fails.
    max_bytes: the most bytes to accept, decompressed.

    Tables: header (whether the first line holds names), separator, decimal (the sign before a
    fraction, "," or "."; seen from the cells by default), drop (columns to leave out; "a,b" names
    two), categorical (columns to one-hot encode though they are numbers), missing (further words
    that mean a missing value), max_categories (values of a column beyond it are pooled), text (the
    column of texts), aside (columns that are no features, kept in ``Table.aside``), allow_missing
    (later data may lack columns of training, which are then taken as missing), some_labels (rows of
    later data that lack their label have an empty text; by default no labels are used then), sheet
    (of an Excel file; the first that holds rows by default).

    Arrays and embeddings: labels (the file of labels, where they are not beside the rows).

    LIBSVM: n_features (the width of X), zero_based (whether indices count from 0).

    Texts: ngrams (shortest and longest), weighting ("counts", "binary" or "tfidf"), max_features
    (the most frequent words kept), stop_words ("english" or words to leave out), hashing (the
    number of features, instead of a vocabulary).
    """

    target: str | int | None = None
    kind: str | None = None
    encoding: str | None = None
    max_bytes: int | None = None
    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    missing: Sequence[str] = ()
    max_categories: int = 100
    text: str | None = None
    aside: Sequence[str] = ()
    allow_missing: bool = False
    some_labels: bool = False
    sheet: str | None = None
    n_features: int | None = None
    zero_based: bool | None = None
    ngrams: tuple[int, int] = (1, 1)
    weighting: str = "counts"
    max_features: int | None = None
    stop_words: str | Sequence[str] = ()
    hashing: int = 0
    labels: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS:
            raise DataError(f"kind must be one of {', '.join(KINDS)}; got {self.kind!r}")
        if self.separator is not None and (len(self.separator) != 1 or ord(self.separator) > 127):
            raise DataError(f"the separator must be one ASCII character; got {self.separator!r}")
        if self.decimal not in (None, ",", "."):
            raise DataError(f"decimal must be ',' or '.'; got {self.decimal!r}")
        if self.max_categories < 1:
            raise DataError(f"max_categories must be 1 or more; got {self.max_categories}")
