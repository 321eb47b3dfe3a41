"""Stacked products exactly; values, scores and Hessians of Firth's penalty beside 300 bits."""

from fractions import Fraction

import numpy as np
import pytest
from tests.certificates.test_enclosure import lies_within
from tests.naive import inference as naive

from separatrix.certificates.enclosed_sums import stacked_products
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.firth_points import (
    Ball,
    FirthPoints,
    Monomials,
    log_determinants,
    stacked_products_both,
)
from separatrix.certificates.likelihood_bounds import Rows, metric_at


def test_products_of_stacks_hold_exactly():
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e150, 1e-160):
        A, low = scale * rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 3, 2))
        high = low + abs(rng.normal(size=low.shape)) * rng.integers(0, 2, low.shape)
        both = Enclosure(A, A + abs(A) * 1e-3)
        for left, found in (
            (A, stacked_products(A, Enclosure(low, high))),
            (both.high, stacked_products_both(both, Enclosure(low, high))),
        ):
            B = np.where(rng.random(low.shape) < 0.5, low, high)
            for k, a, b in np.ndindex(4, 2, 2):
                exact = sum(
                    Fraction(x) * Fraction(z) for x, z in zip(left[k, a], B[k, :, b], strict=True)
                )
                assert lies_within(exact, found.low[k, a, b], found.high[k, a, b])


def test_monomials_are_sums_and_forms_of_tensors():
    rng = np.random.default_rng(1)
    S, A = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    for degree, letters in ((2, "ab"), (3, "abc")):
        terms = ",".join(f"i{letter}" for letter in letters)
        tensors = np.einsum(f"{terms},ik->k{letters}", *([S] * degree), A)
        sums = Monomials(Enclosure.exact(S), degree).sums(Enclosure.exact(A))
        np.testing.assert_allclose(sums.middle, tensors, rtol=1e-12)
        assert (sums.high - sums.low < 1e-12).all()
        forms = Monomials(Enclosure.exact(S), degree).forms(Enclosure.exact(tensors))
        naively = np.einsum(f"k{letters},{terms}->ik", tensors, *([S] * degree))
        np.testing.assert_allclose(forms.middle, naively, rtol=1e-10)


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


@pytest.mark.parametrize("reach", [0.0, 1e-9, 0.2, 3.0])
def test_probabilities_within_a_reach_hold_those_at_its_ends(reach, at_points):
    points = at_points[0]
    wide = points.within(np.full(points.eta.shape, reach))
    for moved in (-reach, 0.5 * reach, reach):
        at = points.variances(points.eta + moved)
        for inner, outer in zip(at, wide, strict=True):
            assert (outer.low <= inner.high).all()
            assert (inner.low <= outer.high).all()
    if reach == 1e-9:
        assert (wide[2].high - wide[2].low <= 4e-9 * wide[2].high).all()


def test_values_and_scores_hold_at_300_bits(at_points):
    found, model, metric = at_points
    for k, point in enumerate(found.points):

        @naive.precise
        def exactly(point=point, k=k):
            beta = [naive.flint.arb(v) for v in point.tolist()]
            turn = naive.flint.arb_mat((metric.R).tolist()) * naive.flint.arb_mat(
                found.G[k].tolist()
            )
            score = naive.flint.arb_mat([[v] for v in model.score(beta)])
            return model.value(beta), (turn.transpose() * score).entries()

        value, score = exactly()
        assert naive.inside(value, found.value.low[k], found.value.high[k])
        assert found.value.high[k] - found.value.low[k] < 1e-11
        for a, number in enumerate(score):
            assert naive.inside(number, found.score.low[k, a], found.score.high[k, a])
        assert (found.score.high - found.score.low < 1e-10).all()


def test_hessians_hold_within_their_balls(at_points):
    """The Jacobian of the score by differences at 300 bits, at points anywhere in the ball."""
    found, model, metric = at_points
    ball = Ball(found, 1e-4)
    rng = np.random.default_rng(3)
    for k, point in enumerate(found.points):
        turn = metric.R @ found.G[k]
        step = rng.normal(size=3)
        near = point + turn @ (step * 0.9e-4 / np.linalg.norm(step))

        @naive.precise
        def jacobian(near=near, turn=turn):
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

        assert ball.hessian[k].contains(jacobian()).all()
        size = np.linalg.norm(ball.hessian[k].middle - np.eye(3), 2)
        assert size <= ball.bend[k] + ball.eps[k]


def test_logarithms_of_determinants():
    H = np.array([[[4.0, 1.0], [1.0, 3.0]], [[2.0, 0.0], [0.0, 0.5]]])
    found = log_determinants(Enclosure.exact(H))
    assert found.contains([np.log(11.0), 0.0]).all()
    assert (found.high - found.low < 1e-13).all()
