"""Rows on their own side of a function of a kernel, and bounds on the margins of hyperplanes."""

from __future__ import annotations

from fractions import Fraction

from .codec import Claim, Reader, Refused, count, counts, number, numbers, record, whole
from .exact import Data, distinct, integers, ratio
from .kernels import KERNEL, Kernel, signs_of

FIELDS: dict[str, Reader]
FIELDS = {
    "kernel": record("the kernel", KERNEL),
    "bias": number,
    "rows": counts,
    "shares": numbers,
    "right": count,
}
OVERLAP: dict[str, Reader] = {"kernel": FIELDS["kernel"], "positive": count, "negative": whole}
OVERLAP |= {"rows": counts, "multipliers": numbers, "margin": number}
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
    listed, unit = integers([*claim.shares, claim.bias])
    bias, shares = listed.pop(), dict(zip(claim.rows, listed, strict=True))
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


def check_kernel_overlap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: no hyperplane in the kernel's space has a margin above `margin`.

    Multipliers a >= 0 that have one sum in both classes make two points of the hulls, and a
    hyperplane lies between them: its margin is at most |sum a y phi| / sum a. Where equal rows
    cancel, that is 0 whatever the kernel.
    """
    signs = signs_of(data, claim, intercept)
    distinct(claim.rows, len(signs))
    if len(claim.rows) != len(claim.multipliers):
        raise Refused("rows and multipliers must be of one length")
    listed, unit = integers(claim.multipliers)
    shares = {row: signs[row] * a for row, a in zip(claim.rows, listed, strict=True)}
    if min(listed, default=0) < 0 or not any(listed) or sum(shares.values()):
        raise Refused("multipliers must not be below 0, and have one sum in both classes")
    if any(a and not signs[row] for row, a in zip(claim.rows, listed, strict=True)):
        raise Refused("a multiplier belongs to a row of neither class")
    groups: dict[tuple[object, ...], int] = {}
    for row, share in shares.items():
        key = (*data.rows[row][0], None, *data.rows[row][1])
        groups[key] = groups.get(key, 0) + share
    kernel = Kernel(data, claim.kernel)
    if any(groups.values()):
        if kernel.name == "sigmoid":
            raise Refused("this kernel has no space, and so no hulls")
        square = ratio(
            kernel.square(shares, kernel.scores([shares])[0]), kernel.unit + 2 * unit
        )  # fmt: skip
        if claim.margin < 0 or square > (Fraction(claim.margin) * ratio(sum(listed), unit)) ** 2:
            raise Refused("the multipliers do not prove the bound on the margin")
    elif claim.margin < 0:
        raise Refused("no margin is below 0")
    said = f"no hyperplane in the kernel's space has a margin above {claim.margin:.9g}"
    if not kernel.is_positive and any(groups.values()):
        return f"if the {kernel.name} kernel is positive semidefinite on these rows, {said}"
    return said
