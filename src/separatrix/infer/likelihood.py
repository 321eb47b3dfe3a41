"""The log-likelihood of logistic regression, plain or penalised, with its derivatives.

    sum_i w_i log p(y_i | x_i)                                   mle
      + 1/2 log |I(beta)|                                        firth: Jeffreys' prior
      - 1/(2 C) |coefficients without the intercept|^2           ridge

I = X' diag(w v) X is the information, v = p (1 - p). Firth's score is
X'[w (y - p) + h (1/2 - p)] with the leverages h_i = w_i v_i q_i, q_i = x_i' I^-1 x_i
(Firth 1993; Heinze and Schemper 2002). All of it is written in an orthonormal basis of the columns.

Tails of the normal and the chi-squared distribution in floats; the proof encloses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special
from scipy.linalg import solve_triangular
from scipy.special import expit

from separatrix.infer.loops import Look, Posed, look_at, new_look

METHODS = ("mle", "firth", "ridge")
_ROWS_AT_A_TIME = 4096
_IN_CACHE = 512  # rows
_NARROW = 16  # columns


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Rows in an orthonormal basis, labels 0 and 1, weights, an offset, and the penalty."""

    Z: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    firth: bool = False
    # The ridge is 1/2 |B theta + b|^2. Its matrix B'B would lose all digits to cancellation where
    # theta is large and the penalised coefficients are not.
    ridge: np.ndarray | None = None  # B
    pull: np.ndarray | None = None  # b: zero unless part of the coefficients is held

    def at(
        self, theta: np.ndarray, value: float | None = None, eta: np.ndarray | None = None
    ) -> Point:
        """Return value and derivatives at a point; they are worked out when needed."""
        found = Point(self, theta)
        if value is not None:
            found.value = value
        if eta is not None:
            found.eta = eta
        return found

    def rows(self, chosen: np.ndarray) -> Likelihood:
        """Return the likelihood of some rows."""
        Z, y, weights, offset = self.Z, self.y, self.weights, self.offset
        return Likelihood(
            Z[chosen], y[chosen], weights[chosen], offset[chosen], self.firth, self.ridge
        )

    def in_units(self, exponent: int) -> Likelihood:
        """Return it times ``4**exponent``, which has the same maximum without Firth's penalty."""
        ridge, pull = (
            None if each is None else np.ldexp(each, exponent) for each in (self.ridge, self.pull)
        )
        weights = np.ldexp(self.weights, 2 * exponent)
        return Likelihood(self.Z, self.y, weights, self.offset, self.firth, ridge, pull)

    @property
    def is_narrow(self) -> bool:
        """Whether compiled loops are ahead of matrix products."""
        return self.Z.shape[1] <= _NARROW

    @cached_property
    def posed(self) -> Posed:
        """The same for compiled loops."""
        d = self.Z.shape[1]
        ridge = np.zeros((0, d)) if self.ridge is None else self.ridge
        pull = np.zeros(len(ridge)) if self.pull is None else self.pull
        y, weights, offset = (
            np.ascontiguousarray(each, dtype=np.float64)
            for each in (self.y, self.weights, self.offset)
        )
        Z = np.ascontiguousarray(self.Z.T, dtype=np.float64)
        return Posed(Z, y, weights, offset, np.ascontiguousarray(ridge), pull, self.firth)

    def new_look(self) -> Look:
        """Return room for the numbers of a point."""
        found: Look = new_look(*self.Z.shape)
        return found


class Point:
    """Value, score, information and curvature at one point."""

    def __init__(self, like: Likelihood, theta: np.ndarray) -> None:
        self.like, self.theta = like, theta

    @cached_property
    def eta(self) -> np.ndarray:
        """The linear predictor."""
        return np.asarray(self.like.Z @ self.theta + self.like.offset)

    @cached_property
    def p(self) -> np.ndarray:
        """The probabilities of label 1."""
        return np.asarray(expit(self.eta))

    @cached_property
    def rest(self) -> np.ndarray:
        """Those of label 0, exact to their last digits too."""
        return np.asarray(expit(-self.eta))

    @cached_property
    def v(self) -> np.ndarray:
        """The variances."""
        return np.asarray(self.p * self.rest)

    @cached_property
    def plain(self) -> float:
        """The log-likelihood without a penalty."""
        margins = np.where(self.like.y > 0.5, self.eta, -self.eta)
        return -float(self.like.weights @ np.logaddexp(0.0, -margins))

    @cached_property
    def value(self) -> float:
        """What is maximised; Firth's up to a constant that the basis adds."""
        found = self.plain
        if self.like.firth:
            found += float(np.log(self.factor.diagonal()).sum())
        if self.like.ridge is not None:
            found -= 0.5 * float(self.pulled @ self.pulled)
        return found

    @cached_property
    def pulled(self) -> np.ndarray:
        """What the ridge penalises: half the square of its length."""
        assert self.like.ridge is not None
        found = self.like.ridge @ self.theta
        return found if self.like.pull is None else found + self.like.pull

    @cached_property
    def fisher(self) -> np.ndarray:
        """The information of the rows."""
        Z, roots = self.like.Z, np.sqrt(self.like.weights * self.v)
        total, room = np.zeros((Z.shape[1],) * 2), np.empty((_IN_CACHE, Z.shape[1]))
        for begin in range(0, len(Z), _IN_CACHE):
            rows = slice(begin, begin + _IN_CACHE)
            part = room[: len(Z[rows])]
            np.multiply(Z[rows], roots[rows, None], out=part)
            total += part.T @ part  # symmetric: half the products
        return total

    @cached_property
    def information(self) -> np.ndarray:
        """The information, and the ridge's curvature."""
        ridge = self.like.ridge
        return self.fisher if ridge is None else self.fisher + ridge.T @ ridge

    @cached_property
    def factor(self) -> np.ndarray:
        """The lower Cholesky factor of the information.

        Far from a maximum rows may be so sure that it is singular in floats. Then a little of the
        identity is added; not with Firth's penalty, whose value is minus infinity there.
        """
        found = self.information
        try:
            return np.linalg.cholesky(found)
        except np.linalg.LinAlgError:
            if self.like.firth or not np.isfinite(found).all():
                raise
        damp = max(float(found.diagonal().max()), 1e-250) * 1e-12
        while True:
            try:
                return np.linalg.cholesky(found + damp * np.eye(len(found)))
            except np.linalg.LinAlgError:
                damp *= 10.0

    @cached_property
    def whitened(self) -> np.ndarray:
        """Rows in which the information is the identity."""
        turn = solve_triangular(self.factor, np.eye(len(self.theta)), lower=True)
        return np.asarray(self.like.Z @ turn.T)

    @cached_property
    def q(self) -> np.ndarray:
        """The squared length of each row in the metric of the inverse information."""
        Z = self.like.Z
        if self.like.is_narrow:
            return np.einsum("ij,ij->i", self.whitened, self.whitened)
        turn = solve_triangular(self.factor, np.eye(len(self.theta)), lower=True).T
        found, room = np.empty(len(Z)), np.empty((_IN_CACHE, Z.shape[1]))
        for begin in range(0, len(Z), _IN_CACHE):
            rows = slice(begin, begin + _IN_CACHE)
            part = room[: len(Z[rows])]
            np.matmul(Z[rows], turn, out=part)
            np.einsum("ij,ij->i", part, part, out=found[rows])
        return found

    @cached_property
    def residual(self) -> np.ndarray:
        """w (y - p), and with Firth's penalty h (1/2 - p)."""
        like = self.like
        found = like.weights * np.where(like.y > 0.5, self.rest, -self.p)
        if like.firth:
            found = found + like.weights * self.v * self.q * (0.5 - self.p)
        return found

    @cached_property
    def score(self) -> np.ndarray:
        """The gradient."""
        found = self.like.Z.T @ self.residual
        ridge = self.like.ridge
        return found if ridge is None else found - ridge.T @ self.pulled

    @cached_property
    def look(self) -> Look:
        """The same for compiled loops, with the exact Hessian."""
        found = self.like.new_look()
        look_at(self.like.posed, np.ascontiguousarray(self.theta), found)
        return found

    def newton_matrix(self, exact: bool) -> np.ndarray:
        """Return the negative Hessian in whitened coordinates; inexactly, the information."""
        d = len(self.theta)
        if not (exact and self.like.firth):
            return np.eye(d)
        S, like = self.whitened, self.like
        bent = like.weights * self.v * (1.0 - 6.0 * self.v) * self.q
        found = np.eye(d) - 0.5 * ((S * bent[:, None]).T @ S)
        third = np.zeros((d, d * d))
        skew = like.weights * self.v * (self.rest - self.p)
        for begin in range(0, len(S), _ROWS_AT_A_TIME):
            part = S[begin : begin + _ROWS_AT_A_TIME]
            pairs = (part[:, :, None] * part[:, None, :]).reshape(len(part), -1)
            third += (part * skew[begin : begin + _ROWS_AT_A_TIME, None]).T @ pairs
        return found + 0.5 * (third @ third.T)


# ---- tails of the normal and the chi-squared distribution in floats; the proof encloses them


def normal_quantile(level: float) -> float:
    """Return z with a probability of `level` between -z and z.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    if level < 0.5:
        return float(np.sqrt(2.0) * special.erfinv(level))
    return float(-special.ndtri(0.5 * (1.0 - level)))  # 1 - level is exact


def two_sided(z: Any) -> Any:
    """Return the probability beyond -|z| and |z|."""
    return special.erfc(np.abs(z) / np.sqrt(2.0))


def chi_squared_tail(value: Any, freedom: float = 1.0) -> Any:
    """Return the probability above a value."""
    return special.chdtrc(freedom, np.maximum(value, 0.0))
