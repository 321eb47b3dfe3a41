"""The delta rule (Widrow and Hoff), slowly.

Unthresholded: minimise 1/2 sum (1 - w.z)^2 over signed rows z by gradient steps on blocks.
Thresholded: the output is the sign, so a wrong row has error 2 and a right one 0; the loss is
1/2 sum error^2 and the step adds the rows times their errors.
"""

import numpy as np

from tests.naive.rows import blocks, dot, misclassified


@np.errstate(over="ignore", invalid="ignore")
def delta_rule(Z, thresholded=False, *, rate, passes, batch_size=1, start=None):
    """(w, losses): weights after the last pass, and the loss over all rows after each pass."""
    n, p = Z.shape
    w = np.zeros(p) if start is None else np.array(start, dtype=float)
    losses = []
    for _ in range(passes):
        for block in blocks(range(n), batch_size):
            direction = np.zeros(p)
            for i, error in zip(block, errors(Z, w, block, thresholded), strict=True):
                direction = direction + error * Z[i]
            w = w + rate * direction
        losses.append(loss(Z, w, thresholded))
    return w, losses


def errors(Z, w, rows, thresholded):
    if thresholded:
        wrong = misclassified(Z, w, rows)
        return [2.0 if i in wrong else 0.0 for i in rows]
    return [1.0 - dot(w, Z[i]) for i in rows]


def loss(Z, w, thresholded=False):
    total = 0.0
    for error in errors(Z, w, range(len(Z)), thresholded):
        total += error * error
    return total / 2


def largest_stable_rate(Z):
    """Full-batch steps on the unthresholded loss converge for every rate below this one."""
    return 2.0 / np.linalg.eigvalsh(Z.T @ Z)[-1]
