"""The bound on false alarms: exact sums of binomial terms, and how often it fails."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

import separatrix as sx
from separatrix.core.thresholds import (
    AlarmBound,
    bounded_threshold,
    order_statistic,
    rows_apart,
    rows_needed,
)

LEVELS = [Fraction(1, 100), Fraction(1, 20), Fraction(1, 3)]


def tail(n, k, level):
    """Return P(Bin(n, 1 - level) >= k), exactly."""
    return sum(comb(n, j) * (1 - level) ** j * level ** (n - j) for j in range(k, n + 1))


@pytest.mark.parametrize("level", LEVELS)
def test_the_order_statistic_is_the_least_that_will_do(level):
    needed = rows_needed(float(level))
    assert (1 - level) ** needed <= Fraction(1, 20) < (1 - level) ** (needed - 1)
    assert order_statistic(needed - 1, float(level)) is None
    for n in (needed, needed + 1, 2 * needed + 3):
        k = order_statistic(n, float(level))
        assert tail(n, k, level) <= Fraction(1, 20)
        assert k == 1 or tail(n, k - 1, level) > Fraction(1, 20)


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_the_promise_is_broken_in_at_most_one_of_twenty_draws(level):
    """Scores are uniform, so that a threshold t has the false alarm rate 1 - t."""
    draw, n = np.random.default_rng(0), rows_needed(level) + 40
    scores = draw.random((4_000, n))
    codes = np.zeros(n, dtype=int)
    rates = [1.0 - bounded_threshold(row, codes, 1, level, 0.95) for row in scores]
    broken = np.mean(np.array(rates) > level)
    exact = float(tail(n, order_statistic(n, level), Fraction(level)))
    assert exact <= 0.05
    assert broken == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4_000))


def test_equal_scores_only_help():
    draw, n = np.random.default_rng(1), 80
    broken = 0
    for row in draw.integers(10, size=(400, n)) / 10.0:
        threshold = bounded_threshold(row, np.zeros(n, dtype=int), 1, 0.05, 0.95)
        broken += (9 - round(10 * threshold)) / 10.0 > 0.05
    assert broken <= 0.05 * 400


def test_the_first_class_may_be_the_alarm():
    draw = np.random.default_rng(2)
    scores, codes = draw.normal(size=300), draw.integers(2, size=300)
    high = bounded_threshold(scores, codes, 1, 0.1, 0.95)
    low = bounded_threshold(-scores, 1 - codes, 0, 0.1, 0.95)
    alarms = scores > high
    assert alarms.any()
    assert ((-scores > low) == ~alarms).all()  # the others, of the second class, are above


def test_too_few_rows_are_refused_with_the_number_needed():
    with pytest.raises(sx.DataError, match=r"need 299 rows of class no .* give at least 600"):
        rows_apart(500, 700, 0.01, "no")
    assert rows_apart(600, 700, 0.01, "no") * 600 / 700 >= 299
    with pytest.raises(sx.DataError, match="between 0 and 1"):
        rows_needed(1.0)


def test_claims_as_plain_data():
    claim = AlarmBound(0.1, 0.95, "yes", np.array([3, 1]))
    again = AlarmBound.from_dict(claim.to_dict())
    assert again.to_dict() == claim.to_dict()
    assert AlarmBound.from_dict({"rule": "balanced"}) is None
    for change in ({"level": 1.0}, {"confidence": 0.2}, {"rows": [1, 1]}, {"rows": [[1]]}):
        with pytest.raises(ValueError, match="not well-formed"):
            AlarmBound.from_dict({**claim.to_dict(), **change})


@pytest.mark.parametrize("level", [1e-17, 5e-324])
def test_a_level_below_the_rounding_unit_is_refused(level):
    """The loop that counted the rows it needs did not end."""
    with pytest.raises(sx.DataError, match="between 0 and 1"):
        rows_needed(level)
    plain = AlarmBound(0.1, 0.95, "yes", np.arange(3)).to_dict() | {"level": level}
    with pytest.raises(ValueError, match="not well-formed"):
        AlarmBound.from_dict(plain)
    assert rows_needed(1e-12) > 10**12


def test_a_claim_is_rounded_to_the_careful_side():
    said = str(AlarmBound(0.0123456789, 1.0 - 1e-9, "yes", np.arange(3)))
    assert "confidence 0.999999 at most 1.23457 % of" in said
    assert "confidence 0.95 at most 5 % of" in str(AlarmBound(0.05, 0.95, "yes", np.arange(3)))


@pytest.mark.parametrize("positive", [0, 1])
def test_room_for_rounding_makes_no_alarms(positive):
    scores, codes = np.repeat([0.0, 1.0], [30, 70]), np.zeros(100, dtype=int) + (1 - positive)
    plain = bounded_threshold(scores, codes, positive, 0.4, 0.95)
    safe = bounded_threshold(scores, codes, positive, 0.4, 0.95, 1e-12)
    assert (safe > plain) == (positive == 1)
    assert abs(safe - plain) == pytest.approx(1e-12, rel=1e-3)
