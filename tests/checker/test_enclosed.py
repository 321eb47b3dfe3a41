"""exp, log and tanh against balls of 9,000 bits: never outside, and hardly wider than need be."""

import random

import pytest
from flint import arb, ctx
from tests.amounts import cases

from separatrix.checker import enclosed
from separatrix.checker.enclosed import BITS, ONE, exp, log, log1p_exp, tanh


@pytest.fixture(autouse=True)
def precise():
    kept, ctx.prec = ctx.prec, 9000
    yield
    ctx.prec = kept


def below_zero(dice):
    size = dice.choice([50, 4999, 1e-5, 2.0**-100, 2.0**-158])
    return (
        -int(dice.random() * size * 2**53 * 2.0 ** (BITS - 53 - 100)) << 100
        if size > 1e-9
        else (-int(dice.random() * size * 2.0**BITS))
    )


def test_exp_encloses_an_interval_of_one_unit():
    dice, edges = random.Random(1), [0, -1, -ONE, -enclosed._ln2() >> 64, -5000 * ONE]
    for x in edges + [below_zero(dice) for _ in cases(3000)]:
        low, high, s = exp(x)
        for y in (x, x + 1):
            exact = (arb(y) / ONE).exp() * arb(2) ** s
            assert low <= exact <= high, x
        assert high - low <= 2 * enclosed._ERROR
        assert low >= ONE - enclosed._ERROR


def test_exp_far_below_zero_is_between_zero_and_a_tiny_number():
    low, high, s = exp(-5001 * ONE - 10**400)
    assert low == 0
    assert arb(high) / arb(2) ** s > arb(-5000).exp()


def test_the_error_counted_is_not_far_from_the_error_there_is():
    """A bound a hundred times too wide would hide a mistake in the count."""
    dice, worst = random.Random(2), 0.0
    for _ in cases(3000):
        x = below_zero(dice)
        low, high, s = exp(x)
        middle = (low + high) // 2
        worst = max(worst, abs(float((arb(x) / ONE).exp() * arb(2) ** s - middle)))
    assert enclosed._ERROR / 16 < worst < enclosed._ERROR / 2


def test_log_encloses_quotients_of_any_size():
    dice = random.Random(3)
    for _ in cases(3000):
        top, bottom = (1 + dice.getrandbits(dice.choice([1, 5, 53, 200, 2000])) for _ in range(2))
        near = dice.random() < 0.3
        top = bottom + dice.choice([0, 1]) if near else top
        low, high = log(top, bottom)
        exact = (arb(top) / bottom).log() * ONE
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
