"""Every public estimator passes scikit-learn's checks with its defaults: none excused or skipped.

The estimators are found in the package, so that a new one cannot be forgotten. Other settings are
checked beside the tests of each estimator.
"""

from functools import cache
from inspect import isclass
from types import ModuleType

import pytest
from sklearn.base import BaseEstimator
from tests.estimator_checks import not_passed

import separatrix as sx
from separatrix._compiled import is_interpreted

# What has no default: the estimator to wrap.
REQUIRED = {"OneVsOne": "sx.LinearSVM()", "OneVsRest": "sx.LinearSVM()"}
# By default these make very many updates, or try many values of C: a process for each.
ALONE = {"LinearSVMCV", "LogisticRegressionCV", "Perceptron", "ZeroOne"}


def found_in(module, prefix=""):
    """Return the names of the estimators of a module and of the modules that it names."""
    names = []
    for name in module.__all__:
        value = getattr(module, name)
        if isclass(value) and issubclass(value, BaseEstimator):
            names.append(prefix + name)
        elif isinstance(value, ModuleType):
            names += found_in(value, f"{prefix}{name}.")
    return names


PUBLIC = found_in(sx)


def made(name):
    return f"{name}({REQUIRED.get(name, '')})"


@cache
def in_one_process():
    """All that are quick, since the process takes longer to start than most of them to check."""
    return not_passed(*(made(name) for name in PUBLIC if name not in ALONE))


def test_the_estimators_are_found():
    assert {"LinearSVM", "LinearSVMCV", "OneVsRest", "lift.Polynomial"} <= set(PUBLIC)
    assert ALONE | set(REQUIRED) <= set(PUBLIC)


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="the same check as compiled, a hundred times slower")
@pytest.mark.parametrize("name", PUBLIC)
def test_the_defaults_pass(name):
    outcome = not_passed(made(name)) if name in ALONE else in_one_process()
    assert outcome[made(name)] == []
