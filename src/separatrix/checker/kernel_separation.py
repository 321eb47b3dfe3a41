"""Rows on their own side of a function of a kernel, and bounds on the largest margin there."""

from __future__ import annotations

from fractions import Fraction

from .codec import Claim, Reader, Refused, count, counts, number, numbers, record
from .exact import Data, distinct, integers, ratio
from .kernels import KERNEL, Kernel

FIELDS: dict[str, Reader]
FIELDS = {
    "kernel": record("the kernel", KERNEL),
    "bias": number,
    "rows": counts,
    "shares": numbers,
    "right": count,
}
BOUNDS: dict[str, Reader] = {"lower": number, "upper": number}


def check_kernel_separation(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: at least `right` rows have y f(x) > 0, f(x) = sum_j s_j K(x_j, x) + b.

    And of margins in the coordinates [1, phi(x)]: that of f is at least `lower`, and none is above
    `upper`, the length of a mean of signed rows.
    """
    if data.n_classes != 2 or intercept is not True or len(claim.rows) != len(claim.shares):
        raise Refused("two classes and a bias are needed, and one share for each row named")
    distinct(claim.rows, len(data.rows))
    kernel, signs = Kernel(data, claim.kernel), [1 if code == 1 else -1 for code in data.codes]
    whole, unit = integers([*claim.shares, claim.bias])
    bias, shares = whole.pop(), dict(zip(claim.rows, whole, strict=True))
    size = sum(map(abs, shares.values()))
    scores, unit_g, off = kernel.scores([shares])[0], kernel.unit + unit, kernel.off * size
    moved = bias << -kernel.unit
    margins = [y * (g + moved) - off for y, g in zip(signs, scores, strict=True)]
    if sum(margin > 0 for margin in margins) < claim.right:
        raise Refused("fewer rows are on their own side than the certificate says")
    said = f"at least {claim.right} of {len(signs)} rows are strictly on their own side"
    if claim.lower is None and claim.upper is None:
        return said
    if not kernel.is_positive:
        raise Refused("no theory says that this kernel is positive: there is no margin to bound")
    square = ratio(kernel.square(shares, scores), unit_g + unit)
    if claim.lower is not None:
        # y f / |(b, w)| >= lower, squared: both sides are above zero.
        length, least = square + ratio(bias, unit) ** 2, ratio(min(margins), unit_g)
        if claim.lower <= 0 or least <= 0 or least**2 < Fraction(claim.lower) ** 2 * length:
            raise Refused("a margin lies below the lower bound")
        said += f"; the largest margin is at least {claim.lower:.9g}"
    if claim.upper is not None:
        if not size or any(signs[row] * share < 0 for row, share in shares.items()):
            raise Refused("the upper bound needs shares with the signs of their classes")
        total = square + ratio(sum(shares.values()), unit) ** 2
        if claim.upper < 0 or total > (Fraction(claim.upper) * ratio(size, unit)) ** 2:
            raise Refused("the shares do not prove the upper bound")
        said += f"; no margin is above {claim.upper:.9g}"
    return said
