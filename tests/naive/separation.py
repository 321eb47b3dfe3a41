"""Separation decided and checked in exact rational arithmetic.

Every float is a rational number, so for stored X, signs and w the margins y (b + w.x), their
signs, and bounds on the best margin

    max over |w| = 1 of min_i w.z_i   =   min over alpha >= 0, sum alpha = 1 of |sum alpha_i z_i|

(the equality for separable rows; "<=" always) have exact answers. Weights are homogeneous,
w = [b, w_1..w_d], or [w_1..w_d] without an intercept; norms include b.
"""

from fractions import Fraction


def signed_rows(X, signs, fit_intercept=True):
    rows = []
    for x, sign in zip(X, signs, strict=True):
        row = [Fraction(1)] if fit_intercept else []
        row += [Fraction(float(value)) for value in x]
        rows.append([Fraction(float(sign)) * value for value in row])
    return rows


def dot(a, b):
    return sum((left * right for left, right in zip(a, b, strict=True)), Fraction(0))


def exact_margins(X, signs, w, fit_intercept=True):
    w = [Fraction(float(value)) for value in w]
    return [dot(w, z) for z in signed_rows(X, signs, fit_intercept)]


def separates(X, signs, w, fit_intercept=True):
    return all(margin > 0 for margin in exact_margins(X, signs, w, fit_intercept))


def times_root_at_most(factor, square, bound):
    """Whether factor * sqrt(square) <= bound, without a root."""
    if factor >= 0 and bound >= 0:
        return factor**2 * square <= bound**2
    if factor < 0 and bound < 0:
        return factor**2 * square >= bound**2
    return bound >= 0


def margin_bounds_hold(X, signs, w, alpha, lower, upper, fit_intercept=True):
    """Whether w proves that the best margin is at least lower, and alpha that it is at most upper.

    lower <= min_i w.z_i / |w|, and |sum alpha_i z_i| <= upper * sum alpha with alpha >= 0, not 0.
    """
    Z = signed_rows(X, signs, fit_intercept)
    w = [Fraction(float(value)) for value in w]
    alpha = [Fraction(float(value)) for value in alpha]
    if not any(w) or not any(alpha) or min(alpha) < 0:
        return False
    least = min(dot(w, z) for z in Z)
    lower_holds = times_root_at_most(Fraction(lower), dot(w, w), least)

    combination = [dot(alpha, column) for column in zip(*Z, strict=True)]
    length_squared = dot(combination, combination)
    upper_holds = times_root_at_most(Fraction(1), length_squared, Fraction(upper) * sum(alpha))
    return lower_holds and upper_holds


def separable_by_fractions(X, signs, fit_intercept=True):
    """Whether some w has w.z > 0 for all rows: Fourier-Motzkin elimination, for tiny problems.

    Some value of the last weight satisfies every inequality exactly when each of its lower
    bounds is below each of its upper bounds; those comparisons are inequalities in the other
    weights alone. In the end no weights are left, and a row that is left reads 0 > 0.
    """
    rows = distinct_directions(signed_rows(X, signs, fit_intercept))
    for _ in range(len(X[0]) + bool(fit_intercept)):
        if any(not any(row) for row in rows):
            return False
        positive = [row for row in rows if row[-1] > 0]
        negative = [row for row in rows if row[-1] < 0]
        without = [row[:-1] for row in rows if row[-1] == 0]
        for lower in positive:
            for upper in negative:
                without.append(eliminate_last(lower, upper))
        rows = distinct_directions(without)
    return not rows


def eliminate_last(lower, upper):
    """The positive combination of two rows in which their last entries, of + and - sign, cancel."""
    return [
        low * -upper[-1] + up * lower[-1] for low, up in zip(lower[:-1], upper[:-1], strict=True)
    ]


def distinct_directions(rows):
    """Positive multiples of a row say the same; keep one of each, or the elimination explodes."""
    kept = set()
    for row in rows:
        scale = next((abs(value) for value in row if value), Fraction(1))
        kept.add(tuple(value / scale for value in row))
    return sorted(kept)
