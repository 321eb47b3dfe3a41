"""The model file: ``sx.save(model, "model.sx")``, ``sx.load("model.sx")``. Loading runs no code.

One piece of ``sealed_bytes``: a JSON header and safetensors arrays under a SHA-256 of everything.
The header names the estimator by a word from ``ESTIMATORS``, its parameters and fitted values
(``model_values``), and what turns raw data into features. docs/model_file.md says the rest.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.errors import ModelFileError
from separatrix.storage.model_values import Packer, Unpacker
from separatrix.storage.sealed_bytes import seal, unseal

__all__ = ["ESTIMATORS", "ModelFile", "load", "read_model", "save"]

MAGIC = b"SXMODEL1"
FORMAT = 1
_NAME = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")

# Estimator -> the module that holds it. A file can name these and nothing else.
ESTIMATORS = {
    "DeltaRule": "separatrix.estimators.delta_rule",
    "Fisher": "separatrix.estimators.fisher",
    "GaussianPlugIn": "separatrix.estimators.gaussian_plug_in",
    "Kozinec": "separatrix.estimators.kozinec",
    "LeastSquares": "separatrix.estimators.least_squares",
    "LinearProgramHalfspace": "separatrix.estimators.linear_program",
    "LinearSVM": "separatrix.estimators.linear_svm",
    "LinearSVMCV": "separatrix.selection.linear_svm_cv",
    "LogisticRegression": "separatrix.estimators.logistic_regression",
    "LogisticRegressionCV": "separatrix.selection.logistic_regression_cv",
    "Perceptron": "separatrix.estimators.perceptron",
    "SGD": "separatrix.estimators.sgd",
    "ZeroOne": "separatrix.estimators.zero_one",
}


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model and what belongs to it.

    `encoding` turns raw data into the features of training (`Table.encoding`), None where the
    model met arrays. `rows` numbers the rows of the data file that were trained on, None for all.
    `about` is plain data: source, SHA-256 of the file, target, a summary of the training.
    """

    model: Any
    encoding: Any = None
    feature_names: tuple[str, ...] | None = None
    rows: np.ndarray | None = None
    about: dict[str, Any] = field(default_factory=dict)


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    table: Any = None,
    rows: Any = None,
    about: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model; with the `table` it was trained on, also how raw data become features.

    >>> import tempfile, separatrix as sx
    >>> machine = sx.LinearSVM().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> path = Path(tempfile.mkdtemp()) / "model.sx"
    >>> sx.save(machine, path)
    >>> sx.load(path).predict([[0.5], [3.5]]).tolist()
    [0, 1]
    """
    write_whole(path, to_bytes(model, table=table, rows=rows, about=about))


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file; an altered file is refused with `ModelFileError`."""
    return read_model(path).model


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Return the model of a file and what belongs to it."""
    try:
        return from_bytes(Path(path).read_bytes())
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


# ---- writing


def to_bytes(
    model: Any, *, table: Any = None, rows: Any = None, about: dict[str, Any] | None = None
) -> bytes:
    """Return the whole file."""
    name = type(model).__name__
    if ESTIMATORS.get(name) != type(model).__module__:
        known = ", ".join(ESTIMATORS)
        raise ModelFileError(f"a {name} cannot be saved. A model file holds one of: {known}.")
    if not hasattr(model, "classes_") and not hasattr(model, "coef_"):
        raise ModelFileError(f"this {name} is not fitted. Fit it, then save it.")
    parameters = model.get_params(deep=False)
    packer = Packer()
    header = {
        "format": FORMAT,
        "estimator": name,
        "parameters": {k: packer.pack(v, k) for k, v in parameters.items()},
        "fitted": {k: packer.pack(v, k) for k, v in vars(model).items() if k not in parameters},
        "rows": None if rows is None else packer.pack(np.asarray(rows, dtype=np.int64), "rows"),
        **_of_table(table),
        "about": _of_source(table) | (about or {}),
    }
    return seal(MAGIC, header, packer.arrays)


def _of_table(table: Any) -> dict[str, Any]:
    if table is None:
        return {"encoding": None, "feature_names": None}
    encoding = table.encoding
    listed = encoding is None or not hasattr(encoding, "feature_names")
    return {
        "encoding": None if encoding is None else encoding.to_dict(),
        "feature_names": [str(name) for name in table.feature_names] if listed else None,
    }


def _of_source(table: Any) -> dict[str, Any]:
    from separatrix import __version__

    made = {"made_with": f"separatrix {__version__}"}
    if table is None:
        return made
    return made | {
        "source": os.path.basename(table.source) if table.source else "",
        "kind": table.kind,
        "data_sha256": table.sha256,
        "target": table.target,
    }


# ---- reading


def from_bytes(contents: bytes) -> ModelFile:
    """Return what a whole file holds; every fault of it is a `ModelFileError`."""
    if not contents.startswith(MAGIC):
        raise ModelFileError("this is not a model file of Separatrix.")
    header, arrays = unseal(MAGIC, contents)
    if header.get("format") != FORMAT:
        raise ModelFileError(
            "the model file is of a format that this version does not read. Use a newer Separatrix."
        )
    try:
        return _built(header, arrays)
    except ModelFileError:
        raise
    except Exception as error:
        # Its hash is right, so someone wrote it so: whatever it is, it is no model of ours.
        raise ModelFileError(f"the model file is not well-formed: {error}") from error


def _built(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> ModelFile:
    from separatrix.data.table import encoding_from_dict

    name = header["estimator"]
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ModelFileError(f"the model file names an estimator that is not known: {name!r}.")
    kind = getattr(import_module(ESTIMATORS[name]), name)
    unpacker = Unpacker(arrays)
    model = kind(**{key: unpacker.unpack(value) for key, value in header["parameters"].items()})
    for key, value in header["fitted"].items():
        if not _NAME.fullmatch(key) or hasattr(kind, key):
            raise ModelFileError(f"the model file sets {key!r}, which is not a fitted value.")
        setattr(model, key, unpacker.unpack(value))
    _require_consistent(model)
    plain = header["encoding"]
    encoding = None if plain is None else encoding_from_dict(plain)
    names = header["feature_names"]
    about = header["about"]
    if not isinstance(about, dict):
        raise ModelFileError("the model file says nothing about itself.")
    rows = unpacker.unpack(header["rows"])
    return ModelFile(
        model,
        encoding,
        None if names is None else tuple(str(each) for each in names),
        rows,
        about,
    )


def _require_consistent(model: Any) -> None:
    """Refuse a model whose parts do not fit together, before it predicts."""
    features = getattr(model, "n_features_in_", None)
    if type(features) is not int or features < 1:
        raise ModelFileError("the model file does not say how many features there are.")
    if getattr(model, "coef_", None) is None:
        return
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    classes: Any = getattr(model, "classes_", None)
    count = None if classes is None else 1 if len(classes) == 2 else len(classes)
    if (
        coef.ndim != 2
        or coef.shape[1] != features
        or intercept.shape != (len(coef),)
        or (count is not None and len(coef) not in (count, len(classes)))
        or coef.dtype.kind != "f"
        or intercept.dtype.kind != "f"
    ):
        raise ModelFileError(
            "weights, intercept and classes of the model file do not fit together."
        )
