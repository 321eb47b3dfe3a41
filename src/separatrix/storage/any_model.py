"""A model file of any program that is known here: which it is, and reading it."""

from __future__ import annotations

import os

from separatrix.errors import ModelFileError
from separatrix.storage.model_file import MAGIC, ModelFile, read_model

__all__ = ["format_of", "read"]


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


def read(
    path: str | os.PathLike[str], n_features: int | None = None, *, plain: bool = False
) -> ModelFile:
    """Read a model of ours, of LIBLINEAR or of LIBSVM, with how its raw data are read.

    `n_features` is the width of LIBSVM's data where its support vectors do not show it. With
    `plain` a linear model needs no scikit-learn (see `read_model`).
    """
    kind = format_of(path)
    if kind == "sx":
        return read_model(path, plain=plain)
    from separatrix.data.readers.by_kind import IndexEncoding

    if kind == "liblinear":
        from separatrix.storage.liblinear_model import read_liblinear

        model = read_liblinear(path, plain=plain)
    else:
        from separatrix.storage.libsvm_model import read_libsvm_model

        model = read_libsvm_model(path, n_features)
    classes = tuple(model.classes_.tolist())
    encoding = IndexEncoding(int(model.n_features_in_), 1, "", classes)
    return ModelFile(model, encoding, about={"made_with": kind.upper(), "source": ""})
