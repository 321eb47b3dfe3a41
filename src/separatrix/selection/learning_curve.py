"""Would more rows help? What held-out rows say when a quarter, a half and more of them train.

    for each share s and fold f     fit on the share s of f's training rows, at the same C
                                    error = mistakes on f's validation rows

The folds are those that chose C. Parts are drawn class by class, and a smaller part lies within a
larger one. Features are learned from the rows of the part alone. Another measure than the error is
taken as on the path: at one threshold for the folds of a share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix.core.proving import Effort
from separatrix.problem.signed import as_matrix
from separatrix.selection._cell import setting_of
from separatrix.selection.folds import Fold
from separatrix.selection.scores import Measure
from separatrix.solvers.running.threads import one_thread

__all__ = ["SHARES", "errors_on_parts", "part_of"]

SHARES = (0.25, 0.5, 0.75)
_TOL = 1e-3  # the errors alone count


def errors_on_parts(
    matrix: Callable[[np.ndarray], Any],
    codes: np.ndarray,
    classes: np.ndarray,
    folds: Sequence[Fold],
    *,
    loss: str,
    C: float,
    l1_ratio: float = 0.0,
    multinomial: bool = False,
    class_weight: Any = None,
    seed: int = 0,
    workers: int = 1,
    measure: Measure | None = None,
) -> list[tuple[int, np.ndarray]]:
    """Return for each share how many rows train, and the error, or the loss, on every fold.

    `matrix(rows)` gives all rows in the features that `rows` teach.
    """

    def solved(task: tuple[float, int]) -> tuple[int, float, Any]:
        share, number = task
        fold = folds[number]
        train = part_of(np.flatnonzero(fold.train > 0.0), codes, share, [seed, number])
        rows = np.concatenate([train, np.flatnonzero(fold.validation > 0.0)])
        is_train = np.arange(len(rows)) < len(train)
        X, labels = as_matrix(matrix(train)[rows]), codes[rows]
        part = Fold(is_train.astype(float), np.where(is_train, 0.0, fold.validation[rows]))
        setting = setting_of(
            X,
            multinomial,
            codes=labels,
            classes=classes,
            weights=np.ones(len(rows)),
            folds=(part,),
            loss=loss,
            l1_ratio=l1_ratio,
            effort=Effort(_TOL, seed=seed, for_errors=True),
            class_weight=class_weight,
            measure=measure,
        )
        facts, arrays = setting.solve(C, 0, None)
        scored = None if measure is None else (arrays["scores"], labels[setting.held_out(0)])
        return len(train), float(facts["validation_error"]), scored

    tasks = [(share, number) for share in SHARES for number in range(len(folds))]
    with one_thread(), ThreadPoolExecutor(max(1, workers)) as pool:
        found = list(pool.map(solved, tasks))
    by_share = [found[at : at + len(folds)] for at in range(0, len(found), len(folds))]
    sizes = [round(float(np.mean([n for n, _, _ in part]))) for part in by_share]
    if measure is None:
        losses = [np.array([rate for _, rate, _ in part]) for part in by_share]
    else:
        kind = "softmax" if multinomial else loss
        losses = [measure.losses([scored for *_, scored in part], kind) for part in by_share]
    return list(zip(sizes, losses, strict=True))


def part_of(rows: np.ndarray, codes: np.ndarray, share: float, seed: Any) -> np.ndarray:
    """Return a share of some rows, class by class, in order; a smaller one lies within a larger.

    >>> rows, codes = np.arange(8), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> small, large = (part_of(rows, codes, share, 0) for share in (0.5, 0.75))
    >>> len(small), int(codes[small].sum()), set(small) <= set(large)
    (4, 2, True)
    """
    order = np.random.default_rng(seed).permutation(len(rows))
    kept = []
    for k in np.unique(codes[rows]).tolist():
        own = order[codes[rows][order] == k]
        kept.append(own[: int(np.ceil(share * len(own)))])
    return np.asarray(rows[np.sort(np.concatenate(kept))])
