"""exp, log and tanh against balls of 9,000 bits: never outside, and hardly wider than need be."""

import random

import pytest
from flint import arb, ctx
from tests.amounts import cases

from separatrix.checker import enclosed
from separatrix.checker.enclosed import BITS, DEEP, ONE, exp, log, log1p_exp, tanh


@pytest.fixture(autouse=True)
def precise():
    kept, ctx.prec = ctx.prec, 9000
    yield
    ctx.prec = kept


def below_zero(dice, bits=BITS):
    size = dice.choice([50, 4999, 1e-5, 2.0**-100, 2.0**-158])
    units = int(dice.random() * size * 2.0**250) << (bits - 160)
    return -(units >> 90) - dice.getrandbits(bits - 160 + 1)


def error(bits):
    return bits * 2 // 5


@pytest.mark.parametrize("bits", [BITS, DEEP])
def test_exp_encloses_an_interval_of_one_unit(bits):
    one = 1 << bits
    dice, edges = random.Random(1), [0, -1, -one, -enclosed._ln2(bits) >> 64, -5000 * one]
    for x in edges + [below_zero(dice, bits) for _ in cases(3000)]:
        low, high, s = exp(x, bits)
        for y in (x, x + 1):
            exact = (arb(y) / one).exp() * arb(2) ** s
            assert low <= exact <= high, x
        if x >= -5000 * one:
            assert high - low <= 2 * error(bits)
            assert low >= one - error(bits)


def test_exp_far_below_zero_is_between_zero_and_a_tiny_number():
    low, high, s = exp(-5001 * ONE - 10**400)
    assert low == 0
    assert arb(high) / arb(2) ** s > arb(-5000).exp()


@pytest.mark.parametrize("bits", [BITS, DEEP])
def test_the_error_counted_is_not_far_from_the_error_there_is(bits):
    """A bound a hundred times too wide would hide a mistake in the count."""
    dice, worst = random.Random(2), 0.0
    for _ in cases(3000):
        x = below_zero(dice, bits)
        low, high, s = exp(x, bits)
        middle = (low + high) // 2
        worst = max(worst, abs(float((arb(x) / (1 << bits)).exp() * arb(2) ** s - middle)))
    assert error(bits) / 32 < worst < error(bits) / 2


@pytest.mark.parametrize("bits", [BITS, DEEP])
def test_log_encloses_quotients_of_any_size(bits):
    dice = random.Random(3)
    for _ in cases(3000):
        top, bottom = (1 + dice.getrandbits(dice.choice([1, 5, 53, 200, 2000])) for _ in range(2))
        near = dice.random() < 0.3
        top = bottom + dice.choice([0, 1]) if near else top
        low, high = log(top, bottom, bits)
        exact = (arb(top) / bottom).log() * (1 << bits)
        assert low <= exact <= high, (top, bottom)
        assert high - low < 600


def test_log_does_not_trust_the_guess(monkeypatch):
    guess = enclosed.math.log
    monkeypatch.setattr(enclosed.math, "log", lambda x: guess(x) + 2.0**-52)
    low, high = log(3, 1)
    assert low <= arb(3).log() * ONE <= high
    monkeypatch.setattr(enclosed.math, "log", lambda x: guess(x) + 2.0**-40)
    with pytest.raises(ArithmeticError):
        log(3, 1)


def test_the_logistic_loss_from_above():
    dice = random.Random(4)
    for x in [0, -1] + [below_zero(dice) for _ in cases(2000)]:
        top, s = log1p_exp(x)
        exact = (1 + (arb(x + 1) / ONE).exp()).log() * arb(2) ** s
        assert exact <= top
        assert float((top - exact) / exact) < 2.0**-60


def test_tanh_to_512_units():
    dice = random.Random(5)
    for _ in cases(2000):
        x = dice.choice([-1, 1]) * int(dice.random() * 10 ** dice.uniform(-20, 3.5) * 2.0**BITS)
        for y in (x - 1, x, x + 1):
            assert abs((arb(y) / ONE).tanh() * ONE - tanh(x)) < 512
