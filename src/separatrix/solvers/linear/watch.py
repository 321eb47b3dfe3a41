"""Whether passes are worth going on with, or another solver would be there sooner.

Coordinate descent needs ten passes on one problem and ten thousand on the next, and no look at the
data tells which. The gap does, as it falls: from the gap some passes ago the passes still needed
are extrapolated, and where they cost more than the other solver does from its start, it takes over.
Looks come at growing distances. Passes are counted, not timed: the same problem takes the same way.

>>> watch = Watch(price=50.0, tol=1e-6)
>>> watch.is_worth_it(2.0, 0.5), watch.is_worth_it(4.0, 0.1), watch.is_worth_it(8.0, 0.09)
(True, True, False)
"""

from __future__ import annotations

import math

__all__ = ["Watch"]

_FIRST, _LEAST, _STEP = 2.0, 4.0, 1.25
_BLIND = 8.0  # passes within which the gap is measured first: until then nothing is known of it
_KEEP = 0.6  # of the price, that passes still needed may cost
_PATIENCE = 300.0  # passes, where the price of the other solver is not known


class Watch:
    """The gap after some passes, look by look.

    A share of the price, `trial`, is spent before passes are given up.
    """

    def __init__(self, price: float, tol: float, trial: float = 0.1) -> None:
        self.price, self.tol, self.trial = price, tol, trial
        self.looks = [(0.0, 1.0)]
        self.next = _FIRST if math.isfinite(price) else _PATIENCE

    def is_worth_it(self, passes: float, gap: float) -> bool:
        """Note the gap, and say whether to go on until `next`."""
        if math.isinf(self.price):
            return False  # so many passes should have done
        self.looks.append((passes, gap))
        self.next = passes * _STEP
        if passes < max(_BLIND if gap >= 1.0 else _LEAST, self.trial * self.price):
            return True
        before, larger = next(look for look in reversed(self.looks) if look[0] <= passes / 1.9)
        if not 0.0 < gap < larger:
            return False
        rate = math.log(larger / gap) / (passes - before)
        return math.log(gap / self.tol) <= rate * _KEEP * self.price
