import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from tests.amounts import cases

from separatrix.problem.losses import LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import loss_values
from separatrix.solvers.linear.row_terms import best_step


def test_no_other_step_is_better():
    for seed in cases(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 30))
        margins, gains = rng.normal(size=n), rng.normal(size=n)
        costs = rng.choice([0.0, 1.0, 1e3], size=n)
        first, second = rng.normal(), rng.exponential() + 0.1
        for loss in [SQUARED_HINGE, LOGISTIC]:

            def value(t, loss=loss, m=margins, g=gains, c=costs, first=first, second=second):
                return first * t + 0.5 * second * t * t + c @ loss_values(loss, m + t * g)

            t, slope = best_step(loss, margins, gains, costs, first, second, 1.0, 1e-9)
            assert abs(slope) <= 1e-9 * max(1.0, float(costs @ gains**2))
            general = minimize_scalar(value, bracket=(t - 1.0, t + 0.9), tol=1e-12)
            assert value(t) <= general.fun + 1e-9 * (1.0 + abs(general.fun))
            assert_allclose(t, general.x, atol=1e-4 * (1.0 + abs(t)))


def test_the_search_comes_back_from_where_nothing_curves():
    margins, gains = np.array([0.0, 0.0]), np.array([1e6, -1e-3])
    t, slope = best_step(LOGISTIC, margins, gains, np.ones(2), 0.0, 0.0, 1.0, 1e-12)
    assert abs(slope) <= 1e-12
    assert 0.0 < t < 1.0
