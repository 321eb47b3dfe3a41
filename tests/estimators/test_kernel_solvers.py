"""KernelSVM by SMO and by chunking: the same proof, other steps, other kernel rows."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from tests.amounts import cases
from tests.problems import problem

import separatrix as sx

SOLVERS = ["auto", "smo", "chunking"]
KINDS = ["overlapping_gaussians", "integer_grid", "duplicate_rows", "opposite_duplicates"]


def moons(n=120):
    return make_moons(n, noise=0.2, random_state=0)


def violations(K, signs, cost, alpha):
    """Return f of rows whose share y_i a_i may fall (else -inf), and of those where it may grow."""
    f = K @ (alpha * signs) - signs
    grows = np.where(signs > 0, alpha < cost, alpha > 0)
    falls = np.where(signs > 0, alpha > 0, alpha < cost)
    return np.where(falls, f, -np.inf), np.where(grows, f, np.inf)


def moved(K, signs, cost, alpha, i, j):
    """Return the dual variables after the best step of a pair: the share of i falls, j's grows."""
    f = K @ (alpha * signs) - signs
    room = (
        (alpha[i] if signs[i] > 0 else cost - alpha[i]),
        (cost - alpha[j] if signs[j] > 0 else alpha[j]),
    )
    step = min((f[i] - f[j]) / (K[i, i] + K[j, j] - 2 * K[i, j]), *room)
    alpha = alpha.copy()
    alpha[i] -= signs[i] * step
    alpha[j] += signs[j] * step
    return alpha


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_reach_one_objective_within_their_certificates(solver):
    for seed in cases(12):
        case = problem(seed, KINDS[seed % len(KINDS)])
        X, y = case.X / max(1.0, abs(case.X).max()), case.y_signs
        C = 10.0 ** (seed % 3 - 1)
        close = sx.KernelSVM(C, gamma=1.0, tol=1e-9).fit(X, y)
        model = sx.KernelSVM(C, gamma=1.0, solver=solver, tol=1e-4).fit(X, y)
        assert model.status_ == "optimal"
        assert model.gap_ <= 1e-4
        assert model.certificate_.check(X, y)
        assert model.dual_objective_ <= close.objective_
        assert close.dual_objective_ <= model.objective_


def test_smo_moves_two_dual_variables_a_step_and_chunking_a_chunk_of_them():
    hard = sx.KernelSVM(np.inf, kernel="linear", solver="smo"), *sx.lectures.iris_pair()
    X, y = moons()
    soft = sx.KernelSVM(gamma=4.0, solver="smo"), X, y
    for smo, *data in (hard, soft):
        frames = list(sx.replay(smo, *data))
        fitted = smo.fit(*data)
        assert [frame.chunk for frame in frames] == list(range(len(frames)))
        assert fitted.n_iter_[0] == fitted.n_passes_ == len(frames) - 1
        for before, after in pairwise(frames):
            changed = np.flatnonzero(before.alpha != after.alpha)
            assert sorted(changed) == sorted(after.pair)
    chunks = list(sx.replay(sx.KernelSVM(gamma=4.0, solver="chunking"), X, y))
    rows = {}
    for frame in chunks[1:]:
        rows.setdefault(frame.chunk, set()).update(frame.pair)
    assert len(rows) > 1
    assert max(map(len, rows.values())) <= len(X) // 4
    assert max(map(len, rows.values())) > 2


def test_the_pairs_of_smo_are_the_worst_ones():
    X, y = moons(60)
    model = sx.KernelSVM(gamma=1.0, solver="smo", tol=1e-5)
    frames = list(sx.replay(model, X, y))
    K = np.exp(-1.0 * ((X[:, None] - X) ** 2).sum(axis=2))
    signs = np.where(y == 1, 1.0, -1.0)
    assert len(frames) > 26
    for before, after in pairwise(frames[:26]):
        alpha = np.array(before.alpha)
        falling, growing = violations(K, signs, 1.0, alpha)
        i, j = sorted(after.pair, key=lambda row: -(K @ (alpha * signs) - signs)[row])
        # Of pairs that are equally bad, rounding decides which is taken.
        assert falling[i] == pytest.approx(falling.max(), abs=1e-9)
        assert growing[j] == pytest.approx(growing.min(), abs=1e-9)
        assert_allclose(after.alpha, moved(K, signs, 1.0, alpha, i, j), rtol=1e-9, atol=1e-12)


def test_kernel_rows_count_what_the_steps_needed():
    X, y = moons()
    found = {solver: sx.KernelSVM(C=10.0, solver=solver).fit(X, y) for solver in SOLVERS}
    assert found["auto"].kernel_rows_ == len(X)  # the whole matrix at once
    pairs = [frame.pair for frame in sx.replay(sx.KernelSVM(C=10.0, solver="smo"), X, y)]
    assert found["smo"].kernel_rows_ == len({row for pair in pairs[1:] for row in pair})
    assert found["smo"].kernel_rows_ < found["chunking"].kernel_rows_
    assert found["chunking"].n_passes_ < found["smo"].n_passes_
    few = sx.KernelSVM(C=10.0, solver="smo", cache_size=0.01).fit(X, y)  # ten rows
    assert few.kernel_rows_ > found["smo"].kernel_rows_
    assert max(few.dual_objective_, found["smo"].dual_objective_) <= min(
        few.objective_, found["smo"].objective_
    )
    assert few.gap_ <= 1e-3
    K = found["smo"].kernel_.block(X, X)
    given = sx.KernelSVM(C=10.0, kernel="precomputed", solver="smo").fit(K, y)
    assert given.kernel_rows_ == 0.0
    assert given.certificate_.check(K, y)


@pytest.mark.parametrize("solver", SOLVERS[1:])
def test_hard_margins_and_their_absence(solver):
    hard = sx.KernelSVM(np.inf, kernel="linear", solver=solver).fit(*sx.lectures.iris_pair())
    assert hard.gap_ <= 1e-3
    corners, labels = sx.lectures.exclusive_or()
    with pytest.raises(sx.NotSeparableError):
        sx.KernelSVM(np.inf, kernel="linear", solver=solver).fit(corners, labels)


@pytest.mark.parametrize("solver", SOLVERS[1:])
def test_several_classes_weights_and_files(solver, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = sx.KernelSVM(solver=solver).fit(X, y)
    assert len(model.n_iter_) == 3
    assert model.certificate_.check(X, y)
    assert clone(model).get_params()["solver"] == solver
    sx.save(model, tmp_path / "model.sx")
    read = sx.load(tmp_path / "model.sx")
    assert read.solver == solver
    assert read.kernel_rows_ == model.kernel_rows_
    weights = np.arange(len(y)) % 3
    weighted = sx.KernelSVM(solver=solver).fit(X, y, weights)
    assert weighted.gap_ <= 1e-3
    assert (weights[weighted.support_] > 0).all()


def test_what_is_refused_and_what_is_said():
    X, y = moons(20)
    with pytest.raises(ValueError, match="solver must be"):
        sx.KernelSVM(solver="SMO").fit(X, y)
    with pytest.raises(ValueError, match="solver='auto'"):
        sx.KernelSVM(solver="smo", multi_class="direct").fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        late = sx.KernelSVM(1e6, solver="smo", tol=1e-12, max_seconds=1e-9).fit(X, y)
    assert late.status_ in ("budget", "unproved")
    assert "solver='auto'" in str(caught[-1].message)
