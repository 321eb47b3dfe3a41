"""A whole model file proved from a data file: the model, and what turns raw data into features.

The rows of training are made by the encoding that the file holds, so whatever changes those rows is
refused by the fingerprint of the certificate. What does not show in them is learned again.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from separatrix.data.scaling import deviations
from separatrix.errors import DataError
from separatrix.storage.fitted_values import Mismatch, are_same
from separatrix.storage.model_file import ModelFile
from separatrix.storage.model_proof import Examined, examine

__all__ = ["examine_file"]

_ROUNDING = 1e-9
_FEWER = "these data have fewer rows than the model was trained on"
_ABOUT = "what the file says about itself"


def examine_file(
    whole: ModelFile, table: Any, labels: np.ndarray, source: Any, options: dict[str, Any]
) -> Examined:
    """Prove a model file from the `table` that its encoding makes of `source`.

    `labels` are those of the table, or one class against all others.
    """
    X = table.X
    rows = np.arange(len(labels)) if whole.rows is None else whole.rows
    if not len(labels) or rows.max(initial=0) >= len(labels):
        return Examined(False, _FEWER)
    if whole.rows is not None:
        X, labels = X[rows], labels[rows]
    try:
        _require_about(whole)
        _require_spreads(whole, X)
        _require_names(whole, table)
        _require_encoding(whole.encoding, table, source, options)
    except Mismatch as reason:
        return Examined(False, str(reason))
    found = examine(whole.model, X, labels)
    return Examined(found.proved, found.sentence, (*found.not_proved, _ABOUT))


def _require_about(whole: ModelFile) -> None:
    """Require a name for the data file: which bytes those were can be looked up."""
    if not re.fullmatch("[0-9a-f]{64}", str(whole.about.get("data_sha256", ""))):
        raise Mismatch("the model file does not name the data file it was made of")


def _require_spreads(whole: ModelFile, X: Any) -> None:
    """Require the standard deviations of the features, by which weights are compared."""
    if whole.spreads is None:
        return
    again = deviations(X)
    if not (abs(again - whole.spreads) <= _ROUNDING * (abs(again) + abs(X).max(axis=0))).all():
        raise Mismatch("the standard deviations in the file are not those of the features")


def _require_names(whole: ModelFile, table: Any) -> None:
    """Require the names of the features, where the file lists them, and where the model does."""
    names = [str(name) for name in table.feature_names]
    if whole.feature_names and list(whole.feature_names) != names:
        raise Mismatch("the names of the features in the file are not those of the data")
    kept = getattr(whole.model, "feature_names_in_", None)
    if kept is not None and [str(name) for name in kept] != names:
        raise Mismatch("the names of the features in the model are not those of the data")


def _require_encoding(encoding: Any, table: Any, source: Any, options: dict[str, Any]) -> None:
    """Learn the encoding of columns again; some of it does not show in the rows of training."""
    plain = encoding.to_dict()
    if len(plain.get("classes", ())) and not are_same(
        list(plain["classes"]), np.unique(table.y).tolist()
    ):
        raise Mismatch("the classes of the encoding are not those of the data")
    if plain["kind"] != "table":
        return
    from separatrix.data.table import read

    categories = [code for code in plain["columns"] if code["kind"] == "category"]
    pooled = [len(code["values"]) for code in categories if code["other"]]
    try:
        again = read(
            source,
            target=encoding.target,
            drop=encoding.dropped,
            categorical=[code["name"] for code in categories],
            missing=sorted(encoding.missing),
            decimal=encoding.decimal,
            max_categories=max(pooled, default=max(100, *map(len, _values(categories)), 1)),
            **options,
        ).encoding.to_dict()
    except DataError as error:
        raise Mismatch(f"the encoding of the columns is not learned again: {error}") from None
    learned = {code["name"]: code for code in again["columns"]}
    for code in plain["columns"]:
        if learned.get(code["name"]) != code:
            raise Mismatch(f"how {code['name']!r} becomes features is not learned from these data")
    for name in ("missing", "single", "decimal"):
        if plain.get(name) != again.get(name):
            raise Mismatch(f"{name} of the encoding is not what these data give")


def _values(categories: list[dict[str, Any]]) -> list[list[str]]:
    return [code["values"] for code in categories]
