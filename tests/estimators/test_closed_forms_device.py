"""Least squares and Fisher's discriminant on a device: torch's processor stands for one."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.torch_problems import CPU, torch

import separatrix as sx
from separatrix.errors import DeviceError
from separatrix.problem.centred import within_rows
from separatrix.problem.device_rows import DeviceRows
from separatrix.solvers.closed_forms.device_sums import least_squares_on, within_rows_on
from separatrix.solvers.closed_forms.least_squares import solve_least_squares


def drawn(seed, n=60, d=5, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 10.0 * rng.normal(size=d)
    X = X * 10.0 ** rng.integers(-3, 4, size=d)
    if seed % 3 == 0:
        X[:, 1] = 7.0  # a column that does not vary
    y = rng.integers(0, classes, size=n)
    return X, y, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("pieces", [None, 7])
def test_least_squares_is_that_of_the_processor(ridge, intercept, pieces):
    for seed in cases(8):
        X, y, weights = drawn(seed)
        T = np.eye(3)[y]
        rows = DeviceRows(X, CPU, chunk_rows=pieces)
        found = least_squares_on(rows, T, weights, ridge, intercept)
        assert found is not None
        assert found.method == "Cholesky on cpu, refined"
        wanted = solve_least_squares(X, T, weights, ridge, intercept)
        spread = X.std(axis=0) + abs(X).max(axis=0)
        assert_allclose(found.W * spread, wanted.W * spread, rtol=1e-9, atol=1e-11)
        assert_allclose(found.b, wanted.b, rtol=1e-8, atol=1e-9)
        assert found.rank == wanted.rank


def test_columns_that_depend_on_each_other_are_left_to_the_processor():
    X, y, weights = drawn(1)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    assert least_squares_on(DeviceRows(X, CPU), np.eye(3)[y], weights, 0.0, True) is None
    assert (
        least_squares_on(DeviceRows(X[:4], CPU), np.eye(3)[y[:4]], weights[:4], 0.0, True) is None
    )
    tiny = X[:, :2] * 1e-200
    assert least_squares_on(DeviceRows(tiny, CPU), np.eye(3)[y], weights, 0.0, True) is None
    machine = sx.LeastSquares().fit(torch.from_numpy(X), y)
    assert machine.method_ == "QR with pivoting"
    assert machine.certificate_.check(X, y)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_estimator_proves_what_the_device_found(dtype):
    X, y, weights = drawn(2)
    X = X / abs(X).max(axis=0)
    there = torch.from_numpy(X).to(dtype)
    here = there.to(torch.float64).numpy()
    machine = sx.LeastSquares(0.1).fit(there, torch.from_numpy(y), torch.from_numpy(weights))
    assert machine.method_ == "Cholesky on cpu, refined"
    assert machine.status_ == "optimal"
    assert machine.certificate_.check(here, y, weights)
    plain = sx.LeastSquares(0.1).fit(here, y, weights)
    assert_allclose(machine.coef_, plain.coef_, rtol=1e-8, atol=1e-10)
    line = sx.LeastSquares(task="regression").fit(there, here[:, 0])
    assert_allclose(line.predict(here), here[:, 0], atol=1e-8)


@pytest.mark.parametrize("pieces", [None, 7])
def test_scatter_within_classes_is_that_of_the_processor(pieces):
    for seed in cases(6):
        X, y, weights = drawn(seed)
        there = within_rows_on(DeviceRows(X, CPU, chunk_rows=pieces), y, weights, 3)
        here = within_rows(X, y, weights, 3)
        assert there.shape == here.shape
        assert np.array_equal(there.kept, here.kept)
        assert np.array_equal(there.exponents, here.exponents)
        assert_allclose(there.spreads, here.spreads, rtol=1e-12)
        assert_allclose(there.means, here.means, rtol=1e-10, atol=1e-12)
        assert_allclose(there.gram(), here.gram(), rtol=1e-9, atol=1e-9)
        V = np.random.default_rng(seed).normal(size=(there.shape[1], 2))
        assert_allclose(there.times(V), here.times(V), rtol=1e-9, atol=1e-9)
        U = here.times(V)
        assert_allclose(there.transposed_times(U), here.transposed_times(U), rtol=1e-9, atol=1e-8)
        assert_allclose(there.row_squares(), here.row_squares(), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shrinkage", ["auto", "ledoit-wolf", 0.3, "pseudo-inverse"])
def test_fisher_is_that_of_the_processor(classes, shrinkage):
    for seed in cases(4):
        X, y, weights = drawn(seed, classes=classes)
        plain = sx.Fisher(shrinkage=shrinkage).fit(X, y, weights)
        there = sx.Fisher(shrinkage=shrinkage).fit(torch.from_numpy(X), y, weights)
        spread = X.std(axis=0)
        assert_allclose(there.coef_ * spread, plain.coef_ * spread, rtol=1e-7, atol=1e-9)
        assert_allclose(there.intercept_, plain.intercept_, rtol=1e-7, atol=1e-7)
        assert_allclose(there.transform(X), plain.transform(X), rtol=1e-6, atol=1e-7)
        assert there.method_ == plain.method_
        if there.certificate_ is not None:
            assert there.certificate_.holds
            assert there.certificate_.check(X, y, weights)


def test_wide_rows_take_the_road_of_the_processor():
    X, _, _ = drawn(1, n=10, d=30)
    y = np.arange(10) % 2
    machine = sx.Fisher().fit(torch.from_numpy(X), y)
    assert_allclose(machine.coef_, sx.Fisher().fit(X, y).coef_)


def test_what_cannot_be_done_is_said():
    X, y, _ = drawn(1)
    for machine in (sx.LeastSquares(device="cuda"), sx.Fisher(device="cuda")):
        with pytest.raises(DeviceError, match="dense data"):
            machine.fit(sp.csr_array(X), y)
        if not torch.cuda.is_available():
            with pytest.raises(DeviceError, match="needs a GPU"):
                machine.fit(X, y)
    assert sx.LeastSquares(device="auto").fit(X, y).certificate_.holds
    assert sx.Fisher(device="auto").fit(sp.csr_array(X), y).coef_.shape == (3, 5)
