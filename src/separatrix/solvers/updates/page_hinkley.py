"""The Page-Hinkley test: has the mean of a stream of numbers gone up?

    m_t = sum of  (e_i - mean of e_1 ... e_i - allowed) ,     alarm where  m_t - min m  >  limit

With `allowed` 0.02 and `limit` 100 for errors that are 0 or 1: as long as the rate stays what it
was, the chance that a rise from a new minimum reaches the limit is at most exp(-2 * 0.02 * 100 /
0.25), one in ten million; a rate that goes up by 0.2 is seen after some 560 rows. After an alarm
the test begins anew. (Page 1954; Hinkley 1971.)
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled

__all__ = ["ALLOWED", "LIMIT", "fresh", "watch"]

ALLOWED, LIMIT = 0.02, 100.0
_COUNT, _TOTAL, _RISE, _LEAST = range(4)


def fresh() -> np.ndarray:
    """Return the memory of a test that has seen nothing."""
    return np.zeros(4)


@compiled
def watch(memory, errors, allowed, limit):  # type: ignore[no-untyped-def]
    """Look at more errors; return the place of the first alarm, -1 if none. Later ones are unseen.

    >>> calm, bad = np.zeros(1000, dtype=np.uint8), np.ones(500, dtype=np.uint8)
    >>> memory = fresh()
    >>> int(watch(memory, calm, ALLOWED, LIMIT)), int(watch(memory, bad, ALLOWED, LIMIT))
    (-1, 107)
    """
    for k in range(errors.shape[0]):
        error = float(errors[k])
        memory[_COUNT] += 1.0
        memory[_TOTAL] += error
        memory[_RISE] += error - memory[_TOTAL] / memory[_COUNT] - allowed
        memory[_LEAST] = min(memory[_LEAST], memory[_RISE])
        if memory[_RISE] - memory[_LEAST] > limit:
            memory[:] = 0.0
            return k
    return -1
