"""Newton's method in torch against the NumPy one, the proof, and itself in batches and chunks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.problems import problem
from tests.torch_problems import pair, torch

from separatrix.certificates.duality_gap import DualityGap
from separatrix.problem.losses import NAMES
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear.device import newton_side_by_side
from separatrix.solvers.linear.device.newton_side_by_side import side_by_side
from separatrix.solvers.linear.model_run import MachineRun
from separatrix.solvers.running.drive import Status

LOSSES = ["squared_hinge", "logistic"]
SENSIBLE = [
    "comfortable_margin", "separable_integers", "overlapping_gaussians", "integer_grid",
    "duplicate_rows", "opposite_duplicates", "collinear", "constant_columns", "zero_rows",
    "fewer_rows_than_columns", "zero_columns", "all_columns_zero", "copied_columns", "mostly_zero",
]  # fmt: skip


def proved(machine, tol=1e-9):
    run = MachineRun(machine, "newton", tol=tol)
    status = run.go_on(tol)
    claims = run.claims()
    proof = DualityGap.proved(
        X=machine.X, sides=machine.signs, costs=machine.costs, loss=NAMES[machine.loss],
        weights=claims.w, multipliers=claims.alpha, intercept=machine.rows.fit_intercept,
        bias_penalty=machine.bias_penalty,
    )  # fmt: skip
    return proof, status, run


def posed(seed, loss, **settings):
    case = problem(seed, SENSIBLE[seed % len(SENSIBLE)])
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, len(case.X)).astype(float) if seed % 3 == 0 else 1.0
    costs = 10.0 ** rng.integers(-2, 3) * weights * np.ones(len(case.X))
    for sign in (-1.0, 1.0):
        costs[np.flatnonzero(case.y_signs == sign)[:1]] = 1.0
    scales = 10.0 ** rng.uniform(-2.0, 2.0, case.X.shape[1]) if seed % 4 == 1 else 1.0
    X = case.X * scales
    intercept, penalty = seed % 5 != 2, float(seed % 7 == 3)
    return pair(X, case.y_signs, costs, loss, intercept=intercept, penalty=penalty, **settings)


@pytest.mark.parametrize("loss", LOSSES)
def test_same_objective_as_the_processors_and_proved(loss):
    for seed in cases(42):
        here, there = posed(seed, loss)
        wanted, *_ = proved(here)
        proof, status, _ = proved(there)
        assert proof.gap <= 1e-8, (seed, status)
        assert_allclose(proof.primal, wanted.primal, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_chunks_are_the_whole(loss):
    for seed in cases(8):
        _, whole = posed(seed, loss)
        _, parts = posed(seed, loss, chunk_rows=3)
        assert not parts.X.chunks.is_resident
        assert_allclose(proved(parts)[0].primal, proved(whole)[0].primal, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("widest", [0, 4096], ids=["by diagonal", "by spectrum"])
@pytest.mark.parametrize("loss", LOSSES)
def test_rounds_lead_where_the_matrix_does(loss, widest, monkeypatch):
    monkeypatch.setattr(newton_side_by_side, "MANY_MACHINES", 1)
    monkeypatch.setattr(newton_side_by_side, "WIDEST_SPECTRUM", widest)
    for seed in cases(12):
        here, there = posed(seed, loss)
        proof, *_ = proved(there, 1e-7)
        assert proof.gap <= 1e-6, seed
        assert_allclose(proof.primal, proved(here)[0].primal, rtol=1e-6, atol=1e-10)


def many(seed, loss, kind=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 5)).astype(kind)
    codes = (X @ rng.normal(size=(5, 4)) + 0.5 * rng.normal(size=(150, 4))).argmax(axis=1)
    _, first = pair(X, np.where(codes == 0, 1.0, -1.0), np.full(150, 2.0), loss)
    machines = [first]
    for k in range(1, 4):
        signed = SignedProblem(first.X, np.where(codes == k, 1.0, -1.0))
        machines.append(type(first)(signed, first.costs, first.loss))
    return machines


@pytest.mark.parametrize("many_machines", [1, 100])
@pytest.mark.parametrize("loss", LOSSES)
def test_side_by_side_is_one_by_one(loss, many_machines, monkeypatch):
    monkeypatch.setattr(newton_side_by_side, "MANY_MACHINES", many_machines)
    for seed in cases(4):
        machines = many(seed, loss)
        found = side_by_side(machines, 1e-9, [None] * 4)
        for machine, first in zip(machines, found, strict=True):
            alone, *_ = proved(machine)
            state = newton_side_by_side.start(machine, tol=1e-9, first=first)
            assert newton_side_by_side.advance(state, 1) is Status.OPTIMAL
            assert state.updates <= first.updates + 1
            assert_allclose(state.primal, alone.primal, rtol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_float32_rows_reach_the_optimum_of_their_numbers(loss):
    here, there = pair(*float32_rows(), loss, chunk_rows=100)
    assert there.X.dtype == np.float32
    proof, status, _ = proved(there, 1e-8)
    assert status is Status.OPTIMAL
    assert proof.gap <= 1e-7
    assert_allclose(proof.primal, proved(here, 1e-8)[0].primal, rtol=1e-7)


def float32_rows():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 12)) * 10.0 ** rng.uniform(-2, 2, 12)).astype(np.float32)
    signs = np.where(X[:, 0] + X[:, 1] + rng.normal(size=300) > 0, 1.0, -1.0)
    return X, signs, np.full(300, 0.5)


def test_a_good_start_needs_no_update_and_a_budget_ends_early():
    _, there = posed(2, "logistic")
    first, _, run = proved(there)
    state = newton_side_by_side.start(there, tol=1e-6, first=(run.state.w, None))
    assert newton_side_by_side.advance(state, 5) is Status.OPTIMAL
    assert state.updates == 0
    assert np.isfinite(first.primal)
    state = newton_side_by_side.start(there, tol=1e-12, max_passes=2.0)
    assert newton_side_by_side.advance(state, 50) is Status.BUDGET
    state = newton_side_by_side.start(there, tol=1e-9)
    assert newton_side_by_side.advance(state, 1) is None
    assert state.updates == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_alone_and_no_rows_at_all(loss):
    X, signs = np.array([[1.0], [2.0]]), np.ones(2)
    for costs in (np.ones(2), np.zeros(2)):
        here, there = pair(X, signs, costs, loss)
        run = MachineRun(there, "newton", tol=1e-6)
        assert run.go_on(1e-6) is Status.OPTIMAL
        assert run.claims().w.tolist() == MachineRun(here, "newton", tol=1e-6).claims().w.tolist()


def test_conjugate_gradients_solve_the_system():
    _, there = posed(2, "logistic")
    state = newton_side_by_side.start(there, tol=1e-12)
    point = state.memory[0]
    point.dual = point.primal.clone()  # as near the optimum as can be: solve to the end
    going = torch.ones(1, dtype=torch.bool)
    dv, db = newton_side_by_side.direction_by_rounds(point, -point.balance * point.has_bias, going)
    exact_v, exact_b = newton_side_by_side.direction(point, going)
    assert_allclose(dv.numpy(), exact_v.numpy(), rtol=1e-6, atol=1e-9)
    assert_allclose(db.numpy(), exact_b.numpy(), rtol=1e-6, atol=1e-9)
