"""What `sx.read` learns of columns, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from separatrix._sparse import sparse
from separatrix.core.models import with_settings
from separatrix.data.encodings.column_features import FeatureEncoding
from separatrix.data.encodings.columns import TypedColumn
from separatrix.data.encodings.encoding import TableEncoding
from separatrix.data.encodings.prepared import encode_columns, fit_columns
from separatrix.data.options import ReadOptions
from separatrix.data.raw_rows import RawRows
from separatrix.data.readers.typed_tables import (
    columns_of_arrow,
    frame_to_arrow,
    is_frame,
    with_decimal_commas,
)
from separatrix.data.table import Table
from separatrix.errors import DataError

__all__ = ["Encoder"]

_NEED_LABELS = ("ratios", "joined")


@with_settings
class Encoder(TransformerMixin, BaseEstimator):
    """Columns of numbers and texts become features, as `sx.read` makes them.

    A number stays a number; a missing one becomes the median, and a further column marks it. A
    column of categories becomes one column for each value, missing values included. Sentences
    become counts of words. Everything is learned in `fit`: a pipeline learns it in each fold.

    Parameters
    ----------
    features : str, default="raw"
        Further features of numeric columns: "raw" (none), "standard" (standardised), "ranks" (ranks
        added), "splines" (linear splines added: the model is additive in the columns), "products"
        (products of pairs added), "cosines" or "fine-cosines" (random cosines added). For a single
        column of sentences: "raw" (counts of words), "words" (tf-idf of words and pairs),
        "characters" (tf-idf of characters added), "ratios" (log-count ratios) or "joined"; the last
        two need y.
    max_categories : int, default=100
        The most features of one column; the rarest values share one.
    categorical : tuple of str, default=()
        Columns to take as categories though they are numbers.
    missing : tuple of str, default=()
        Further words that mean a missing value.
    text : str or None, default=None
        The column of sentences. None takes the only column, where it holds sentences.
    sparse_output : bool, default=True
        Whether categories and words give a sparse matrix; numbers alone are dense always.

    Attributes
    ----------
    encoding_
        What was learned; ``encoding_.to_dict()`` is plain data.
    notes_ : list of str
        What was decided during the fit.
    n_features_in_, feature_names_in_
        The columns of training.

    See Also
    --------
    read : reads a file and encodes it in the same way.
    lift : feature maps of numeric columns.

    Examples
    --------
    >>> import pandas as pd
    >>> import separatrix as sx
    >>> frame = pd.DataFrame({"age": [39, None, 50], "job": ["clerk", "cook", "clerk"]})
    >>> encoder = sx.Encoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age=(missing)', 'job=clerk', 'job=cook']
    >>> encoder.transform(frame).toarray().tolist()
    [[39.0, 0.0, 1.0, 0.0], [44.5, 1.0, 0.0, 1.0], [50.0, 0.0, 1.0, 0.0]]
    """

    features: str = "raw"
    _: KW_ONLY
    max_categories: int = 100
    categorical: Sequence[str] = ()
    missing: Sequence[str] = ()
    text: str | None = None
    sparse_output: bool = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Encoder:
        """Learn medians, categories and what else there is from the columns of X."""
        self._learned(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn from X, and return its features."""
        return self._given_out(self._learned(X, y))

    def transform(self, X: Any) -> Any:
        """Return the features of the columns of X."""
        check_is_fitted(self)
        encoding = self.encoding_
        inner = encoding.inner if isinstance(encoding, FeatureEncoding) else encoding
        columns = with_decimal_commas(self._columns(X, reset=False), self._options(), inner)
        found = encode_columns(columns, "X", ReadOptions(), inner)["X"]
        if isinstance(encoding, FeatureEncoding):
            found = encoding.columns.apply(found)
        return self._given_out(found)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features: that of the column, or ``column=value``."""
        check_is_fitted(self)
        given = [str(name) for name in _check_feature_names_in(self, input_features)]
        encoding = self.encoding_
        is_scaled = isinstance(encoding, FeatureEncoding)
        inner = encoding.inner if is_scaled else encoding
        if isinstance(inner, TableEncoding):
            renamed = dict(zip(self._names, given, strict=True))
            codes = tuple(replace(code, name=renamed[code.name]) for code in inner.codes)
            inner = replace(inner, codes=codes)
        names = inner.feature_names
        return np.array(encoding.columns.names(names) if is_scaled else list(names), dtype=object)

    # ---- columns

    def _options(self) -> ReadOptions:
        return ReadOptions(
            max_categories=self.max_categories,
            categorical=tuple(self.categorical),
            missing=tuple(self.missing),
            text=self.text,
        )

    def _learned(self, X: Any, y: Any) -> Any:
        """Learn, and return the features."""
        options = self._options()
        columns = with_decimal_commas(self._columns(X, reset=True), options, None)
        unknown = [each for each in self.categorical if each not in self._names]
        if unknown:
            raise DataError(f"there is no column {unknown[0]!r} to take as categories")
        notes: list[str] = []
        encoding, found, texts = fit_columns(columns, None, (), "X", options, notes)
        if self.features != "raw":
            n = len(columns[0])
            table = Table(
                X=found, y=np.zeros(n), feature_names=encoding.feature_names,
                classes=np.zeros(1), kind="frame", source="X", sha256="", encoding=encoding,
                texts=texts, raw=None if texts is not None else (columns, options),
            )  # fmt: skip
            learned = RawRows(table).learn(self.features, np.arange(n), self._codes(y, n))
            encoding, found = learned.encoding, learned.X
        self.encoding_, self.notes_ = encoding, notes
        return found

    def _codes(self, y: Any, n_rows: int) -> np.ndarray:
        if y is None and self.features in _NEED_LABELS:
            raise DataError(f"features={self.features!r} weigh words by class: give y to fit")
        if y is None:
            return np.zeros(n_rows, dtype=np.int64)
        return np.unique(np.asarray(y), return_inverse=True)[1]

    def _columns(self, X: Any, reset: bool) -> list[TypedColumn]:
        """Return the columns of a frame, or those of an array as x0, x1, ..."""
        if is_frame(X):
            X = getattr(X, "collect", lambda: X)()  # of a lazy frame
            if not min(X.shape):
                raise DataError(
                    f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
                    f"(shape={X.shape}) while a minimum of 1 is required."
                )
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns = columns_of_arrow(frame_to_arrow(X), "X")[: self.n_features_in_]
        else:
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            columns = [_column(X[:, at], at) for at in range(X.shape[1])]
        if reset:
            self._names = [column.name for column in columns]
        return columns

    def _given_out(self, found: Any) -> Any:
        return found.toarray() if sparse.issparse(found) and not self.sparse_output else found


def _column(values: np.ndarray, at: int) -> TypedColumn:
    """Return a column of an array: numbers, or texts where any cell is one."""
    import pyarrow as pa

    if values.dtype.kind in "OUS":
        cells = [None if cell is None or cell != cell else cell for cell in values.tolist()]
        try:
            array = pa.array([None if cell is None else float(cell) for cell in cells])
            if any(isinstance(cell, str) for cell in cells):
                raise ValueError("texts stay texts")
        except (TypeError, ValueError):
            array = pa.array([None if cell is None else str(cell) for cell in cells])
    else:
        array = pa.array(np.ascontiguousarray(values))
    return TypedColumn(f"x{at}", at + 1, pa.chunked_array([array]), "X")
