"""scikit-learn's checks over every estimator with its parameters varied: see `configurations`.

Failures are those that a parameter forbids, each with its reason, and no others.
"""

import pytest
from tests.amounts import COMPILED_ONLY
from tests.estimator_checks import outcomes_of
from tests.estimators.configurations import CONFIGURATIONS, FORBIDDEN, forbidden

EVERY = [made for group in CONFIGURATIONS.values() for made in group]


def test_there_are_ninety_and_each_is_there_once():
    assert len(EVERY) == len(set(EVERY)) >= 90
    names = {made.split("(")[0] for made in EVERY}
    assert {key for key in FORBIDDEN if "(" in key} <= set(EVERY)
    assert {key for key in FORBIDDEN if "(" not in key} <= names
    assert all(why.strip() for reasons in FORBIDDEN.values() for why in reasons.values())


@pytest.mark.long
@pytest.mark.apart
@COMPILED_ONLY
@pytest.mark.parametrize("group", CONFIGURATIONS)
def test_failures_are_those_that_a_parameter_forbids(group):
    found = outcomes_of(*CONFIGURATIONS[group])
    for made, failed in found.items():
        names = {one.split(":")[0] for one in failed}
        assert names == set(forbidden(made)), (made, failed)
