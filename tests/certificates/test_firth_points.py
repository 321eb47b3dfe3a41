"""Stacked products exactly; values, scores and Hessians of Firth's penalty beside 300 bits."""

from fractions import Fraction

import numpy as np
import pytest
from tests.certificates.test_enclosure import lies_within
from tests.naive import inference as naive

from separatrix.certificates.enclosed_sums import stacked_products
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.firth_points import (
    FirthPoints,
    Monomials,
    log_determinants,
)
from separatrix.certificates.likelihood_bounds import Rows, metric_at


def test_products_of_stacks_hold_exactly():
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e150, 1e-160):
        A, low = scale * rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 3, 2))
        high = low + abs(rng.normal(size=low.shape)) * rng.integers(0, 2, low.shape)
        found = stacked_products(A, Enclosure(low, high))
        B = np.where(rng.random(low.shape) < 0.5, low, high)
        for k, a, b in np.ndindex(4, 2, 2):
            exact = sum(Fraction(x) * Fraction(z) for x, z in zip(A[k, a], B[k, :, b], strict=True))
            assert lies_within(exact, found.low[k, a, b], found.high[k, a, b])


def test_monomials_are_sums_and_forms_of_tensors():
    rng = np.random.default_rng(1)
    S, A = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    for degree, letters in ((2, "ab"), (3, "abc")):
        terms = ",".join(f"i{letter}" for letter in letters)
        tensors = np.einsum(f"{terms},ik->k{letters}", *([S] * degree), A)
        found = Monomials(3, degree)
        np.testing.assert_allclose(found.tensors(found.of(S).T @ A), tensors, rtol=1e-12)
        naively = np.einsum(f"k{letters},{terms}->ik", tensors, *([S] * degree))
        np.testing.assert_allclose(found.of(S) @ found.forms(tensors), naively, rtol=1e-10)


@pytest.fixture(scope="module")
def at_points():
    rng = np.random.default_rng(2)
    X = np.c_[np.ones(25), rng.normal(size=(25, 2)) * [1.0, 50.0]]
    y, weights = rng.integers(0, 2, 25).astype(float), rng.integers(1, 4, 25).astype(float)
    offset = 0.3 * rng.normal(size=25)
    beta = np.array([0.2, -0.5, 0.01])
    rows = Rows(X, y, weights, offset, np.zeros(3))
    points = np.array([beta, beta + [0.5, 0.3, -0.02]])
    metric = metric_at(rows, beta)
    model = naive.Model(X, y, "firth", weights=weights, offset=offset)
    return FirthPoints(rows, metric, points), model, metric


def test_values_and_scores_hold_at_300_bits(at_points):
    found, model, metric = at_points
    for k, point in enumerate(found.points):
        value, score = _exactly(model, metric.R, found.G[k], point)
        assert naive.inside(value, found.value.low[k], found.value.high[k])
        assert found.value.high[k] - found.value.low[k] < 1e-11
        for a, number in enumerate(score):
            assert naive.inside(number, found.score.low[k, a], found.score.high[k, a])
        assert (found.score.high - found.score.low < 1e-10).all()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("radius", [1e-12, 1e-4, 1e-2])
def test_hessians_hold_within_their_balls(radius, exact, at_points):
    """The Jacobian of the score by differences at 300 bits, at points anywhere in the ball."""
    found, model, metric = at_points
    both = np.arange(2)
    A, off = found._bent(both) if exact else (np.tile(np.eye(3), (2, 1, 1)), found.eps + found.bend)
    change = found.change(np.full(2, radius))
    rng = np.random.default_rng(3)
    for k, point in enumerate(found.points):
        turn = metric.R @ found.G[k]
        for _ in range(4):
            step = rng.normal(size=3)
            near = point + turn @ (step * 0.9 * radius / np.linalg.norm(step))
            away = np.linalg.norm(_jacobian(model, near, turn) - A[k], 2)
            assert away <= off[k] + change[k] + 1e-13
            if exact and radius > 1e-6:
                assert away > 1e-3 * change[k]  # the bound is not idle
    assert (found.change(np.full(2, 1e3)) != found.change(np.full(2, 1e3))).all()


@naive.precise
def _jacobian(model, near, turn):
    """Return the negative Hessian in the coordinates of a matrix, by differences."""
    h, out = naive.flint.arb("1e-30"), np.zeros((3, 3))
    base = model.score([naive.flint.arb(v) for v in near.tolist()])
    for a in range(3):
        beta = [
            naive.flint.arb(v) + h * naive.flint.arb(t)
            for v, t in zip(near.tolist(), turn[:, a].tolist(), strict=True)
        ]
        change = [(new - old) / h for new, old in zip(model.score(beta), base, strict=True)]
        out[a] = [
            -float(sum(c * naive.flint.arb(t) for c, t in zip(change, column, strict=True)))
            for column in turn.T.tolist()
        ]
    return out


def test_bounds_hold_for_rows_of_other_scales_and_sure_rows():
    """Beside 300 bits, where predictors are large and columns of sizes 1e-8 to 1e8."""
    rng = np.random.default_rng(4)
    for seed in range(6):
        X = np.c_[np.ones(300), rng.standard_cauchy(size=(300, 2)) * 10.0 ** rng.uniform(-8, 8, 2)]
        X[0, 1] *= 1e5  # a predictor beyond 700
        lengths = np.median(abs(X), axis=0)
        beta = rng.normal(size=3) / lengths
        y = (X @ beta > 0).astype(float)
        rows = Rows(X, y, np.ones(300), np.zeros(300), np.zeros(3))
        metric = metric_at(rows, beta)
        points = np.array([beta, beta + 0.3 / lengths])
        found = FirthPoints(rows, metric, points)
        model = naive.Model(X, y, "firth")
        for k, point in enumerate(points):
            value, score = _exactly(model, metric.R, found.G[k], point)
            assert naive.inside(value, found.value.low[k], found.value.high[k]), seed
            for a, number in enumerate(score):
                assert naive.inside(number, found.score.low[k, a], found.score.high[k, a]), seed
        assert (found.score.high - found.score.low < 1e-6).all()


@naive.precise
def _exactly(model, R, G, point):
    beta = [naive.flint.arb(v) for v in point.tolist()]
    turn = naive.flint.arb_mat(R.tolist()) * naive.flint.arb_mat(G.tolist())
    score = naive.flint.arb_mat([[v] for v in model.score(beta)])
    return model.value(beta), (turn.transpose() * score).entries()


def test_losses_hold_and_would_not_without_their_rounding(at_points):
    found, model, _ = at_points
    model = naive.Model(found.rows.X, found.rows.y, "mle", found.rows.weights, found.rows.offset)
    exact = [
        naive.precise(model.value)(list(map(naive.flint.arb, p))) for p in found.points.tolist()
    ]
    for k, value in enumerate(exact):
        assert naive.inside(value, found.plain.low[k], found.plain.high[k])
        assert found.plain.high[k] - found.plain.low[k] < 5e-12
    losses = found._seen(slice(0, 256)).losses.sum(axis=0)
    assert not all(naive.inside(v, -one, -one) for v, one in zip(exact, losses, strict=True))


def test_forms_are_those_of_the_new_coordinates(at_points):
    found = at_points[0]
    K, d = found.points.shape
    turned = found.turned_form(np.eye(d)[np.arange(K) % d])
    for k, b in np.ndindex(K, d):
        row, column = found.metric.R[k % d].tolist(), found.G[k, :, b].tolist()
        exact = sum(Fraction(x) * Fraction(z) for x, z in zip(row, column, strict=True))
        assert lies_within(exact, turned.low[k, 0, b], turned.high[k, 0, b])


def test_logarithms_of_determinants():
    H = np.array([[[4.0, 1.0], [1.0, 3.0]], [[2.0, 0.0], [0.0, 0.5]]])
    found = log_determinants(Enclosure.exact(H))
    assert found.contains([np.log(11.0), 0.0]).all()
    assert (found.high - found.low < 1e-13).all()
