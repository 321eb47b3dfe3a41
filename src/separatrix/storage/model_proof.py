"""The proof that a model file carries, made again from the data, and tied to what predicts.

A proof about other weights than those that predict says nothing of the predictions. So everything
that a fit keeps is made again from the certificate, the parameters and the data, and compared:
classes, weights, costs, kernel, support vectors, bounds, status. What only the run knows is named.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.certificates.errors import FewestErrors
from separatrix.certificates.partition import Partition
from separatrix.certificates.separation import Separation
from separatrix.checker.exact import is_fingerprint
from separatrix.core.models import fresh, settings_of
from separatrix.data.encodings.column_features import GAMMAS, ColumnFeatures, deviations
from separatrix.data.raw_rows import RawRows
from separatrix.data.table import AS_READ
from separatrix.errors import DataError, with_article
from separatrix.problem.equilibrate import column_sizes
from separatrix.storage import claims_of_closed_forms, claims_of_gaps, claims_of_halfspaces
from separatrix.storage.certificate_files import NOT_THESE
from separatrix.storage.claims_of_gaps import each_problem
from separatrix.storage.claims_of_halfspaces import proved_threshold
from separatrix.storage.fitted_values import (
    Mismatch,
    TrainingRows,
    Values,
    are_near,
    are_same,
    fitted_names,
    require,
)
from separatrix.storage.model_file import ModelFile, last_step

# Certificate -> what a model that carries it must hold.
_CLAIMS: dict[type, Any] = {
    **claims_of_halfspaces.CLAIMS, **claims_of_gaps.CLAIMS, **claims_of_closed_forms.CLAIMS
}  # fmt: skip
_WITH_WEIGHTS = (FewestErrors, *claims_of_closed_forms.CLAIMS)
Training = tuple[np.ndarray, np.ndarray]  # the rows trained on, and the class number of every row
_STUMBLES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class Examined:
    """Whether a model is proved, a sentence, and the stored values that nothing proves."""

    proved: bool
    sentence: str
    not_proved: tuple[str, ...] = field(default=())


def prove_model(model: Any, X: Any, y: Any, sample_weight: Any = None) -> tuple[bool, str]:
    """Return whether the model is what its certificate proves of these data, and a sentence.

    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    >>> model = sx.Kozinec().fit(X, y)
    >>> holds, sentence = prove_model(model, np.array(X), np.array(y))
    >>> print(holds, sentence.split(" (")[0])
    True all 3 rows lie strictly on their own side
    >>> model.classes_ = model.classes_[::-1]
    >>> prove_model(model, np.array(X), np.array(y))
    (False, 'classes_ of the model does not follow from its certificate and the data')
    """
    found = examine(model, X, y, sample_weight)
    return found.proved, found.sentence


def examine(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Examined:
    """Make the proof again and compare every stored value with what follows from it."""
    not_proved: list[str] = []
    try:
        if hasattr(model, "steps"):
            X = _after_steps(model, X, not_proved)
            model = last_step(model)[0]
        data = TrainingRows.of(X, y, sample_weight)
        many = hasattr(model, "certificates_")
        sentence = (_many if many else _one)(model, data, not_proved)
    except Mismatch as reason:
        return Examined(False, str(reason))
    except _STUMBLES:  # parts of other shapes, or none
        return Examined(False, "the parts of the model do not fit together, or not to these data")
    return Examined(True, sentence, tuple(not_proved))


def _after_steps(pipeline: Any, X: Any, not_proved: list[str]) -> Any:
    """Return the rows that the last step is given; require every feature map before it."""
    require(not fitted_names(pipeline), "a pipeline has no values but those of its steps")
    for step in last_step(pipeline)[1]:
        X = _features(step, X, not_proved)
    return X


def _features(step: Any, X: Any, not_proved: list[str]) -> Any:
    """Return what a feature map makes of the rows; a pipeline may be one."""
    if hasattr(step, "steps"):
        return _features(last_step(step)[0], _after_steps(step, X, not_proved), not_proved)
    require_feature_map(step, X, not_proved)
    return step.transform(X if getattr(step, "copy", True) is True else X.copy())


def _one(model: Any, data: TrainingRows, not_proved: list[str]) -> str:
    """Prove a model that has one certificate; return what is proved."""
    proof = model.certificate_
    claims = _CLAIMS.get(type(proof))
    if claims is None:
        said, of = with_article(type(proof).__name__), with_article(type(model).__name__)
        raise Mismatch(f"{said} says nothing of {of}")
    _require_named(proof, data)
    values = Values(model, not_proved)
    _require_rows(values, data)
    weights = data.weights
    if isinstance(proof, claims_of_closed_forms.SQUARES) and model.class_weight is not None:
        weights = data.row_weights(model.class_weight)
    given = () if weights is None or not isinstance(proof, _WITH_WEIGHTS) else (weights,)
    require(proof.check(data.X, data.y, *given), NOT_THESE)
    sentence = _sentence(proof)
    require(not sentence.startswith("not proved"), sentence)
    claims(values, data)
    values.require(True, "certificate_")
    values.close()
    return sentence


def _require_rows(values: Values, data: TrainingRows) -> None:
    """Require the number of features and the classes of the data, in their order."""
    model = values.model
    values.same(n_features_in_=int(data.X.shape[1]))
    if getattr(model, "_has_many_labels", False):
        values.same(classes_=np.arange(np.shape(data.y)[1]))
    elif getattr(model, "task", "classification") != "regression":
        values.same(classes_=data.classes)
    names = vars(model).get("feature_names_in_")
    values.require(names is None or len(names) == data.X.shape[1], "feature_names_in_")


def _require_named(proof: Any, data: TrainingRows) -> None:
    """Require that a certificate names its data, and their classes as they are."""
    if hasattr(proof, "machines"):
        for gap, rows in each_problem(proof, data):
            _require_named(gap, data if rows is None else data.part(rows))
        return
    inner: Any = getattr(proof, "separation", getattr(proof, "squares", proof))
    of_rows = isinstance(inner, Partition | FewestErrors)
    states = not of_rows or getattr(inner, "holds", True) is True
    require(states, "the certificate says itself that it does not hold")
    named = is_fingerprint(inner.data_sha256)
    require(named, "the certificate does not name the data it was made of")
    alike = not hasattr(inner, "classes") or tuple(inner.classes) == data.names()
    require(alike, "the certificate names other classes")
    sized = (inner.n_rows, inner.n_features) == (data.n_rows, data.X.shape[1])
    require(sized, "the certificate is about another number of rows or features")


def _sentence(proof: Any) -> str:
    if isinstance(proof, Separation):
        return f"the weights separate all {proof.n_rows} rows"
    return str(proof.in_words()).removeprefix("proved: ")


def _many(model: Any, data: TrainingRows, not_proved: list[str]) -> str:
    """Prove the models of a wrapper, each on its own rows and labels."""
    values = Values(model, not_proved)
    _require_rows(values, data)
    again = fresh(model)
    again.classes_ = data.classes
    tasks = list(again._labels(data.codes))
    values.same_as(again, *fitted_names(again))
    proofs = [getattr(one, "certificate_", None) for one in model.estimators_]
    values.require(len(model.estimators_) == len(tasks), "estimators_")
    values.require(are_same(list(model.certificates_), proofs), "certificates_")
    expected = model.estimator.get_params()
    for one, (rows, labels) in zip(model.estimators_, tasks, strict=True):
        found = one.get_params()
        values.require(type(one) is type(model.estimator), "estimators_")
        values.require(are_same(found, expected), "estimators_")
        part = data.X if rows is None else data.X[rows]
        weights = data.weights if data.weights is None or rows is None else data.weights[rows]
        _one(one, TrainingRows.of(part, labels, weights), not_proved)
    values.record("n_iter_")
    values.close()
    return f"the certificates of all {len(proofs)} models hold"


# ---- the steps before a classifier


_ROUNDING, _OF_SIZE = 1e-9, 1e-12
_OF_SUMS = {"mean_": 1, "var_": 2}  # and the power of a column's unit that they are in
_REMADE = ("_tree",)


def require_feature_map(step: Any, X: Any, not_proved: list[str]) -> None:
    """Require the fitted values that the step learns from these rows, up to rounding."""
    if settings_of(step).get("random_state", 0) is None:
        not_proved.append(f"the random choices of {type(step).__name__}")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = fresh(step).fit(X if getattr(step, "copy", True) is True else X.copy())
    names = [name for name in fitted_names(step) if name not in _REMADE]
    kind = type(step).__name__
    learned = all(hasattr(again, name) for name in names)
    require(learned, f"{kind} holds values that it does not learn")
    for name in names:
        near = _are_near(name, getattr(step, name), getattr(again, name), X)
        require(near, f"{name} of {kind} is not what it learns from these rows")


def _are_near(name: str, one: Any, other: Any, X: Any) -> bool:
    """Whether two values are equal; numbers up to rounding in sums over a column."""
    numbers = [isinstance(v, float | int | np.number | np.ndarray) for v in (one, other)]
    if not all(numbers) or np.asarray(one).dtype.kind not in "fiu":
        return are_same(one, other)
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.shape != b.shape:
        return False
    room = _ROUNDING * (abs(b) if b.ndim < 2 else abs(b).max(axis=0, initial=0.0))
    if name in _OF_SUMS:  # that may cancel
        room = room + (_OF_SIZE * column_sizes(X)) ** _OF_SUMS[name]
    return are_near(a, b, room)


# ---- a whole model file


_FEWER = "these data have fewer rows than the model was trained on"
_ABOUT = "what the file says about itself"
_LEARNED = 1e-6  # of a weight in single precision


def examine_file(
    whole: ModelFile, table: Any, labels: np.ndarray, source: Any, options: dict[str, Any]
) -> Examined:
    """Prove a model file from the `table` that its encoding makes of `source`.

    `labels` are those of the table, or one class against all others.
    """
    X, all_rows, all_labels = table.X, table.X, labels
    rows = np.arange(len(labels)) if whole.rows is None else whole.rows
    if not len(labels) or rows.max(initial=0) >= len(labels):
        return Examined(False, _FEWER)
    codes = np.unique(labels, return_inverse=True)[1]
    if whole.rows is not None:
        X, labels = X[rows], labels[rows]
    try:
        _require_about(whole, table, X)
        require_encoding(whole.encoding, table, source, options, (rows, codes))
    except Mismatch as reason:
        return Examined(False, str(reason))
    found = examine(whole.model, X, labels)
    not_proved = [*found.not_proved, _ABOUT]
    if not found.proved:
        return Examined(False, found.sentence, tuple(not_proved))
    try:
        more = proved_threshold(whole, all_rows, all_labels, not_proved)
    except Mismatch as reason:
        return Examined(False, str(reason))
    return Examined(True, found.sentence + more, tuple(not_proved))


def _require_about(whole: ModelFile, table: Any, X: Any) -> None:
    """Require a name for the data file, the deviations of the features, and their names."""
    digest = str(whole.about.get("data_sha256", ""))
    named = re.fullmatch("[0-9a-f]{64}", digest) is not None
    require(named, "the model file does not name the data file it was made of")
    if whole.spreads is not None:
        again = deviations(X)
        room = _ROUNDING * (abs(again) + abs(X).max(axis=0))
        near = (abs(again - whole.spreads) <= room).all()
        require(near, "the standard deviations in the file are not those of the features")
    names = [str(name) for name in table.feature_names]
    listed = not whole.feature_names or list(whole.feature_names) == names
    require(listed, "the names of the features in the file are not those of the data")
    kept = getattr(whole.model, "feature_names_in_", None)
    held = kept is None or [str(name) for name in kept] == names
    require(held, "the names of the features in the model are not those of the data")


def require_encoding(
    encoding: Any, table: Any, source: Any, options: dict[str, Any], training: Training
) -> None:
    """Learn the encoding again; some of it does not show in the rows of training."""
    plain = encoding.to_dict()
    classes = list(encoding.classes)
    same = not classes or are_same(classes, np.unique(table.y).tolist())
    require(same, "the classes of the encoding are not those of the data")
    kind = plain["kind"]
    if kind == "table":
        _require_columns(plain, _read_again(encoding, source, options), training)
    elif kind == "features":
        inner = encoding.inner
        is_table = plain["inner"]["kind"] == "table"
        again = (
            _read_again(inner, source, options) if is_table else inner.transform(source, **options)
        )
        features = _features_of(encoding.columns)
        learned = RawRows(again).learn(features, *training).encoding.to_dict()
        if is_table:
            _require_same_columns(plain["inner"], learned["inner"])
        parts = ("shift", "scale", "ranks", "splines", "pairs", "cosines")
        same = all(_are_alike(plain.get(name), learned.get(name)) for name in parts)
        require(same, "how columns become features is not learned from these data")
    elif kind == "grams":
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
    from separatrix.data.table import read

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
