"""Whether everything that a verdict from a file says follows from its certificate and the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.certificates.canonical import problem_from
from separatrix.certificates.partition import Partition, proved_signs
from separatrix.certificates.separation import Separation
from separatrix.problem.exact import times_powers_of_ten
from separatrix.problem.signed import SignedProblem, as_matrix

__all__ = ["fields_follow"]

_ROUNDING, _DISTANCE = 1e-12, 1e-6


def fields_follow(verdict: Any, X: Any, y: Any) -> bool:
    """Whether classes, rows, hyperplane, margin, boundary, `infinite` and note are as they say.

    The certificate has been checked for these data.
    """
    proof = verdict.certificate
    problem = problem_from(X, y, proof.intercept)
    names = tuple(str(name) for name in np.unique(np.asarray(y)))
    if not isinstance(problem, SignedProblem) or verdict.bound is not None:
        return False
    if (tuple(verdict.classes), verdict.n_rows) != (names, problem.n_samples):
        return False
    if (proof.classes, proof.n_rows, proof.n_features) != (names, *problem.X.shape):
        return False
    return (
        _hyperplane_follows(verdict, proof)
        and _margin_follows(verdict, problem)
        and _boundary_follows(verdict, problem, proof)
        and _infinite_follows(verdict, X, y, proof)
    )


def _hyperplane_follows(verdict: Any, proof: Partition | Separation) -> bool:
    """Whether weights and intercept are those proved, in floats."""
    if isinstance(proof, Separation):
        expected: Any = np.array(proof.weights[0])
    elif proof.kind == "overlap":
        return verdict.weights is None and verdict.intercept is None
    else:
        size = max(max(abs(w).bit_length() for w in proof.weights) - 1, 0)
        expected = np.array([w / (1 << size) for w in proof.weights])
        if proof.decimals:
            expected[1:] *= 10.0 ** np.array(proof.decimals)
    if verdict.weights is None or verdict.intercept is None:
        return False
    found = np.concatenate([[verdict.intercept], verdict.weights])
    room = _ROUNDING * abs(expected) if getattr(proof, "decimals", ()) else 0.0
    return found.shape == expected.shape and bool((abs(found - expected) <= room).all())


def _margin_follows(verdict: Any, problem: SignedProblem) -> bool:
    """Whether the margin is the least distance of a row, up to rounding; none is always true."""
    if verdict.margin is None:
        return True
    if verdict.kind != "separable" or verdict.weights is None:
        return False
    w = np.concatenate([[verdict.intercept], verdict.weights])
    largest = float(abs(w[1:]).max(initial=0.0))
    if largest == 0.0:
        return False
    w = w / largest
    length = float(np.linalg.norm(w[1:]))
    least = float(problem.margins(w).min()) / length
    room = _ROUNDING * (float((abs(problem.X) @ abs(w[1:])).max()) + abs(w[0])) / length
    return bool(abs(verdict.margin - least) <= _DISTANCE * abs(least) + room)


def _boundary_follows(verdict: Any, problem: SignedProblem, proof: Partition | Separation) -> bool:
    """Whether the rows on the boundary are those proved to be there; an overlap names none."""
    if verdict.kind != "quasi-separable":
        return len(verdict.boundary) == 0
    assert isinstance(proof, Partition), "only a partition proves a quasi-separation"
    if proof.decimals:
        scaled = times_powers_of_ten(problem.X, proof.decimals)
        problem = SignedProblem(scaled, problem.signs, problem.fit_intercept)
    signs = proved_signs(problem, proof)
    return signs is not None and np.array_equal(np.flatnonzero(signs == 0), verdict.boundary)


def _infinite_follows(verdict: Any, X: Any, y: Any, proof: Partition | Separation) -> bool:
    """Whether coefficients run where they are worked out to run again, and the note is the same."""
    if verdict.infinite is None and not verdict.note:
        return True
    from separatrix.core.separability import separability_of

    decimal = bool(getattr(proof, "decimals", ()))
    again = separability_of(as_matrix(X), np.asarray(y), proof.intercept, decimal=decimal)
    if (again.kind, again.note) != (verdict.kind, verdict.note):
        return False
    if verdict.infinite is None:
        return True
    return np.array_equal(np.asarray(again.infinite), verdict.infinite, equal_nan=True)
