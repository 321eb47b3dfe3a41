"""Gradient steps with a step size: against the slow rule, and against the perceptron."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.naive import scheduled_sgd as naive
from tests.problems import as_sparse, problem

from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import replay
from separatrix.solvers.updates import perceptron, scheduled_sgd

LOSSES = ["hinge", "squared_hinge", "logistic", "perceptron", "squared", "modified_huber"]
KINDS = ["comfortable_margin", "overlapping_gaussians", "integer_grid", "zero_rows", "mostly_zero"]


@pytest.mark.parametrize("loss", LOSSES)
def test_agrees_with_the_slow_rule(loss):
    for seed in cases(60):
        case = problem(seed, KINDS[seed % len(KINDS)])
        X = case.X / np.maximum(abs(case.X).max(axis=0), 1.0)
        schedule = ["constant", "invscaling", "optimal"][seed % 3]
        C = np.inf if schedule != "optimal" and seed % 2 else 0.5
        intercept = seed % 5 != 0
        seen, mean = naive.steps(
            X.tolist(), case.y_signs, loss, C, schedule, 0.05, 0.3, 2, intercept
        )
        rows = as_sparse(X, np.int32) if seed % 2 else X
        state = scheduled_sgd.start(
            SignedProblem(rows, case.y_signs, intercept), loss=loss, cost=C, schedule=schedule,
            eta0=0.05, power=0.3, order="cyclic", max_passes=2,
        )  # fmt: skip
        scheduled_sgd.advance(state, 10**6)
        scale = 1.0 + np.abs(seen).max()
        assert_allclose(state.w, seen[-1], rtol=1e-7, atol=1e-9 * scale)
        assert_allclose(state.answer, mean, rtol=1e-7, atol=1e-9 * scale)


def test_gradient_descent_on_the_perceptrons_loss_is_the_perceptron():
    """Lecture 004, (7) to (10): the same frames, to the last bit; other visits change nothing."""
    compared = 0
    for seed in cases(40):
        case = problem(seed, ["comfortable_margin", "integer_grid", "separable_integers"][seed % 3])
        signed = SignedProblem(as_sparse(case.X) if seed % 2 else case.X, case.y_signs, True)
        eta = [1.0, 0.3, 0.125][seed % 3]
        rule = list(replay(perceptron, signed, 200, rate=eta, pocket=False, max_passes=5))
        descent = replay(
            scheduled_sgd, signed, loss="perceptron", cost=np.inf, average=False, eta0=eta,
            order="cyclic", max_passes=5,
        )  # fmt: skip
        frames, before = [], None
        for frame in descent:
            if before is None or not np.array_equal(frame.weights, before):
                frames.append(frame)
            before = frame.weights
        frames = frames[: len(rule)]
        assert len(frames) == len(rule)
        for mine, theirs in zip(frames, rule, strict=True):
            assert mine.weights.tobytes() == theirs.weights.tobytes()
            assert (mine.errors, mine.margin) == (theirs.errors, theirs.margin)
            assert mine.row == theirs.row or mine.update == 0
        compared += len(rule) > 2
    assert compared > 0.5 * len(cases(40))


def test_a_weight_is_so_many_copies():
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(12, 3)), rng.choice([-1.0, 1.0], size=12)
    weights = rng.integers(1, 4, size=12).astype(float)
    each = np.repeat(np.arange(12), weights.astype(int))
    for order in ("cyclic", "random"):
        settings = {"loss": "logistic", "schedule": "invscaling", "eta0": 0.5, "order": order}
        short = scheduled_sgd.start(
            SignedProblem(X, signs), weights=weights, max_passes=3, **settings
        )
        long = scheduled_sgd.start(SignedProblem(X[each], signs[each]), max_passes=3, **settings)
        for state in (short, long):
            scheduled_sgd.advance(state, 10**6)
        assert_allclose(short.w, long.w, rtol=1e-12)
        assert_allclose(short.answer, long.answer, rtol=1e-12)
