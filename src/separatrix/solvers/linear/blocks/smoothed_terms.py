"""What each row adds to a smooth model, the smoothed hinge among them, from its margin alone.

The hinge h(z) = max(0, z), z = 1 - m, is smoothed over a band of half-width t about a centre q:

    h_t(z) = max over p in [0, 1] of  p z - t (p - q)^2 ,    p = q + z / (2 t), cut off at 0 and 1

so that alpha = c p is feasible for the hinge itself, is 0 or c exactly outside the band, and
curvature is there inside it only. What smoothing loses is sum_i c_i (h(z_i) - p_i z_i). With q =
1/2 for all rows that is at most c t / 8 for a row of the band and nothing for the others. With q
the p of the optimum nothing is lost at any width: z is 0 where p lies between 0 and 1.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.losses import HINGE, LOGISTIC

__all__ = [
    "ALPHA", "BEND", "GAIN", "GAIN_BEND", "GAIN_SLOPE", "LOSS", "SMOOTHED", "row_terms",
    "values_along",
]  # fmt: skip

# Places of the sums: two of each that has one a class (positive first).
LOSS, SMOOTHED, BEND, ALPHA, GAIN, GAIN_SLOPE, GAIN_BEND = 0, 1, 2, 3, 5, 7, 9
_SUMS = 11
_MOST = 1e200


@compiled
def row_terms(loss, width, band, centre, margins, signs, costs, shares, bends):  # type: ignore[no-untyped-def]
    """Write y alpha and c loss'' of every row; return the sums named above.

    `centre` holds q of every row, or one q for all. Rows are in the smoothed hinge's band as they
    would be if it were of width `band`. That is its width, but for the step to another one: then it
    is the old one, and alpha may leave its bounds.

    GAIN is the first sum of the dual when each class's alpha is multiplied by a factor f near 1:
    gain + (f - 1) slope - (f - 1)^2 / 2 bend, by class; exact but for the logistic loss.
    """
    sums = np.zeros(_SUMS)
    each = centre.shape[0] > 1
    for i in range(margins.shape[0]):
        m, cost = margins[i], costs[i]
        side = 0 if signs[i] > 0.0 else 1
        alpha = 0.0
        bend = 0.0
        if cost > 0.0:
            if loss == LOGISTIC:
                small = math.exp(-abs(m))
                part = small / (1.0 + small)
                lost = math.log1p(small) + max(0.0, -m)
                p = part if m > 0.0 else 1.0 / (1.0 + small)
                alpha = cost * p
                bend = cost * part / (1.0 + small)
                sums[LOSS] += cost * lost
                # The entropy at p = 1 / (1 + e^m) is loss(m) + p m.
                sums[GAIN + side] += cost * (lost + p * m)
                sums[GAIN_SLOPE + side] += alpha * m
                sums[GAIN_BEND + side] += min(alpha * (1.0 + math.exp(min(-m, 300.0))), _MOST)
            elif loss == HINGE:
                short = 1.0 - m
                q = centre[i] if each else centre[0]
                p = q + short / (2.0 * width)
                kept = min(max(p, 0.0), 1.0)
                sums[LOSS] += cost * max(0.0, short)
                sums[SMOOTHED] += cost * (kept * short - width * (kept - q) * (kept - q))
                place = q + short / (2.0 * band)
                if place >= 1.0:
                    alpha = cost
                elif place > 0.0:
                    alpha = cost * p
                    bend = cost / (2.0 * width)
            elif m < 1.0:
                short = 1.0 - m
                alpha = 2.0 * cost * short
                bend = 2.0 * cost
                spent = cost * short * short
                sums[LOSS] += spent
                sums[GAIN + side] -= spent
                sums[GAIN_SLOPE + side] -= 2.0 * spent
                sums[GAIN_BEND + side] += 2.0 * spent
            sums[ALPHA + side] += alpha
            sums[BEND] += bend
        shares[i] = signs[i] * alpha
        bends[i] = bend
    if loss != LOGISTIC:
        for side in range(2):
            sums[GAIN + side] += sums[ALPHA + side]
            sums[GAIN_SLOPE + side] += sums[ALPHA + side]
    if loss != HINGE:
        sums[SMOOTHED] = sums[LOSS]
    return sums


@compiled
def values_along(loss, width, centre, margins, gains, costs, steps):  # type: ignore[no-untyped-def]
    """Return the sum of (smoothed) losses at the margins m + t g, for every step t."""
    totals = np.zeros(steps.shape[0])
    each = centre.shape[0] > 1
    for i in range(margins.shape[0]):
        cost = costs[i]
        if cost > 0.0:
            for k in range(steps.shape[0]):
                m = margins[i] + steps[k] * gains[i]
                if loss == LOGISTIC:
                    totals[k] += cost * (math.log1p(math.exp(-abs(m))) + max(0.0, -m))
                elif loss == HINGE:
                    short = 1.0 - m
                    q = centre[i] if each else centre[0]
                    p = min(max(q + short / (2.0 * width), 0.0), 1.0)
                    totals[k] += cost * (p * short - width * (p - q) * (p - q))
                elif m < 1.0:
                    totals[k] += cost * (1.0 - m) * (1.0 - m)
    return totals
