"""Kernel machines with kernel values on a device: here torch's own processor stands for one."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases
from tests.problems import problem
from tests.torch_problems import CPU, torch

import separatrix as sx
from separatrix.certificates.kernel_scores import KernelRowsInProof, device_scores, kernel_scores
from separatrix.errors import DeviceError
from separatrix.problem.kernels import Kernel
from separatrix.solvers.kernels.device_kernel import device_kernel_rows
from separatrix.solvers.kernels.kernel_rows import WholeRows, spans_of

KERNELS = [
    Kernel("rbf", 0.5),
    Kernel("linear"),
    Kernel("poly", 0.5, 3, 1.0),
    Kernel("sigmoid", 0.1, 3, -0.5),
]


def rows_of(seed, n=40, d=5):
    return np.random.default_rng(seed).normal(size=(n, d)) + 3.0


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("precise", [False, True])
def test_values_are_those_of_the_whole_matrix(kernel, precise):
    X = rows_of(0)
    K = kernel.block(X, X)
    size = 8 if precise else 4
    rows = device_kernel_rows(kernel, X, CPU, size * len(X) * 10, precise)
    assert rows.capacity == 10
    assert rows.is_float32 != precise
    tolerance = {"rtol": 1e-12, "atol": 1e-13} if precise else {"rtol": 2e-5, "atol": 2e-5}
    some = np.array([7, 3, 30, 12])
    assert_allclose(rows.block(some), K[np.ix_(some, some)], **tolerance)
    draw, whole = np.random.default_rng(1), WholeRows(K)
    for _ in range(12):  # more rows than are kept: some are forgotten and made again
        chosen = draw.choice(len(X), size=6, replace=False)
        steps = draw.normal(size=6)
        members = np.sort(draw.choice(len(X), size=25, replace=False))
        found, wanted = np.zeros(25), np.zeros(25)
        rows.add(chosen, steps, spans_of(members), found)
        whole.add(chosen, steps, spans_of(members), wanted)
        assert_allclose(found, wanted, rtol=1e-4, atol=1e-3 if not precise else 1e-11)


def test_float32_gives_way_where_it_would_not_do():
    X = np.array([[0.0, 0.0], [1e4, 1.0], [-1e4, 3.0]])
    assert not device_kernel_rows(Kernel("rbf", 1.0), X, CPU, 10**6, False).is_float32
    assert device_kernel_rows(Kernel("rbf", 1e-8), X, CPU, 10**6, False).is_float32
    assert not device_kernel_rows(Kernel("poly", 1.0, 5), X, CPU, 10**6, False).is_float32


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_scores_on_a_device_are_within_their_bounds(kernel):
    from fractions import Fraction

    for seed in cases(6):
        X = rows_of(seed)
        draw = np.random.default_rng(seed)
        shares = draw.normal(size=(len(X), 2)) * (draw.random((len(X), 1)) < 0.5)
        rows = KernelRowsInProof(kernel, X)
        there, here = device_scores(rows, shares, CPU), kernel_scores(rows, shares)
        assert (abs(there.values - here.values) <= there.errors + here.errors).all()
        assert (there.errors >= here.errors * (1.0 - 1e-9)).all()
        assert not there.clear.any()
        if kernel.name == "linear":  # exactly, in rational numbers
            exact = [[Fraction(v) for v in row] for row in X.tolist()]
            for i in (0, 17):
                total = sum(
                    Fraction(shares[j, 0])
                    * sum(a * b for a, b in zip(exact[i], exact[j], strict=True))
                    for j in range(len(X))
                )
                assert abs(Fraction(there.values[i, 0]) - total) <= Fraction(there.errors[i, 0])


@pytest.mark.parametrize("kind", ["overlapping_gaussians", "duplicate_rows", "integer_grid"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_the_machine_is_that_of_the_processor(kind, kernel):
    for seed in cases(5):
        case = problem(seed, kind)
        X = case.X / max(1.0, abs(case.X).max())
        settings = {"kernel": kernel, "coef0": 1.0, "tol": 1e-6, "C": [0.1, 1.0, 10.0][seed % 3]}
        plain = sx.KernelSVM(**settings).fit(X, case.y_signs)
        there = sx.KernelSVM(**settings).fit(torch.from_numpy(X.copy()), case.y_signs)
        assert there.status_ == plain.status_ == "optimal"
        assert_allclose(there.objective_, plain.objective_, rtol=2e-6)
        assert there.gap_ <= 1e-6
        assert there.certificate_.check(X, case.y_signs)
        sure = abs(plain.decision_function(X)) > 1e-2
        assert np.array_equal(there.predict(X)[sure], plain.predict(X)[sure])


@pytest.mark.parametrize("way", ["ovo", "ovr"])
def test_many_classes_weights_and_labels_as_tensors(way):
    draw = np.random.default_rng(3)
    X = draw.normal(size=(90, 3)).astype(np.float32)
    y = draw.integers(0, 3, size=90) + 5
    weight = draw.integers(0, 3, size=90).astype(float)
    machine = sx.KernelSVM(multi_class=way, tol=1e-5)
    machine.fit(torch.from_numpy(X), torch.from_numpy(y), torch.from_numpy(weight))
    plain = sx.KernelSVM(multi_class=way, tol=1e-5).fit(X, y, weight)
    assert_allclose(machine.objective_, plain.objective_, rtol=2e-5)
    assert machine.classes_.tolist() == [5, 6, 7]
    assert machine.certificate_.check(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid"])
def test_rows_of_a_tensor_are_scored_where_they_are(kernel):
    draw = np.random.default_rng(5)
    X, y = draw.normal(size=(50, 3)) + 2.0, draw.integers(0, 3, size=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = sx.KernelSVM(kernel=kernel, gamma=0.1, coef0=0.5).fit(X, y)
    there = machine.decision_function(torch.from_numpy(X))
    assert_allclose(there, machine.decision_function(X), rtol=1e-9, atol=1e-9)
    halves = torch.from_numpy(X).to(torch.bfloat16)
    wanted = machine.predict(halves.double().numpy())
    assert np.array_equal(machine.predict(halves), wanted)
    with pytest.raises(ValueError, match="features"):
        machine.predict(torch.from_numpy(X[:, :2]))
    with pytest.raises(ValueError, match="NaN"):
        machine.predict(torch.full((2, 3), float("nan")))


def test_a_hard_margin_and_half_precision():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    y = [0, 0, 1, 1]
    machine = sx.KernelSVM(C=np.inf, gamma=1.0).fit(torch.tensor(X), y)
    assert machine.certificate_.check(X, y)
    halves = sx.KernelSVM(gamma=1.0).fit(torch.tensor(X).to(torch.bfloat16), y)
    assert halves.certificate_.check(X.astype(np.float32), y)


def test_c_and_gamma_chosen_there():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    settings = {"Cs": [0.1, 10.0], "gammas": [0.1, 1.0], "cv": 3}
    plain = sx.KernelSVMCV(**settings).fit(X, y)
    there = sx.KernelSVMCV(**settings).fit(torch.from_numpy(X), y)
    assert (there.C_, there.gamma_) == (plain.C_, plain.gamma_)
    assert_allclose(there.path_["mean_error"], plain.path_["mean_error"])


def test_what_cannot_be_done_there_is_said():
    X, y = np.eye(4), [0, 0, 1, 1]
    if not torch.cuda.is_available():
        with pytest.raises(DeviceError, match="needs a GPU"):
            sx.KernelSVM(device="cuda").fit(X, y)
    with pytest.raises(ValueError, match="device must be"):
        sx.KernelSVM(device="tpu").fit(X, y)
    with pytest.raises(DeviceError, match="callable kernel is not computed"):
        device_kernel_rows(Kernel("callable", function=np.dot), X, CPU, 10**6, False)
    # Kernels that only the processor computes are computed there, wherever a tensor may be.
    machine = sx.KernelSVM(kernel="precomputed").fit(torch.from_numpy(X), y)
    assert machine.certificate_.check(X, y)
    assert sx.KernelSVM(device="auto").fit(X, y).predict(X).tolist() == y
    with pytest.raises(ValueError, match="NaN"):
        sx.KernelSVM().fit(torch.tensor([[np.nan], [1.0]]), [0, 1])


def test_nothing_is_left_of_a_fit_that_ran_out_of_memory(monkeypatch):
    from separatrix.solvers.kernels import device_kernel

    def full(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(device_kernel.DeviceKernelRows, "block", full)
    machine = sx.KernelSVM()
    with pytest.raises(DeviceError, match="ran out of memory: 2 GiB more needed"):
        machine.fit(torch.from_numpy(rows_of(0)), np.arange(40) % 2)
    assert vars(machine) == vars(sx.KernelSVM())


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_numbers_beyond_float32_are_no_infinities(kernel):
    X, y = rows_of(0), np.arange(40) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at such sizes little can be proved
        here = sx.KernelSVM(kernel=kernel).fit(X * 1e39, y)
        there = sx.KernelSVM(kernel=kernel).fit(torch.tensor(X * 1e39), y)
        assert there.status_ == here.status_
        with pytest.raises(ValueError, match="inf"):
            sx.KernelSVM(kernel=kernel).fit(torch.tensor(X * np.inf), y)
