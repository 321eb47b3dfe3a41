"""One fit of sparse weights on nasty data, and what is compared afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

import separatrix as sx
from fuzz.exact_certificates import Book
from fuzz.honest_machines import drawn, machine, pick
from fuzz.nasty import Nasty, cost
from separatrix.checker import Refused, check
from separatrix.problem.canonical import as_checker_data, problem_from

__all__ = ["sparse_logistic", "sparse_multinomial", "sparse_svm"]

_SECONDS, _PASSES = 10.0, 300
_RATIOS = (1.0, 1.0, 0.5, 0.999, 0.1, 1e-9)


def settings(rng: Any, given: Nasty) -> dict[str, Any]:
    """Draw what sparse weights are asked for; C often near where the first weight is not zero."""
    ratio, d = pick(rng, *_RATIOS), given.dense.shape[1]
    C = cost(rng, 0.0)
    weights = np.ones(len(given.codes)) if given.weights is None else given.weights
    with np.errstate(all="ignore"):
        centred = (given.codes == 1) - weights @ (given.codes == 1) / weights.sum()
        pull = float(abs((weights * centred) @ given.dense).max())
        near = float(np.float64(ratio) / pull * 10.0 ** rng.uniform(-0.3, 3.0))
    if rng.random() < 0.7 and 1e-200 < near < 1e200:
        C = near
    groups = rng.integers(0, max(1, d // 2), size=d) if rng.random() < 0.3 else None
    return {
        "C": C, "l1_ratio": ratio, "groups": groups, "fit_intercept": bool(rng.random() < 0.7),
        "tol": pick(rng, 1e-4, 1e-4, 1e-9, 1e-12), "n_jobs": 1, "max_seconds": _SECONDS,
        "max_passes": pick(rng, _PASSES, _PASSES, 3),
    }  # fmt: skip


def sparse_logistic(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 2, 3)
    way = pick(rng, "ovr", "ovo") if given.n_classes > 2 else "ovr"
    fit(rng, book, sx.LogisticRegression(**settings(rng, given), multi_class=way), given)


def sparse_svm(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 2, 3)
    way = pick(rng, "ovr", "ovo") if given.n_classes > 2 else "ovr"
    asked = settings(rng, given) | {"class_weight": pick(rng, None, None, None, "balanced")}
    fit(rng, book, sx.LinearSVM(loss="squared_hinge", multi_class=way, **asked), given)


def sparse_multinomial(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 3, 3, 4)
    asked = settings(rng, given)
    fit(rng, book, sx.LogisticRegression(multi_class="multinomial", **asked), given)


def fit(rng: Any, book: Book, model: Any, given: Nasty) -> None:
    machine(rng, book, model, given)
    proof = model.certificate_
    # The dual point of several classes is softmax as it was rounded. The checker has the exact one,
    # and may not prove as much where scores lost their digits; then the tolerance was not reached.
    done = str(model.status_) == "optimal"
    if done and hasattr(proof, "zeros") and rng.random() < 0.3:
        data = as_checker_data(problem_from(given.dense, given.codes, True))
        names = tuple(str(name) for name in np.unique(given.y))
        try:
            check(json.loads(proof.to_json()), replace(data, classes=names))
        except Refused as reason:
            book.true(f"the checker refuses the honest fit: {reason}", False)
