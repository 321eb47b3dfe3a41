"""A pipeline that begins with `sx.Encoder`, taken apart: what encodes columns, and the model after.

A file of `separatrix fit` keeps an encoding beside its model; a pipeline saved from Python keeps it
as the first step. Taken apart, the commands treat both alike: raw files in, proofs and exports out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from separatrix._sparse import is_sparse
from separatrix.data.encodings.column_features import FeatureEncoding
from separatrix.data.encodings.encoding import TableEncoding
from separatrix.storage.model_file import ModelFile

__all__ = ["as_encoded", "begins_with_encoder", "taken_apart", "with_target"]


class _Dense:
    """Sparse features become dense, as the encoder gave them in training."""

    def __init__(self, width: int) -> None:
        self.n_features_in_ = width

    def transform(self, X: Any) -> Any:
        """Return the rows, dense."""
        return X.toarray() if is_sparse(X) else X

    def get_feature_names_out(self, names: Any) -> Any:
        """Return the names of the columns."""
        return names


def begins_with_encoder(model: Any) -> bool:
    """Whether a model is a pipeline of an encoder and more."""
    steps: list[tuple[str, Any]] = getattr(model, "steps", [])
    return len(steps) > 1 and type(steps[0][1]).__name__ == "Encoder"


def taken_apart(whole: ModelFile, dense: bool = True) -> ModelFile:
    """Return the encoding and the model after it; other models as they are.

    With `dense` a step keeps the features dense where the encoder does (`sparse_output=False`).
    """
    if whole.encoding is not None or not begins_with_encoder(whole.model):
        return whole
    (_, encoder), *rest = whole.model.steps
    encoding = encoder.encoding_
    if dense and not encoder.sparse_output:
        rest = [("dense", _Dense(len(encoding.feature_names))), *rest]
    model = rest[0][1] if len(rest) == 1 else type(whole.model)(list(rest))
    return replace(whole, model=model, encoding=encoding)


def as_encoded(pipeline: Any, X: Any) -> Any:
    """Return features as the encoder of a pipeline gives them: sparse or dense."""
    dense = is_sparse(X) and not pipeline.steps[0][1].sparse_output
    return X.toarray() if dense else X


def with_target(encoding: Any, target: str | None, classes: Any, columns: list[str]) -> Any:
    """Return the encoding for a table with labels, whose other columns it does not use."""
    if isinstance(encoding, FeatureEncoding):
        return replace(encoding, inner=with_target(encoding.inner, target, classes, columns))
    own: dict[str, Any] = {"target": target, "classes": tuple(classes)}
    if isinstance(encoding, TableEncoding):
        used = {code.name for code in encoding.codes}
        own["dropped"] = tuple(name for name in columns if name not in used)
    return replace(encoding, **own)
