"""Every public estimator passes scikit-learn's checks with its defaults: none excused or skipped.

The estimators are found in the package, so that a new one cannot be forgotten. Other settings are
those of `configurations`.
"""

from inspect import isclass
from types import ModuleType

import pytest
from sklearn.base import BaseEstimator
from tests.amounts import COMPILED_ONLY
from tests.estimator_checks import assert_nothing_to_excuse

import separatrix as sx

# What has no default: the estimator to wrap. And smaller budgets: on rows that overlap a million
# updates, each with a pass for the pocket, take minutes, and so do a hundred whole paths over C.
REQUIRED = {
    "LinearSVMCV": "Cs=[0.1, 1.0], cv=2, refine=False",
    "LogisticRegressionCV": "Cs=[0.1, 1.0], cv=2, refine=False",
    "OneVsOne": "sx.LinearSVM()",
    "OneVsRest": "sx.LinearSVM()",
    "Perceptron": "max_updates=50_000",
}
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


def test_the_estimators_are_found():
    assert {"LinearSVM", "LinearSVMCV", "OneVsRest", "lift.Polynomial"} <= set(PUBLIC)
    assert ALONE | set(REQUIRED) <= set(PUBLIC)


@pytest.mark.long
@COMPILED_ONLY
@pytest.mark.parametrize("name", sorted(ALONE))
def test_the_defaults_pass(name):
    assert_nothing_to_excuse(made(name))


@pytest.mark.long
@COMPILED_ONLY
def test_the_defaults_of_all_others_pass():
    """In one process: it takes longer to start than most of them to check."""
    assert_nothing_to_excuse(*(made(name) for name in PUBLIC if name not in ALONE))
