import subprocess
import sys
from fractions import Fraction
from math import comb, e, log, log2, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

import separatrix as sx
from separatrix.estimators.separability import cover_count
from separatrix.plots.curves import save_structural_risk

COUNTS = st.integers(1, 10**6)


@given(n=COUNTS, h=st.integers(1, 1000), confidence=st.floats(0.01, 0.999), share=st.floats(0, 1))
def test_vapniks_inequality_as_written(n, h, confidence, share):
    errors = int(share * n)
    bound = sx.bounds.vc(errors, n, h, confidence)
    if h < 2 * n:
        term = sqrt((h * (log(2 * n / h) + 1) - log((1 - confidence) / 4)) / n)
        assert bound.structural == pytest.approx(term, rel=1e-12)
    else:
        assert bound.is_vacuous
    assert bound.value == pytest.approx(errors / n + bound.structural, rel=1e-15)
    assert bound.is_vacuous == (bound.value >= 1)
    assert ("says nothing" in str(bound)) == bound.is_vacuous
    assert sx.bounds.vc(errors, n, h, confidence, strict=True).value == pytest.approx(
        bound.value + 1 / n
    )
    assert all(assumption in str(bound) for assumption in bound.assumptions)


@given(n=st.integers(1, 3000), h=st.integers(1, 60))
def test_the_capacity_term_covers_the_number_of_labelings(n, h):
    """h (ln(2 n / h) + 1) is at least the logarithm of Cover's count for 2 n points."""
    term = sx.bounds.vc(0, n, h, confidence=0.5).structural ** 2 * n + log(0.5 / 4)
    assert term >= log(cover_count(2 * n, h)) - 1e-9 * n


@given(n=COUNTS, h=st.integers(1, 500))
def test_more_rows_help_and_more_capacity_hurts(n, h):
    here = sx.bounds.vc(0, n, h).value
    assert sx.bounds.vc(0, 2 * n, h).value < here
    assert sx.bounds.vc(0, n, h + 1).value >= here
    sharp = sx.bounds.consistent(n, h).value
    assert sx.bounds.consistent(2 * n, h).value < sharp
    assert sx.bounds.consistent(n, h + 1).value >= sharp
    assert sharp >= 8 / n


@given(h=st.integers(1, 200), error=st.floats(0.005, 2.0), confidence=st.floats(0.01, 0.999))
def test_the_sample_size_is_the_least_that_is_enough(h, error, confidence):
    size = sx.bounds.sample_size(h, error, confidence).value
    assert sx.bounds.vc(0, size, h, confidence).value <= error
    if size > 1:
        assert sx.bounds.vc(0, size - 1, h, confidence).value > error
    lucky = sx.bounds.sample_size(h, error, confidence, consistent=True).value
    assert sx.bounds.consistent(lucky, h, confidence).value <= error
    if lucky > 1:
        assert sx.bounds.consistent(lucky - 1, h, confidence).value > error


def test_the_consistent_bound_as_written():
    expected = 2 * (3 * log2(2 * e * 1000 / 3) + log2(2 / 0.05)) / 1000
    assert sx.bounds.consistent(1000, 3).value == pytest.approx(expected, rel=1e-12)


def test_capacities_of_the_lecture():
    assert sx.bounds.halfspace_dimension(2) == 3
    assert sx.bounds.halfspace_dimension(2, intercept=False) == 2
    assert sx.bounds.margin_capacity(2.0, 1.0) == 5
    assert sx.bounds.margin_capacity(2.0, 1.0, features=3) == 4
    # The quotient is exact: in floats, 0.3 / 0.1 squared is a little below 9.
    assert sx.bounds.margin_capacity(0.3, 0.1) == int((Fraction(0.3) / Fraction(0.1)) ** 2) + 1
    assert sx.bounds.margin(2, 500, 2.0, 1.0).value == sx.bounds.vc(2, 500, 5).value


@given(n=st.integers(1, 400), share=st.floats(0, 1), confidence=st.floats(0.5, 0.999))
def test_the_binomial_interval_against_beta_quantiles(n, share, confidence):
    errors, tail = int(share * n), (1 - confidence) / 2
    interval = sx.bounds.binomial(errors, n, confidence)
    lower = beta.ppf(tail, errors, n - errors + 1) if errors else 0.0
    upper = beta.ppf(1 - tail, errors + 1, n - errors) if errors < n else 1.0
    assert interval.lower == pytest.approx(lower, rel=1e-8)
    assert interval.upper == pytest.approx(upper, rel=1e-8)
    assert interval.lower <= interval.rate <= interval.upper


@given(n=st.integers(1, 40), share=st.floats(0, 1))
def test_the_ends_have_the_tails_they_should(n, share):
    """By the definition, in fractions: P(X >= k | lower) = P(X <= k | upper) = 2.5 %."""
    errors = int(share * n)
    interval = sx.bounds.binomial(errors, n)

    def probability(values, p):
        p = Fraction(p)
        return float(sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in values))

    if errors:
        assert probability(range(errors, n + 1), interval.lower) == pytest.approx(0.025, rel=1e-9)
    if errors < n:
        assert probability(range(errors + 1), interval.upper) == pytest.approx(0.025, rel=1e-9)


def test_the_interval_covers_at_least_as_often_as_it_says():
    n = 30
    intervals = [sx.bounds.binomial(k, n, 0.9) for k in range(n + 1)]
    for p in np.linspace(0.001, 0.999, 199):
        covered = [k for k, i in enumerate(intervals) if i.lower <= p <= i.upper]
        assert binom.pmf(covered, n, p).sum() >= 0.9


def test_structural_risk_shares_the_confidence_and_takes_the_least():
    classes = [("a", 3, 180), ("b", 6, 20), ("c", 10, 18)]
    risk = sx.bounds.structural_risk(classes, 1000, confidence=0.9)
    for (name, h, errors), bound in zip(classes, risk.bounds, strict=True):
        alone = sx.bounds.vc(errors, 1000, h, 1 - 0.1 / 3)
        assert (bound.name, bound.value) == (name, alone.value)
    assert risk.chosen.name == "b"
    assert [row["chosen"] for row in risk.table()] == [False, True, False]
    assert "<- least" in str(risk)
    hopeless = sx.bounds.structural_risk([("a", 30, 0), ("b", 60, 0)], 20)
    assert hopeless.is_vacuous
    assert "they say nothing" in str(hopeless)


def test_the_curve_is_drawn(tmp_path):
    for name, n in (("good", 1000), ("hopeless", 20)):
        risk = sx.bounds.structural_risk([("cost in $", 3, 10), ("<b>", 6, 2)], n)
        save_structural_risk(risk, tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sx.bounds.vc(5, 4, 1), "errors must be at most n = 4"),
        (lambda: sx.bounds.vc(-1, 4, 1), "errors must be a whole number, 0 or more"),
        (lambda: sx.bounds.vc(0.5, 4, 1), "errors must be a whole number"),
        (lambda: sx.bounds.vc(0, 0, 1), "n must be a whole number, 1 or more"),
        (lambda: sx.bounds.vc(0, 4, 0), "capacity"),
        (lambda: sx.bounds.vc(0, 4, True), "capacity"),
        (lambda: sx.bounds.vc(0, 4, 1, 1.0), "confidence must lie between 0 and 1"),
        (lambda: sx.bounds.vc(0, 4, 1, "high"), "confidence"),
        (lambda: sx.bounds.margin(0, 4, 0.0, 1.0), "radius"),
        (lambda: sx.bounds.margin(0, 4, 1.0, float("nan")), "margin"),
        (lambda: sx.bounds.sample_size(3, 0.0), "error must be a number above 0"),
        (lambda: sx.bounds.sample_size(3, 1e-12), "would need more than"),
        (lambda: sx.bounds.structural_risk([], 10), "at least one class"),
        (lambda: sx.bounds.structural_risk([("a", 5, 0), ("b", 4, 0)], 10), "nested"),
        (lambda: sx.bounds.halfspace_dimension(0), "features"),
        (lambda: sx.bounds.binomial(3, 2), "at most n"),
    ],
)
def test_bad_numbers_get_one_clear_error(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_numpy_numbers_are_numbers():
    assert sx.bounds.vc(np.int64(3), np.int32(1000), np.int64(3)).value == pytest.approx(
        0.16702, 1e-3
    )


def test_bounds_cost_no_heavy_import():
    script = (
        "import sys, separatrix as sx; sx.bounds.vc(1, 9, 2); "
        "assert not {'numba', 'scipy', 'sklearn', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
