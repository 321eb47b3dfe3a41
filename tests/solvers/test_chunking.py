"""SMO in chunks against the slow version; rows, tiles and the cache against the whole matrix."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.naive import smo as naive
from tests.problems import problem

from separatrix._compiled import is_interpreted
from separatrix.problem.kernels import Kernel
from separatrix.problem.machine import KernelMachine
from separatrix.solvers.kernels import chunking
from separatrix.solvers.kernels.chunking import replay_pairs
from separatrix.solvers.kernels.kernel_rows import CachedRows, WholeRows, kernel_rows, spans_of
from separatrix.solvers.kernels.kernel_sources import (
    BlockSource,
    DenseSource,
    SparseSource,
    solve_factored,
    source_of,
)
from separatrix.solvers.kernels.smo import objectives, violation
from separatrix.solvers.running.drive import Status, go_on

KINDS = ["overlapping_gaussians", "integer_grid", "duplicate_rows", "opposite_duplicates"]
KERNELS = [
    Kernel("rbf", 0.5),
    Kernel("linear"),
    Kernel("poly", 0.5, 3, 1.0),
    Kernel("sigmoid", 0.1, 3, -0.5),
]


def posed(seed):
    case = problem(seed, KINDS[seed % len(KINDS)])
    X = case.X / max(1.0, abs(case.X).max())
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 3, size=len(X)) * 10.0 ** rng.integers(-1, 2)
    for sign in (-1.0, 1.0):
        costs[np.flatnonzero(case.y_signs == sign)[:1]] = 1.0
    return X, KernelMachine(case.y_signs, costs, np.arange(len(X)))


def solved(machine, rows, tol=1e-10, **settings):
    state = chunking.start(machine, kernel_rows=rows, tol=tol, **settings)
    return state, go_on(chunking, state)


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda kernel: kernel.name)
def test_the_dual_is_that_of_the_slow_version(kernel):
    for seed in cases(40):
        X, machine = posed(seed)
        K = naive.kernel_matrix(kernel.name, X, X, kernel.gamma, kernel.degree, kernel.coef0)
        state, status = solved(machine, WholeRows(K))
        slow = naive.smo(K, machine.signs, machine.costs)
        best = naive.dual(K, machine.signs, slow)
        assert status in (Status.OPTIMAL, Status.SETTLED)
        assert_allclose(naive.dual(K, machine.signs, state.alpha), best, rtol=1e-7)
        assert (state.alpha >= 0.0).all()
        assert (state.alpha <= machine.costs).all()
        assert abs(machine.signs @ state.alpha) <= 1e-9 * (1.0 + state.alpha.sum())
        assert_allclose(state.f, K @ (machine.signs * state.alpha) - machine.signs, atol=1e-8)
        primal = naive.primal(K, machine.signs, machine.costs, state.alpha, state.bias)
        assert_allclose(primal, state.primal, rtol=1e-7)


@pytest.mark.filterwarnings("error")
def test_lengths_that_overflow_are_infinite_without_a_warning():
    machine = KernelMachine(np.array([1.0, -1.0]), np.ones(2), np.arange(2))
    assert machine.square(np.full(2, 1e200), np.array([1e200, 0.0])) == np.inf
    assert machine.square(np.full(2, 1e200), np.array([np.inf, np.inf])) == 0.0


def test_objectives_of_scores_that_are_no_numbers_are_none():
    signs, alpha = np.array([1.0, -1.0]), np.array([0.5, 0.5])
    bias, primal, dual = objectives(signs, np.ones(2), alpha, np.array([np.nan, 1.0]))
    assert bias == 0.0
    assert np.isnan(primal)
    assert np.isnan(dual)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_tiles_are_the_kernel_in_float32(kernel):
    rng = np.random.default_rng(0)
    n = 70 if is_interpreted() else 1500
    X = rng.normal(size=(n, 9)) * (rng.random((n, 9)) < 0.4)
    exact = kernel.block(X, X)
    wide = sp.csr_array(sp.hstack([sp.csr_array(X), sp.csr_array((n, 2000))]))
    rows, columns = rng.permutation(n)[:40], rng.permutation(n)[:30]
    sources = [
        DenseSource(kernel, X + (5.0 if kernel.name == "rbf" else 0.0)),
        SparseSource(kernel, sp.csr_array(X)),
        SparseSource(kernel, wide),
        BlockSource(kernel, X),
    ]
    assert [getattr(source, "_is_narrow", None) for source in sources] == [None, True, False, None]
    for source in sources:
        store = np.zeros((50, n), dtype=source.dtype)
        for begin in range(0, n, 1024):
            source.fill(rows, begin, min(n, begin + 1024), np.arange(5, 45), store)
        limit = 2e-5 * (1.0 + abs(exact).max()) if source.dtype == np.float32 else 1e-10
        assert abs(store[5:45] - exact[rows]).max() <= limit
        assert abs(source.values(rows, columns) - exact[np.ix_(rows, columns)]).max() <= limit


def test_float64_where_float32_does_not_do():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert isinstance(source_of(Kernel("rbf", 1.0), X, False), DenseSource)
    assert isinstance(source_of(Kernel("rbf", 1e6), X, False), BlockSource)
    assert isinstance(source_of(Kernel("linear"), 1e30 * X, False), BlockSource)
    assert isinstance(source_of(Kernel("poly", 1.0, 40), 1e3 * X, False), BlockSource)
    assert isinstance(source_of(Kernel("rbf", 1.0), X, True), BlockSource)


def test_the_cache_keeps_within_its_bound_and_returns_the_same_rows():
    n = 60
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    kernel = Kernel("rbf", 0.3)
    exact = kernel.block(X, X)
    cache = CachedRows(BlockSource(kernel, X), np.ones(n), 10 * n * 8)
    assert cache.capacity == 10
    assert cache.store.nbytes == 10 * n * 8
    for _ in range(30):
        rows = rng.permutation(n)[: rng.integers(1, 11)]
        assert_allclose(cache.store[cache.fetch(rows)], exact[rows], atol=1e-12)
        block = rng.permutation(n)[:12]
        assert_allclose(cache.block(block), exact[np.ix_(block, block)], atol=1e-12)
    before = cache.computed
    cache.fetch(rows)
    assert cache.computed == before


def test_small_chunks_and_a_small_cache_reach_the_same_optimum():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    signs = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=150) > 0, 1.0, -1.0)
    machine = KernelMachine(signs, np.full(150, 2.0), np.arange(150))
    kernel = Kernel("rbf", 0.5)
    whole, _ = solved(machine, WholeRows(kernel.block(X, X)), 1e-9)
    for capacity, size in ((150, 20), (12, 64), (2, 2)):
        cache = CachedRows(BlockSource(kernel, X), np.ones(150), capacity * 150 * 8)
        state, status = solved(machine, cache, 1e-6, size=size)
        assert status is Status.OPTIMAL
        assert state.size == min(size, capacity)
        assert_allclose(state.dual, whole.dual, rtol=2e-6)


def test_many_small_budgets_give_the_bits_of_one_large_one():
    for seed in cases(20):
        X, machine = posed(seed)
        runs = []
        for sizes in ([10_000], [1] * 400, [0, 7, 0, 13]):
            rows = WholeRows(KERNELS[seed % 3].block(X, X))
            state = chunking.start(machine, kernel_rows=rows, tol=1e-8, size=10)
            for size in sizes:
                status = chunking.advance(state, size)
            while status is None:
                status = chunking.advance(state, 10_000)
            numbers = np.array([state.primal, state.dual, state.bias, state.updates])
            runs.append((state.alpha.tobytes(), state.f.tobytes(), numbers.tobytes(), status))
        assert runs[0] == runs[1] == runs[2]


def test_threads_change_no_bit():
    n = 80 if is_interpreted() else 2500
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    signs = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    machine = KernelMachine(signs, np.ones(n), np.arange(n))
    found = []
    for workers in (1, 2, 3):
        with ThreadPoolExecutor(workers) as pool:
            rows = CachedRows(DenseSource(Kernel("rbf", 0.3), X), np.ones(n), n * n, pool)
            state, _ = solved(machine, rows, 1e-3)
        found.append((state.alpha.tobytes(), state.f.tobytes(), state.updates))
    assert found[0] == found[1] == found[2]


def test_members_are_a_problem_of_their_own():
    rng = np.random.default_rng(0)
    X, members = rng.normal(size=(40, 2)), np.r_[5:15, 22:37]
    signs = np.where(np.arange(25) < 10, 1.0, -1.0)
    kernel = Kernel("rbf", 1.0)
    inside = KernelMachine(signs, np.ones(25), members)
    alone = KernelMachine(signs, np.ones(25), np.arange(25))
    a, _ = solved(inside, WholeRows(kernel.block(X, X)))
    b, _ = solved(alone, WholeRows(kernel.block(X[members], X[members])))
    assert spans_of(members) == [(5, 15, 0), (22, 37, 10)]
    assert_allclose(a.alpha, b.alpha, atol=1e-9)


def test_a_hard_margin_is_found_or_said_not_to_be():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    machine = KernelMachine(signs, np.full(4, np.inf), np.arange(4))
    state, status = solved(machine, kernel_rows(Kernel("rbf", 1.0), X, 1 << 20, None, True))
    assert status is Status.OPTIMAL
    assert_allclose(signs * (state.f + signs + state.bias), 1.0, rtol=1e-6)
    _, status = solved(machine, kernel_rows(Kernel("linear"), X, 1 << 20, None, True))
    assert status is Status.NOT_SEPARABLE


def test_resume_goes_on_from_given_scores():
    X, machine = posed(0)
    rows = WholeRows(KERNELS[0].block(X, X))
    state, _ = solved(machine, rows, 0.3)
    scores = rows.store @ (machine.signs * state.alpha)
    chunking.resume(state, state.alpha, scores, 1e-9)
    assert go_on(chunking, state) in (Status.OPTIMAL, Status.SETTLED)
    assert state.gap <= 1e-9


def test_the_factor_solves_what_pairs_cannot():
    rng = np.random.default_rng(0)
    n = 12 if is_interpreted() else 40
    X = rng.normal(loc=30.0, size=(n, 2))
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    K = Kernel("poly", 0.5, 2, 0.0).block(X, X)
    machine = KernelMachine(signs, np.ones(n), np.arange(n))
    alpha = solve_factored(machine, K, 1e-8, np.inf)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    slow = naive.smo(centred, signs, np.ones(n), most=20_000)
    assert naive.dual(K, signs, alpha) >= naive.dual(K, signs, slow) - 1e-6


def test_a_replay_shows_every_pair():
    X, machine = posed(4)
    rows = WholeRows(KERNELS[0].block(X, X))
    state, _ = solved(machine, rows, 1e-3)
    frames = list(replay_pairs(machine, rows, 1e-3))
    assert [frame.update for frame in frames] == list(range(state.updates + 1))
    assert frames[0].pair == (-1, -1)
    assert frames[-1].status is not None
    assert frames[-1].gap <= 1e-2
    for before, after in itertools.pairwise(frames):
        i, j = after.pair
        assert after.before == (before.alpha[i], before.alpha[j])
        assert after.after == (after.alpha[i], after.alpha[j])
        others = np.setdiff1d(np.arange(len(X)), [i, j])
        assert (before.alpha[others] == after.alpha[others]).all()
    assert frames[-1].alpha.tobytes() == state.alpha.tobytes()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_steps_by_arrays_are_those_of_the_loop(kernel):
    for seed in cases(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 4))  # no two values alike: nothing for rounding to decide
        signs = np.where(rng.random(60) < 0.5, 1.0, -1.0)
        machine = KernelMachine(signs, rng.uniform(0.5, 2.0, size=60), np.arange(60))
        rows = WholeRows(kernel.block(X, X))
        one = chunking.start(machine, kernel_rows=rows, tol=1e-9)
        two = chunking.start(machine, kernel_rows=rows, tol=1e-9, by_arrays=True)
        for budget in (1, 1, 3, 10, 0):
            assert chunking.advance(one, budget) == chunking.advance(two, budget)
            assert one.pair == two.pair
            assert_allclose(one.before, two.before, rtol=1e-9, atol=1e-12)
            assert one.updates == two.updates


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("single", [False, True])
def test_steps_by_arrays_end_where_the_loop_ends(kernel, single):
    for seed in cases(20):
        X, machine = posed(seed)
        K = naive.kernel_matrix(kernel.name, X, X, kernel.gamma, kernel.degree, kernel.coef0)
        rows = WholeRows(K.astype(np.float32) if single else K)
        found = []
        for by_arrays in (False, True):
            state = chunking.start(machine, kernel_rows=rows, tol=1e-6, by_arrays=by_arrays)
            go_on(chunking, state, 20_000)
            assert (state.alpha >= 0.0).all()
            assert (state.alpha <= machine.costs).all()
            found.append(state)
        if kernel.name != "sigmoid":  # which has several places to end in
            assert_allclose(found[1].dual, found[0].dual, rtol=1e-5, atol=1e-9)
        else:
            assert found[0].negative_curvature == found[1].negative_curvature


@pytest.mark.parametrize("by_arrays", [False, True])
def test_of_equal_rows_the_later_one_is_taken(by_arrays):
    signs = np.array([-1.0, 1.0, 1.0, -1.0])
    machine = KernelMachine(signs, np.ones(4), np.arange(4))
    state = chunking.start(machine, kernel_rows=WholeRows(np.eye(4)), by_arrays=by_arrays)
    chunking.advance(state, 1)
    assert state.pair == (3, 2)  # what may fall first, then what gains most


def test_a_run_ends_where_only_rounding_moves():
    """Without that, rounds of a step or two go on until a budget is spent."""
    for seed in (0, 1, 3, 9):
        rng = np.random.default_rng(seed)
        X, y = 10.0 ** rng.uniform(-12, 12, (6, 2)), rng.integers(0, 2, 6)
        y[:2] = 0, 1
        machine = KernelMachine(np.where(y == 1, 1.0, -1.0), np.full(6, 1e8), np.arange(6))
        state = chunking.start(machine, kernel_rows=WholeRows((X @ X.T + 1.0) ** 3), tol=1e-11)
        while state.status is None and state.rounds < 1_000:
            chunking.advance(state, 1_000)
        assert state.status is Status.SETTLED


def test_slow_progress_is_not_taken_for_rounding():
    """The gap is that of a poor bias, 1e8 times the dual, which grows all the time."""
    rng = np.random.default_rng(1)
    X, y = 10.0 ** rng.uniform(-4, 4, (8, 3)), rng.integers(0, 2, 8)
    y[:2] = 0, 1
    machine = KernelMachine(np.where(y == 1, 1.0, -1.0), np.full(8, 1e8), np.arange(8))
    state = chunking.start(machine, kernel_rows=WholeRows(X @ X.T), tol=1e-11)
    while state.status is None and state.rounds < 300:
        chunking.advance(state, 1_000)
    assert state.status is None


def test_the_objectives_of_few_rows_are_those_of_arrays():
    for seed in cases(20):
        X, machine = posed(seed)
        K = naive.kernel_matrix("rbf", X, X, 0.5, 3, 0.0)
        alpha = np.random.default_rng(seed).random(len(X)) * machine.costs
        f = K @ (machine.signs * alpha) - machine.signs
        bias, primal, dual = objectives(machine.signs, machine.costs, alpha, f)
        low, high = violation(machine, alpha, f)
        assert bias == pytest.approx(-0.5 * (low + high))
        assert primal == pytest.approx(machine.primal(alpha, f, bias))
        assert dual == pytest.approx(machine.dual(alpha, f))


def test_a_chunk_of_all_rows_adds_no_kernel_rows(monkeypatch):
    X, machine = posed(0)
    machine = KernelMachine(machine.signs, np.ones(len(X)), machine.members)
    rows = WholeRows(naive.kernel_matrix("rbf", X, X, 0.5, 3, 0.0).astype(np.float32))
    monkeypatch.setattr(rows, "add", None)
    state, status = solved(machine, rows, tol=1e-4)
    assert status in (Status.OPTIMAL, Status.SETTLED)
    share = machine.signs * state.alpha
    assert_allclose(state.f, rows.store.astype(float) @ share - machine.signs, atol=1e-6)
