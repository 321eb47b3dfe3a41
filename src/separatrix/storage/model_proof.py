"""The proof that a model file carries, made again from the data, and tied to what predicts.

A proof about other weights than those that predict says nothing of the predictions. So everything
that a fit keeps is made again from the certificate, the parameters and the data, and compared:
classes, weights, costs, kernel, support vectors, bounds, status. What only the run knows is named.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.certificates.errors import FewestErrors
from separatrix.certificates.partition import Partition
from separatrix.certificates.separation import Separation
from separatrix.checker.exact import is_fingerprint
from separatrix.core.models import fresh, settings_of
from separatrix.data.encodings.column_features import deviations
from separatrix.errors import DataError, with_article
from separatrix.problem.equilibrate import column_sizes
from separatrix.storage import claims_of_closed_forms, claims_of_gaps, claims_of_halfspaces
from separatrix.storage.certificate_files import NOT_THESE
from separatrix.storage.claims_of_gaps import each_problem
from separatrix.storage.claims_of_halfspaces import proved_threshold
from separatrix.storage.encoding_proof import require_encoding, unproved_settings
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
NO_CLAIM = "the certificate says itself that it does not hold: there is nothing to prove"
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


def examine(
    model: Any, X: Any, y: Any, sample_weight: Any = None, names: Sequence[str] | None = None
) -> Examined:
    """Make the proof again and compare every stored value with what follows from it.

    `names` are those of the columns of X; without them names in the model are not proved.
    """
    not_proved: list[str] = []
    try:
        if hasattr(model, "steps"):
            X, names = _after_steps(model, X, y, names, not_proved)
            model = last_step(model)[0]
        data = TrainingRows.of(X, y, sample_weight)
        many = hasattr(model, "certificates_")
        sentence = (_many if many else _one)(model, data, names, not_proved)
    except Mismatch as reason:
        return Examined(False, str(reason))
    except _STUMBLES:  # parts of other shapes, or none
        return Examined(False, "the parts of the model do not fit together, or not to these data")
    return Examined(True, sentence, tuple(not_proved))


def _after_steps(pipeline: Any, X: Any, y: Any, names: Any, not_proved: list[str]) -> Any:
    """Return the rows that the last step is given, and their names; require each map before it."""
    require(not fitted_names(pipeline), "a pipeline has no values but those of its steps")
    for step in last_step(pipeline)[1]:
        X, names = _features(step, X, y, names, not_proved)
    return X, names


def _features(step: Any, X: Any, y: Any, names: Any, not_proved: list[str]) -> Any:
    """Return what a feature map makes of the rows, and its names; a pipeline may be one."""
    if hasattr(step, "steps"):
        X, names = _after_steps(step, X, y, names, not_proved)
        return _features(last_step(step)[0], X, y, names, not_proved)
    require_feature_map(step, X, y, names, not_proved)
    of = getattr(step, "get_feature_names_out", None)
    made = None if names is None or of is None else [str(name) for name in of(list(names))]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # these it has
        return step.transform(X if getattr(step, "copy", True) is True else X.copy()), made


def _require_names(model: Any, names: Any, not_proved: list[str]) -> None:
    """Require the names of columns that a model keeps; say that they are not proved without any."""
    kept = vars(model).get("feature_names_in_")
    if kept is None:
        return
    what = f"feature_names_in_ of {type(model).__name__}"
    if names is None:
        require(len(kept) == model.n_features_in_, f"{what} are not as many as its features")
        not_proved.append(what)
        return
    same = [str(name) for name in kept] == [str(name) for name in names]
    require(same, f"{what} are not the names of these columns")


def _one(model: Any, data: TrainingRows, names: Any, not_proved: list[str]) -> str:
    """Prove a model that has one certificate; return what is proved."""
    proof = model.certificate_
    claims = _CLAIMS.get(type(proof))
    if claims is None:
        said, of = with_article(type(proof).__name__), with_article(type(model).__name__)
        raise Mismatch(f"{said} says nothing of {of}")
    _require_named(proof, data)
    values = Values(model, not_proved)
    _require_rows(values, data, names)
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


def _require_rows(values: Values, data: TrainingRows, names: Any) -> None:
    """Require the number of features and the classes of the data, in their order."""
    model = values.model
    values.same(n_features_in_=int(data.X.shape[1]))
    if getattr(model, "_has_many_labels", False):
        values.same(classes_=np.arange(np.shape(data.y)[1]))
    elif getattr(model, "task", "classification") != "regression":
        values.same(classes_=data.classes)
    _require_names(model, names, values.not_proved)
    values.require(True, "feature_names_in_")


def _require_named(proof: Any, data: TrainingRows) -> None:
    """Require that a certificate names its data, and their classes as they are."""
    if hasattr(proof, "machines"):
        for gap, rows in each_problem(proof, data):
            _require_named(gap, data if rows is None else data.part(rows))
        return
    inner: Any = getattr(proof, "separation", getattr(proof, "squares", proof))
    of_rows = isinstance(inner, Partition | FewestErrors) or isinstance(proof, Separation)
    states = not of_rows or getattr(inner, "holds", True) is True
    require(states, NO_CLAIM)
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


def _many(model: Any, data: TrainingRows, names: Any, not_proved: list[str]) -> str:
    """Prove the models of a wrapper, each on its own rows and labels."""
    values = Values(model, not_proved)
    _require_rows(values, data, names)
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
        _one(one, TrainingRows.of(part, labels, weights), names, not_proved)
    values.record("n_iter_")
    values.close()
    return f"the certificates of all {len(proofs)} models hold"


# ---- the steps before a classifier


_ROUNDING, _OF_SIZE = 1e-9, 1e-12
_OF_SUMS = {"mean_": 1, "var_": 2}  # and the power of a column's unit that they are in
_REMADE = ("_tree",)


def require_feature_map(step: Any, X: Any, y: Any, names: Any, not_proved: list[str]) -> None:
    """Require the fitted values that the step learns from these rows, up to rounding."""
    kind, settings = type(step).__name__, settings_of(step)
    _require_names(step, names, not_proved)
    if settings.get("random_state", 0) is None:
        not_proved.append(f"the random choices of {kind}")
        return
    if "clip" in settings:  # which no row of training shows
        not_proved.append(f"clip of {kind}")
    _require_held(step, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = fresh(step).fit(X if getattr(step, "copy", True) is True else X.copy(), y)
    left_out = (*_REMADE, "feature_names_in_")
    held = [name for name in fitted_names(step) if name not in left_out]
    learned = all(hasattr(again, name) for name in held)
    require(learned, f"{kind} holds values that it does not learn")
    for name in held:
        near = _are_near(name, getattr(step, name), getattr(again, name), X)
        require(near, f"{name} of {kind} is not what it learns from these rows")


def _require_held(step: Any, X: Any) -> None:
    """Require no more components than a step holds or rows give, before it is fitted again."""
    sizes = [size for value in vars(step).values() for size in getattr(value, "shape", ())]
    count = settings_of(step).get("n_components")
    holds = not isinstance(count, int) or count <= max([X.shape[0], *sizes])
    require(holds, f"n_components of {type(step).__name__} is more than it holds")


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
_NO_ROWS = "the model file says that it was trained on no rows"
ABOUT = "what the file says about itself"


def examine_file(
    whole: ModelFile, table: Any, labels: np.ndarray, source: Any, options: dict[str, Any]
) -> Examined:
    """Prove a model file from the `table` that its encoding makes of `source`.

    `labels` are those of the table, or one class against all others.
    """
    X, all_rows, all_labels = table.X, table.X, labels
    rows = np.arange(len(labels)) if whole.rows is None else whole.rows
    if not len(rows) or rows.max(initial=0) >= len(labels):
        return Examined(False, _FEWER if len(rows) else _NO_ROWS)
    codes = np.unique(labels, return_inverse=True)[1]
    if whole.rows is not None:
        X, labels = X[rows], labels[rows]
    names = [str(name) for name in table.feature_names]
    try:
        require(len(np.unique(rows)) == len(rows), "a row of training is numbered twice")
        _require_source(whole)
        require_described(whole, names, X)
        require_encoding(whole.encoding, table, source, options, (rows, codes))
    except (Mismatch, DataError) as reason:
        return Examined(False, str(reason))
    found = examine(whole.model, X, labels, names=names)
    not_proved = [*found.not_proved, *unproved_settings(whole.encoding), ABOUT]
    if not found.proved:
        return Examined(False, found.sentence, tuple(not_proved))
    try:
        more = proved_threshold(whole, all_rows, all_labels, not_proved)
    except Mismatch as reason:
        return Examined(False, str(reason))
    return Examined(True, found.sentence + more, tuple(not_proved))


def _require_source(whole: ModelFile) -> None:
    digest = str(whole.about.get("data_sha256", ""))
    blocks = re.fullmatch("[0-9]+-[0-9a-f]{64}", digest) is not None
    require(not blocks, "the model was fitted from blocks: verify it with --memory")
    named = re.fullmatch("[0-9a-f]{64}", digest) is not None
    require(named, "the model file does not name the data file it was made of")


def require_described(whole: ModelFile, names: Sequence[str], X: Any) -> None:
    """Require the names and deviations of the features that a file keeps beside its model."""
    listed = not whole.feature_names or list(whole.feature_names) == list(names)
    require(listed, "the names of the features in the file are not those of the data")
    if whole.spreads is not None:
        again = deviations(X)
        room = _ROUNDING * (abs(again) + abs(X).max(axis=0))
        near = (abs(again - whole.spreads) <= room).all()
        require(near, "the standard deviations in the file are not those of the features")


def require_bare(whole: ModelFile) -> None:
    """Refuse a choice of rows, and a claim about a threshold, where there is no table to prove it.

    A file that was saved without its table, or fitted within --memory, has neither.
    """
    require(whole.rows is None, "the file numbers rows of training, and was saved without a table")
    claims = "threshold" in whole.about
    require(not claims, "the file makes a claim about its threshold that nothing here proves")
