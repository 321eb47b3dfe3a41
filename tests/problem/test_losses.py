import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.problem import losses

CODES = list(losses.CODES.items())
margins = st.floats(-30, 30, allow_nan=False)


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
    assert losses.curvature(code, m) == pytest.approx(difference, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("name", "code"), CODES)
@given(m=margins, s=st.floats(-3, 3))
def test_conjugate_bounds_and_touches(name, code, m, s):
    """Fenchel-Young: loss(m) + conjugate(s) >= s m, with equality at the slope."""
    assert losses.value(code, m) + losses.conjugate(code, s) >= s * m - 1e-9
    slope = losses.slope(code, m)
    touching = losses.value(code, m) + losses.conjugate(code, slope)
    assert touching == pytest.approx(slope * m, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("m", [-800.0, 800.0, -1e300, 1e300])
def test_logistic_does_not_overflow(m):
    assert np.isfinite(losses.value(losses.LOGISTIC, m))
    assert -1.0 <= losses.slope(losses.LOGISTIC, m) <= 0.0
    assert 0.0 <= losses.curvature(losses.LOGISTIC, m) <= 0.25
