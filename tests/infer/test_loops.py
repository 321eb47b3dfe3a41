"""The compiled loops beside the same steps by matrices, and derivatives beside differences."""

import numpy as np
import pytest
from tests.amounts import cases
from tests.inference_problems import drawn as drawn_problem

import separatrix as sx
from separatrix.infer import loops
from separatrix.infer.likelihood import Likelihood
from separatrix.infer.newton import _climb, independent_columns, maximise, orthonormal
from separatrix.infer.profile import _compiled_end, _venzon_moolgavkar


def drawn(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = np.c_[np.ones(n), rng.normal(size=(n, d))]
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-X[:, 1]))).astype(float)
    weights, offset = rng.integers(1, 4, n).astype(float), 0.1 * rng.normal(size=n)
    return orthonormal(X)[0], y, weights, offset


def looked_at(like, theta, exact):
    look, information = like.new_look(), np.zeros((len(theta),) * 2)
    value = loops.value_at(like.posed, theta, look, information)
    loops.slopes_at(like.posed, theta, look, exact)
    return value, look


@pytest.mark.parametrize("penalty", ["none", "firth", "ridge"])
def test_value_score_and_hessian_are_those_of_differences(penalty):
    ridge = np.diag([0.0, 0.7, 0.7, 1.4])[1:] if penalty == "ridge" else None
    like = Likelihood(*drawn(0), firth=penalty == "firth", ridge=ridge)
    theta = np.array([0.3, -0.7, 1.1, 0.4])
    value, look = looked_at(like, theta, True)
    assert value == pytest.approx(like.at(theta).value, rel=1e-13)
    h = 1e-5
    for k in range(4):
        step = h * np.eye(4)[k]
        ends = [like.at(theta + sign * step) for sign in (1.0, -1.0)]
        assert look.score[k] == pytest.approx((ends[0].value - ends[1].value) / (2 * h), abs=1e-7)
        bend = -(ends[0].score - ends[1].score) / (2 * h)
        own = look.factor @ look.A @ look.factor.T
        np.testing.assert_allclose(own[k], bend, atol=1e-6)


@pytest.mark.parametrize("firth", [False, True])
def test_climbs_end_where_those_by_matrices_do(firth):
    for seed in cases(10):
        like = Likelihood(*drawn(seed), firth=firth)
        one, other = maximise(like, np.zeros(4)), _climb(like, np.zeros(4), None)
        np.testing.assert_allclose(one.point.theta, other.point.theta, atol=1e-8)
        held = np.array([0.2, -1.0, 0.5, 0.1])
        if firth:
            one, other = maximise(like, np.ones(4), held), _climb(like, np.ones(4), held)
            np.testing.assert_allclose(one.point.theta, other.point.theta, atol=1e-8)
            assert held @ one.point.theta == pytest.approx(held.sum(), abs=1e-12)
        best = maximise(like, np.zeros(4)).point
        ends = [
            joint(like, best, held, best.value - 1.92, 1.0)
            for joint in (_compiled_end, _venzon_moolgavkar)
        ]
        assert ends[0].value == pytest.approx(ends[1].value, abs=1e-8)


@pytest.mark.parametrize("firth", [False, True])
def test_climbs_by_matrices_from_nearby_go_all_the_way(firth):
    """One short step shows no rate: a second must say that it was the last."""
    like = Likelihood(*drawn(6, n=400), firth=firth)
    best, held = _climb(like, np.zeros(4), None).point, np.array([0.2, -1.0, 0.5, 0.1])
    for form in (None, held):
        found = _climb(like, best.theta + 0.3, form)
        free = found.point.score
        if form is not None:
            free = free - form * (form @ free) / (form @ form)
        assert found.steps > 1
        np.testing.assert_allclose(free, 0.0, atol=1e-7)


def test_many_rows_are_taken_in_stretches():
    Z, y, weights, offset = drawn(3, n=3000)
    whole = Likelihood(Z, y, weights, offset, firth=True)
    theta = np.array([0.1, 2.0, -1.0, 3.0])
    value, look = looked_at(whole, theta, False)
    assert value == pytest.approx(whole.at(theta).value)
    np.testing.assert_allclose(look.score, whole.at(theta).score, atol=1e-9)
    assert look.facts[0] == pytest.approx(whole.at(theta).q.max())


def test_a_singular_information_is_refused_with_the_penalty_and_damped_without():
    Z, y, weights, offset = drawn(4)
    far = np.array([1e4, 1e4, -1e4, 1e4])
    with pytest.raises(np.linalg.LinAlgError):
        maximise(Likelihood(Z, y, weights, offset, firth=True), far)
    found = maximise(Likelihood(Z, y, weights, offset), 0.01 * far)
    assert found.converged


def test_independent_columns_near_the_limit():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 3))
    for apart, kept in ((1e-3, 4), (1e-9, 4), (1e-13, 3)):
        near = np.c_[X, X[:, 0] + X[:, 1] + apart * rng.normal(size=60)]
        assert len(independent_columns(near)) == kept
        if kept == 4:
            Z, T = orthonormal(near)
            np.testing.assert_allclose(Z.T @ Z, np.eye(4), atol=1e-7)
            np.testing.assert_allclose(near @ T, Z, atol=1e-6)


def test_powers_and_logarithms_are_those_of_numpy_to_a_few_units():
    eta = np.concatenate(
        [np.linspace(-60, 60, 401), np.linspace(-690, 690, 201), [0.0, 1e-17, 1e4]]
    )
    powers, logs, room = np.zeros((3, len(eta)))
    loops.exp_and_log1p(eta, powers, logs, room)
    exact = np.exp(-np.minimum(abs(eta), 700.0))
    np.testing.assert_allclose(powers, exact, rtol=1e-15)
    np.testing.assert_allclose(logs, np.log1p(exact), rtol=1e-15)


@pytest.mark.parametrize("firth", [False, True])
def test_the_score_test_is_that_of_matrices(firth):
    like = Likelihood(*drawn(5), firth=firth)
    held = np.array([0.2, -1.0, 0.5, 0.1])
    null = maximise(like, np.zeros(4), held).point
    found = loops.score_test(like.posed, null.theta, held, like.new_look())
    inverse = np.linalg.inv(null.information)
    assert found == pytest.approx((null.score @ inverse @ held) ** 2 / (held @ inverse @ held))


def test_where_the_numbers_lie_in_memory_changes_no_digit():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.logistic(size=400) > 2.0).astype(int)
    found = set()
    for _ in range(12):
        others = [np.zeros(rng.integers(1, 2000)) for _ in range(50)]
        found.add(sx.inference(X, y).to_json())
        del others
    assert len(found) == 1


def test_a_higher_fit_with_a_coefficient_at_zero_leads_to_a_better_maximum():
    """Firth's penalised likelihood has several maxima here, and the usual starts miss the best."""
    X, y = drawn_problem(207703)
    found = sx.inference(X, y, "firth")
    assert found.estimate[0] == pytest.approx(2.0655, abs=1e-3)
    assert (found.table["lr"] > 1.0).all()
    assert found.certificate.check(X, y)
