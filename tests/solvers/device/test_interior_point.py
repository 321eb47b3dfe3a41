"""The interior point in torch against the NumPy one and the proof."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.solvers.device.test_newton import float32_rows, posed
from tests.torch_problems import pair

from separatrix.certificates.duality_gap import DualityGap
from separatrix.errors import DeviceError
from separatrix.solvers.linear import interior_point
from separatrix.solvers.linear.model_run import MachineRun
from separatrix.solvers.running.drive import Status


def proved(machine, tol=1e-8):
    run = MachineRun(machine, "interior_point", tol=tol)
    status = run.go_on(tol)
    claims = run.claims()
    proof = DualityGap.proved(
        X=machine.X, sides=machine.signs, costs=machine.costs, loss="hinge", weights=claims.w,
        multipliers=claims.alpha, intercept=machine.rows.fit_intercept,
        bias_penalty=machine.bias_penalty,
    )  # fmt: skip
    return proof, status, claims


def test_same_objective_as_the_processors_and_proved():
    for seed in cases(42):
        here, there = posed(seed, "hinge")
        wanted, *_ = proved(here)
        proof, status, _ = proved(there)
        assert proof.gap <= 1e-7, (seed, status)
        assert_allclose(proof.primal, wanted.primal, rtol=1e-7, atol=1e-12)


def test_chunks_are_the_whole():
    for seed in cases(6):
        _, whole = posed(seed, "hinge")
        _, parts = posed(seed, "hinge", chunk_rows=3)
        assert_allclose(proved(parts)[0].primal, proved(whole)[0].primal, rtol=1e-8, atol=1e-12)


def test_rows_without_a_multiplier_have_exactly_none():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    signs = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, 1.0, -1.0)
    here, there = pair(X, signs, np.ones(400), "hinge")
    mine, theirs = proved(there)[2], proved(here)[2]
    assert mine.is_settled
    assert np.array_equal(mine.alpha > 0.0, theirs.alpha > 0.0)
    assert_allclose(mine.bias_interval, theirs.bias_interval, atol=1e-4)


def test_float32_rows_reach_the_optimum_of_their_numbers():
    here, there = pair(*float32_rows(), "hinge", chunk_rows=100)
    assert there.X.dtype == np.float32
    proof, status, _ = proved(there, 1e-7)
    assert status is Status.OPTIMAL
    assert_allclose(proof.primal, proved(here, 1e-7)[0].primal, rtol=2e-7)


def test_a_good_claim_to_start_from_ends_the_run():
    _, there = posed(2, "hinge")
    *_, claims = proved(there)
    state = interior_point.start(there, tol=1e-6, first=(claims.w, claims.alpha))
    assert interior_point.advance(state, 5) is Status.OPTIMAL
    assert state.updates == 0
    state = interior_point.start(there, tol=1e-12, max_passes=3.0)
    assert interior_point.advance(state, 50) is Status.BUDGET


def test_one_class_alone_and_no_rows_at_all():
    X, signs = np.array([[1.0], [2.0]]), -np.ones(2)
    for costs, bias in ((np.ones(2), -1.0), (np.zeros(2), 0.0)):
        _, there = pair(X, signs, costs, "hinge")
        run = MachineRun(there, "interior_point", tol=1e-6)
        assert run.go_on(1e-6) is Status.OPTIMAL
        assert run.claims().w.tolist() == [bias, 0.0]


def test_too_many_columns_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(interior_point, "WIDEST", 1)
    _, there = pair(np.zeros((2, 2)), np.array([1.0, -1.0]), np.ones(2), "hinge")
    with pytest.raises(DeviceError, match="loss='squared_hinge'"):
        interior_point.start(there, tol=1e-4)
