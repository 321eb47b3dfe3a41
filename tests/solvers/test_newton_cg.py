"""What concerns conjugate gradients alone; the rest is in test_newton, which runs both methods."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from tests.amounts import cases

from separatrix._compiled import is_interpreted
from separatrix.problem.losses import LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import newton, newton_cg
from separatrix.solvers.running.drive import Status, solve


def bag_of_words(seed, n=120, d=300):
    """Sparse rows of length 1 with columns used by a power law."""
    if is_interpreted():
        n, d = 30, 40
    rng = np.random.default_rng(seed)
    use = np.minimum(1.0, 4.0 / np.arange(1, d + 1))
    X = np.where(rng.random((n, d)) < use, rng.exponential(size=(n, d)), 0.0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-3)
    signs = np.where(X @ rng.normal(size=d) + 0.2 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return sparse.csr_array(X), signs


@pytest.mark.parametrize("loss", [SQUARED_HINGE, LOGISTIC])
def test_agrees_with_newton_on_wide_rows(loss):
    for seed in cases(12):
        X, signs = bag_of_words(seed)
        given = MachineProblem(
            SignedProblem(X, signs), np.full(len(signs), 10.0 ** (seed % 5 - 1)), loss
        )
        by_rounds, status = solve(newton_cg, given, 200, tol=1e-10)
        by_matrix, _ = solve(newton, given, 200, tol=1e-10)
        assert status is Status.OPTIMAL
        assert_allclose(by_rounds.primal, by_matrix.primal, rtol=1e-9)
        assert_allclose(by_rounds.w[1:], by_matrix.w[1:], atol=1e-3)


def test_objectives_of_the_peers_are_not_lower():
    for seed in cases(6):
        X, signs = bag_of_words(seed)
        C = 10.0 ** (seed % 3 - 1)
        rows, costs = SignedProblem(X, signs), np.full(len(signs), C)
        peers = [
            (LOGISTIC, 0.0, LogisticRegression(C=C, tol=1e-8, max_iter=5000)),
            (LOGISTIC, 1.0, LogisticRegression(C=C, tol=1e-8, solver="liblinear")),
            (SQUARED_HINGE, 1.0, LinearSVC(C=C, tol=1e-8, dual=False)),
        ]
        for loss, penalty, peer in peers:
            peer.fit(sparse.csr_matrix(X), signs)
            given = MachineProblem(rows, costs, loss, penalty)
            state, _ = solve(newton_cg, given, tol=1e-9)
            theirs = given.primal(np.concatenate([peer.intercept_, peer.coef_[0]]))
            assert state.primal <= theirs * (1.0 + 1e-9)
            assert_allclose(state.primal, theirs, rtol=1e-5)


@pytest.mark.parametrize("loss", [SQUARED_HINGE, LOGISTIC])
def test_nearly_constant_columns_hide_behind_the_bias(loss):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    signs = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1.0, -1.0)
    far = np.column_stack([X, np.full(60, 1e6), 1e3 + rng.normal(size=60)])
    for C in [1.0, 1e4]:
        given = MachineProblem(SignedProblem(far, signs), np.full(60, C), loss)
        state, status = solve(newton_cg, given, 300, tol=1e-8)
        by_matrix, _ = solve(newton, given, 300, tol=1e-8)
        assert status is Status.OPTIMAL
        assert_allclose(state.primal, by_matrix.primal, rtol=1e-7)
        assert abs(state.w[5]) < 1e-3


def test_single_precision_is_read_as_it_is():
    X, signs = bag_of_words(1)
    narrow, costs = X.astype(np.float32), np.ones(len(signs))
    given = MachineProblem(SignedProblem(narrow, signs), costs, LOGISTIC)
    exact = MachineProblem(SignedProblem(narrow.astype(np.float64), signs), costs, LOGISTIC)
    single, _ = solve(newton_cg, given, tol=1e-9)
    double, _ = solve(newton_cg, exact, tol=1e-9)
    assert_allclose(single.primal, double.primal, rtol=1e-9)
