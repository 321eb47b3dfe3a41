"""The proof that a model file carries, made again from the data, and tied to what predicts.

A proof about other weights than those that predict says nothing of the predictions. So everything
that a fit keeps is made again from the certificate, the parameters and the data, and compared:
classes, weights, costs, kernel, support vectors, bounds, status. What only the run knows is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import DualityGap, DualityGaps, PairGaps, ScaledGap
from separatrix.certificates.errors import FewestErrors
from separatrix.certificates.fisher import FisherDirection, FisherDirections
from separatrix.certificates.gaussian_estimates import GaussianEstimates
from separatrix.certificates.kernel_gap import KernelGap, KernelGaps, KernelMulticlassGap
from separatrix.certificates.kernel_separation import KernelSeparation
from separatrix.certificates.least_squares import LeastSquaresOptimality
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.partition import Partition
from separatrix.certificates.reading import NOT_THESE
from separatrix.certificates.separation import MarginBounds, Separation
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.storage.claims_of_estimates import require_fisher_classes, require_gaussian
from separatrix.storage.claims_of_halfspaces import require_fewest_errors, require_halfspace
from separatrix.storage.claims_of_kernels import require_kernel_machine, require_kernel_rule
from separatrix.storage.claims_of_machines import require_gap_of_model
from separatrix.storage.claims_of_squares import require_fisher, require_least_squares
from separatrix.storage.feature_maps import require_feature_map
from separatrix.storage.fitted_values import Mismatch, Values, are_same
from separatrix.storage.kept_proof import has_proof, last_step
from separatrix.storage.training_rows import TrainingRows

__all__ = ["Examined", "examine", "has_proof", "prove_model"]

_CLAIMS: dict[type, Any] = {
    DualityGap: require_gap_of_model,
    DualityGaps: require_gap_of_model,
    PairGaps: require_gap_of_model,
    ScaledGap: require_gap_of_model,
    MulticlassGap: require_gap_of_model,
    SoftmaxGap: require_gap_of_model,
    KernelGap: require_kernel_machine,
    KernelGaps: require_kernel_machine,
    KernelMulticlassGap: require_kernel_machine,
    MarginBounds: require_halfspace,
    Separation: require_halfspace,
    Partition: require_halfspace,
    FewestErrors: require_fewest_errors,
    LeastSquaresOptimality: require_least_squares,
    FisherDirection: require_fisher,
    FisherDirections: require_fisher_classes,
    GaussianEstimates: require_gaussian,
    KernelSeparation: require_kernel_rule,
}
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
    >>> machine = sx.Kozinec().fit(X, y)
    >>> holds, sentence = prove_model(machine, np.array(X), np.array(y))
    >>> print(holds, sentence.split(" (")[0])
    True all 3 rows lie strictly on their own side
    >>> machine.classes_ = machine.classes_[::-1]
    >>> prove_model(machine, np.array(X), np.array(y))
    (False, 'classes_ of the model does not follow from its certificate and the data')
    """
    found = examine(model, X, y, sample_weight)
    return found.proved, found.sentence


def examine(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Examined:
    """Make the proof again and compare every stored value with what follows from it."""
    not_proved: list[str] = []
    try:
        model, steps = last_step(model)
        for step in steps:
            require_feature_map(step, X, not_proved)
            X = step.transform(X if getattr(step, "copy", True) is True else X.copy())
        data = TrainingRows.of(X, y, sample_weight)
        many = hasattr(model, "certificates_")
        sentence = (_many if many else _one)(model, data, not_proved)
    except Mismatch as reason:
        return Examined(False, str(reason))
    except _STUMBLES:  # parts of other shapes, or none
        return Examined(False, "the parts of the model do not fit together, or not to these data")
    return Examined(True, sentence, tuple(not_proved))


def _one(model: Any, data: TrainingRows, not_proved: list[str]) -> str:
    """Prove a model that has one certificate; return what is proved."""
    proof = model.certificate_
    claims = _CLAIMS.get(type(proof))
    if claims is None:
        raise Mismatch(f"a {type(proof).__name__} says nothing of a {type(model).__name__}")
    _require_named(proof, data)
    values = Values(model, not_proved)
    _require_rows(values, data)
    given = () if data.weights is None or not isinstance(proof, _WITH_WEIGHTS) else (data.weights,)
    if not proof.check(data.X, data.y, *given):
        raise Mismatch(NOT_THESE)
    claims(values, data)
    values.require(True, "certificate_")
    values.close()
    return _sentence(proof)


_WITH_WEIGHTS = (
    FewestErrors, LeastSquaresOptimality, FisherDirection, FisherDirections, GaussianEstimates
)  # fmt: skip


def _require_rows(values: Values, data: TrainingRows) -> None:
    """Require the number of features and the classes of the data, in their order."""
    model = values.model
    values.same(n_features_in_=int(data.X.shape[1]))
    if getattr(model, "task", "classification") != "regression":
        values.same(classes_=data.classes)
    names = vars(model).get("feature_names_in_")
    values.require(names is None or len(names) == data.X.shape[1], "feature_names_in_")


def _require_named(proof: Any, data: TrainingRows) -> None:
    """Require that a certificate names its data, and their classes as they are."""
    if isinstance(proof, DualityGaps | KernelGaps | ScaledGap):
        for machine in proof.machines:
            _require_named(machine, data)
        return
    if isinstance(proof, PairGaps):
        for machine, pair in zip(proof.machines, proof.pairs, strict=True):
            _require_named(machine, data.part(np.flatnonzero(np.isin(data.codes, pair))))
        return
    inner: Any = getattr(proof, "separation", getattr(proof, "squares", proof))
    if getattr(inner, "holds", True) is not True and isinstance(inner, Partition | FewestErrors):
        raise Mismatch("the certificate says itself that it does not hold")
    if len(str(inner.data_sha256)) != 64:
        raise Mismatch("the certificate does not name the data it was made of")
    if hasattr(inner, "classes") and tuple(inner.classes) != data.names():
        raise Mismatch("the certificate names other classes")
    if (inner.n_rows, inner.n_features) != (data.n_rows, data.X.shape[1]):
        raise Mismatch("the certificate is about another number of rows or features")


def _sentence(proof: Any) -> str:
    if isinstance(proof, Separation):
        return f"the weights separate all {proof.n_rows} rows"
    return str(proof).removeprefix("proved: ")


def _many(model: Any, data: TrainingRows, not_proved: list[str]) -> str:
    """Prove the models of a wrapper, each on its own rows and labels."""
    values = Values(model, not_proved)
    _require_rows(values, data)
    tasks = list(model._labels(data.codes))
    pairs = vars(model).get("pairs_")
    values.require(pairs is None or len(pairs) == len(tasks), "pairs_")
    proofs = [getattr(one, "certificate_", None) for one in model.estimators_]
    values.require(len(model.estimators_) == len(tasks), "estimators_")
    values.require(are_same(list(model.certificates_), proofs), "certificates_")
    expected = model.estimator.get_params()
    for one, (rows, labels) in zip(model.estimators_, tasks, strict=True):
        found = one.get_params()
        values.require(type(one) is type(model.estimator), "estimators_")
        values.require(repr(found) == repr(expected), "estimators_")
        part = data.X if rows is None else data.X[rows]
        weights = data.weights if data.weights is None or rows is None else data.weights[rows]
        _one(one, TrainingRows.of(part, labels, weights), not_proved)
    values.record("n_iter_")
    values.close()
    return f"the certificates of all {len(proofs)} machines hold"
