"""Both objectives of a machine without rounding: fractions, and 300 bits for logarithms."""

from fractions import Fraction

import flint


def _ball(value):
    value = Fraction(value)
    return flint.arb(value.numerator) / flint.arb(value.denominator)


def _between(ball):
    """The ends of a ball as fractions."""
    middle, radius = ball.mid(), ball.rad()
    ends = []
    for sign in (-1, 1):
        mantissa, exponent = (middle + sign * radius).mid().man_exp()
        ends.append(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    return ends[0] - Fraction(1, 10**60), ends[1] + Fraction(1, 10**60)


def margins(X, signs, weights):
    exact = [Fraction(value) for value in weights]
    return [
        int(sign) * (exact[0] + sum(Fraction(x) * w for x, w in zip(row, exact[1:], strict=True)))
        for row, sign in zip(X.tolist(), signs.tolist(), strict=True)
    ]


def primal(X, signs, costs, loss, weights, bias_penalty=0.0):
    """The ends of an interval that holds the objective; a point unless logarithms are needed."""
    found = margins(X, signs, weights)
    norm = sum(Fraction(w) ** 2 for w in weights[1:].tolist())
    norm = (norm + Fraction(bias_penalty) * Fraction(float(weights[0])) ** 2) / 2
    if any(cost == float("inf") for cost in costs):
        least = min(m for m, c in zip(found, costs, strict=True) if c > 0)
        if least <= 0:
            return None
        value = norm / min(Fraction(1), least) ** 2
        return value, value
    total = norm
    low = high = Fraction(0)
    for m, cost in zip(found, costs.tolist(), strict=True):
        if loss == "logistic":
            flint.ctx.prec = 300
            small = (-_ball(abs(m))).exp() if abs(m) < 500 else flint.arb(0, 1e-200)
            ends = [max(Fraction(0), -m) + end for end in _between(small.log1p())]
            low, high = low + Fraction(cost) * ends[0], high + Fraction(cost) * ends[1]
        else:
            short = max(Fraction(0), 1 - m)
            total += Fraction(cost) * (short if loss == "hinge" else short**2)
    return total + low, total + high


def dual(X, signs, costs, loss, alpha, bias_penalty=0.0, intercept=True):
    """The ends of an interval that holds the dual objective; None if alpha is not feasible."""
    a = [Fraction(value) for value in alpha.tolist()]
    balance = sum(int(s) * v for s, v in zip(signs.tolist(), a, strict=True))
    if any(value < 0 for value in a) or (intercept and bias_penalty == 0.0 and balance != 0):
        return None
    low = high = Fraction(0)
    for value, cost in zip(a, costs.tolist(), strict=True):
        if (loss != "squared_hinge" and value > cost) or (cost == 0.0 and value != 0):
            return None
        if loss == "logistic" and value > 0:
            flint.ctx.prec = 300
            p = value / Fraction(cost)
            entropy = -_ball(p) * _ball(p).log()
            if p < 1:
                entropy -= _ball(1 - p) * _ball(1 - p).log()
            ends = _between(entropy)
            low, high = low + Fraction(cost) * ends[0], high + Fraction(cost) * ends[1]
        elif loss != "logistic":
            spent = Fraction(0)
            if loss == "squared_hinge" and cost not in (0.0, float("inf")):
                spent = value**2 / (4 * Fraction(cost))
            low, high = low + value - spent, high + value - spent
    rows = zip(X.tolist(), signs.tolist(), a, strict=True)
    total = [Fraction(0)] * X.shape[1]
    for row, sign, value in rows:
        total = [t + int(sign) * value * Fraction(x) for t, x in zip(total, row, strict=True)]
    penalty = sum(t**2 for t in total) / 2
    if intercept and bias_penalty > 0.0:
        penalty += balance**2 / (2 * Fraction(bias_penalty))
    return low - penalty, high - penalty
