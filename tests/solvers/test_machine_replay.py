"""The replay of a machine is the run that `fit` makes, and its gap closes."""

import warnings

import numpy as np
import pytest
from tests.amounts import cases
from tests.problems import problem

import separatrix as sx

MACHINES = [
    sx.LinearSVM(0.7),
    sx.LinearSVM(30.0, loss="squared_hinge"),
    sx.LinearSVM(2.0, solver="dual_coordinate", max_passes=200),
    sx.LogisticRegression(3.0),
]


@pytest.mark.parametrize("estimator", MACHINES, ids=str)
def test_the_last_frame_is_what_fit_hands_over(estimator):
    for seed in cases(8):
        case = problem(seed)
        X = np.clip(case.X, -10.0, 10.0)
        y = case.y_signs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = estimator.fit(X, y)
        frames = list(sx.replay(estimator, X, y))
        assert [frame.update for frame in frames[:-1]] == list(range(len(frames) - 1))
        assert frames[-1].status is not None
        if frames[-2].update == fitted.n_iter_:  # no further rounds were needed for the proof
            weights = np.concatenate([fitted.intercept_, fitted.coef_[0]])
            assert frames[-1].weights.tobytes() == weights.tobytes()
            assert frames[-1].errors == int((y * fitted.decision_function(X) <= 0.0).sum())


def test_every_frame_brackets_the_optimum():
    dice = np.random.default_rng(3)
    X, y = dice.normal(size=(60, 2)), np.repeat([-1, 1], 30)
    for estimator in MACHINES:
        best = estimator.fit(X + 0.4 * y[:, None], y).objective_
        frames = list(sx.replay(estimator, X + 0.4 * y[:, None], y))
        for frame in frames:
            assert frame.dual <= best * (1.0 + 1e-9)
            assert best * (1.0 - 1e-9) <= frame.primal
        assert frames[-1].gap <= 1e-6 < frames[0].gap


def test_iterates_of_the_interior_point_move_from_the_first_step():
    dice = np.random.default_rng(3)
    X, y = dice.normal(size=(60, 2)), np.repeat([-1, 1], 30)
    first, second, *_ = sx.replay(sx.LinearSVM(), X, y)
    assert not np.array_equal(first.weights, second.weights)


def test_all_classes_at_once_are_refused_in_words():
    with pytest.raises(ValueError, match="'ovr' or 'ovo'"):
        sx.replay(sx.LinearSVM(multi_class="direct"), [[0.0], [1.0], [2.0]], [0, 1, 2])
