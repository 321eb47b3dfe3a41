"""Exact values of the numbers that certificates claim: fractions, and balls of 300 bits.

Each judge returns (a number the true objective is not below, one that what the dual point proves is
not above), or None where the point is not one that could be claimed.
"""

import math
from fractions import Fraction

import flint
import numpy as np

_FAR = 100_000  # e to minus this is nothing beside any float64


def fractions(values):
    return [Fraction(value) for value in np.asarray(values, dtype=float).ravel().tolist()]


def rows_of(X):
    return [fractions(row) for row in np.asarray(X, dtype=float)]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), start=Fraction(0))


def ball(value):
    flint.ctx.prec = 300
    return flint.arb(value.numerator) / flint.arb(value.denominator)


def ends(value):
    """The lower and the upper end of a ball, as fractions."""
    found = []
    for sign in (-1, 1):
        mantissa, exponent = (value.mid() + sign * value.rad()).mid().man_exp()
        found.append(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    width = Fraction(1, 2**250) * max(abs(found[0]), abs(found[1]))
    return found[0] - width, found[1] + width


def softplus(z):
    """The ends of log(1 + e^z)."""
    flint.ctx.prec = 300
    if abs(z) > _FAR:
        return max(z, Fraction(0)), max(z, Fraction(0)) + Fraction(1, 2**100_000)
    low, high = ends((-ball(abs(z))).exp().log1p())
    return max(z, Fraction(0)) + low, max(z, Fraction(0)) + high


def entropy(share):
    """The upper end of -p log p - (1 - p) log(1 - p)."""
    if share in (0, 1):
        return Fraction(0)
    p, q = ball(share), ball(1 - share)
    return ends(-(p * p.log() + q * q.log()))[1]


def linear(X, signs, costs, loss, weights, alpha, bias_penalty, intercept):
    """Both objectives of a machine of two classes."""
    rows, w, y = rows_of(X), fractions(weights[1:]), [int(s) for s in signs]
    b = Fraction(float(weights[0])) if intercept else Fraction(0)
    margins = [s * (b + dot(row, w)) for row, s in zip(rows, y, strict=True)]
    primal = (dot(w, w) + Fraction(bias_penalty) * b * b) / 2
    if any(math.isinf(c) for c in costs):
        least = min(m for m, c in zip(margins, costs, strict=True) if c > 0)
        primal = primal / min(Fraction(1), least) ** 2 if least > 0 else None
    else:
        for m, c in zip(margins, fractions(costs), strict=True):
            slack = max(Fraction(0), 1 - m)
            each = {"hinge": slack, "squared_hinge": slack * slack}
            primal += c * (softplus(-m)[0] if loss == "logistic" else each[loss])
    return primal, _dual(rows, y, costs, loss, fractions(alpha), bias_penalty, intercept)


def _dual(rows, y, costs, loss, a, bias_penalty, intercept):
    for value, c in zip(a, costs, strict=True):
        limit = math.inf if loss == "squared_hinge" and c > 0 else c
        if value < 0 or (math.isfinite(limit) and value > Fraction(float(limit))):
            return None
    balance = dot(y, a)
    if intercept and bias_penalty == 0.0 and balance != 0:
        return None
    gain = sum(a, start=Fraction(0))
    if loss == "squared_hinge":
        gain -= sum(v * v / Fraction(float(c)) / 4 for v, c in zip(a, costs, strict=True)
                    if v and math.isfinite(c))  # fmt: skip
    elif loss == "logistic":
        gain = sum(Fraction(float(c)) * entropy(v / Fraction(float(c)))
                   for v, c in zip(a, costs, strict=True) if v)  # fmt: skip
    d = len(rows[0])
    total = [sum(s * v * row[j] for s, v, row in zip(y, a, rows, strict=True)) for j in range(d)]
    spent = dot(total, total) / 2
    if intercept and bias_penalty > 0.0:
        spent += balance * balance / Fraction(bias_penalty) / 2
    return gain - spent


def kernel_scores(X, kernel, shares):
    """The ends of every row's score; a fraction twice where the kernel needs no powers of e."""
    rows, found = rows_of(X), []
    gamma, coef0 = Fraction(float(kernel.gamma)), Fraction(float(kernel.coef0))
    for one in rows:
        low = high = Fraction(0)
        for other, share in zip(rows, shares, strict=True):
            if kernel.name == "rbf":
                apart = [p - q for p, q in zip(one, other, strict=True)]
                z = gamma * dot(apart, apart)
                value = ends((-ball(z)).exp()) if z < _FAR else (Fraction(0), Fraction(1, 2**10**5))
            else:
                product = dot(one, other)
                if kernel.name == "poly":
                    product = (gamma * product + coef0) ** kernel.degree
                value = product, product
            low += min(share * value[0], share * value[1])
            high += max(share * value[0], share * value[1])
        found.append((low, high))
    return found


def kernel(X, kernel, signs, costs, alpha, bias):
    """Both objectives of a kernel machine of two classes, with finite costs."""
    a, y = fractions(alpha), [int(s) for s in signs]
    scores = kernel_scores(X, kernel, [s * v for s, v in zip(y, a, strict=True)])
    square = sum(min(s * v * low, s * v * high)
                 for s, v, (low, high) in zip(y, a, scores, strict=True))  # fmt: skip
    primal, b = square / 2, Fraction(float(bias))
    for s, c, (low, high) in zip(y, fractions(costs), scores, strict=True):
        primal += c * max(Fraction(0), 1 - max(s * (low + b), s * (high + b)))
    feasible = all(0 <= v <= Fraction(float(c)) for v, c in zip(a, costs, strict=True))
    return primal, sum(a) - square / 2 if feasible and dot(y, a) == 0 else None


def multiclass(X, codes, costs, weights, named, bias_penalty, intercept):
    """Both objectives of the Crammer-Singer machine."""
    rows, K = rows_of(X), len(weights)
    W = [fractions(row[1:]) for row in weights]
    b = fractions([row[0] if intercept else 0.0 for row in weights])
    primal = sum(dot(w, w) for w in W) / 2 + Fraction(bias_penalty) * dot(b, b) / 2
    for row, code, c in zip(rows, codes.tolist(), fractions(costs), strict=True):
        z = [dot(row, W[k]) + b[k] for k in range(K)]
        primal += c * max(int(k != code) + z[k] - z[code] for k in range(K))
    a = [[Fraction(0)] * K for _ in rows]
    for i, k, m in zip(*(each.tolist() for each in named), strict=True):
        a[i][k] -= Fraction(m)
        a[i][codes[i]] += Fraction(m)
    for i, c in enumerate(fractions(costs)):
        if a[i][codes[i]] > c:
            return primal, None
    dual = sum(fractions(named[2]), start=Fraction(0))
    for k in range(K):
        balance = sum(share[k] for share in a)
        if intercept and bias_penalty == 0.0 and balance != 0:
            return primal, None
        if intercept and bias_penalty > 0.0:
            dual -= balance * balance / Fraction(bias_penalty) / 2
        for j in range(len(rows[0])):
            total = sum(share[k] * row[j] for share, row in zip(a, rows, strict=True))
            dual -= total * total / 2
    return primal, dual


def softmax(X, codes, costs, weights, bias_penalty, intercept):
    """The objective of the multinomial machine, which no dual may exceed."""
    rows, K = rows_of(X), len(weights)
    W = [fractions(row[1:]) for row in weights]
    b = fractions([row[0] if intercept else 0.0 for row in weights])
    primal = sum(dot(w, w) for w in W) / 2 + Fraction(bias_penalty) * dot(b, b) / 2
    for row, code, c in zip(rows, codes.tolist(), fractions(costs), strict=True):
        z = [dot(row, W[k]) + b[k] for k in range(K)]
        others = [z[k] - z[code] for k in range(K) if k != code]
        top = max(others)
        if abs(top) > _FAR:
            primal += c * max(top, Fraction(0))
            continue
        flint.ctx.prec = 300
        parts = [ball(v - top).exp() for v in others if top - v < _FAR]
        whole = sum(parts, start=flint.arb(0))
        primal += c * ends((whole * ball(top).exp()).log1p())[0]
    return primal, primal


def least_squares(X, t, s, w, b):
    """The squared error at (w, b), and the least there is (exact normal equations)."""
    rows = [[Fraction(1), *row] for row in rows_of(X)]
    targets, weights = fractions(t), fractions(s)

    def value(solution):
        return sum(c * (dot(row, solution) - v) ** 2
                   for row, v, c in zip(rows, targets, weights, strict=True))  # fmt: skip

    d = len(rows[0])
    gram = [[sum(c * row[i] * row[j] for row, c in zip(rows, weights, strict=True))
             for j in range(d)] for i in range(d)]  # fmt: skip
    pull = [sum(c * row[i] * v for row, v, c in zip(rows, targets, weights, strict=True))
            for i in range(d)]  # fmt: skip
    best = flint.fmpq_mat(d, d, [flint.fmpq(v.numerator, v.denominator) for r in gram for v in r])
    right = flint.fmpq_mat(d, 1, [flint.fmpq(v.numerator, v.denominator) for v in pull])
    here = value([Fraction(float(b)), *fractions(w)])
    try:
        solved = best.solve(right)
    except ZeroDivisionError:
        return here, here
    return here, value([Fraction(int(solved[i, 0].p), int(solved[i, 0].q)) for i in range(d)])
