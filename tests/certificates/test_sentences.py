"""Sentences round outwards: none says more than its claim."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from tests.amounts import cases

import separatrix as sx
from separatrix.checker.exact import at_least, at_most

NUMBER = r"(-?[0-9][0-9.]*(?:e[-+][0-9]+)?)"


def drawn(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(24) % (2 + seed % 2)
    X = rng.normal(size=(24, 3)) * 10.0 ** rng.integers(-3, 4, size=3)
    return X + y[:, None] * rng.normal(size=3) * X.std(axis=0), y


def said(pattern, certificate):
    """Return the numbers a sentence gives, as exact as they are printed."""
    found = re.search(pattern.replace("#", NUMBER), str(certificate))
    assert found, str(certificate)
    return [Fraction(text) for text in found.groups()]


def test_digits_are_rounded_outwards():
    rng = np.random.default_rng(0)
    for _ in cases(300):
        value = float(rng.normal() * 10.0 ** rng.integers(-300, 300))
        digits = int(rng.integers(1, 13))
        low, high = at_least(value, digits), at_most(value, digits)
        assert Fraction(low) <= Fraction(value) <= Fraction(high)
        assert Fraction(high) - Fraction(low) <= abs(Fraction(value)) * Fraction(10) ** (1 - digits)
    assert at_most(np.inf, 2) == "inf"
    assert at_most(Fraction(10) ** 400, 2) == "1.0e+400"
    assert (at_least(1234567.0, 12), at_most(Fraction(1, 3), 3)) == ("1234567", "0.334")


def test_least_squares():
    for seed in cases(30):
        proof = sx.LeastSquares(ridge=seed % 3).fit(*drawn(seed)).certificate_
        moved, gap = said("differ by at most #; the squared error.* is within # of", proof)
        assert moved >= proof.perturbation
        assert gap >= proof.gap


def test_fisher():
    for seed in cases(30):
        X, y = drawn(2 * seed)
        proof = sx.Fisher().fit(X, y).certificate_
        low, high = said("ratio of scatters is at least #, and no direction has more than #", proof)
        assert low <= proof.ratio
        assert high >= proof.bound
        X, y = drawn(2 * seed + 1)
        proof = sx.Fisher().fit(X, y).certificate_
        first, second, gap, moved = said(
            "are at least #, #, each within # of the first; .* by at most #", proof
        )
        assert first <= proof.lower[0]
        assert second <= proof.lower[1]
        assert gap >= proof.gap
        assert moved >= proof.moved


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_gaussians(covariance):
    for seed in cases(20):
        proof = sx.GaussianPlugIn(covariance).fit(*drawn(seed)).certificate_
        means, covariances = said("means to within # .* to within #", proof)
        assert means >= proof.means
        assert covariances >= proof.covariances


def test_margins():
    for seed in cases(20):
        X, y = drawn(2 * seed)
        rows = np.column_stack([X / X.std(axis=0), 9.0 * y])
        proof = sx.KernelKozinec(kernel="linear").fit(rows, y).certificate_
        low, high = said(r"margin lies in \[#, #\]", proof)
        assert low <= proof.lower <= proof.upper <= high


def test_training_errors_are_counted_in_full():
    X = np.zeros((4, 1))
    proof = sx.ZeroOne().fit(X, [0, 0, 1, 1], sample_weight=[1234567, 1, 1, 1234569]).certificate_
    assert "1234568 training errors" in str(proof)
