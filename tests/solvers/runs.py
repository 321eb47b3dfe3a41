"""Comparing a run with its naive version: the same weights, or a tie within rounding.

Two orders of adding the same numbers differ in the last digits, and a row whose margin is zero but
for those digits sends the runs different ways. Rounding is judged against the largest value that
each weight has had: what is left after cancellation carries the errors of what was cancelled.
"""

import numpy as np

ROUNDING = 1e-9


def any_tie(Z, w, reach, level, worst_first):
    """Whether the sign of some w.z - level, or which row is the worst, hangs on rounding."""
    sizes, margins = ROUNDING * (np.abs(Z) @ reach), Z @ w
    if np.any(~(np.abs(margins - level(w)) > sizes)):
        return True
    return worst_first and np.count_nonzero(margins - margins.min() <= sizes) > 1


@np.errstate(all="ignore")
def same_until_a_tie(Z, first, ours, theirs, level=lambda w: 0.0, worst_first=False):
    """Compare two lists of weights; where they part, some row must have been a tie before that.

    Returns whether they are the same to the end.
    """
    before, reach = first, np.maximum(np.abs(first), np.abs(Z).max(axis=0))
    for mine, other in zip(ours, theirs, strict=False):
        if not np.all(np.abs(mine - other) <= ROUNDING * np.maximum(reach, np.abs(other))):
            assert any_tie(Z, before, reach, level, worst_first), "the runs part without a tie"
            return False
        before, reach = other, np.maximum(reach, np.abs(other))
    if len(ours) != len(theirs):
        assert any_tie(Z, before, reach, level, worst_first), "one run is longer without a tie"
        return False
    return True
