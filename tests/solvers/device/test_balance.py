"""Multipliers whose signed sum is exactly zero, and the best biases, without a loop over rows."""

import math

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from tests.amounts import cases
from tests.torch_problems import torch

from separatrix.solvers.linear.claims import hinge_bias_interval
from separatrix.solvers.linear.device.device_claims import _whole_sum
from separatrix.solvers.linear.device.device_claims import balanced as balanced_there


def balanced(*arrays):
    return balanced_there(*(torch.as_tensor(np.asarray(each)) for each in arrays)).numpy()


def test_sums_are_exactly_zero_within_the_bounds():
    for seed in cases(400):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 60))
        signs = rng.choice([-1.0, 1.0], n)
        signs[:2] = 1.0, -1.0
        sizes = rng.uniform(-8, 8, n) if seed % 2 else np.full(n, rng.uniform(-8, 8))
        upper = np.where(rng.random(n) < 0.1, 0.0, 10.0**sizes)
        alpha = rng.choice([0.0, 0.3, 1.0], n) * upper * rng.random(n) ** (seed % 5)
        limits = np.where(upper > 0.0, np.inf, 0.0) if seed % 3 == 0 else upper
        found = balanced(alpha, signs, limits)
        assert math.fsum(signs * found) == 0.0
        assert (found >= 0.0).all()
        assert (found <= limits).all()


def test_what_is_nearly_balanced_hardly_changes():
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(1000) % 2, 1.0, -1.0)
    alpha = rng.random(1000)
    alpha[signs > 0] *= alpha[signs < 0].sum() / alpha[signs > 0].sum()
    found = balanced(alpha, signs, np.full(1000, 2.0))
    assert_allclose(found, alpha, atol=1e-12)
    # Sums on a device have an order of their own; what is exactly balanced stays as it is.
    assert math.fsum(signs * found) == 0.0
    assert_array_equal(balanced(found, signs, np.full(1000, 2.0)), found)
    assert_array_equal(
        balanced([1e-320, 1e20, 1e20], [1.0, 1.0, -1.0], [1e30] * 3), [0, 1e20, 1e20]
    )


def test_one_class_alone_has_nothing():
    assert not balanced(np.ones(3), np.ones(3), np.ones(3)).any()
    assert not balanced(np.zeros(2), np.array([1.0, -1.0]), np.ones(2)).any()


def test_whole_numbers_are_added_without_overflow():
    assert _whole_sum(torch.full((5000,), 2**53)) == 5000 * 2**53
    assert _whole_sum(torch.tensor([2**53, -(2**53), -3])) == -3


def test_best_biases_are_the_processors():
    for seed in cases(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 30))
        scores = rng.integers(-3, 4, n).astype(float) if seed % 2 else rng.normal(size=n)
        signs, costs = rng.choice([-1.0, 1.0], n), rng.integers(1, 4, n).astype(float)
        found = hinge_bias_interval(*(torch.as_tensor(each) for each in (scores, signs, costs)))
        assert_allclose(found, hinge_bias_interval(scores, signs, costs))
