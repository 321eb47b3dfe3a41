"""The gap between two bounds is never stated below the exact one."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from tests.amounts import cases

from separatrix.certificates.two_bounds import TwoBounds


@dataclass
class Bounds(TwoBounds):
    primal: float
    dual: float


def test_the_gap_is_rounded_up():
    assert Bounds(1.1223742617402137, 0.05401366764557794).gap >= 1 - Fraction(
        0.05401366764557794
    ) / Fraction(1.1223742617402137)
    for seed in cases(2000):
        rng = np.random.default_rng(seed)
        primal, share = rng.random() * 10.0 ** rng.integers(-5, 6), rng.random()
        dual = float(primal * share)
        exact = (Fraction(float(primal)) - Fraction(dual)) / Fraction(float(primal))
        assert exact <= Fraction(Bounds(float(primal), dual).gap) <= exact * (1 + 2**-49)


def test_ends_of_the_range():
    assert Bounds(0.0, 0.0).gap == 0.0
    assert Bounds(1.0, 2.0).gap == 0.0
    assert not Bounds(np.inf, 1.0).holds
    assert not Bounds(1.0, -np.inf).holds
