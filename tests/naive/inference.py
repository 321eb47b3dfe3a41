"""Logistic inference at 300 bits: Newton's method on plain equations, in balls.

Derivatives of the equations are differences over 1e-40. Nothing is shared with the library.
"""

import flint
import numpy as np

BITS = 300
STEP = "1e-40"


def precise(function):
    def run(*args, **kwargs):
        before = flint.ctx.prec
        flint.ctx.prec = BITS
        try:
            return function(*args, **kwargs)
        finally:
            flint.ctx.prec = before

    return run


class Model:
    """Rows with labels 0 and 1; method "mle", "firth" or "ridge" (with the penalty 1 / C)."""

    @precise
    def __init__(self, X, y, method, weights=None, offset=None, ridge=None):
        n, d = X.shape
        self.n, self.d, self.method = n, d, method
        self.X = [[flint.arb(v) for v in row] for row in X.tolist()]
        self.y = [int(v) for v in y]
        self.w = [flint.arb(v) for v in (np.ones(n) if weights is None else weights).tolist()]
        self.off = [flint.arb(v) for v in (np.zeros(n) if offset is None else offset).tolist()]
        self.ridge = [flint.arb(v) for v in (np.zeros(d) if ridge is None else ridge).tolist()]

    def probabilities(self, beta):
        out = []
        for row, off in zip(self.X, self.off, strict=True):
            eta = sum((x * b for x, b in zip(row, beta, strict=True)), off)
            out.append((eta, 1 / (1 + (-eta).exp())))
        return out

    def information(self, beta):
        d, found = self.d, self.probabilities(beta)
        weights = [w * p * (1 - p) for w, (_, p) in zip(self.w, found, strict=True)]
        rows = flint.arb_mat([[v * x for x in row] for v, row in zip(weights, self.X, strict=True)])
        total = flint.arb_mat(self.X).transpose() * rows
        for a in range(d):
            total[a, a] += self.ridge[a]
        return total

    def value(self, beta):
        total = flint.arb(0)
        for y, w, (eta, _) in zip(self.y, self.w, self.probabilities(beta), strict=True):
            total -= w * (1 + (-eta if y else eta).exp()).log()
        if self.method == "firth":
            total += self.information(beta).det().log() / 2
        for r, b in zip(self.ridge, beta, strict=True):
            total -= r * b * b / 2
        return total

    def score(self, beta):
        found = self.probabilities(beta)
        turned = None
        if self.method == "firth":
            turned = (flint.arb_mat(self.X) * self.information(beta).inv()).tolist()
        out = [-r * b for r, b in zip(self.ridge, beta, strict=True)]
        for i, (row, y, w, (_, p)) in enumerate(zip(self.X, self.y, self.w, found, strict=True)):
            a = w * (y - p)
            if turned is not None:
                q = sum((s * x for s, x in zip(turned[i], row, strict=True)), flint.arb(0))
                a += w * p * (1 - p) * q * (flint.arb("0.5") - p)
            for k in range(self.d):
                out[k] += a * row[k]
        return out

    def _solve(self, equations, start):
        """Newton's method with the derivatives of the start, which is next to the root."""
        at, k = [flint.arb(v) for v in start], len(start)
        h = flint.arb(STEP)
        F = equations(at)
        J = [[None] * k for _ in range(k)]
        for c in range(k):
            near = list(at)
            near[c] += h
            for r, v in enumerate(equations(near)):
                J[r][c] = (v - F[r]) / h
        J = flint.arb_mat([[v.mid() for v in row] for row in J])
        for _ in range(40):
            step = J.solve(flint.arb_mat([[v.mid()] for v in F]))
            at = [(a - step[r, 0]).mid() for r, a in enumerate(at)]
            if all(
                abs(step[r, 0]) <= flint.arb("1e-32") * (abs(at[r]) + flint.arb("1e-30"))
                for r in range(k)
            ):
                return at
            F = equations(at)
        raise ArithmeticError("no root at 300 bits")

    @precise
    def maximum(self, start):
        """Return the root of the score next to a point, its value, and the standard errors."""
        at = self._solve(self.score, start)
        inverse = self.information(at).inv()
        return at, self.value(at), [inverse[k, k].sqrt() for k in range(self.d)]

    @precise
    def restricted(self, j, start):
        """Return the largest value with coefficient j at its start."""
        free = [k for k in range(self.d) if k != j]

        def whole(part):
            beta = [flint.arb(v) for v in start]
            for k, v in zip(free, part, strict=True):
                beta[k] = v
            return beta

        if not free:
            return self.value(whole([]))
        at = self._solve(
            lambda part: [self.score(whole(part))[k] for k in free], [start[k] for k in free]
        )
        return self.value(whole(at))

    @precise
    def end(self, j, level, start):
        """Return coefficient j where the free score is zero and the value at the level."""

        def equations(beta):
            score = self.score(beta)
            return [self.value(beta) - level] + [score[k] for k in range(self.d) if k != j]

        try:
            return self._solve(equations, start)[j]
        except ArithmeticError:
            return self._end_by_the_ridge(j, level, start)

    def _end_by_the_ridge(self, j, level, start):
        """The same in a wider ball, where the likelihood is nearly 1: the ridge decides."""
        if not self.ridge[j] > 0:
            raise ArithmeticError("no root at 300 bits")
        t = (-2 * level / self.ridge[j]).sqrt() * (1 if start[j] > 0 else -1)
        near = [flint.arb(v) for v in start]
        near[j] = t
        only = [flint.arb(0) if r > 0 else v for r, v in zip(self.ridge, near, strict=True)]
        only[j] = t
        least = max(self.value(near).mid(), self.value(only).mid())
        # The largest value at t lies between the least and the level; its slope there is -r t.
        return t + flint.arb(0, 2 * (level - least) / (self.ridge[j] * abs(t)))


@precise
def quantile(level):
    """Return the chi-squared quantile with one degree of freedom."""
    z = 2 * flint.arb(level).erfinv() ** 2 if hasattr(flint.arb, "erfinv") else None
    if z is None:
        x = flint.arb("1.0")
        goal = 1 - flint.arb(level)
        for _ in range(60):
            f = (x / 2).sqrt().erfc() - goal
            slope = -(-x / 2).exp() / (2 * flint.arb.pi() * x).sqrt()
            x = (x - f / slope).mid()
        z = x
    return z


@precise
def tail(value):
    """Return the probability above a value."""
    return (value / 2).sqrt().erfc()


@precise
def not_negative(value):
    """Return a number that is known not to be below zero; a ball around zero of 1e-60 is zero."""
    return flint.arb(0) if value.contains(0) and abs(value) < flint.arb("1e-60") else value


def inside(number, low, high):
    """Whether a ball lies between two floats."""
    return bool(flint.arb(float(low)) <= number) and bool(number <= flint.arb(float(high)))
