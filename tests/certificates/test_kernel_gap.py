"""The proof of a kernel machine: what it says is true, and forgeries are refused."""

import dataclasses
import json
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import cases
from tests.naive import smo as naive

import separatrix as sx
from separatrix.certificates import kernel_scores as kernel_scores_module
from separatrix.certificates.kernel_gap import KernelGap, least_eigenvalue
from separatrix.certificates.kernel_scores import Expected, KernelRowsInProof, kernel_scores
from separatrix.certificates.reading import from_json
from separatrix.checker import Refused, check
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.problem.kernels import Kernel

KERNELS = [
    Kernel("rbf", 0.7),
    Kernel("linear"),
    Kernel("poly", 0.5, 3, 1.0),
    Kernel("sigmoid", 0.1, 3, -0.5),
]


def posed(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.8)
    signs = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    signs[:2] = [-1.0, 1.0]
    return X, signs


def long_scores(kernel, X, share):
    """Scores in extended precision, every value by its formula."""
    X = X.astype(np.longdouble)
    if kernel.name == "rbf":
        K = np.exp(-np.longdouble(kernel.gamma) * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    else:
        K = X @ X.T
        if kernel.name != "linear":
            K = np.longdouble(kernel.gamma) * K + np.longdouble(kernel.coef0)
            K = np.tanh(K) if kernel.name == "sigmoid" else K**kernel.degree
    return K @ share.astype(np.longdouble)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_scores_are_right_to_within_their_errors(kernel, make):
    for seed in cases(40):
        rng = np.random.default_rng(seed)
        X, signs = posed(seed)
        X = X * 10.0 ** rng.integers(-3, 3)
        share = signs * rng.random(40) * (rng.random(40) < 0.5)
        scores = kernel_scores(KernelRowsInProof(kernel, make(X)), share[:, None])
        exact = long_scores(kernel, X, share)
        assert (abs(scores.values[:, 0] - exact) <= scores.errors[:, 0]).all()
        assert scores.errors.max() <= 1e-9 * (1.0 + abs(exact).max() + abs(share).sum())


def test_float32_scores_are_right_to_within_their_errors(monkeypatch):
    monkeypatch.setattr(kernel_scores_module, "_WORTH_SCREENING", 1)
    for seed in cases(20):
        rng = np.random.default_rng(seed)
        n, d = 60, 3 + 100 * (seed % 2)
        X = rng.normal(size=(n, d)) + 100.0 * (seed % 3)
        signs = rng.choice([-1.0, 1.0], size=n)
        share = signs * rng.random(n) * (rng.random(n) < 0.5)
        kernel, data = Kernel("rbf", 0.5 / d), X if seed % 2 else sp.csr_array(X)
        rows = KernelRowsInProof(kernel, data)
        plain = kernel_scores(rows, share[:, None])
        # A bias far out makes every margin clear, for rows of one sign.
        expected = Expected(np.ones((n, 1)), np.array([50.0]))
        screened = kernel_scores(rows, share[:, None], expected=expected)
        exact = long_scores(kernel, X, share)
        if seed % 2 or seed % 3 == 0:  # sparse rows are not centred: 100 is too far for float32
            assert screened.clear.sum() == (share == 0.0).sum()
        off = abs(screened.values[:, 0] - exact)
        assert (off <= screened.errors[:, 0]).all()
        assert (screened.errors >= plain.errors).all()


def test_the_number_of_threads_changes_no_bit():
    X, signs = posed(0, 1300)
    share = np.where(np.arange(1300) % 2, signs, 0.0)[:, None]
    rows = KernelRowsInProof(KERNELS[0], X)
    found = [kernel_scores(rows, share, workers) for workers in (1, 2, 3)]
    assert len({scores.values.tobytes() for scores in found}) == 1


def test_bounds_bracket_the_optimum_whoever_proposes():
    for seed in cases(30):
        X, signs = posed(seed, 16)
        kernel = KERNELS[seed % 3]
        K = kernel.block(X, X)
        costs = np.random.default_rng(seed).integers(1, 4, size=16).astype(float)
        best = naive.dual(K, signs, naive.smo(K, signs, costs))
        rng = np.random.default_rng(seed)
        alpha = np.zeros(16)
        i, j = np.flatnonzero(signs > 0)[0], np.flatnonzero(signs < 0)[0]
        alpha[[i, j]] = 0.25
        rows = KernelRowsInProof(kernel, X)
        proof = KernelGap.proved(
            kernel=kernel,
            sides=signs,
            costs=costs,
            multipliers=alpha,
            bias=float(rng.normal()),
            X=kernel_scores(rows, (signs * alpha)[:, None]),
            n_features=3,
        )
        assert proof.dual <= best * (1 + 1e-9)
        assert best <= proof.primal * (1 + 1e-9)
        assert_allclose(proof.dual, naive.dual(K, signs, alpha), rtol=1e-9)
        expected = naive.primal(K, signs, costs, alpha, proof.bias)
        assert_allclose(proof.primal, expected, rtol=1e-9)


def fitted(seed=0, **settings):
    X, signs = posed(seed)
    return X, signs, sx.KernelSVM(**settings).fit(X, signs)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_a_certificate_survives_its_file(kernel):
    X, y, machine = fitted(kernel=kernel)
    text = machine.certificate_.to_json()
    again = from_json(text, "kernel-gap")
    assert again.check(X, y)
    assert again.check(sp.csr_array(X), y)
    assert again.to_json() == text
    assert again.gap == machine.gap_
    assert not again.check(X + 1e-9, y)
    assert not again.check(X, -y)
    assert not again.check(X[1:], y[1:])


def _forgeries(proof):
    i = np.flatnonzero(proof.multipliers)[0]
    moved, larger = proof.multipliers.copy(), proof.multipliers.copy()
    moved[i] *= 0.9
    larger[i] = 2.0 * proof.costs[i] + 1.0
    far = proof.bias + 1.0
    yield "a smaller objective", {"primal": proof.primal * (1 - 1e-3)}
    yield "a larger bound", {"dual": proof.dual * (1 + 1e-6) + 1e-6}
    yield "no balance", {"multipliers": moved}
    yield "beyond the box", {"multipliers": larger}
    yield "below the box", {"multipliers": -proof.multipliers}
    yield "not a number", {"multipliers": proof.multipliers * np.nan}
    yield "another bias", {"bias": far}
    yield "other costs", {"costs": proof.costs * 1.5}
    yield "no costs", {"costs": proof.costs * 0.0}
    yield "another kernel", {"kernel": dataclasses.replace(proof.kernel, gamma=2.0)}
    yield "the other class", {"positive": 0}
    yield "against itself", {"negative": 1}
    yield "a smaller violation", {"violation": -1.0}
    yield "an infinite bound", {"dual": -math.inf}


def test_forgeries_are_refused():
    X, y, machine = fitted(C=2.0, tol=1e-6)
    proof = machine.certificate_
    assert proof.check(X, y)
    for name, change in _forgeries(proof):
        assert not dataclasses.replace(proof, **change).check(X, y), name


@pytest.mark.parametrize(
    "change",
    [
        {"rows": [0, 0]},
        {"rows": [-1]},
        {"rows": [0.5]},
        {"costs": []},
        {"costs": ["-0x1.0p+0"]},
        {"kernel": {"name": "magic", "gamma": "0x1p+0", "degree": 3, "coef0": "0x0p+0"}},
        {"kernel": {"name": "rbf", "gamma": "0x0p+0", "degree": 3, "coef0": "0x0p+0"}},
        {"kernel": {"name": "callable", "gamma": "0x1p+0", "degree": 3, "coef0": "0x0p+0"}},
        {"positive": "1"},
        {"curved": 0},
        {"bias": None},
    ],
)
def test_malformed_files_are_refused(change):
    _, _, machine = fitted()
    whole = json.loads(machine.certificate_.to_json())
    whole["claim"].update(change)
    with pytest.raises(Refused):
        from_json(whole, "kernel-gap")


def test_a_kernel_that_is_not_positive_gets_no_bound():
    X, y = posed(3)
    with pytest.warns(UserWarning, match="the kernel is not positive"):
        machine = sx.KernelSVM(kernel="sigmoid", gamma=2.0, coef0=-3.0).fit(X, y)
    proof = machine.certificate_
    assert not proof.is_convex
    assert proof.gap == math.inf
    assert machine.status_ == "stationary"
    assert proof.holds
    assert proof.violation < 1.0
    assert proof.check(X, y)
    assert "not positive" in str(proof)
    assert not dataclasses.replace(proof, violation=0.0).check(X, y)
    # A claim of convexity is not believed either.
    assert not dataclasses.replace(proof, curved=False, smallest=0.0).check(X, y)


def test_a_stationary_point_must_be_feasible():
    """Without bounds only the order of pairs was proved, of multipliers that no model has."""
    X, y = posed(3)
    with pytest.warns(UserWarning, match="the kernel is not positive"):
        machine = sx.KernelSVM(kernel="sigmoid", gamma=2.0, coef0=-3.0).fit(X, y)
    proof = machine.certificate_
    free = int(np.flatnonzero((proof.multipliers > 0.0) & (proof.multipliers < proof.costs))[0])
    for value in (-1e-3, 1.5 * proof.costs[free], 0.5 * proof.multipliers[free]):
        multipliers = proof.multipliers.copy()
        multipliers[free] = value  # out of its box, or out of balance
        forged = replace(proof, multipliers=multipliers, violation=1e6)
        assert not forged.is_convex
        assert not forged.check(X, y)
    assert replace(proof, violation=1e6).check(X, y)


def test_the_objective_at_negative_multipliers_is_not_below_the_exact_one():
    """|w|^2 was summed without them, though the scores were not."""
    X, signs, costs = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.full(2, 0.125)
    kernel, alpha = Kernel("linear"), np.array([-2.0, -2.0])
    rows = KernelRowsInProof(kernel, X)
    proof = KernelGap.proved(
        kernel_scores(rows, (signs * alpha)[:, None]), signs, kernel=kernel, costs=costs,
        multipliers=alpha, bias=0.0, n_features=1, slack=0.0, data_sha256="",
    )  # fmt: skip
    assert proof.primal >= 8.0 + 0.125 * (5.0 + 5.0)  # w = -4
    assert proof.dual == -math.inf


def test_several_machines_are_checked_together():
    X, _ = posed(0)
    y = np.digitize(X[:, 0], [-0.4, 0.4])
    for way in ("ovo", "ovr"):
        proof = sx.KernelSVM(multi_class=way).fit(X, y).certificate_
        assert proof.holds
        assert proof.check(X, y)
        assert len(proof.machines) == 3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            bent = sx.KernelSVM(kernel="sigmoid", gamma=0.3, multi_class=way).fit(X, y)
        assert bent.certificate_.check(X, y)
        swapped = dataclasses.replace(proof, machines=proof.machines[::-1])
        assert not swapped.check(X, y)
        bad = dataclasses.replace(proof.machines[1], dual=proof.machines[1].primal * 1.1)
        forged = dataclasses.replace(proof, machines=(proof.machines[0], bad, proof.machines[2]))
        assert not forged.check(X, y)


def test_a_multiplier_of_a_row_that_has_no_part_proves_nothing():
    X, _ = posed(3)
    y = np.arange(len(X)) % 3
    machine = sx.KernelSVM().fit(X, y)
    first = machine.certificate_.machines[0]  # tells class 1 from class 0
    multipliers = first.multipliers.copy()
    multipliers[2] = 1e-9  # of class 2
    forged = dataclasses.replace(first, multipliers=multipliers)
    whole = dataclasses.replace(
        machine.certificate_, machines=(forged, *machine.certificate_.machines[1:])
    )
    assert machine.certificate_.check(X, y)
    assert not whole.check(X, y)


def test_a_degree_that_would_take_for_ever_is_refused():
    _, _, machine = fitted(kernel="poly")
    text = machine.certificate_.to_json().replace('"degree": 3', '"degree": 1000000000')
    assert "1000000000" in text
    with pytest.raises(Refused, match="degree"):
        from_json(text, "kernel-gap")


def test_a_bias_that_is_no_float_is_refused():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    proof = sx.KernelSVM(kernel="linear").fit(X, y).certificate_
    assert proof.bias == 0.0
    assert proof.check(X, y)
    assert not replace(proof, bias=np.int64(0)).check(X, y)


def test_costs_that_are_partly_infinite_are_refused_by_name():
    """Multipliers were stretched past finite costs: 127.99 was a lower bound where 0.5 is reached.

    X = -1, 1, -0.875 with costs inf, inf, 1e-6: w = 1 costs 0.500002.
    """
    X, y = np.array([[-1.0], [1.0], [-0.875]]), np.array([0, 1, 1])
    signs, costs = np.array([-1.0, 1.0, 1.0]), np.array([np.inf, np.inf, 1e-6])
    alpha = np.array([1.0, 1.0 - 1e-6, 1e-6])
    alpha[1] = 1.0 - alpha[2]
    rows = KernelRowsInProof(Kernel("linear"), X)
    scores = kernel_scores(rows, (signs * alpha)[:, None])
    settings = {"kernel": Kernel("linear"), "sides": signs, "multipliers": alpha, "bias": 0.0,
                "X": scores, "n_features": 1}  # fmt: skip
    with pytest.raises(Refused, match="all finite or all infinite"):
        KernelGap.proved(costs=costs, **settings)
    proof = sx.KernelSVM(1.0, kernel="linear").fit(X, y).certificate_
    forged = replace(proof, costs=costs, multipliers=alpha, primal=128.0, dual=127.999996)
    assert not forged.check(X, y)


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "tanh"])
def test_a_library_whose_functions_are_wrong_is_refused(monkeypatch, name):
    from separatrix.certificates import enclosed_functions

    enclosed_functions.require_functions.__wrapped__()
    real = getattr(np, name)
    monkeypatch.setattr(enclosed_functions.np, name, lambda x: real(x) * (1.0 + 1e-13))
    with pytest.raises(ArithmeticError, match="eight units"):
        enclosed_functions.require_functions.__wrapped__()


def test_values_of_degree_0_are_of_size_1():
    """Their size was taken for that of a value of degree 1, here nothing."""
    X, share = 1e-200 * np.arange(500.0)[:, None], np.full(500, -0.99 * 2.0**-54)
    share[0] = 1.0
    found = kernel_scores(KernelRowsInProof(Kernel("poly", 1.0, 0, 0.0), X), share[:, None])
    exact = sum(map(Fraction, share.tolist()))
    for value, error in zip(found.values[:, 0].tolist(), found.errors[:, 0].tolist(), strict=True):
        assert abs(Fraction(value) - exact) <= Fraction(error)


def test_products_of_tiny_shares_are_counted_where_they_vanish():
    X, share = np.full((300, 1), 0.4), np.full(300, 2.0**-1074)
    found = kernel_scores(KernelRowsInProof(Kernel("linear"), X), share[:, None])
    exact = 300 * Fraction(0.4) ** 2 * Fraction(2.0**-1074)
    assert abs(Fraction(float(found.values[0, 0])) - exact) <= Fraction(float(found.errors[0, 0]))


@pytest.mark.filterwarnings("ignore")
def test_a_square_below_zero_refutes_that_a_kernel_is_positive():
    """It was taken for 0, and bounds were claimed of a kernel that "no value refuted"."""
    n = 600
    s = np.where(np.arange(n) % 2, 1.0, -1.0)
    K = np.eye(n) - 1.3 / n * np.outer(s, s) * np.outer(s, s)
    K, y = K * np.outer(s, s), (s > 0.0).astype(int)
    machine = sx.KernelSVM(kernel="precomputed").fit(K, y)
    shares = s * machine.certificate_.multipliers
    assert shares @ K @ shares < -100.0
    assert machine.status_ == "unproved"
    assert not machine.certificate_.holds
    forged = replace(machine.certificate_, primal=780.1, dual=599.9)
    assert forged.holds
    assert not forged.check(K, y)


def test_a_proof_sees_what_its_check_sees_of_a_kernel():
    """|w|^2 is below 0 here by less than the room of a fit, and by more than that of a check."""
    X = np.array([[1000001, 1000001, 0], [0, 1000000, 0], [1000000, 1000001, 0]])
    machine = sx.KernelSVM(862842787136.1248, kernel="sigmoid", coef0=-0.5, tol=1e-8)
    weights = np.array([0.6084427036905552, 0.6371248289592795, 0.8670653835128397])
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, [0, 0, 1], sample_weight=weights)
    proof = machine.certificate_
    assert machine.status_ == "unproved"
    assert not proof.holds  # bounds of 1.05e12 and 1.14e12 were claimed, and refused by `check`
    assert not replace(proof, primal=1.15e12, dual=1.04e12).check(X, [0, 0, 1])


def test_the_objective_of_a_stationary_point_is_checked():
    """A model of a kernel that is not positive could state any objective."""
    X, y = posed(3)
    with pytest.warns(UserWarning, match="the kernel is not positive"):
        proof = sx.KernelSVM(kernel="sigmoid", gamma=2.0, coef0=-3.0).fit(X, y).certificate_
    data = as_checker_data(problem_from(X, y, True))
    assert proof.check(X, y)
    assert "only this" in check(json.loads(proof.to_json()), data)
    for forged in (replace(proof, primal=1e-9, dual=1e-10), replace(proof, dual=proof.primal)):
        assert not forged.check(X, y)
        with pytest.raises(Refused, match="bound"):
            check(json.loads(forged.to_json()), data)


def test_a_given_matrix_may_be_sparse():
    K, y = np.eye(4), np.array([0, 1, 0, 1])
    proof = sx.KernelSVM(kernel="precomputed").fit(K, y).certificate_
    assert proof.check(sp.csr_array(K), y)


def test_a_function_that_is_not_symmetric_is_no_positive_kernel():
    """It was proved optimal, since "no value refuted" that the kernel is positive."""
    X, y = posed(2)

    def bent(A, B):
        same = (A[:, None] == B[None]).all(axis=2)
        return Kernel("rbf").block(A, B) + 0.5 * same + 0.05 * (A[:, None, 0] - B[None, :, 0])

    with pytest.warns(UserWarning, match="the kernel is not positive"):
        proof = sx.KernelSVM(kernel=bent).fit(X, y).certificate_
    assert not proof.is_convex
    assert not dataclasses.replace(proof, smallest=0.1).check(X, y)
    assert sx.KernelSVM(kernel=Kernel("rbf").block).fit(X, y).certificate_.is_convex


def test_the_spectrum_of_values_near_the_largest_number():
    """Their sums were infinite, and a forged claim ended in a fault of NumPy."""
    for size in (1.7e308, 1.0, 5e-324):
        rows = KernelRowsInProof(Kernel("precomputed"), np.array([[0.0, size], [size, 0.0]]))
        assert least_eigenvalue(rows, np.arange(2)) == pytest.approx(-1.0)


def test_a_proof_of_dense_rows_far_from_zero_holds_for_a_sparse_copy():
    """Sparse rows kept their offset, and the honest claim was refused under the same name."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3)) + 1e8
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 1e8).astype(int)
    proof = sx.KernelSVM().fit(X, y).certificate_
    assert proof.gap < 1e-3
    assert proof.check(X, y)
    assert proof.check(sp.csr_array(X), y)
