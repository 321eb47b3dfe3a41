"""sx.losses against the compiled losses of the solvers, and against their own differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.problem import losses

MARGINS = np.array([-1000.0, -3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5, 7.0, 1000.0])


@pytest.mark.parametrize("name", list(losses.CODES))
def test_values_and_slopes_are_those_of_the_solvers(name):
    code = losses.CODES[name]
    ours = getattr(sx.losses, name)(MARGINS)
    assert_allclose(ours, [losses.value(code, m) for m in MARGINS], rtol=1e-14)
    slopes = [losses.slope(code, m) for m in MARGINS]
    assert_allclose(sx.losses.slope(name, MARGINS), slopes, rtol=1e-14)


@pytest.mark.parametrize("name", [name for name in sx.losses.__all__ if name != "slope"])
def test_slopes_are_differences_where_there_is_no_kink(name):
    m = np.array([-2.3, -0.7, 0.4, 0.9, 2.2])
    loss = getattr(sx.losses, name)
    numeric = (loss(m + 1e-6) - loss(m - 1e-6)) / 2e-6
    assert_allclose(sx.losses.slope(name, m), numeric, atol=1e-8)


def test_numbers_nan_and_unknown_names():
    assert float(sx.losses.hinge(0.25)) == 0.75
    for name in sx.losses.__all__:
        if name != "slope":
            assert np.isnan(getattr(sx.losses, name)([np.nan])).all()
    with pytest.raises(ValueError, match="loss must be one of"):
        sx.losses.slope("huber", 0.0)
