"""The proof of a model file, from data files: what `separatrix verify MODEL.sx DATA` examines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from separatrix.cli import _fitting as fitting
from separatrix.cli import _reading as reading


def examined_model(path: Path, source: reading.Source, positive: str | None) -> Any:
    """Prove the model of a file again, on the rows it says it was trained on."""
    from separatrix.report.study_proof import labels_of
    from separatrix.storage.certificate_files import since_model
    from separatrix.storage.model_file import (
        begins_with_encoder,
        has_proof,
        needs_estimator,
        read_model,
    )
    from separatrix.storage.model_proof import NO_CLAIM, examine_file

    whole = read_model(path, plain=True)
    if needs_estimator(whole.model):
        whole = read_model(path)
    if whole.encoding is None and has_proof(whole.model):
        of = _of_pipeline if begins_with_encoder(whole.model) else _of_numbers
        return _examined_bare(path, whole, source, positive, of)
    if whole.encoding is None or not has_proof(whole.model):
        raise typer.BadParameter(f"{path} does not hold a proof about a data file.")
    options = source.as_trained
    table = whole.encoding.transform(source.place, **options)
    labels = labels_of(table.y, positive or whole.about.get("positive"))
    found = examine_file(whole, table, labels, source.place, options)
    if found.proved or found.sentence == NO_CLAIM:
        return found
    return replace(
        found, sentence=with_difference(found.sentence, since_model(whole, table, labels))
    )


def with_difference(sentence: str, differs: str) -> str:
    """Return why something is not proved, and how the data differ where that is known."""
    return f"{sentence}. {differs}." if differs else sentence


def _examined_bare(
    path: Path, whole: Any, source: reading.Source, positive: str | None, of: Any
) -> Any:
    """Prove a model that was saved without its table; `of` makes its features of the data."""
    from separatrix.storage.fitted_values import Mismatch
    from separatrix.storage.model_proof import ABOUT, Examined, examine

    if source.target is None and source.labels is None:
        raise typer.BadParameter(
            f"{path} was saved without its table, and does not say which column holds the labels: "
            "name it with --target."
        )
    try:
        model, X, names, labels, settings = of(whole, source, positive)
    except Mismatch as reason:
        return Examined(False, str(reason))
    found = examine(model, X, labels, names=names)
    return replace(found, not_proved=(*found.not_proved, *settings, ABOUT))


def _of_pipeline(whole: Any, source: reading.Source, positive: str | None) -> Any:
    """Return what follows an encoder, and its rows: the file must teach the same encoding again."""
    import numpy as np

    from separatrix.storage.encoding_proof import (
        require_encoder,
        require_encoding,
        unproved_settings,
    )
    from separatrix.storage.model_file import as_encoded, taken_apart, with_target
    from separatrix.storage.model_proof import require_bare, require_described

    read, options = source.read(), source.as_trained
    apart = taken_apart(whole, dense=False)
    columns = [str(name) for name in read.columns_used or ()]
    require_encoder(whole.model.steps[0][1], columns)
    encoding = with_target(apart.encoding, read.target, read.classes.tolist(), columns)
    table = encoding.transform(source.place, **options)
    labels = reading.two_labels(table, positive)
    codes = np.unique(labels, return_inverse=True)[1]
    names = [str(name) for name in table.feature_names]
    require_bare(whole)
    require_described(whole, names, table.X)
    require_encoding(encoding, table, source.place, options, (np.arange(len(labels)), codes))
    settings = ["parameters and notes_ of Encoder", *unproved_settings(encoding)]
    return apart.model, as_encoded(whole.model, table.X), names, labels, settings


def _of_numbers(whole: Any, source: reading.Source, positive: str | None) -> Any:
    """Return a model that was fitted to arrays, and the columns that it was given."""
    from separatrix.errors import DataError
    from separatrix.storage.model_proof import require_bare, require_described

    table = source.read()
    X, names = table.X, [str(name) for name in table.feature_names]
    kept = getattr(whole.model, "feature_names_in_", None)
    needed = names if kept is None else [str(name) for name in kept]
    absent = [name for name in needed if name not in names]
    if absent:
        raise DataError(f"there is no feature {absent[0]!r}, which the model has", table.source)
    if needed != names:
        X = X[:, [names.index(name) for name in needed]]
    if X.shape[1] != whole.model.n_features_in_:
        raise DataError(
            f"the model has {whole.model.n_features_in_:,} features, and these data give "
            f"{X.shape[1]:,}; leave columns out with --drop, or give the numbers it was fitted to",
            table.source,
        )
    require_bare(whole)
    require_described(whole, needed, X)
    return whole.model, X, needed, reading.two_labels(table, positive), []


def examined_on_partitions(path: Path, rows: Any) -> Any:
    """Prove the model of a file again from partitions, block by block."""
    from separatrix.storage.fitted_values import Mismatch, require
    from separatrix.storage.model_file import has_proof, read_model
    from separatrix.storage.model_proof import ABOUT, Examined, examine, require_bare

    whole = read_model(path)
    if not has_proof(whole.model) or "coef_" not in vars(whole.model):
        raise typer.BadParameter(f"{path} does not hold a proof about partitions.")
    both = whole.encoding, fitting.Described(rows).encoding
    encodings = [None if of is None else of.to_dict() for of in both]
    listed = whole.feature_names
    try:
        require(encodings[0] == encodings[1], _OTHER_ENCODING)
        same = listed is None or list(listed) == list(rows.feature_names)
        require(same, "the names of the features in the file are not those of the data")
        require(whole.spreads is None, _IN_MEMORY)
        require_bare(whole)
    except Mismatch as reason:
        return Examined(False, str(reason))
    found = examine(whole.model, rows, rows.classes, names=rows.feature_names)
    return replace(found, not_proved=(*found.not_proved, ABOUT))


_OTHER_ENCODING = (
    "the file does not take its features as --memory reads them: by their number or, of Parquet, "
    "each column as it is; a model that was fitted in memory is verified without --memory"
)
_IN_MEMORY = (
    "the file was fitted in memory and holds the standard deviations of its features: verify it "
    "without --memory"
)
