"""The Gram form: the same machine in fewer columns, and back."""

import numpy as np
import pytest
from scipy import sparse
from tests.amounts import COMPILED_ONLY, cases
from tests.optional import shared_file
from tests.problems import as_sparse, problem
from tests.solvers import gram_run

import separatrix as sx
from separatrix.problem.losses import HINGE, LOGISTIC
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import gram, interior_point
from separatrix.solvers.running.drive import Status, solve


def wide_machine(seed, X, signs, loss=HINGE, cost=1.0):
    bias = seed % 3
    signed = SignedProblem(X, signs, bias != 2)
    return MachineProblem(signed, np.full(len(signs), cost), loss, float(bias == 1))


@pytest.mark.parametrize(
    ("small", "tol"),
    [(gram.SMALL, 0.0), (gram.SMALL, 1e-4), (0, 0.0)],
    ids=["by QR", "by Cholesky", "by the Gram matrix"],
)
def test_margins_and_lengths_are_kept(monkeypatch, small, tol):
    monkeypatch.setattr(gram, "SMALL", small)
    for seed in cases(60):
        case = problem(seed, kind="fewer_rows_than_columns")
        posed = wide_machine(seed, as_sparse(case.X), case.y_signs, LOGISTIC)
        narrow, back = gram.reduced(posed, tol)
        assert narrow.X.shape[1] <= len(case.X)
        v = np.random.default_rng(seed).normal(size=narrow.X.shape[1] + 1)
        w = back(v)
        np.testing.assert_allclose(posed.rows.margins(w), narrow.rows.margins(v), atol=1e-9)
        assert np.linalg.norm(w[1:]) == pytest.approx(np.linalg.norm(v[1:]), rel=1e-9)
        np.testing.assert_allclose(gram_run.into(back, w), v, atol=1e-9)


@pytest.mark.parametrize("small", [gram.SMALL, 0], ids=["by QR", "by the Gram matrix"])
def test_same_optimum_as_without(monkeypatch, small):
    monkeypatch.setattr(gram, "SMALL", small)
    for seed in cases(120):
        case = problem(seed)
        # X X^T squares: beside an offset of 1e6 that no free bias takes off, columns are lost.
        if case.kind == "extreme_columns" or (case.kind == "constant_columns" and not small):
            continue
        posed = wide_machine(seed, as_sparse(case.X), case.y_signs)
        direct, _ = solve(interior_point, posed, tol=1e-8)
        state, status = solve(gram_run, posed, tol=1e-7, solver=interior_point)
        assert status is Status.OPTIMAL, case.name
        assert state.primal == pytest.approx(posed.primal(state.w), rel=1e-12)
        assert state.primal == pytest.approx(direct.primal, rel=2e-7)


@pytest.mark.parametrize("bias", [0, 2], ids=["free bias", "no bias"])
def test_cholesky_where_the_rows_allow_it(bias):
    rng = np.random.default_rng(bias)
    X, signs = 1e3 + rng.normal(size=(12, 40)), np.where(np.arange(12) < 6, 1.0, -1.0)
    X -= 1e3 * (bias == 2)
    posed = wide_machine(bias, X, signs)
    by_cholesky, by_qr = gram.reduced(posed, 1e-4)[1], gram.reduced(posed, 1e-12)[1]
    assert by_cholesky.reflections is None
    assert by_qr.reflections is not None
    # Two rows that are nearly the same leave too few digits in the Gram matrix.
    X[1] = X[0] + 1e-4 * (X[2] - X[3])
    assert gram.reduced(wide_machine(bias, X, signs), 1e-4)[1].reflections is not None


def test_first_claim_goes_both_ways():
    case = problem(4, kind="fewer_rows_than_columns")
    posed = wide_machine(0, case.X, case.y_signs)
    state, _ = solve(gram_run, posed, tol=1e-8, solver=interior_point)
    first = (state.w, state.alpha)
    again, status = solve(gram_run, posed, tol=1e-6, solver=interior_point, first=first)
    assert (status, again.updates) == (Status.OPTIMAL, 0)


def test_budgets_add_up():
    for seed in cases(20):
        case = problem(seed, kind="fewer_rows_than_columns")
        posed = wide_machine(seed, case.X, case.y_signs)
        whole = gram_run.start(posed, tol=1e-9, solver=interior_point)
        ones = gram_run.start(posed, tol=1e-9, solver=interior_point)
        status = gram_run.advance(whole, 12)
        for _ in range(12):
            status_of_ones = gram_run.advance(ones, 1)
        assert status is status_of_ones
        assert whole.w.tobytes() == ones.w.tobytes()
        assert whole.alpha.tobytes() == ones.alpha.tobytes()


@COMPILED_ONLY
def test_hard_margin_of_the_colon_data():
    table = sx.read(shared_file("alon.csv.gz"), target="class")
    X, labels = np.asarray(table.X, dtype=float), np.asarray(table.y)
    signs = np.where(labels == labels[0], 1.0, -1.0)
    for rows in (X, sparse.csr_array(X)):
        posed = MachineProblem(SignedProblem(rows, signs), np.full(len(signs), np.inf), HINGE)
        state, status = solve(gram_run, posed, tol=1e-10, solver=interior_point)
        assert status is Status.OPTIMAL
        assert posed.rows.margins(state.w).min() >= 1.0
        # A bracket of 1e-10 in the objective is one of 5e-11 in the margin 1 / |w|.
        assert 1.0 / np.linalg.norm(state.w[1:]) == pytest.approx(1173.46484486560, rel=1e-9)
