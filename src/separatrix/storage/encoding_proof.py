"""The encoding of a model file, learned again from the rows that taught it.

Words and their weights, categories, medians, scales and knots follow from the data. An encoding
that does not is refused: other features than those of training would be predicted from. Some of
it does not show in the rows of training at all, such as a word that none of them holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data.encodings.column_features import GAMMAS, ColumnFeatures
from separatrix.data.encodings.columns import MISSING_WORDS
from separatrix.data.encodings.prepared import expected_columns
from separatrix.data.encodings.words import fit_text
from separatrix.data.raw_rows import RawRows
from separatrix.data.table import AS_READ, read
from separatrix.errors import DataError
from separatrix.storage.fitted_values import Mismatch, are_same, require

Training = tuple[np.ndarray, np.ndarray]  # the rows trained on, and the class number of every row
_LEARNED = 1e-6  # of a weight in single precision
_OTHER_COLUMNS = "the names of the columns in the encoder are not those of the data"
_TARGET_TAKEN = "the encoding takes the target itself as a feature"


def require_encoding(
    encoding: Any, table: Any, source: Any, options: dict[str, Any], training: Training
) -> None:
    """Learn the encoding again; `table` is what it makes of `source`."""
    plain = encoding.to_dict()
    classes = list(encoding.classes)
    same = not classes or are_same(classes, np.unique(table.y).tolist())
    require(same, "the classes of the encoding are not those of the data")
    kind = plain["kind"]
    if kind == "table":
        _require_columns(plain, _read_again(encoding, source, options), training)
    elif kind == "index":
        _require_numbered(encoding, source, options)
    elif kind == "features":
        _require_features(encoding, source, options, training)
    elif kind in ("text", "grams"):
        require(table.texts is not None, "the encoding takes texts, and these data hold none")
        require(encoding.column is None or encoding.column != encoding.target, _TARGET_TAKEN)
        (_require_words if kind == "text" else _require_grams)(encoding, table, training)
    else:
        raise Mismatch(f"nothing proves an encoding of the kind {kind!r}")


def require_columns_of(encoding: Any, table: Any, training: Training) -> None:
    """Require that an encoding takes the columns of a table, and its target for the target.

    It may leave out what teaches nothing, such as a constant column, in all rows or in those of
    training.
    """
    inner = getattr(encoding, "inner", encoding)
    require(inner.target == table.target, "the target of the encoding is not that of the data")
    if table.columns_used is None:
        return
    used, taken = set(table.columns_used), set(expected_columns(inner))
    require(taken <= used, "the encoding takes columns that are no features of these data")
    if used > taken:
        some = RawRows(table).learn(AS_READ, *training).encoding
        left_out = {*table.encoding.dropped, *some.dropped}
        require(used - taken <= left_out, "the encoding leaves out columns of these data")


def require_encoder(encoder: Any, columns: Sequence[str]) -> None:
    """Require that an `Encoder` names the columns that it was given as the data name them."""
    names, kept = encoder._names, vars(encoder).get("feature_names_in_")
    known = [f"x{at}" for at in range(len(names))] if kept is None else [str(n) for n in kept]
    require(names == known and set(names) <= set(columns), _OTHER_COLUMNS)


def unproved_settings(encoding: Any) -> list[str]:
    """Name the settings of an encoding that are not the usual ones, and that no row shows."""
    inner = getattr(encoding, "inner", encoding)
    settings = {
        "the words that mean a missing value": getattr(inner, "missing", MISSING_WORDS)
        != MISSING_WORDS,
        "the decimal sign": getattr(inner, "decimal", None) is not None,
        "the stop words": bool(getattr(inner, "stop_words", ())),
    }
    return [name for name, given in settings.items() if given]


def _require_numbered(encoding: Any, source: Any, options: dict[str, Any]) -> None:
    """Require that features are numbered as the data number them."""
    again = read(source, zero_based=encoding.first == 0, **options).encoding
    named = [(each.prefix, each.first, each.target) for each in (encoding, again)]
    require(named[0] == named[1], "the features of the encoding are not numbered as in these data")


def _require_features(
    encoding: Any, source: Any, options: dict[str, Any], training: Training
) -> None:
    """Require columns that become others to be those that the rows of training teach."""
    inner = encoding.inner
    kind = inner.to_dict()["kind"]
    require(kind in ("table", "index"), f"nothing proves features made of an encoding of {kind!r}")
    if kind == "table":
        again = _read_again(inner, source, options)
    else:
        _require_numbered(inner, source, options)
        again = inner.transform(source, **options)
    learned = RawRows(again).learn(_features_of(encoding.columns), *training).encoding.to_dict()
    plain = encoding.to_dict()
    if kind == "table":
        _require_same_columns(plain["inner"], learned["inner"])
    parts = ("shift", "scale", "ranks", "splines", "pairs", "cosines")
    same = all(_are_alike(plain.get(name), learned.get(name)) for name in parts)
    require(same, "how columns become features is not learned from these data")


def _require_words(encoding: Any, table: Any, training: Training) -> None:
    """Require the words, the most frequent where they are few, and what they weigh."""
    if encoding.hashing:
        return
    options = replace(encoding, vocabulary=(), idf=())
    plain = encoding.to_dict()
    for rows in (np.arange(len(table.texts)), training[0]):
        documents = [table.texts[row] for row in rows.tolist()]
        learned = fit_text(documents, options, len(encoding.vocabulary))[0].to_dict()
        if all(_are_alike(plain[name], learned[name]) for name in ("vocabulary", "idf")):
            return
    raise Mismatch("the words of the encoding, or their weights, are not learned from these data")


def _require_grams(encoding: Any, table: Any, training: Training) -> None:
    """Require the n-grams and their weights."""
    plain = encoding.to_dict()
    learned = RawRows(table).learn(encoding.features, *training).encoding.to_dict()
    for name in ("vocabulary", "pieces", "weights", "piece_weights"):
        same = _are_alike(plain[name], learned[name])
        require(same, f"the {name} of the encoding are not learned from these data")


def _features_of(columns: ColumnFeatures) -> str:
    """Return the name of the features that columns become."""
    if columns.cosines is None:
        made = {"ranks": columns.ranks, "splines": columns.splines, "products": columns.pairs}
        return next((name for name, parts in made.items() if parts), "standard")
    gamma = columns.cosines.gamma
    return next((name for name, own in GAMMAS.items() if own == gamma), "cosines")


def _read_again(encoding: Any, source: Any, options: dict[str, Any]) -> Any:
    """Read raw columns as the table of training was read."""
    categories = [code for code in encoding.to_dict()["columns"] if code["kind"] == "category"]
    sizes = [len(code["values"]) for code in categories]
    pooled = [len(code["values"]) for code in categories if code["other"]]
    try:
        return read(
            source,
            target=encoding.target,
            drop=encoding.dropped,
            categorical=[code["name"] for code in categories],
            missing=sorted(encoding.missing),
            decimal=encoding.decimal,
            max_categories=max(pooled, default=max(100, *sizes, 1)),
            **options,
        )
    except DataError as error:
        raise Mismatch(f"the encoding of the columns is not learned again: {error}") from None


def _require_columns(plain: dict[str, Any], again: Any, training: Training) -> None:
    """Require what all rows teach, or what the rows of training teach."""
    try:
        _require_same_columns(plain, again.encoding.to_dict())
    except Mismatch:
        if len(training[0]) == len(training[1]):
            raise
        some = RawRows(again).learn(AS_READ, *training).encoding
        _require_same_columns(plain, some.to_dict())


def _require_same_columns(plain: dict[str, Any], again: dict[str, Any]) -> None:
    learned = {code["name"]: code for code in again["columns"]}
    for code in plain["columns"]:
        same = learned.get(code["name"]) == code
        require(same, f"how {code['name']!r} becomes features is not learned from these data")
    for name in ("missing", "single", "decimal"):
        same = plain.get(name) == again.get(name)
        require(same, f"{name} of the encoding is not what these data give")


def _are_alike(one: Any, other: Any) -> bool:
    """Whether nested lists are equal, their numbers up to the rounding of another computer."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_are_alike, one, other))
    if type(one) is float and type(other) is float:
        return abs(one - other) <= _LEARNED * max(abs(one), abs(other))
    return bool(one == other)
