"""Dual block descent by chunks against a quadratic program, in any chunks and from any start."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.naive import kernel_direct as naive
from tests.naive.smo import kernel_matrix
from tests.problems_many import many

from separatrix.problem.kernels import Kernel
from separatrix.problem.many_classes import KernelDirect
from separatrix.solvers.kernels import kernel_direct
from separatrix.solvers.kernels.kernel_rows import WholeRows, centred_rows
from separatrix.solvers.kernels.kernel_sources import solve_factored_direct
from separatrix.solvers.running.drive import Status, go_on

KERNELS = [Kernel("rbf", 0.5), Kernel("poly", 0.5, 2, 1.0), Kernel("linear")]
CHUNKS = 4000


def posed(seed, kernel, most_rows=14):
    X, codes, n_classes, weights, C = many(seed, most_rows)
    X = X / max(1.0, abs(X).max() / 3.0)
    K = kernel_matrix(kernel.name, X, X, kernel.gamma, kernel.degree, kernel.coef0)
    return X, K, KernelDirect(codes, n_classes, C * weights)


def rows_of(kernel, X, K, single=False):
    return centred_rows(WholeRows(K.astype(np.float32) if single else K), kernel, X)


def answer(state):
    """The objective with the kernel as it is."""
    masses = kernel_direct.balanced(state)
    return state.machine.shares(masses), kernel_direct.kernel_bias(state, masses)


def objective(K, machine, shares, bias):
    return naive.objective(K, machine.codes, machine.n_classes, machine.costs, shares, bias)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_objective_is_that_of_the_quadratic_program(kernel):
    for seed in cases(16):
        X, K, machine = posed(seed, kernel)
        state = kernel_direct.start(machine, kernel_rows=rows_of(kernel, X, K), tol=1e-9)
        assert go_on(kernel_direct, state, CHUNKS, slice_size=1) in (
            Status.OPTIMAL,
            Status.SETTLED,
        )
        least = naive.optimum(K, machine.codes, machine.n_classes, machine.costs)
        found = objective(K, machine, *answer(state))
        assert_allclose(found, least, rtol=2e-6, atol=1e-9)
        assert_allclose(state.primal, least, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_chunks_of_any_size_come_to_the_same(size):
    kernel = KERNELS[0]
    for seed in cases(12):
        X, K, machine = posed(seed, kernel, most_rows=20)
        found = []
        for rows in (size, 1024):
            whole = rows_of(kernel, X, K)
            state = kernel_direct.start(machine, kernel_rows=whole, tol=1e-6, size=rows)
            go_on(kernel_direct, state, CHUNKS, slice_size=1)
            assert state.gap <= 1e-6
            found.append(objective(K, machine, *answer(state)))
        assert_allclose(found[0], found[1], rtol=1e-5)


def test_a_run_in_slices_is_the_same_run():
    X, K, machine = posed(4, KERNELS[0])
    whole, parts = (
        kernel_direct.start(machine, kernel_rows=rows_of(KERNELS[0], X, K), tol=1e-12)
        for _ in range(2)
    )
    kernel_direct.advance(whole, 9)
    for _ in range(9):
        kernel_direct.advance(parts, 1)
    assert whole.masses.tobytes() == parts.masses.tobytes()
    assert whole.scores.tobytes() == parts.scores.tobytes()


def test_scores_and_balance_are_those_of_the_masses_all_the_while():
    kernel = KERNELS[1]
    for seed in cases(12):
        X, K, machine = posed(seed, kernel)
        rows = rows_of(kernel, X, K)
        middle = K - rows.products - rows.products[:, None] + rows.square
        state = kernel_direct.start(machine, kernel_rows=rows, tol=1e-9)
        for _ in range(6):
            kernel_direct.advance(state, 1)
            shares = machine.shares(state.masses)
            scale = 1.0 + abs(state.scores).max()
            assert_allclose(state.scores.T, middle @ shares, atol=1e-11 * scale)
            assert_allclose(state.balance, shares.sum(axis=0), atol=1e-12)
            assert_allclose(state.masses.sum(axis=1), machine.costs, rtol=1e-12)
            assert (state.masses >= 0.0).all()


def test_float32_is_repaired_from_scores_in_float64():
    kernel = KERNELS[0]
    for seed in cases(8):
        X, K, machine = posed(seed, kernel, most_rows=20)
        state = kernel_direct.start(machine, kernel_rows=rows_of(kernel, X, K, True), tol=1e-4)
        go_on(kernel_direct, state, CHUNKS, slice_size=1)
        for _ in range(4):
            masses = kernel_direct.balanced(state)
            kernel_direct.resume(state, masses, K @ machine.shares(masses), 1e-7)
            go_on(kernel_direct, state, CHUNKS, slice_size=1)
        least = naive.optimum(K, machine.codes, machine.n_classes, machine.costs)
        assert_allclose(objective(K, machine, *answer(state)), least, rtol=3e-6, atol=1e-9)


def test_higher_costs_go_on_from_lower_ones():
    kernel = KERNELS[0]
    for seed in cases(12):
        X, K, machine = posed(seed, kernel)
        rows = rows_of(kernel, X, K)
        state = kernel_direct.start(machine, kernel_rows=rows, tol=1e-9)
        go_on(kernel_direct, state, CHUNKS, slice_size=1)
        dearer = KernelDirect(machine.codes, machine.n_classes, 7.0 * machine.costs)
        kernel_direct.carry_over(state, dearer)
        assert_allclose(state.masses.sum(axis=1), dearer.costs, rtol=1e-12)
        go_on(kernel_direct, state, CHUNKS, slice_size=1)
        least = naive.optimum(K, dearer.codes, dearer.n_classes, dearer.costs)
        assert_allclose(objective(K, dearer, *answer(state)), least, rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_factor_of_the_kernel_makes_the_same_machine(kernel):
    for seed in cases(12):
        _, K, machine = posed(seed, kernel)
        found = solve_factored_direct(machine, K, 1e-8, np.inf)
        if found is None:  # all rows are one point: no weights at all
            assert_allclose(K - K.mean(axis=0), 0.0, atol=1e-9)
            continue
        masses, bias = found
        least = naive.optimum(K, machine.codes, machine.n_classes, machine.costs)
        shares = machine.shares(masses)
        assert_allclose(objective(K, machine, shares, bias), least, rtol=1e-5, atol=1e-8)


def test_a_run_ends_with_masses_that_balance():
    kernel = KERNELS[0]
    for seed in cases(12):
        X, K, machine = posed(seed, kernel)
        state = kernel_direct.start(machine, kernel_rows=rows_of(kernel, X, K), tol=1e-4)
        if go_on(kernel_direct, state, CHUNKS, slice_size=1) is Status.OPTIMAL:
            assert_allclose(state.balance, 0.0, atol=1e-13 * machine.costs.sum())


@pytest.mark.parametrize("share", [1e-17, 1e-300])
def test_costs_far_below_a_margin_keep_their_mass(share):
    kernel = KERNELS[0]
    for seed in cases(6):
        X, K, machine = posed(seed, kernel)
        tiny = KernelDirect(machine.codes, machine.n_classes, share * machine.costs)
        state = kernel_direct.start(tiny, kernel_rows=rows_of(kernel, X, K), tol=1e-9)
        kernel_direct.advance(state, 3)
        assert_allclose(state.masses.sum(axis=1), tiny.costs, rtol=1e-12)
        own = state.masses[np.arange(len(X)), tiny.codes]
        assert (own < tiny.costs).any()  # something has moved


def test_a_gap_that_has_long_not_fallen_ends_the_run():
    X, K, machine = posed(4, KERNELS[0])
    for least_at, status in ((0, Status.SETTLED), (990, None)):
        state = kernel_direct.start(machine, kernel_rows=rows_of(KERNELS[0], X, K), tol=0.0)
        state.least_gap, state.least_at, state.updates = 0.0, least_at, 1000
        assert kernel_direct.advance(state, 1) is status
