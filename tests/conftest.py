"""Settings for every test: how many examples, which tests are long, and which skips are allowed."""

import re

import pytest
from hypothesis import settings

from separatrix._compiled import is_interpreted
from tests.amounts import AMOUNT

# The first call of a loop compiles it: no deadline can be fair.
settings.register_profile(
    "separatrix",
    deadline=None,
    derandomize=True,
    max_examples=25 if is_interpreted() else {"few": 25, "many": 80, "all": 150}[AMOUNT],
)
settings.load_profile("separatrix")

# A command in backquotes: what brings the missing thing.
NAMED_COMMAND = re.compile("`[^`]+`")


def refuse_silence(report):
    """Turn a skip that does not name the command that would undo it into a failure."""
    if not report.skipped or hasattr(report, "wasxfail") or is_interpreted():
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not NAMED_COMMAND.search(reason):
        report.outcome = "failed"
        report.longrepr = f"{reason}\nA skip must name the command that brings what is missing."


def pytest_collection_modifyitems(items):
    for item in items:
        test = getattr(item, "obj", None)
        code = getattr(test, "__code__", None)
        if getattr(test, "is_hypothesis_test", False) or (code and "cases" in code.co_names):
            item.add_marker("many")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    refuse_silence(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    refuse_silence(report)
    return report
