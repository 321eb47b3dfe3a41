"""Features that are numbered: LIBSVM, images and embeddings keep nothing but their width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from separatrix._sparse import sparse
from separatrix.data.encodings.base import Encoding, Numbered, maybe_text, required
from separatrix.data.encodings.base import labels as plain_labels
from separatrix.data.encodings.labels import classes_of
from separatrix.errors import DataError


@dataclass(frozen=True)
class IndexEncoding(Encoding):
    """Features that are numbered already: only the width is kept."""

    kind_of_data = "numbered features, as LIBSVM files have them"

    n_features: int
    first: int = 0
    prefix: str = ""
    classes: tuple[Any, ...] = ()
    target: str | None = None

    @property
    def feature_names(self) -> Sequence[str]:
        """The numbers of the features, as the file has them."""
        return Numbered(self.prefix, self.first, self.n_features)

    def fitted(self, X: Any) -> tuple[Any, list[str]]:
        """Return X in the width of training; sparse features that were not there are left out."""
        if not sparse.issparse(X) and X.shape[1] != self.n_features:
            raise DataError(
                f"the rows have {X.shape[1]:,} features, and those of training had "
                f"{self.n_features:,}; they must come from the same model"
            )
        if X.shape[1] > self.n_features:
            extra = X.shape[1] - self.n_features
            return X[:, : self.n_features], [f"{extra} features not in training were left out"]
        if X.shape[1] < self.n_features and sparse.issparse(X):
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], self.n_features))
        return X, []

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        return {"kind": "index", **self.__dict__, "classes": list(self.classes)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> IndexEncoding:
        """Return the encoding that plain data describe.

        >>> IndexEncoding.from_dict(IndexEncoding(3, 1).to_dict()) == IndexEncoding(3, 1)
        True
        """
        fields = {key: value for key, value in plain.items() if key != "kind"}
        n_features, first = fields["n_features"], fields["first"]
        whole = type(n_features) is int and type(first) is int
        required(whole and 0 < n_features < 2**31 and first in (0, 1), "features must be numbered")
        required(type(fields["prefix"]) is str, "prefix must be a text")
        maybe_text(fields["target"], "target must be a name")
        return cls(**{**fields, "classes": plain_labels(fields["classes"])})


def indexed(X: Any, y: Any, first: int, prefix: str, encoding: Any) -> dict[str, Any]:
    """Return the fields of a Table whose features are numbered."""
    classes = classes_of(y)
    notes: list[str] = []
    if encoding is None:
        encoding = IndexEncoding(X.shape[1], first, prefix, tuple(classes.tolist()))
    else:
        X, notes = of_kind(encoding, IndexEncoding).fitted(X)
    names = encoding.feature_names
    return {"X": X, "y": y, "feature_names": names, "classes": classes, "encoding": encoding,
            "notes": notes}  # fmt: skip


def of_kind(encoding: Any, kind: type) -> Any:
    """Return an encoding, if it is of the kind that these data need."""
    if not isinstance(encoding, kind):
        raise DataError("the data are of another kind than those of training")
    return encoding
