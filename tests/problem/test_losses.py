import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.problem import losses

CODES = list(losses.CODES.items())
margins = st.floats(-30, 30, allow_nan=False)


def curvature(code, m):
    """The second derivative of the loss, 0 where the loss is piecewise linear."""
    if code == losses.SQUARED_HINGE:
        return 2.0 if m < 1.0 else 0.0
    if code == losses.LOGISTIC:
        small = math.exp(-abs(m))
        return small / (1.0 + small) ** 2
    return 1.0 if code == losses.SQUARED else 0.0


def conjugate(code, s):
    """The convex conjugate of the loss at the slope s: sup over m of s m - loss(m)."""
    if code == losses.SQUARED:
        return s + 0.5 * s * s
    if code == losses.SQUARED_HINGE:
        return s + 0.25 * s * s if s <= 0.0 else math.inf
    if not -1.0 <= s <= 0.0:
        return math.inf
    if code == losses.LOGISTIC:
        return sum(p * math.log(p) if p > 0.0 else 0.0 for p in (-s, 1.0 + s))
    return s if code == losses.HINGE else 0.0


@pytest.mark.parametrize(("name", "code"), CODES)
@given(m=margins)
def test_slope_is_the_derivative_of_the_value(name, code, m):
    if min(abs(m), abs(m - 1.0)) < 1e-3:
        return  # a kink has no derivative
    step = 1e-5
    difference = (losses.value(code, m + step) - losses.value(code, m - step)) / (2 * step)
    assert losses.slope(code, m) == pytest.approx(difference, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("name", "code"), CODES)
@given(m=margins)
def test_curvature_is_the_derivative_of_the_slope(name, code, m):
    if min(abs(m), abs(m - 1.0)) < 1e-3:
        return
    step = 1e-5
    difference = (losses.slope(code, m + step) - losses.slope(code, m - step)) / (2 * step)
    assert curvature(code, m) == pytest.approx(difference, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("name", "code"), CODES)
@given(m=margins, s=st.floats(-3, 3))
def test_conjugate_bounds_and_touches(name, code, m, s):
    """Fenchel-Young: loss(m) + conjugate(s) >= s m, with equality at the slope."""
    assert losses.value(code, m) + conjugate(code, s) >= s * m - 1e-9
    slope = losses.slope(code, m)
    touching = losses.value(code, m) + conjugate(code, slope)
    assert touching == pytest.approx(slope * m, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("m", [-800.0, 800.0, -1e300, 1e300])
def test_logistic_does_not_overflow(m):
    assert np.isfinite(losses.value(losses.LOGISTIC, m))
    assert -1.0 <= losses.slope(losses.LOGISTIC, m) <= 0.0
    assert 0.0 <= curvature(losses.LOGISTIC, m) <= 0.25
