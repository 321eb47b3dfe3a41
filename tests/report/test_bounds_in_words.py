"""No sentence says more than the number that is proved: bounds are rounded away from the claim."""

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import separatrix as sx
from separatrix.core.thresholds import AlarmBound
from separatrix.report import headings, scoring, words
from separatrix.report.conclusions import key_figures
from separatrix.selection import bounds
from tests.report.examples import facts_of

RNG = np.random.default_rng(65)
VALUES = [*(10.0 ** RNG.uniform(-12, 6, size=200)).tolist(), 0.0, 1.0, 1e-300, 1.04e-6]


def said(text):
    """Return the first number of a text, as a reader takes it."""
    text = text.replace("\xa0×\xa010", "e").replace("−", "-").replace(",", "")
    return float(text.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")))


@pytest.mark.parametrize("digits", [2, 3, 9])
def test_bounds_in_a_report_are_rounded_outwards(digits):
    for value in VALUES:
        low, high = said(words.least(value, digits)), said(words.most(value, digits))
        assert low <= value <= high
        assert high - low <= 2.0 * 10.0 ** (1 - digits) * value


def test_shares_are_rounded_outwards():
    for share in RNG.uniform(size=200).tolist():
        low, high = (
            said(written(share).rstrip("%\u202f"))
            for written in (words.share_at_least, words.share_at_most)
        )
        assert low <= 100.0 * share <= high
    for nothing in (None, float("inf"), float("nan")):
        assert words.share_at_least(nothing) == words.share_at_most(nothing) == "–"


def test_a_gap_is_never_printed_smaller():
    """1.04e-6 was "by more than 1e-6"."""
    facts = facts_of()
    machine = replace(facts.machine, gap=1.04e-6, checked=True)
    facts = replace(facts, machine=machine, test=None)
    (gap,) = (f.value for f in key_figures(facts) if f.label == "Optimality gap")
    assert said(gap.removeprefix("≤ ")) == pytest.approx(1.1e-6)
    assert "1.1\xa0×" in headings._machine(facts)


def test_a_guarantee_is_never_printed_stronger():
    """A level of 1.43 % was "1.4 %" in a heading, and a confidence just below 1 "100 %"."""
    bound = AlarmBound(0.0142857, 1.0 - 1e-9, "spam", np.arange(3))
    work = SimpleNamespace(
        threshold={"false_alarms": (1, 300)},
        folding=SimpleNamespace(times=None),
        settings=SimpleNamespace(features="table"),
        table=SimpleNamespace(encoding=None, X=np.arange(8.0)[:, None]),
        X_train=np.array([[9.0]]),
    )
    text = scoring._guarantee(work, bound, "ham")
    assert text.startswith("With 99.9999 % confidence at most 1.42857 % of new rows of ham")
    cut = SimpleNamespace(level=0.0142857, confidence=1.0 - 1e-9)
    assert headings._threshold(SimpleNamespace(threshold=cut)) == (
        "At most 1.43\u202f% false alarms, with 99.9\u202f% confidence"
    )


def test_intervals_and_bounds_hold_as_printed():
    for errors in range(0, 40, 3):
        found = bounds.binomial(errors, 997, 0.95)
        low, high = re.search(r"between (\S+) and (\S+)\.", str(found)).groups()
        assert float(low) <= found.lower
        assert found.upper <= float(high)


@pytest.mark.parametrize("seed", range(20))
def test_a_warning_never_bounds_a_margin_too_low(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = (X @ [1.0, -2.0, 0.5] > 0.1).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine = sx.Kozinec(max_updates=3, epsilon=1e-9).fit(X, y)
    (above,) = re.findall(r"margin above (\S+)\.", str(caught[-1].message))
    assert machine.certificate_.upper <= float(above)
