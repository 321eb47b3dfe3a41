"""Settings for every test: how many examples, which tests are long, and which skips are allowed."""

import os
import re
from pathlib import Path

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


def passed_before():
    """The file of the tests that need not run again, named by TESTS_PASSED, or None."""
    name = os.environ.get("TESTS_PASSED")
    return Path(name) if name else None


def pytest_configure(config):
    file = passed_before()
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NotePassed(file))


class NotePassed:
    """Write the names of the tests that pass to a file, at the end."""

    def __init__(self, file):
        self.file = file
        self.names = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.names.append(report.nodeid)

    def pytest_sessionfinish(self):
        with self.file.open("a", encoding="utf-8") as stream:
            stream.writelines(f"{name}\n" for name in self.names)


def pytest_collection_modifyitems(config, items):
    file = passed_before()
    if file and file.exists():
        names = set(file.read_text(encoding="utf-8").splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in names])
        items[:] = [item for item in items if item.nodeid not in names]
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
