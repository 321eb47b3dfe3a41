"""The perceptron rule, slowly.

Find w with w.z > 0 for every signed row z: look at a block of rows, and while some are on the
wrong side add their sum, times the rate of this update, to w.
"""

from dataclasses import dataclass

import numpy as np

from tests.naive.rows import blocks, cyclic_blocks, least_margin_row, misclassified


@dataclass
class PerceptronRun:
    w: np.ndarray
    updates: int
    visits: int  # rows looked at
    separated: bool  # n clean rows in a row; see the note on permutations in perceptron()
    used: list  # for each update, the rows it added
    history: list  # the weights after each update; the start is not among them
    average: np.ndarray  # mean over row visits of the weights after the row's block
    mass: float  # sum over updates of rate times number of rows added


def visited_blocks(order, n, batch_size):
    if isinstance(order, str):
        if order == "cyclic":
            yield from cyclic_blocks(n, batch_size)
        if order == "worst":
            yield from cyclic_blocks(n, n)
        raise ValueError(f"order must be 'cyclic', 'worst' or permutations. Got {order!r} instead.")
    for permutation in order:
        yield from blocks(permutation, batch_size)
    raise ValueError("order ran out of permutations before the run ended. Provide more of them.")


@np.errstate(over="ignore", invalid="ignore")
def perceptron(Z, order="cyclic", rate=1.0, decay=0.0, start=None, max_updates=1000, batch_size=1):
    """Run until n consecutive clean rows, or an error that the budget does not allow to mend.

    The last block visited counts in visits and average even when the budget forbids its update.
    With permutations that differ, n consecutive rows need not be n different rows, so `separated`
    then says only that the rule stopped of itself.
    """
    n, p = Z.shape
    w = np.zeros(p) if start is None else np.array(start, dtype=float)
    used, history = [], []
    visits, clean, mass = 0, 0, 0.0
    total = np.zeros(p)

    for block in visited_blocks(order, n, batch_size):
        wrong = misclassified(Z, w, block)
        if wrong and isinstance(order, str) and order == "worst":
            wrong = [least_margin_row(Z, w)]

        out_of_budget = bool(wrong) and len(history) == max_updates
        if wrong and not out_of_budget:
            rate_now = rate / (len(history) + 1) ** decay
            direction = np.zeros(p)
            for i in wrong:
                direction = direction + Z[i]
            w = w + rate_now * direction
            mass += rate_now * len(wrong)
            used.append(wrong)
            history.append(w.copy())

        visits += len(block)
        total = total + len(block) * w
        clean = 0 if wrong else clean + len(block)
        if out_of_budget or clean >= n:
            break

    return PerceptronRun(
        w, len(history), visits, not out_of_budget, used, history, total / visits, mass
    )


def pocket(Z, order="cyclic", rate=1.0, decay=0.0, start=None, max_updates=1000):
    """(errors, w) of the first weights with fewest errors over the whole set, start included."""
    n, p = Z.shape
    first = np.zeros(p) if start is None else np.array(start, dtype=float)
    run = perceptron(Z, order, rate, decay, start, max_updates)
    best_errors, best_w = n + 1, None
    for w in [first, *run.history]:
        errors = len(misclassified(Z, w, range(n)))
        if errors < best_errors:
            best_errors, best_w = errors, w
    return best_errors, best_w


def kesler_rows(X, codes, n_classes, fit_intercept=True):
    """Signed rows whose separation makes each sample's own class score above every other.

    One row for each sample and each other class, in that order: the homogeneous sample stands in
    the block of its own class, its negative in the block of the other.
    """
    rows = []
    for x, own in zip(X, codes, strict=True):
        sample = np.concatenate([[1.0], x]) if fit_intercept else np.array(x, dtype=float)
        for other in range(n_classes):
            if other == own:
                continue
            row = np.zeros((n_classes, len(sample)))
            row[own] = sample
            row[other] = -sample
            rows.append(row.ravel())
    return np.array(rows)
