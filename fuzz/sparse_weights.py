"""Sparse weights on generated problems: the naive optimum, the exact conditions, and forged zeros.

    python -m fuzz.sparse_weights --problems 10000 [--seed 0] [--classes]

Every problem is fitted by the library, one in four with groups of columns; with `--classes` all
classes at once, and one in seven with groups. Its objective is
compared with that of proximal gradient steps, its weights with the conditions of the optimum, every
column proved zero with the naive weights. Then a nonzero column is added to the list of zeros,
which both checks must refuse.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from tests.naive import sparse as naive
from tests.naive import sparse_softmax as by_class
from tests.sparse_class_problems import drawn as drawn_classes
from tests.sparse_class_problems import model_of as model_of_classes
from tests.sparse_problems import drawn

import separatrix as sx
from separatrix import checker
from separatrix.checker import Refused
from separatrix.problem.canonical import as_checker_data, problem_from

__all__ = ["run"]

_CLOSE = 1e-10  # of the objective
_HOLDS = 1e-3  # of l: a gap of 1e-11 leaves its square root in the conditions
_STEPS, _MANY_STEPS, _SETTLED = 2000, 20_000, 1e-7


def run(problems: int, seed: int = 0, say: Any = print, classes: bool = False) -> Counter[str]:
    """Try so many problems; return the counts of what was tried and of what went wrong."""
    counts: Counter[str] = Counter()
    tried = _wrong_of_classes if classes else _wrong
    for number in range(seed, seed + problems):
        for name in tried(number, counts):
            counts[name] += 1
            say(f"problem {number}: {name}")
        counts["problems"] += 1
    return counts


def _wrong(number: int, counts: Counter[str]) -> list[str]:
    X, y, costs, loss, ratio, intercept = drawn(number)
    groups = _groups_of(number, X.shape[1])
    settings: Any = {"l1_ratio": ratio, "fit_intercept": intercept, "tol": 1e-11, "groups": groups}
    model: Any = sx.LogisticRegression(1.0, **settings)
    if loss != "logistic":
        model = sx.LinearSVM(1.0, loss=loss, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, costs)
    proof, wrong = model.certificate_, []
    posed = X, y, costs, loss, ratio, 1.0 - ratio
    w, b = naive.proximal_gradient(*posed, intercept, most=_STEPS, groups=groups)
    if naive.violation(*posed, w, b, intercept, groups) > _SETTLED:
        w, b = naive.proximal_gradient(*posed, intercept, most=_MANY_STEPS, groups=groups)
    is_settled = naive.violation(*posed, w, b, intercept, groups) <= _SETTLED
    counts["naive steps that did not settle"] += not is_settled
    counts["with groups"] += groups is not None
    least = naive.objective(*posed, w, b, groups)
    found = naive.objective(*posed, model.coef_[0], model.intercept_[0], groups)
    if found > least * (1.0 + _CLOSE):
        wrong.append("the naive objective is lower")
    if proof.dual > least * (1.0 + 1e-13):
        wrong.append("the lower bound is above the naive objective")
    if naive.violation(*posed, model.coef_[0], model.intercept_[0], intercept, groups) > _HOLDS:
        wrong.append("the conditions of the optimum do not hold")
    sizes = abs(w) * np.sqrt(costs @ X**2)
    if is_settled and (sizes[proof.zeros] > 1e-5 * (1.0 + sizes.max())).any():
        wrong.append("a column proved zero is not zero")
    counts["columns proved zero"] += len(proof.zeros)
    if not (proof.check(X, y) and _accepted(proof, X, y)):
        wrong.append("a genuine certificate is refused")
    nonzero = np.flatnonzero(model.coef_[0])
    if len(nonzero):
        weights, zeros = proof.weights.copy(), np.sort(np.append(proof.zeros, nonzero[0]))
        weights[1 + nonzero[0]] = 0.0
        forged = replace(proof, weights=weights, zeros=zeros)
        counts["forged"] += 1
        if forged.check(X, y) or _accepted(forged, X, y):
            wrong.append("a forged list of zeros is accepted")
    return wrong


def _wrong_of_classes(number: int, counts: Counter[str]) -> list[str]:
    X, codes, costs, K, ratio, intercept, groups = case = drawn_classes(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proof: Any = model_of_classes(case, tol=1e-11).certificate_
    posed, wrong = (X, codes, costs, ratio, 1.0 - ratio), []
    given = X, codes, costs, K, ratio, 1.0 - ratio, intercept
    for steps in (_STEPS, _MANY_STEPS):
        W, b = by_class.proximal_gradient(*given, steps, groups=groups)
        is_settled = by_class.violation(*posed, W, b, intercept, groups) <= _SETTLED
        if is_settled:
            break
    counts["naive steps that did not settle"] += not is_settled
    counts["with groups"] += groups is not None
    least = by_class.objective(*posed, W, b, groups)
    at = proof.weights[:, 1:].T, proof.weights[:, 0]
    if by_class.objective(*posed, *at, groups) > least * (1.0 + _CLOSE):
        wrong.append("the naive objective is lower")
    if proof.dual > least * (1.0 + 1e-13):
        wrong.append("the lower bound is above the naive objective")
    if by_class.violation(*posed, *at, intercept, groups) > _HOLDS:
        wrong.append("the conditions of the optimum do not hold")
    sizes = np.linalg.norm(W, axis=1) * np.sqrt(costs @ X**2)
    if is_settled and (sizes[proof.zeros] > 1e-5 * (1.0 + sizes.max())).any():
        wrong.append("a column proved zero is not zero")
    counts["columns proved zero"] += len(proof.zeros)
    if not (proof.check(X, codes) and _accepted(proof, X, codes)):
        wrong.append("a genuine certificate is refused")
    nonzero = np.flatnonzero(at[0].any(axis=1))
    if len(nonzero):
        weights, zeros = proof.weights.copy(), np.sort(np.append(proof.zeros, nonzero[0]))
        weights[:, 1 + nonzero[0]] = 0.0
        forged = replace(proof, weights=weights, zeros=zeros)
        counts["forged"] += 1
        if forged.check(X, codes) or _accepted(forged, X, codes):
            wrong.append("a forged list of zeros is accepted")
    return wrong


def _groups_of(number: int, width: int) -> np.ndarray | None:
    """Return a label for every column, in one problem of four."""
    if number % 4:
        return None
    return np.random.default_rng(number + 1).integers(0, max(1, width // 2), size=width)


def _accepted(proof: Any, X: np.ndarray, y: np.ndarray) -> bool:
    try:
        checker.check(json.loads(proof.to_json()), as_checker_data(problem_from(X, y, True)))
    except Refused:
        return False
    return True


def main() -> None:
    """Run as many problems as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--classes", action="store_true", help="all classes at once")
    options = parser.parse_args()
    print(dict(run(options.problems, options.seed, classes=options.classes)))


if __name__ == "__main__":
    main()
