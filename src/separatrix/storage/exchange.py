"""Models to and from other programs: ``sx.exchange``.

read(path)                 a model file of ours, of LIBLINEAR or of LIBSVM
write(whole, path, to)     sx, liblinear, libsvm, onnx or csv
to_sklearn, to_onnx, write_liblinear, read_liblinear, write_libsvm_model, ...   each by itself

See Also
--------
save : the model file of this library, with its proof.
to_sklearn : an estimator of scikit-learn.

Examples
--------
>>> import pathlib, tempfile
>>> import separatrix as sx
>>> model = sx.LinearSVM().fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
>>> path = pathlib.Path(tempfile.mkdtemp()) / "model"
>>> write_liblinear(model, path)
>>> format_of(path), read_liblinear(path).predict([[0.5], [3.5]]).tolist()
('liblinear', [-1, 1])
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from separatrix.data.encodings.column_features import FeatureEncoding
from separatrix.data.encodings.encoding import IndexEncoding
from separatrix.data.encodings.words import TextEncoding
from separatrix.storage.liblinear_model import read_liblinear, write_liblinear
from separatrix.storage.libsvm_model import read_libsvm_model, write_libsvm_model
from separatrix.storage.model_file import ModelFile, format_of, save_whole, taken_apart
from separatrix.storage.model_file import read_any as read
from separatrix.storage.model_summary import write_coefficients
from separatrix.storage.onnx_encoding import has_onnx_form
from separatrix.storage.onnx_model import to_onnx, write_onnx
from separatrix.storage.sklearn_model import to_sklearn

__all__ = [
    "FORMATS",
    "format_of",
    "read",
    "read_liblinear",
    "read_libsvm_model",
    "to_onnx",
    "to_sklearn",
    "write",
    "write_coefficients",
    "write_liblinear",
    "write_libsvm_model",
    "write_onnx",
]

FORMATS = ("sx", "liblinear", "libsvm", "onnx", "csv")


def write(
    whole: ModelFile,
    path: str | os.PathLike[str],
    to: str,
    *,
    number_classes: bool = False,
    features: bool = False,
) -> None:
    """Write a model in another format.

    ONNX takes raw columns: how they become features is written with the model. LIBLINEAR and LIBSVM
    take numbers; standardised columns are folded into the weights there. Where anything else makes
    features first, as of texts, that part stays behind, and `features` says that this is meant.
    """
    if to not in FORMATS:
        raise ValueError(f"The format must be one of {', '.join(FORMATS)}. Got {to!r} instead.")
    if to == "sx":
        save_whole(whole, path)
        return
    whole = taken_apart(whole, dense=False)
    names = _names(whole)
    if to == "csv":
        write_coefficients(whole.model, path, names)
        return
    encoding = None if features else whole.encoding
    if to == "onnx":
        if encoding is not None and not has_onnx_form(encoding):
            raise _stays_behind(encoding)
        write_onnx(whole.model, path, names, encoding)
        return
    model = whole.model if encoding is None else _of_numbers(whole.model, encoding)
    written = write_liblinear if to == "liblinear" else write_libsvm_model
    written(model, path, number_classes=number_classes)


def _stays_behind(encoding: Any) -> ValueError:
    inner = encoding.inner if isinstance(encoding, FeatureEncoding) else encoding
    is_text = isinstance(inner, TextEncoding) or np.any(getattr(inner, "words", False))
    made_of = "texts" if is_text else "columns"
    return ValueError(
        f"This model makes its features from {made_of}, which the other program would do "
        "otherwise. Export it for rows that are features already (features=True, --features; in "
        "Python the encoding's `transform` makes them), or predict with `separatrix predict`."
    )


def _of_numbers(model: Any, encoding: Any) -> Any:
    """Return the model for numbers as they are read; scaling stands before it."""
    inner = encoding.inner if isinstance(encoding, FeatureEncoding) else encoding
    if not (isinstance(inner, IndexEncoding) or _plain_numbers(inner)):
        raise _stays_behind(encoding)
    if inner is encoding:
        return model
    columns = encoding.columns
    added = columns.of_one_column or columns.pairs or columns.cosines
    if added or hasattr(model, "steps"):
        raise _stays_behind(encoding)
    from separatrix.core.models import Pipeline, StandardScaler

    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = columns.shift, columns.scale
    scaler.n_features_in_ = len(scaler.scale_)
    return Pipeline([("scale", scaler), ("model", model)])


def _plain_numbers(encoding: Any) -> bool:
    """Whether every column of a table is a number, taken as it is."""
    codes = getattr(encoding, "codes", None)
    return codes is not None and all(
        type(code).__name__ == "NumberCode" and not code.indicator for code in codes
    )


def _names(whole: ModelFile) -> Any:
    if whole.encoding is not None:
        return whole.encoding.feature_names
    return whole.feature_names
