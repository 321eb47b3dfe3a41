"""No margin in a kernel's space: what is claimed is true, and what is forged is refused."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from tests.amounts import cases

import separatrix as sx
from separatrix.certificates.kernel_separation import KernelOverlap
from separatrix.problem.canonical import data_of, equal_pair
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.kernels import Kernel

CROSS = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
CODES = np.array([0, 0, 1, 1])
LINEAR = Kernel("linear")


def proved(kernel, X, codes, alpha):
    name = fingerprint(data_of(X, codes, 2, True))
    return KernelOverlap.proved(X, codes, alpha, kernel=kernel, data_sha256=name)


def exact_square(X, codes, alpha):
    """Return |w|^2 of a linear kernel in fractions."""
    w = [Fraction(0)] * X.shape[1]
    for row, code, value in zip(X, codes, alpha, strict=True):
        sign = 1 if code == 1 else -1
        w = [
            total + sign * Fraction(float(value)) * Fraction(float(x))
            for total, x in zip(w, row, strict=True)
        ]
    return sum(part * part for part in w)


def test_crossing_segments_have_no_margin_but_rounding():
    witness = proved(LINEAR, CROSS, CODES, np.ones(4))
    assert 0.0 < witness.margin < 1e-6
    assert witness.check(CROSS, CODES)
    assert witness.shares == (0.5, 0.5, 0.5, 0.5)
    assert "no hyperplane in the kernel's space" in str(witness)


def test_the_bound_is_above_the_truth():
    dice = np.random.default_rng(0)
    for _ in cases(200):
        n = int(dice.integers(2, 12))
        X = dice.normal(size=(2 * n, 3)) * 10.0 ** dice.integers(-3, 4)
        codes = np.repeat([0, 1], n)
        half = np.round(dice.uniform(0, 1, size=n) * 2**20) / 2**20
        alpha = np.concatenate([half, dice.permutation(half)])
        if not alpha.any():
            continue
        witness = proved(LINEAR, X, codes, alpha)
        total = sum(Fraction(float(value)) for value in alpha)
        truth = exact_square(X, codes, alpha) / total**2
        assert truth <= Fraction(witness.margin) ** 2
        assert (
            Fraction(witness.margin) ** 2
            <= truth + Fraction(1e-12) * Fraction(witness.length) ** 2 * 10
        )
        assert witness.check(X, codes)


def test_a_square_below_zero_shows_that_there_is_no_space():
    K, codes, alpha = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1]), np.ones(2)
    witness = proved(Kernel("precomputed"), K, codes, alpha)
    assert not witness.holds
    assert not dataclasses.replace(witness, margin=0.5).check(K, codes)
    two = np.array([[0.5, -1.0], [-1.0, 0.5]])  # here |w|^2 = 3
    assert proved(Kernel("precomputed"), two, codes, alpha).check(two, codes)


@pytest.mark.parametrize("shape", [np.asarray, sp.csr_array])
def test_equal_rows_cancel_exactly_whatever_the_kernel(shape):
    X = shape(np.array([[0.1, 0.0], [0.3, 0.7], [-0.0 + 0.1, -0.0], [5.0, 0.2]]))
    codes = np.array([0, 0, 1, 1])
    assert equal_pair(X, np.where(codes == 1, 1.0, -1.0)) == (0, 2)
    for kernel in (LINEAR, Kernel("rbf", gamma=3.0), Kernel("poly", degree=5, gamma=1.0)):
        witness = proved(kernel, X, codes, np.array([1.0, 0.0, 1.0, 0.0]))
        assert witness.margin == 0.0
        assert witness.check(X, codes)
    assert equal_pair(X, np.array([1.0, -1.0, 1.0, -1.0])) is None


def test_what_is_forged_is_refused():
    X, codes = CROSS + [[0.0, 0.0], [0.0, 0.0], [0.3, 0.0], [0.3, 0.0]], CODES
    witness = proved(LINEAR, X, codes, np.ones(4))
    assert witness.check(X, codes)
    forgeries = [
        {"margin": 0.9 * witness.margin},
        {"margin": float("inf")},
        {"multipliers": (1.0, 1.0, 1.0, 1.0 + 1e-9)},
        {"multipliers": (2.0, 0.0, 1.0, -1.0)},
        {"rows": (0, 1, 2, 2)},
        {"rows": (0, 1, 2, 9)},
        {"rows": (), "multipliers": ()},
        {"positive": 3},
        {"positive": 0, "negative": 0},
        {"kernel": Kernel("rbf", gamma=1.0)},
        {"data_sha256": "0" * 64},
        {"length": 100.0},
    ]
    for forgery in forgeries:
        assert not dataclasses.replace(witness, **forgery).check(X, codes), forgery
    assert not witness.check(X + 1e-9, codes)
    assert not witness.check(X, 1 - codes)


def test_every_hard_machine_without_a_margin_has_a_witness():
    dice = np.random.default_rng(1)
    for kernel in ({"kernel": "linear"}, {"kernel": "poly", "degree": 2, "gamma": 1.0}):
        for _ in cases(6):
            X = dice.normal(size=(60, 2))
            y = dice.integers(0, 2, size=60)
            with pytest.raises(sx.NotSeparableError) as refusal:
                sx.KernelSVM(np.inf, **kernel).fit(X, y)
            witness = refusal.value.witness
            assert witness.check(X, y)
            assert witness.margin <= 2e-6 * witness.length


def test_large_multipliers_of_equal_rows_are_no_crash():
    """Their exact sum passed through infinity, and the check ended in an OverflowError."""
    X, codes = np.zeros((40, 1)), np.repeat([0, 1], 20)
    witness = proved(Kernel("rbf"), X, codes, np.ones(40))
    assert witness.margin == 0.0
    assert not dataclasses.replace(witness, multipliers=(1e308,) * 40).check(X, codes)


def test_the_sentence_says_what_is_assumed_of_the_kernel():
    """With x z - 1 in place of a product there is no space, and so nothing is proved of it."""
    X, codes = np.array([[1.0 + 1e-9], [1.0], [3.0]]), np.array([0, 1, 1])
    bent = proved(Kernel("poly", 1.0, 1, -1.0), X, codes, np.array([1.0, 1.0, 0.0]))
    assert "assuming that the kernel is positive" in str(bent)
    assert "assuming" not in str(proved(LINEAR, X, codes, np.array([1.0, 1.0, 0.0])))


def test_a_given_matrix_may_be_sparse():
    witness = proved(Kernel("precomputed"), np.eye(4), CODES, np.ones(4))
    assert witness.holds
    assert witness.check(sp.csr_array(np.eye(4)), CODES)


def test_the_length_is_enclosed():
    """Where squares left the range any length was accepted, and it was rounded either way."""
    for kernel in (LINEAR, Kernel("poly", gamma=0.7, degree=3, coef0=0.1)):
        X = np.random.default_rng(0).normal(size=(6, 3))
        witness = proved(kernel, X, np.repeat([0, 1], 3), np.ones(6))
        exact = [[Fraction(v) for v in row] for row in X.tolist()]
        squares = [sum(v * v for v in row) for row in exact]
        if kernel.name == "poly":
            squares = [(Fraction(0.7) * v + Fraction(0.1)) ** 3 for v in squares]
        assert 0.999 * float(max(squares)) < witness.length**2
        assert Fraction(witness.length) ** 2 <= max(squares)
        assert witness.check(X, np.repeat([0, 1], 3))
        longer = dataclasses.replace(witness, length=witness.length * (1.0 + 1e-9))
        assert not longer.check(X, np.repeat([0, 1], 3))
    far = np.array([[1e200], [1e200]])
    witness = proved(LINEAR, far, np.array([0, 1]), np.ones(2))
    assert (witness.margin, witness.length) == (0.0, 0.0)
    assert witness.check(far, np.array([0, 1]))
    assert not dataclasses.replace(witness, length=1e300).check(far, np.array([0, 1]))
