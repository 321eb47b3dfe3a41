"""What a class takes is told of estimators and of plain models alike."""

import pytest

import separatrix as sx
from separatrix.core import models
from separatrix.core.models import settings_of, shown

NAMES = ["LinearSVM", "LinearSVMCV", "LogisticRegression", "LogisticRegressionCV"]


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_the_parameters_of_the_estimator(name):
    estimator = getattr(sx, name)(tol=0.5)
    assert list(settings_of(estimator).items()) == list(estimator.get_params().items())
    plain = getattr(models, name)(**settings_of(estimator))
    assert settings_of(plain) == settings_of(estimator)
    assert shown(plain) == shown(estimator) == repr(estimator) == f"{name}(tol=0.5)"
