"""The gap between two bounds is never stated below the exact one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.amounts import cases

import separatrix as sx
from separatrix.certificates.duality_gap import DualityGap
from separatrix.certificates.two_bounds import TwoBounds
from separatrix.checker.gaps import between


def bounds(primal, dual):
    return TwoBounds(primal=primal, dual=dual, costs=np.ones(1), n_rows=1, n_features=1)


def test_the_gap_is_rounded_up():
    assert bounds(1.1223742617402137, 0.05401366764557794).gap >= 1 - Fraction(
        0.05401366764557794
    ) / Fraction(1.1223742617402137)
    for seed in cases(2000):
        rng = np.random.default_rng(seed)
        primal, share = rng.random() * 10.0 ** rng.integers(-5, 6), rng.random()
        dual = float(primal * share)
        exact = (Fraction(float(primal)) - Fraction(dual)) / Fraction(float(primal))
        assert exact <= Fraction(bounds(float(primal), dual).gap) <= exact * (1 + 2**-49)


def test_ends_of_the_range():
    assert bounds(0.0, 0.0).gap == 0.0
    assert bounds(1.0, 2.0).gap == 0.0
    assert not bounds(np.inf, 1.0).holds
    assert not bounds(1.0, -np.inf).holds


MACHINES = {
    "duality-gap": (sx.LinearSVM, 2),
    "multiclass-gap": (lambda: sx.LinearSVM(multi_class="direct"), 3),
    "softmax-gap": (lambda: sx.LogisticRegression(multi_class="multinomial"), 3),
    "sparse-softmax-gap": (lambda: sx.LogisticRegression(l1_ratio=0.9), 3),
    "kernel-gap": (sx.KernelSVM, 2),
    "kernel-multiclass-gap": (lambda: sx.KernelSVM(multi_class="direct"), 3),
}
NAMED = ("weights", "multipliers", "costs", "biases")
LEAST = -(2**63)  # the size of which, in whole numbers, is itself


@pytest.mark.parametrize("kind", list(MACHINES))
def test_whole_numbers_whose_size_wraps_around_prove_nothing(kind):
    make, n_classes = MACHINES[kind]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), np.arange(24) % n_classes
    proof = make().fit(X, y).certificate_
    assert proof.check(X, y)
    tried = 0
    for name, value in vars(proof).items():
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and name in NAMED:
            whole = np.full(value.shape, LEAST, dtype=np.int64)
            forged = [whole, value.astype(np.int64), value.astype(bool), value.astype(np.float32)]
        elif name == "bias":
            forged = [np.int64(LEAST)]
        elif name in ("rows", "rivals"):
            forged = [value.astype(np.float64)]
        else:
            continue
        for other in forged:
            for primal in (proof.primal, proof.dual, 0.99 * proof.dual, 0.1):
                tried += 1
                assert not replace(proof, **{name: other, "primal": primal}).check(X, y)
    assert tried >= 24


def test_words_do_not_say_more_than_the_numbers():
    """The gap was rounded to the nearest, and w = 1 lowered the objective by more than was said."""
    X, signs = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    proof = DualityGap.proved(
        X, signs, loss="hinge", costs=np.ones(2), weights=np.array([0.0, 1.052]),
        multipliers=np.full(2, 0.5), intercept=False,
    )  # fmt: skip
    lowered = 1 - Fraction(1, 2) / (Fraction(1.052) ** 2 / 2)
    assert lowered > Fraction("0.096")
    assert "by more than 0.097 of it (the least is at least 0.499999999)" in str(proof)
    said = between(proof, Fraction(0), Fraction(1), "hyperplane")
    assert "below 0.499999999999; this one has 0.553352000001" in said
