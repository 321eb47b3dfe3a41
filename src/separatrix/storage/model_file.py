"""The model file: ``sx.save(model, "model.sx")``, ``sx.load("model.sx")``. Loading runs no code.

One piece of ``sealed_bytes``: a JSON header and safetensors arrays under a SHA-256 of everything.
The header names the estimator by a word from ``ESTIMATORS``, its parameters and fitted values
(``kept_estimators``, ``model_values``), and what turns raw data into features.
docs/model_file.md says the rest. `read_any` also reads the files of LIBLINEAR and LIBSVM.

A JSON header and arrays in one piece, under a SHA-256: read whole and unaltered, or refused.

bytes       what
0 .. 7      the name of the format
8 .. 39     SHA-256 of everything else: the name and all that follows
40 .. 47    the length of the header, little-endian
48 ..       the header: JSON, UTF-8
then        the arrays: safetensors, to the end

A pipeline that begins with `sx.Encoder`, taken apart: what encodes columns, and the model after.

A file of `separatrix fit` keeps an encoding beside its model; a pipeline saved from Python keeps it
as the first step. Taken apart, the commands treat both alike: raw files in, proofs and exports out.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix._sparse import is_sparse
from separatrix._write_aside import write_whole
from separatrix.data.encodings.column_features import FeatureEncoding
from separatrix.data.encodings.encoding import TableEncoding
from separatrix.errors import ModelFileError
from separatrix.storage.kept_estimators import built, packed, require_known
from separatrix.storage.model_checks import require_consistent, require_fitted, require_spreads
from separatrix.storage.model_values import Packer, Unpacker

__all__ = [
    "as_encoded",
    "begins_with_encoder",
    "taken_apart",
    "with_target",
]


MAGIC = b"SXMODEL1"
FORMAT = 1


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model and what belongs to it.

    `encoding` turns raw data into the features of training (`Table.encoding`), None where the
    model met arrays. `rows` numbers the rows of the data file that were trained on, None for all.
    `spreads` are the standard deviations of the features in training, where they are known.
    `about` is plain data: source, SHA-256 of the file, target, a summary of the training.
    """

    model: Any
    encoding: Any = None
    feature_names: tuple[str, ...] | None = None
    rows: np.ndarray | None = None
    spreads: np.ndarray | None = None
    about: dict[str, Any] = field(default_factory=dict)


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    table: Any = None,
    rows: Any = None,
    about: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file; with `table`, also how raw data become features.

    Parameters
    ----------
    model : estimator
        A fitted model of this library.
    path : path
        Where to write. The file appears under this name when it is complete.
    table : Table or None, default=None
        The table the model was trained on: its encoding is kept, so that raw files are predicted.
    rows : array or None, default=None
        The numbers of the table's rows that the model was trained on, where it was not all.
    about : dict or None, default=None
        Facts to keep beside the model.

    Returns
    -------
    None

    See Also
    --------
    load : reads the file.
    exchange : model files of other programs.

    Examples
    --------
    >>> import pathlib, tempfile, separatrix as sx
    >>> model = sx.LinearSVM().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.sx"
    >>> sx.save(model, path)
    >>> sx.load(path).predict([[0.5], [3.5]]).tolist()
    [0, 1]
    """
    write_whole(path, to_bytes(model, table=table, rows=rows, about=about))


def save_whole(whole: ModelFile, path: str | os.PathLike[str]) -> None:
    """Write a model and what belongs to it, as `read_model` gives them."""
    write_whole(path, _whole_bytes(whole))


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file; an altered file is refused with `ModelFileError`.

    Loading runs no code. The certificate is loaded too, and can be checked on the training data.

    Parameters
    ----------
    path : path
        A file that `sx.save` wrote.

    Returns
    -------
    estimator
        The fitted model.

    See Also
    --------
    save : writes the file.
    exchange : model files of other programs.

    Examples
    --------
    >>> import pathlib, tempfile, separatrix as sx
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.sx"
    >>> sx.save(sx.LinearSVM().fit(X, y), path)
    >>> model = load(path)
    >>> model.predict([[0.5]]).tolist(), model.certificate_.check(X, y)
    ([0], True)
    """
    return read_model(path).model


def read_model(path: str | os.PathLike[str], *, plain: bool = False) -> ModelFile:
    """Return the model of a file and what belongs to it.

    With `plain` the model is one of `separatrix.core`, where there is one of its kind: it predicts
    alike, to the last bit, and scikit-learn is not loaded.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(len(MAGIC))
            # What is no model file is refused before it is read, whatever its size.
            return from_bytes(start if start != MAGIC else start + file.read(), plain=plain)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


# ---- writing


def to_bytes(
    model: Any, *, table: Any = None, rows: Any = None, about: dict[str, Any] | None = None
) -> bytes:
    """Return the whole file."""
    whole = ModelFile(
        model,
        None if table is None else table.encoding,
        None if table is None else tuple(str(name) for name in _listed(table)),
        None if rows is None else np.asarray(rows, dtype=np.int64),
        _spreads(table, rows),
        _of_source(table) | (about or {}),
    )
    return _whole_bytes(whole)


def _spreads(table: Any, rows: Any) -> np.ndarray | None:
    """Return the standard deviations of the features, zero where a feature is constant."""
    from separatrix.data.encodings.column_features import deviations

    X = getattr(table, "X", None)  # rows that are not in memory have none
    return None if X is None else deviations(X if rows is None else X[rows])


def _listed(table: Any) -> Any:
    """Return the names of features where the encoding does not make them itself."""
    return () if hasattr(table.encoding, "feature_names") else table.feature_names


def _whole_bytes(whole: ModelFile) -> bytes:
    require_known(whole.model)
    require_fitted(whole.model)
    packer = Packer()
    header = {
        "format": FORMAT,
        **packed(packer, whole.model),
        "rows": None if whole.rows is None else packer.pack(whole.rows, "rows"),
        "spreads": None if whole.spreads is None else packer.pack(whole.spreads, "spreads"),
        "encoding": None if whole.encoding is None else whole.encoding.to_dict(),
        "feature_names": list(whole.feature_names) if whole.feature_names else None,
        "about": whole.about,
    }
    require_consistent(whole.model, None, None, None, packer.arrays)  # or it could not be read
    return seal(MAGIC, header, packer.arrays)


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


def from_bytes(contents: bytes, *, plain: bool = False) -> ModelFile:
    """Return what a whole file holds; every fault of it is a `ModelFileError`."""
    if not contents.startswith(MAGIC):
        raise ModelFileError("this is not a model file of Separatrix.")
    header, arrays = unseal(MAGIC, contents)
    if header.get("format") != FORMAT:
        raise ModelFileError(
            "the model file is of a format that this version does not read. Use a newer Separatrix."
        )
    try:
        return _built(header, Unpacker(arrays, plain))
    except ModelFileError:
        raise
    except Exception as error:
        # Its hash is right, so someone wrote it so: whatever it is, it is no model of ours.
        raise ModelFileError(f"the model file is not well-formed: {error}") from error


def _built(header: dict[str, Any], unpacker: Unpacker) -> ModelFile:
    from separatrix.data.table import encoding_from_dict

    model = built(unpacker, header)
    plain = header["encoding"]
    encoding = None if plain is None else encoding_from_dict(plain)
    names: Any = header["feature_names"]
    about = header["about"]
    if not isinstance(about, dict):
        raise ModelFileError("the model file says nothing about itself.")
    rows = unpacker.unpack(header["rows"])
    names = None if names is None else tuple(str(each) for each in names)
    spreads = unpacker.unpack(header["spreads"])
    require_consistent(model, encoding, names, rows, unpacker.arrays)
    require_spreads(spreads, int(model.n_features_in_))
    return ModelFile(model, encoding, names, rows, spreads, about)


# ---- a file of any program


def format_of(path: str | os.PathLike[str]) -> str:
    """Say what a model file is, from its first bytes: sx, liblinear or libsvm."""
    with open(path, "rb") as file:
        start = file.read(256)
    if start.startswith(MAGIC):
        return "sx"
    if start.lstrip().startswith(b"solver_type"):
        return "liblinear"
    if start.lstrip().startswith(b"svm_type"):
        return "libsvm"
    raise ModelFileError(
        f"{os.fspath(path)}: this is no model file of Separatrix, LIBLINEAR or LIBSVM."
    )


def read_any(
    path: str | os.PathLike[str], n_features: int | None = None, *, plain: bool = False
) -> ModelFile:
    """Read a model of ours, of LIBLINEAR or of LIBSVM, with how its raw data are read.

    `n_features` is the width of LIBSVM's data where its support vectors do not show it. With
    `plain` a linear model needs no scikit-learn (see `read_model`).
    """
    kind = format_of(path)
    if kind == "sx":
        return read_model(path, plain=plain)
    from separatrix.data.encodings.encoding import IndexEncoding

    if kind == "liblinear":
        from separatrix.storage.liblinear_model import read_liblinear

        model = read_liblinear(path, plain=plain)
    else:
        from separatrix.storage.libsvm_model import read_libsvm_model

        model = read_libsvm_model(path, n_features)
    classes = tuple(model.classes_.tolist())
    encoding = IndexEncoding(int(model.n_features_in_), 1, "", classes)
    return ModelFile(model, encoding, about={"made_with": kind.upper(), "source": ""})


# ---- what it proves


def last_step(model: Any) -> tuple[Any, list[Any]]:
    """Return the model that predicts, and the steps before it."""
    steps = [step for _, step in getattr(model, "steps", [])]
    return (steps[-1], steps[:-1]) if steps else (model, [])


def has_proof(model: Any) -> bool:
    """Whether the model carries a certificate that can be checked."""
    model = last_step(model)[0]
    if hasattr(model, "certificates_"):
        return all(hasattr(proof, "check") for proof in model.certificates_)
    return hasattr(getattr(model, "certificate_", None), "check")


def needs_estimator(model: Any) -> bool:
    """Whether a proof makes parts of the model anew: steps before it, or held-out folds."""
    return hasattr(model, "steps") or bool(getattr(model, "probability", False))


# ---- a JSON header and arrays in one piece, under a SHA-256: read whole and unaltered, or refused


_HASH_AT, _LENGTH_AT, _HEADER_AT = 8, 40, 48


def seal(name: bytes, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return header and arrays as one piece; the arrays must be C-ordered.

    >>> unseal(b"EXAMPLE1", seal(b"EXAMPLE1", {"a": 1}, {"b": np.zeros(2)}))
    ({'a': 1}, {'b': array([0., 0.])})
    """
    from safetensors.numpy import save

    # Half of a surrogate pair may stand in a word of the data, and must come back as it was.
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    body = struct.pack("<Q", len(text)) + text + save(arrays)
    return name + hashlib.sha256(name + body).digest() + body


def unseal(name: bytes, contents: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays; every fault is a `ModelFileError`."""
    from safetensors.numpy import load

    if not contents.startswith(name):
        raise ModelFileError("this is not a file of the kind expected.")
    digest = hashlib.sha256(name)
    digest.update(memoryview(contents)[_LENGTH_AT:])
    if len(contents) < _HEADER_AT or digest.digest() != contents[_HASH_AT:_LENGTH_AT]:
        raise ModelFileError(
            "the file is damaged or was altered: its SHA-256 is not the one it states. "
            "Get it anew from where it was saved."
        )
    (length,) = struct.unpack_from("<Q", contents, _LENGTH_AT)
    if length > len(contents) - _HEADER_AT:
        raise ModelFileError("the header is longer than the file.")
    end = _HEADER_AT + length
    try:
        header = json.loads(contents[_HEADER_AT:end].decode("utf-8", "surrogatepass"))
        arrays = load(contents[end:])
    except Exception as error:  # the hash is right, so someone wrote it so
        raise ModelFileError(f"the file is not well-formed: {error}") from error
    if not isinstance(header, dict):
        raise ModelFileError("the file is not well-formed: its header is no table of names.")
    return header, arrays


# ---- a pipeline that begins with `sx.Encoder`, taken apart: what encodes columns, and the model


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
