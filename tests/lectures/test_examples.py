"""The lectures' own worked examples, with their numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.core.novikoff import mistake_bound
from separatrix.problem.signed import SignedProblem

WORKED_X, WORKED_Y = sx.lectures.five_points()


def test_the_worked_perceptron_visits_the_weights_of_the_lecture():
    machine = sx.Perceptron(learning_rate=0.2, init=[0, 1, 0.5])
    frames = list(sx.replay(machine, WORKED_X, WORKED_Y))
    visited = [frame.weights for frame in frames]
    expected = [(0, 1, 0.5), (-0.2, 0.6, 0.9), (0, 0.2, 1.1), (0.2, 0.5, 1.0)]
    assert_allclose(visited, expected, atol=1e-12)
    assert [frame.row for frame in frames] == [-1, 1, 3, 4]
    assert frames[-1].status == "separated"
    fitted = machine.fit(WORKED_X, WORKED_Y)
    assert_allclose([*fitted.intercept_, *fitted.coef_[0]], expected[-1], atol=1e-12)


@pytest.mark.parametrize(("label", "output", "move"), [(1, -1, 0.16), (-1, 1, -0.16)])
def test_the_thresholded_rule_moves_by_the_lectures_step(label, output, move):
    """Rate 0.1, input 0.8: the weight moves by 0.1 (t - o) 0.8."""
    x = np.array([[0.8], [0.8 * -output * 100]])
    y = np.array([label, -label])
    start = [0.0, float(output)]
    machine = sx.DeltaRule(thresholded=True, update="single", learning_rate=0.1, init=start)
    first, second, *_ = sx.replay(machine, x, y)
    assert np.sign(first.weights[1] * 0.8) == output
    assert second.weights[1] - first.weights[1] == pytest.approx(move)


def test_eighty_five_separable_points_are_separated():
    X, y = sx.lectures.eighty_five_points()
    machine = sx.Perceptron().fit(X, y)
    assert len(X) == 85
    assert machine.score(X, y) == 1.0
    assert machine.status_ == "separated"
    assert machine.certificate_.holds
    assert machine.novikoff_.holds


def test_two_points_need_two_updates():
    """Lecture 2, example 1: both points are misclassified by zero, then the second by the first."""
    frames = list(sx.replay(sx.Perceptron(), *sx.lectures.two_points()))
    assert [frame.errors for frame in frames] == [2, 1, 0]
    assert [frame.row for frame in frames] == [-1, 0, 1]
    assert_allclose(frames[-1].weights, [1 - 1, 2 + 0.25])


def test_lifting_makes_the_one_dimensional_example_separable():
    x = np.linspace(-2, 2, 21)
    y = np.abs(x) > 1.05
    with pytest.warns(match="budget"):
        flat = sx.Perceptron(max_updates=2000).fit(x[:, None], y)
    assert not flat.certificate_.holds
    lifted = sx.Perceptron().fit(np.column_stack([x, x**2 - 1]), y)
    assert lifted.status_ == "separated"
    assert lifted.certificate_.holds


def test_the_lifted_example_needs_fewer_updates_with_the_shift():
    """The lecture uses x^2 - 1 "because of faster perceptron convergence" than x^2."""
    x = np.linspace(-2, 2, 21)
    y = np.abs(x) > 1.05
    shifted = sx.Perceptron().fit(np.column_stack([x, x**2 - 1]), y).n_iter_
    plain = sx.Perceptron().fit(np.column_stack([x, x**2]), y).n_iter_
    assert shifted < plain


def test_the_margin_lies_between_kozinecs_bounds():
    X, y = WORKED_X, WORKED_Y
    machine = sx.Kozinec(epsilon=1e-3).fit(X, y)
    lower, upper = machine.margin_bounds_
    assert upper - lower <= 1e-3 * (1 + 1e-9)
    problem = SignedProblem(X, y.astype(float))
    perceptron = sx.Perceptron().fit(X, y)
    w = problem.homogeneous(machine.coef_, machine.intercept_)
    assert mistake_bound(problem, w, perceptron.n_iter_).holds
