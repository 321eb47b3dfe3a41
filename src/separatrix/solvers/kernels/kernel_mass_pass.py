"""The loops of the direct machine with a kernel: visits to the rows of a chunk, and a look at all.

Row i has its best masses, all other rows held, by a projection onto a simplex, as in `mass_pass`:
the curvature is K_ii + s, and the slope of class k is g_ik + b_k + 1[k != y_i]. Scores are laid out
class by class, so that a row of kernel values is added to one class in one stretch.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled
from separatrix.solvers.many_classes.mass_pass import project
from separatrix.solvers.running.row_order import shuffle

__all__ = ["STEPS", "WIDEST", "look", "visit_rows"]

# Places in the numbers of a run: the widest spread of slopes in the last visits, and the steps.
WIDEST, STEPS = range(2)


@compiled
def visit_rows(  # type: ignore[no-untyped-def]
    K,
    diagonal,
    codes,
    costs,
    masses,
    scores,
    multipliers,
    weight,
    balance,
    order,
    target,
    numbers,
    dice,
):
    """Visit every row once, in random order; where slopes spread by more than `target`, step."""
    shuffle(order, dice)
    n_classes, n_rows = scores.shape
    slopes, heights = np.empty(n_classes), np.empty(n_classes)
    widest = 0.0
    for place in range(n_rows):
        i = order[place]
        own, mass = codes[i], costs[i]
        highest, lowest = -np.inf, np.inf
        for k in range(n_classes):
            slopes[k] = scores[k, i] + multipliers[k] + weight * balance[k]
            if k != own:
                slopes[k] += 1.0
            highest = max(highest, slopes[k])
            if masses[i, k] > 0.0:
                lowest = min(lowest, slopes[k])
        widest = max(widest, highest - lowest)
        if not highest - lowest > target:
            continue
        square = diagonal[i] + weight
        for k in range(n_classes):
            heights[k] = (slopes[k] - highest) + square * masses[i, k]
        level = project(heights, n_classes, square * mass)
        row = K[i]
        for k in range(n_classes):
            step = max(0.0, (heights[k] - level) / square) - masses[i, k]
            if step != 0.0:
                masses[i, k] += step
                balance[k] -= step
                own_scores = scores[k]
                for j in range(n_rows):
                    own_scores[j] -= step * row[j]
        numbers[STEPS] += 1.0
    numbers[WIDEST] = widest


@compiled
def look(scores, bias, codes, costs, masses, violations):  # type: ignore[no-untyped-def]
    """Set how far each row's slopes spread; return what the masses fall short by, and the loss."""
    n_classes = scores.shape[0]
    shortfall, loss = 0.0, 0.0
    slopes = np.empty(n_classes)
    for i in range(codes.shape[0]):
        own = codes[i]
        highest, lowest = -np.inf, np.inf
        for k in range(n_classes):
            slopes[k] = scores[k, i] + bias[k] + (1.0 if k != own else 0.0)
            highest = max(highest, slopes[k])
            if masses[i, k] > 0.0:
                lowest = min(lowest, slopes[k])
        for k in range(n_classes):
            shortfall += masses[i, k] * (highest - slopes[k])
        loss += costs[i] * (highest - slopes[own])
        violations[i] = highest - lowest if costs[i] > 0.0 else 0.0
    return shortfall, loss
