"""Side by side with scikit-learn, mlxtend, HiGHS and non-negative least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, nnls
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron as SklearnPerceptron
from tests.amounts import COMPILED_ONLY, cases
from tests.optional import shared_file
from tests.problems import problem

import separatrix as sx
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status, solve
from separatrix.solvers.updates import kozinec, perceptron


def test_passes_equal_scikit_learns_to_the_bit_on_integers():
    for seed in cases(400):
        case = problem(seed, kind=["integer_grid", "separable_integers"][seed % 2])
        passes = 1 + seed % 5
        peer = SklearnPerceptron(shuffle=False, tol=None, max_iter=passes).fit(case.X, case.y_signs)
        state, _ = solve(perceptron, SignedProblem(case.X, case.y_signs), max_passes=passes)
        assert_allclose(state.w, [*peer.intercept_, *peer.coef_[0]], rtol=0, atol=1e-12)


def test_mlxtends_rule_is_the_delta_rule_thresholded():
    """mlxtend moves by eta (t - o) x for each row in turn, with o = +1 where w.x >= 0."""
    import mlxtend.classifier as mlxtend

    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)) - 3, rng.normal(size=(20, 2)) + 3])
    y = np.repeat([0, 1], 20)
    peer = mlxtend.Perceptron(eta=0.1, epochs=20, random_seed=0).fit(X, y)
    ours = sx.DeltaRule(thresholded=True, update="single").fit(X, y)
    assert (ours.predict(X) == peer.predict(X)).all()


def highs_separates(Z):
    outcome = linprog(
        np.zeros(Z.shape[1]), A_ub=-Z, b_ub=-np.ones(len(Z)), bounds=(None, None), method="highs"
    )
    return outcome.status == 0


def test_what_is_separated_is_feasible_for_highs():
    for seed in cases(300):
        case = problem(seed, kind=["integer_grid", "overlapping_gaussians", "collinear"][seed % 3])
        signed = SignedProblem(case.X, case.y_signs)
        state, status = solve(kozinec, signed, 20_000)
        if status is Status.SEPARATED:
            assert highs_separates(signed.signed_rows())
        elif state.bound < 1e-9:
            assert not highs_separates(signed.signed_rows())


def test_bounds_enclose_the_largest_margin_found_by_least_squares():
    """The point of the hull nearest the origin, by NNLS on |Z'a|^2 + (1'a - 1)^2."""
    for seed in cases(200):
        case = problem(seed, kind="comfortable_margin")
        Z = case.signed_rows()
        a, _ = nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), 1.0))
        largest = np.linalg.norm(Z.T @ a / a.sum())
        machine = sx.Kozinec(epsilon=0.02 * np.linalg.norm(Z, axis=1).max())
        lower, upper = machine.fit(case.X, case.y_signs).margin_bounds_
        assert lower <= largest * (1 + 1e-9)
        assert largest <= upper * (1 + 1e-9)


@COMPILED_ONLY
def test_mushrooms_are_separated_and_a9a_is_not():
    X, y = load_svmlight_file(str(shared_file("mushrooms.libsvm")))
    for machine in (sx.Perceptron(), sx.Kozinec()):
        machine.fit(X, y)
        assert machine.status_ == "separated"
        assert machine.certificate_.check(X, y)
    X, y = load_svmlight_file(str(shared_file("a9a.libsvm")))
    with pytest.warns(match="misclassified"):
        pocket = sx.Perceptron(max_passes=3).fit(X, y)
    assert pocket.errors_ / len(y) < 0.2
    with pytest.warns(match="No hyperplane has a margin above"):
        bounded = sx.Kozinec(max_passes=3).fit(X, y)
    assert bounded.margin_bounds_[1] < 0.01
    assert not bounded.certificate_.holds
