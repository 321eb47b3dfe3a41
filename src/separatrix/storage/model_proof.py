"""The proof that a model file carries, made again from the data, and tied to what predicts.

A proof about other weights than those that predict says nothing of the predictions: so weights,
multipliers and support vectors of the model are compared with those of its certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.certificates.any_kind import NOT_THESE
from separatrix.certificates.duality_gap import DualityGap, DualityGaps
from separatrix.certificates.errors import FewestErrors
from separatrix.certificates.fisher import FisherDirection
from separatrix.certificates.kernel_gap import KernelGap, KernelGaps, signs_of
from separatrix.certificates.kernel_multiclass_gap import KernelMulticlassGap, shares_of
from separatrix.certificates.least_squares import LeastSquaresOptimality
from separatrix.certificates.margin_bounds import MarginBounds
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.pair_gaps import PairGaps
from separatrix.certificates.scaled_gap import ScaledGap
from separatrix.certificates.separation import Separation
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.estimators._one_or_all import told_apart

__all__ = ["has_proof", "prove_model"]

_NOT_ITS_OWN = "the weights of the model are not those of its certificate"


def has_proof(model: Any) -> bool:
    """Whether the model carries a certificate that can be checked."""
    model, _ = _last_step(model)
    if hasattr(model, "certificates_"):
        return all(hasattr(proof, "check") for proof in model.certificates_)
    return hasattr(getattr(model, "certificate_", None), "check")


def prove_model(model: Any, X: Any, y: Any) -> tuple[bool, str]:
    """Return whether the certificate holds for these data, and a sentence.

    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    >>> machine = sx.Kozinec().fit(X, y)
    >>> holds, sentence = prove_model(machine, np.array(X), np.array(y))
    >>> print(holds, sentence.split(" (")[0])
    True all 3 rows lie strictly on their own side
    >>> machine.coef_ = -machine.coef_
    >>> prove_model(machine, np.array(X), np.array(y))
    (False, 'the weights of the model are not those of its certificate')
    """
    model, lifts = _last_step(model)
    for lift in lifts:
        X = lift.transform(X)
    if hasattr(model, "certificates_"):
        return _prove_many(model, X, y)
    proof = model.certificate_
    if not _own(model, proof, X, y):
        return False, _NOT_ITS_OWN
    if not proof.check(X, y):
        return False, NOT_THESE
    return True, _sentence(proof)


def _last_step(model: Any) -> tuple[Any, list[Any]]:
    steps = [step for _, step in getattr(model, "steps", [])]
    return (steps[-1], steps[:-1]) if steps else (model, [])


def _sentence(proof: Any) -> str:
    if isinstance(proof, Separation):
        return f"the weights separate all {proof.n_rows} rows"
    return str(proof).removeprefix("proved: ")


def _prove_many(model: Any, X: Any, y: Any) -> tuple[bool, str]:
    """Prove the machines of a wrapper, each on its own rows and labels."""
    codes = np.searchsorted(model.classes_, np.asarray(y))
    tasks = list(model._labels(codes))
    proofs = model.certificates_
    if not len(model.estimators_) == len(tasks) == len(proofs):
        return False, _NOT_ITS_OWN
    for one, proof, (rows, labels) in zip(model.estimators_, proofs, tasks, strict=True):
        part = X if rows is None else X[rows]
        if not _own(one, proof, part, labels):
            return False, _NOT_ITS_OWN
        if not proof.check(part, labels):
            return False, NOT_THESE
    return True, f"the certificates of all {len(proofs)} machines hold"


# ---- what predicts is what is proved


def _own(model: Any, proof: Any, X: Any, y: Any) -> bool:
    """Whether the model predicts with what its certificate speaks of."""
    try:
        return _is_own(model, proof, X, y)
    except (ValueError, TypeError, IndexError, AttributeError):
        return False  # parts of other shapes, or none


def _is_own(model: Any, proof: Any, X: Any, y: Any) -> bool:
    if isinstance(proof, DualityGap | DualityGaps | PairGaps):
        machines: Any = getattr(proof, "machines", (proof,))
        weights = np.array([one.weights for one in machines])
        return _same_weights(model, weights, machines[0].intercept)
    if isinstance(proof, ScaledGap):
        weights = np.array([one.weights for one in proof.machines])
        weights[:, 1:] = np.ldexp(weights[:, 1:], -proof.exponents)
        return _same_weights(model, weights, proof.machines[0].intercept)
    if isinstance(proof, MulticlassGap | SoftmaxGap):
        return _same_weights(model, told_apart(proof.weights), proof.intercept)
    if isinstance(proof, KernelGap | KernelGaps):
        return _same_kernel_machine(model, getattr(proof, "machines", (proof,)), X, y)
    if isinstance(proof, KernelMulticlassGap):
        return _same_kernel_vectors(model, proof, X, y)
    if isinstance(proof, MarginBounds):
        proof = proof.separation
    if isinstance(proof, Separation | LeastSquaresOptimality):
        return _same_weights(model, np.array(proof.weights), proof.intercept)
    if isinstance(proof, FisherDirection):
        return np.array_equal(np.array(proof.weights), model.coef_[0])
    if isinstance(proof, FewestErrors):
        return bool((model.predict(X) != y).sum() == len(model.misclassified_)) and (
            not proof.weights or _same_weights(model, np.array([proof.weights]), True)
        )
    return True  # a verdict on the data, whatever the weights


def _same_weights(model: Any, weights: np.ndarray, intercept: bool) -> bool:
    coef = np.atleast_2d(model.coef_)
    same = np.array_equal(coef, weights[:, 1:])
    wanted = weights[:, 0] if intercept else np.zeros(len(weights))
    return same and np.array_equal(np.atleast_1d(model.intercept_), wanted)


def _same_kernel_machine(model: Any, machines: Any, X: Any, y: Any) -> bool:
    """Whether shares, biases and kernel are those of every machine of the proof, on these data."""
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    signs = [signs_of(codes, one.positive, one.negative) for one in machines]
    shares = np.array([s * one.multipliers for s, one in zip(signs, machines, strict=True)])
    biases = np.array([one.bias for one in machines])
    same = all(one.kernel == model.kernel_ for one in machines)
    return same and _same_shares(model, shares, biases, X)


def _same_kernel_vectors(model: Any, proof: KernelMulticlassGap, X: Any, y: Any) -> bool:
    """Whether shares, biases and kernel are those of the proof, a row of shares a class."""
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    K, biases = len(proof.classes), proof.biases
    shares = shares_of(codes, proof.rows, proof.rivals, proof.multipliers, K).T
    shares, biases = told_apart(shares), told_apart(biases)
    return proof.kernel == model.kernel_ and _same_shares(model, shares, biases, X)


def _same_shares(model: Any, shares: np.ndarray, biases: np.ndarray, X: Any) -> bool:
    """Whether the model predicts with these shares of these rows, and these biases."""
    support = model.support_
    named = np.zeros((len(model.dual_coef_), shares.shape[1]))
    named[:, support] = model.dual_coef_
    if not (np.array_equal(named, shares) and np.array_equal(model.intercept_, biases)):
        return False
    if model.kernel_.name == "precomputed":
        return True
    return np.array_equal(_dense(model.support_vectors_), _dense(X[support]))


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
