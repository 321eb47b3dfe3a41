"""What every naive rule shares: the margin of a signed row, and the rows on the wrong side.

A signed row is z = y [1, x]; weights w put it on its own side when w.z > 0.
"""

import itertools
import math


def dot(a, b):
    """Inner product summed from left to right, in double precision."""
    # The builtin sum() compensates rounding since Python 3.12, and BLAS sums in its own order.
    total = 0.0
    for left, right in zip(a, b, strict=True):
        total += float(left) * float(right)
    return total


def misclassified(Z, w, rows):
    """Those of the given rows that w does not put strictly on their side, in the order given."""
    # "not >" rather than "<=", so that a NaN margin is an error too.
    return [i for i in rows if not dot(w, Z[i]) > 0.0]


def least_margin_row(Z, w):
    """The row of least margin, the first of equals; a NaN is less than every number."""
    margins = [dot(w, z) for z in Z]
    return min(range(len(Z)), key=lambda i: (not math.isnan(margins[i]), margins[i]))


def blocks(order, batch_size):
    """Consecutive pieces of one pass; the last may be shorter."""
    order = [int(i) for i in order]
    return [order[k : k + batch_size] for k in range(0, len(order), batch_size)]


def cyclic_blocks(n, batch_size):
    """The same pass over 0..n-1 for ever."""
    return itertools.cycle(blocks(range(n), batch_size))
