"""The tail of the chi-squared distribution against balls of 300 bits."""

import flint
import numpy as np
import pytest
from tests.naive import inference as naive

from separatrix.certificates.enclosed_functions import quantile, tail, tails
from separatrix.checker import inference
from separatrix.infer.likelihood import normal_quantile


def test_tails_hold_the_value_of_300_bits():
    for value in [1e-12, 1e-3, 0.5, 3.841458820694124, 10.0, 77.7, 300.0, 1300.0]:
        low, high = tail(value)
        assert naive.inside(naive.tail(flint.arb(value)), low, high)
        assert high <= low * (1.0 + 1e-14)


def test_corners():
    assert tail(0.0) == (1.0, 1.0)
    assert tail(1e6)[0] == 0.0
    assert tails(1.0, np.inf)[0] == 0.0
    low, high = tails(1.0, 2.0)
    assert low < high


def test_a_quantile_is_proved():
    low, high = quantile(0.95, 3.841458820694124)
    assert naive.inside(naive.quantile(0.95), low, high)
    with pytest.raises(ArithmeticError):
        quantile(0.95, 3.84)


@pytest.mark.parametrize(
    "level", [1e-9, 1e-4, 0.01, 0.5, 0.9, 0.99, 0.999, 0.99999, 1.0 - 1e-9, 1.0 - 2.0**-53]
)
def test_the_quantile_of_any_level_is_proved(level):
    guess = normal_quantile(level) ** 2
    low, high = quantile(level, guess)
    with flint.ctx.workprec(naive.BITS):
        assert naive.tail(flint.arb(low)) > 1 - flint.arb(level) > naive.tail(flint.arb(high))
    inference.quantile(level, guess)
