"""Whether passes are worth going on with, or another solver would be there sooner.

Coordinate descent needs ten passes on one problem and ten thousand on the next, and no look at the
data tells which. The gap does, as it falls: from the gap some passes ago the work still needed is
extrapolated, and where it is more than the other solver needs from here, that one takes over.
log(gap / (1 - gap)) is what falls evenly: near 1 the gap itself hardly moves before it falls fast.
Looks come at growing distances. Work is counted, not timed: the same problem takes the same way.

>>> watch = Watch(price=50.0, tol=1e-6)
>>> watch.is_worth_it(5.0, 0.5), watch.is_worth_it(10.0, 0.1), watch.is_worth_it(20.0, 0.09)
(True, True, False)
"""

from __future__ import annotations

import math

__all__ = ["Watch"]

_FIRST, _LEAST, _STEP = 2.0, 8.0, 1.25
_TRIAL = 0.15  # of the price, that is spent before passes are given up
_KEEP = 1.4  # prices that passes still needed may cost: they speed up once the active rows are few
_PATIENCE = 300.0  # passes, where the price of the other solver is not known
_NONE = 0.999  # a gap so large is none: nothing is bounded yet
_ABOVE_TOL = 1.1  # a gap that is hoped for is no proof: it may stay at the tolerance for ever
# The other solver starts from the point reached: for a tenth of the gap it needs so much less of
# its price, down to the last share.
_PER_TENTH, _LAST_SHARE = 0.17, 0.45


class Watch:
    """The gap after some work, look by look; work and price are in passes over all rows."""

    def __init__(self, price: float, tol: float) -> None:
        self.price, self.tol = price, tol
        self.looks = [(0.0, 1.0)]
        self.passes = 0.0
        self.next = _FIRST if math.isfinite(price) else _PATIENCE

    def is_worth_it(self, passes: float, gap: float, work: float | None = None) -> bool:
        """Note the gap, and say whether to go on until `next`, in passes."""
        if math.isinf(self.price):
            return False  # so many passes should have done
        work, gap = passes if work is None else work, max(gap, _ABOVE_TOL * self.tol)
        since = work - self.looks[-1][0]
        share = min(1.0, (passes - self.passes) / since) if since > 0.0 else 1.0
        self.looks.append((work, gap))
        self.passes, self.next = passes, passes + (_STEP - 1.0) * work * share
        if work < max(_LEAST, _TRIAL * self.price):
            return True
        before, larger = next(look for look in reversed(self.looks) if look[0] <= work / 1.9)
        if not gap < larger:
            return False
        rate = (_height(larger) - _height(gap)) / (work - before)
        left = _height(gap) - _height(self.tol)
        return left <= rate * _KEEP * self.price * _share_left(gap)


def _height(gap: float) -> float:
    """Return log(gap / (1 - gap)), which falls evenly."""
    return math.log(gap / (1.0 - min(gap, _NONE)))


def _share_left(gap: float) -> float:
    """Return the share of its price that the other solver needs from here."""
    return min(1.0, max(_LAST_SHARE, 1.0 + _PER_TENTH * math.log10(gap)))
