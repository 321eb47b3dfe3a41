"""Weights that separate, and bounds on the largest margin."""

from __future__ import annotations

from fractions import Fraction

from .codec import Claim, Refused, counts, number, numbers, vectors
from .exact import Data, distinct, integers, margins, ratio, square


def weight_vectors(
    data: Data, floats: list[list[float]] | None, whole: list[int] | None = None
) -> tuple[list[list[int]], int]:
    """Return one vector of integers, or one a class where there are more than two; the exponent."""
    count, length = (1 if data.n_classes == 2 else data.n_classes), 1 + data.n_features
    if (floats is None) == (whole is None):
        raise Refused("the claim must hold either weights or integers")
    if floats is None:
        flat, exponent, lengths = whole or [], 0, [len(whole or []) // count] * count
    else:
        flat, exponent = integers(v for vector in floats for v in vector)
        lengths = [len(vector) for vector in floats]
    if lengths != [length] * count or len(flat) != count * length:
        raise Refused(f"the weights must be {count} x {length} numbers")
    return [flat[k * length : (k + 1) * length] for k in range(count)], exponent


def check_separation(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the weights put every row strictly on its own side."""
    weights, _ = weight_vectors(data, claim.weights, claim.integers)
    for row, margin in enumerate(margins(data, weights, intercept)):
        if not margin > 0:
            raise Refused(f"signed row {row} is not strictly on its own side")
    return f"the weights separate all {len(data.rows)} rows strictly"


BOUNDS = {"weights": vectors, "lower": number, "upper": number}
BOUNDS |= {"rows": counts, "multipliers": numbers}


def check_margin_bounds(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: lower <= min_r w.z_r / |w|, and no hyperplane has a margin above upper.

    For every unit u: min_r u.z_r <= sum a_r u.z_r / sum a_r <= |sum a_r z_r| / sum a_r.
    """
    lower, upper = Fraction(claim.lower), Fraction(claim.upper)
    weights, exponent = weight_vectors(data, claim.weights)
    length = ratio(square(w for vector in weights for w in vector), 2 * exponent)
    if not length or lower > upper:
        raise Refused("zero weights have no margin, and bounds may not cross")
    # x |x| orders numbers as x does, without a root: least margin times its size, over |w|^2.
    least = ratio(min(margins(data, weights, intercept)), exponent + data.exponent)
    if least * abs(least) < lower * abs(lower) * length:
        raise Refused("a margin lies below the lower bound")
    multipliers, unit = integers(claim.multipliers)
    if any(m < 0 for m in multipliers) or not any(multipliers):
        raise Refused("multipliers must be at least zero, and not all zero")
    total = signed_sum(data, claim.rows, multipliers, intercept)
    mass = ratio(sum(multipliers), unit)
    if ratio(square(total), 2 * (unit + data.exponent)) > upper * abs(upper) * mass**2:
        raise Refused("the multipliers do not prove the upper bound")
    return f"the largest margin of any hyperplane lies in [{claim.lower:.9g}, {claim.upper:.9g}]"


def signed_sum(data: Data, rows: list[int], multipliers: list[int], intercept: bool) -> list[int]:
    """Return the coordinates of sum m z that may differ from zero, in units of the data."""
    rivals = max(1, data.n_classes - 1)
    if len(rows) != len(multipliers):
        raise Refused("rows and multipliers must be of one length")
    distinct(rows, len(data.rows) * rivals)
    blocks: list[list[tuple[int, int]]] = [[] for _ in range(data.n_classes)]
    for row, multiplier in zip(rows, multipliers, strict=True):
        sample, other = divmod(row, rivals)
        code = data.codes[sample]
        if data.n_classes == 2:
            blocks[0].append((sample, multiplier if code == 1 else -multiplier))
        else:
            blocks[code].append((sample, multiplier))
            blocks[other + (other >= code)].append((sample, -multiplier))
    total = [value for shares in blocks for value in data.combination(shares).values()]
    biases = [sum(share for _, share in shares) << -data.exponent for shares in blocks]
    return total + biases if intercept else total
