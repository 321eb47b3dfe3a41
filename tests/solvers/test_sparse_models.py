"""Newton's models of the sparse solvers: with a matrix, by columns, and in groups."""

import numpy as np
import scipy.sparse as sp
from tests.amounts import cases
from tests.naive import sparse as naive

from separatrix.problem.signed import SignedProblem
from separatrix.solvers.sparse import by_columns, group_quadratic, working_set
from separatrix.solvers.sparse.by_columns import shrunk
from separatrix.solvers.sparse.columns import Columns


def drawn_model(seed, n=30):
    """Return sparse columns, curvatures of rows, slopes, a start and a ridge."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 25))
    X = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.4)
    if m > 3:
        X[:, 1] = X[:, 0]  # a copy
    bends = rng.random(n) + 1e-3
    g, w = rng.normal(size=m) * 3.0, rng.normal(size=m) * (rng.random(m) < 0.5)
    return X, bends, g, w, float(rng.choice([0.0, 0.3])), bool(seed % 2)


def as_columns(X):
    """Return the columns of X in a CSC matrix that holds others too."""
    indices = [np.flatnonzero(column) for column in X.T]
    spaced = [part for one in indices for part in (np.array([0]), one)]
    values = [part for j, one in enumerate(indices) for part in (np.array([7.0]), X[one, j])]
    starts = np.append(0, np.cumsum([len(part) for part in spaced]))
    columns = np.concatenate(spaced).astype(np.int32), np.concatenate(values)
    return starts, *columns, 1 + 2 * np.arange(X.shape[1])


def value(H, g, w, v, ridge, groups=None):
    step = v - w
    return 0.5 * step @ H @ step + g @ step + naive.norm(v, groups) + 0.5 * ridge * v @ v


def curvature(X, bends, has_bias):
    mean = bends @ X / bends.sum() if has_bias else 0.0
    return (X - mean).T @ ((X - mean) * bends[:, None])


def test_by_columns_finds_what_the_matrix_finds():
    for seed in cases(60):
        X, bends, g, w, ridge, has_bias = drawn_model(seed)
        H = curvature(X, bends, has_bias)
        if ridge == 0.0:
            g = H @ np.linalg.lstsq(H, g, rcond=None)[0]  # or there may be no minimum
        total = float(bends.sum()) if has_bias else 0.0
        columns = as_columns(X)
        v, used = by_columns.minimised(*columns, bends, g, w, 1.0, ridge, total, 1e-12, 5000)
        other = working_set.descended(H, g, w, (1.0, ridge), 1e-14)
        least = value(H, g, w, other, ridge)
        assert value(H, g, w, v, ridge) <= least + 1e-6 * (1.0 + abs(least)), seed
        assert 0 < used <= 5010


def test_conjugate_gradients_need_fewer_rounds_than_coordinates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 20)) + 3.0 * rng.normal(size=(40, 1))  # columns that are alike
    g = -20.0 * abs(rng.normal(size=20)) - 5.0
    columns = as_columns(X)
    settings = (np.ones(40), g, np.ones(20), 1.0, 0.0, 0.0, 1e-10)
    v, used = by_columns.minimised(*columns, *settings, 3000)
    off = g + X.T @ X @ (v - 1.0)
    assert np.where(v != 0.0, abs(off + np.sign(v)), np.maximum(abs(off) - 1.0, 0.0)).max() < 1e-3
    assert used < 1000


def test_sums_over_a_working_set():
    X, bends, _, w, _, _ = drawn_model(5)
    columns = as_columns(X)
    np.testing.assert_allclose(by_columns.combined(*columns, bends), bends @ X)
    np.testing.assert_allclose(by_columns.scored(*columns, w, len(bends)), X @ w, atol=1e-12)


def test_the_matrix_of_a_working_set_is_that_of_its_columns():
    ways = set()
    for seed in range(8):
        X, bends, *_, has_bias = drawn_model(seed, 40)
        rng = np.random.default_rng(seed)
        wide = np.column_stack([X, rng.normal(size=(40, 9 * X.shape[1]))])  # many other columns
        for data in (X, wide):
            columns = Columns(SignedProblem(sp.csr_array(data), np.ones(40)))
            kept = np.arange(0, data.shape[1], 2)
            columns.keep(kept)  # as screening does
            places = np.flatnonzero(kept < X.shape[1])
            chosen = data[:, kept[places]]
            part = columns.working_set(places)
            ways.add(part.all_rows is None)
            shares = rng.normal(size=40)
            H, mean, sums = part.curvature(bends, shares, has_bias)
            np.testing.assert_allclose(H, curvature(chosen, bends, has_bias), atol=1e-10)
            expected = bends @ chosen / bends.sum() if has_bias else np.zeros(len(places))
            np.testing.assert_allclose(mean, expected, atol=1e-12)
            np.testing.assert_allclose(sums, shares @ chosen, atol=1e-12)
            np.testing.assert_allclose(columns.combination(bends), bends @ data[:, kept])
            np.testing.assert_allclose(part.combination(bends), bends @ chosen)
            assert columns.entries_now == np.count_nonzero(data[:, kept])
    assert ways == {True, False}  # from the rows as they are, and from a copy


def test_the_soft_threshold_is_the_least_point():
    for target in (-2.0, -0.5, 0.0, 0.4, 3.0):
        points = np.linspace(-4.0, 4.0, 8001)
        values = 0.5 * (points - target) ** 2 + 0.7 * abs(points)
        assert abs(shrunk(target, 0.7) - points[values.argmin()]) < 1e-3


def test_groups_are_minimised_together():
    for seed in cases(60):
        X, bends, g, w, ridge, has_bias = drawn_model(seed)
        H = curvature(X, bends, has_bias)
        if ridge == 0.0:
            g = H @ np.linalg.lstsq(H, g, rcond=None)[0]
        m = len(g)
        groups = np.unique(np.random.default_rng(seed).integers(0, m, size=m), return_inverse=True)[
            1
        ]
        v = group_quadratic.by_matrix(H, g, w, groups, (1.0, ridge), 1e-13)
        at, steepest = w.copy(), np.linalg.eigvalsh(H)[-1] + ridge + 1e-12
        for _ in range(3000):
            slopes = g + H @ (at - w) + ridge * at
            before, at = at, naive.shrunk(at - slopes / steepest, 1.0 / steepest, groups)
            if np.abs(at - before).max() <= 1e-15 * np.abs(at).max():
                break
        least = value(H, g, w, at, ridge, groups)
        assert value(H, g, w, v, ridge, groups) <= least + 1e-7 * (1.0 + abs(least)), seed
