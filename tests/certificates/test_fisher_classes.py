"""Fisher's ratios of several classes, compared with balls of 300 bits and with forgeries."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat

import separatrix as sx
from separatrix.certificates.class_scatter import class_scatter, is_positive
from separatrix.certificates.enclosure import Enclosure


def rows(seed, n=60, d=4, K=3, scale=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2.0 * rng.normal(size=(K, d))[y]
    return X * scale, y


def exact(X, y, s=None):
    """Return S_W and S_B in rationals."""
    s = np.ones(len(y)) if s is None else s
    d, rational = X.shape[1], [[fmpq(*v.as_integer_ratio()) for v in row] for row in X.tolist()]
    weight = [fmpq(*v.as_integer_ratio()) for v in np.asarray(s, dtype=float).tolist()]

    def mean(numbers):
        mass = sum(weight[i] for i in numbers)
        return mass, [sum(weight[i] * rational[i][j] for i in numbers) / mass for j in range(d)]

    _, whole = mean(range(len(y)))
    within, between = fmpq_mat(d, d), fmpq_mat(d, d)
    for k in np.unique(y):
        own = np.flatnonzero(y == k).tolist()
        mass, m = mean(own)
        for i in own:
            away = fmpq_mat(d, 1, [a - b for a, b in zip(rational[i], m, strict=True)])
            within += away * away.transpose() * weight[i]
        away = fmpq_mat(d, 1, [a - b for a, b in zip(m, whole, strict=True)])
        between += away * away.transpose() * mass
    return within, between


def above(within, between, t):
    """Return how many ratios are above t: sign changes of the characteristic polynomial's roots."""
    ctx.prec = 300
    bound = fmpq(*float(t).as_integer_ratio())
    polynomial = (within.inv() * between).charpoly()
    return sum(root.real > arb(bound.p) / arb(bound.q) for root, times in _roots(polynomial)
               for _ in range(times))  # fmt: skip


def _roots(polynomial):
    found = []
    for factor, times in polynomial.factor()[1]:
        found += [(root, times) for root, _ in _complex(factor)]
    return found


def _complex(factor):
    from flint import fmpz_poly

    bottom = math.lcm(*(int(c.q) for c in factor.coeffs()))
    whole = fmpz_poly([int(c * bottom) for c in factor.coeffs()])
    return whole.complex_roots()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e140])
def test_the_ratios_lie_within_the_bounds(seed, scale):
    X, y = rows(seed, d=3, scale=scale)
    proof = sx.Fisher().fit(X, y).certificate_
    assert proof.holds
    assert proof.check(X, y)
    within, between = exact(X, y)
    for k, (lower, upper) in enumerate(zip(proof.lower, proof.upper, strict=True)):
        assert above(within, between, lower) >= k + 1
        assert above(within, between, upper) <= k


def test_fewer_components_are_proved_as_well():
    X, y = rows(1)
    model = sx.Fisher(n_components=1).fit(X, y)
    assert model.certificate_.holds
    assert len(model.certificate_.lower) == 2


def test_weights_of_rows():
    X, y = rows(7)
    s = np.random.default_rng(7).uniform(0.1, 2.0, len(y))
    model = sx.Fisher().fit(X, y, s)
    assert model.certificate_.check(X, y, s)
    assert not model.certificate_.check(X, y)


FORGERIES = {
    "lower": lambda p: dataclasses.replace(p, lower=tuple(v + 1e-9 * v for v in p.upper)),
    "upper": lambda p: dataclasses.replace(p, upper=tuple(v - 1e-9 * v for v in p.lower)),
    "second": lambda p: dataclasses.replace(p, upper=(p.upper[0], p.lower[1] * 0.999)),
    "moved": lambda p: dataclasses.replace(p, moved=0.0),
    "weights": lambda p: dataclasses.replace(p, weights=p.weights * 1.001),
    "data": lambda p: dataclasses.replace(p, data_sha256="0" * 64),
    "directions": lambda p: dataclasses.replace(p, directions=p.directions[:, ::-1].copy()),
    "classes": lambda p: dataclasses.replace(p, classes=p.classes[:2]),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_claim_is_refused(name):
    X, y = rows(3)
    proof = sx.Fisher().fit(X, y).certificate_
    assert not FORGERIES[name](proof).check(X, y)


def test_bounds_below_zero_are_refused():
    """They are true of every ratio, and the stand-alone checker refuses them."""
    X, y = np.random.default_rng(0).normal(size=(30, 1)), np.arange(30) % 3
    proof = sx.Fisher().fit(X, y).certificate_
    assert proof.check(X, y)
    (lower,) = proof.lower  # of one alone, no other bound follows from it
    assert lower > 0.0
    assert not dataclasses.replace(proof, lower=(-lower,)).check(X, y)


def test_constant_columns_and_a_forged_weight_on_one():
    X, y = rows(5)
    X = np.column_stack([X, np.full(len(y), 3.0)])
    proof = sx.Fisher().fit(X, y).certificate_
    assert proof.holds
    assert proof.check(X, y)
    weights = proof.weights.copy()
    weights[0, -1] = 1.0
    assert not dataclasses.replace(proof, weights=weights).check(X, y)


def test_more_columns_than_can_be_formed_have_no_certificate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 401)), np.arange(900) % 3
    assert sx.Fisher().fit(X, y).certificate_ is None


@pytest.mark.parametrize("seed", range(20))
def test_matrices_near_the_boundary(seed):
    """A matrix with an eigenvalue just below zero is never called positive."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    A = rng.integers(-3, 4, size=(d, d - 1)).astype(float)
    S = A @ A.T * 2.0 ** rng.integers(-60, 60)  # singular: rank below d
    lowered = S - np.eye(d) * np.trace(S) * 2.0**-40
    assert not is_positive(Enclosure.exact(lowered))
    raised = S + np.eye(d) * (np.trace(S) * 2.0**-30 + 2.0**-300)
    assert is_positive(Enclosure.exact(raised))


def test_scatter_in_rationals():
    X, y = rows(2, n=20, d=2)
    found = class_scatter(X, y, np.ones(20), 3)
    within, _ = exact(X, y)
    powers = [fmpq(2) ** int(e) for e in found.exponents]
    S = found.within()
    for i in range(2):
        for j in range(2):
            true = within[i, j] / powers[i] / powers[j] / 2  # weights are halved there
            assert fmpq(*float(S.low[i, j]).as_integer_ratio()) <= true
            assert true <= fmpq(*float(S.high[i, j]).as_integer_ratio())
