"""The order in which rows are visited: as stored, shuffled anew for every pass, or worst first."""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled

CYCLIC, RANDOM, WORST = range(3)
CODES = {"cyclic": CYCLIC, "random": RANDOM, "worst": WORST}
# How many rows ahead to prefetch: first the numbers of a row, then its entries. Rows in random
# order come from memory one by one; fetched in time, they take half as long.
AHEAD, NEXT = 16, 8

# Marsaglia's xorshift: shifts and exclusive ors alone, so the same numbers come out compiled and
# interpreted, on every platform.
_LEFT, _RIGHT, _LEFT_AGAIN, _HALF = np.uint64(13), np.uint64(7), np.uint64(17), np.uint64(32)


def seeded_dice(seed: int) -> np.ndarray:
    """Return the state that a shuffle draws from; never zero."""
    return np.random.default_rng(seed).integers(1, 2**63, size=1, dtype=np.uint64)


@compiled
def shuffle(order, dice):  # type: ignore[no-untyped-def]
    """Shuffle in place (Fisher-Yates), drawing from `dice`.

    >>> import numpy as np
    >>> order = np.arange(5)
    >>> shuffle(order, seeded_dice(0))
    >>> sorted(order.tolist())
    [0, 1, 2, 3, 4]
    """
    state = dice[0]
    for i in range(order.shape[0] - 1, 0, -1):
        state ^= state << _LEFT
        state ^= state >> _RIGHT
        state ^= state << _LEFT_AGAIN
        # The upper half, scaled to 0 ... i.
        j = ((state >> _HALF) * np.uint64(i + 1)) >> _HALF
        order[i], order[j] = order[j], order[i]
    dice[0] = state
