"""The linear programs: what they find, their duals, and what happens when there is nothing."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator
from tests.degenerate import degenerate
from tests.estimator_checks import EXCUSED

import separatrix as sx
from separatrix.storage.model_proof import prove_model


def blobs(gap, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 40)
    return rng.normal(size=(80, 3)) + gap * y[:, None], y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("slack", [False, True])
def test_good_manners(slack):
    several = "the classes can be separated there: rows in another order have another halfspace"
    excused = dict.fromkeys(EXCUSED["LinearProgramHalfspace"], several)
    found = check_estimator(
        sx.LinearProgramHalfspace(slack=slack), expected_failed_checks=excused, on_fail="raise"
    )
    assert len(found) > 40


def test_without_slack_it_makes_no_training_error():
    X, y = blobs(8.0)
    machine = sx.LinearProgramHalfspace().fit(X, y)
    assert machine.status_ == "separated"
    assert machine.certificate_.holds
    assert (machine.predict(X) == y).all()
    assert machine.slack_.max() < 1e-6


def test_overlap_is_proved_and_the_robust_halfspace_used():
    X, y = blobs(1.0)
    with pytest.warns(ConvergenceWarning, match="cannot be separated"):
        machine = sx.LinearProgramHalfspace().fit(X, y)
    assert machine.status_ == "not separable"
    assert machine.certificate_.check(X, y)
    assert len(machine.witness_.rows) <= 5
    assert machine.score(X, y) > 0.7


def test_robust_duals_meet_the_optimality_conditions():
    X, y = blobs(1.0)
    machine = sx.LinearProgramHalfspace(slack=True).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    margins = signs * (X @ machine.coef_[0] + machine.intercept_[0])
    duals = machine.dual_coef_
    assert machine.objective_ == pytest.approx(machine.dual_objective_)
    assert machine.objective_ == pytest.approx((machine.slack_ / 40).sum())
    assert (duals >= -1e-12).all()
    assert (duals <= 1 / 40 + 1e-12).all()
    assert np.abs((duals * signs) @ X).max() < 1e-9  # stationarity in w
    assert abs(duals @ signs) < 1e-9  # and in b
    assert np.abs(duals * (margins - 1 + machine.slack_)).max() < 1e-9
    assert str(machine).count("iterations of HiGHS") == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_highs_never_has_the_last_word():
    for seed in range(0, 240, 3):
        X, signs, fit_intercept = degenerate(seed)
        if np.abs(X).max() > 1e100 or np.abs(X).max() < 1e-100:
            continue
        machine = sx.LinearProgramHalfspace(fit_intercept=fit_intercept).fit(X, signs)
        verdict = sx.separability(X, signs, fit_intercept=fit_intercept)
        assert (machine.status_ == "separated") == (verdict.kind == "separable"), seed


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_far_from_zero_the_least_violation_is_found_too():
    """HiGHS took small differences of large columns for none: w = 0 was called the optimum."""
    for seed, far in itertools.product((0, 1, 3, 4, 5), (1e6, -1e9)):
        rng = np.random.default_rng([3, seed])
        X = rng.integers(-8, 9, size=(40, 3)).astype(float)
        y = (X[:, 0] + 3.0 * rng.normal(size=40) > 0.0).astype(int)
        near = sx.LinearProgramHalfspace(slack=True).fit(X, y)
        there = sx.LinearProgramHalfspace(slack=True).fit(X + far, y)
        assert near.objective_ > 0.1
        assert there.objective_ == pytest.approx(near.objective_, rel=1e-5)
        assert there.status_ == "optimal"
        assert prove_model(sx.LinearProgramHalfspace().fit(X + far, y), X + far, y)[0]
