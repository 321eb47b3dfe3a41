"""Settings for every test: how many examples, which tests are long, and which skips are allowed."""

import os
import re
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import settings

from separatrix._compiled import is_interpreted
from tests.amounts import AMOUNT, COMPILED_ONLY

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


def measured_without_compiling():
    """Return a plugin that measures no coverage while numba compiles, which it slows by half."""
    from numba.core import event

    from coverage import Coverage

    def is_measuring():
        return "coverage" in type(sys.gettrace()).__module__

    class Unmeasured(event.Listener):
        depth = 0
        stopped = None

        def on_start(self, event):
            if threading.current_thread() is threading.main_thread():
                self.depth += 1
                # Hypothesis traces too, in tests that are not measured.
                if self.depth == 1 and is_measuring():
                    self.stopped = Coverage.current()
                    self.stopped.stop()

        def on_end(self, event):
            if threading.current_thread() is threading.main_thread():
                self.depth -= 1
                if self.depth == 0 and self.stopped is not None:
                    self.stopped.start()
                    self.stopped = None

        def pytest_runtest_setup(self):
            # A doctest ends with the tracer that it began with. Once numba compiled, it is stopped.
            measuring = Coverage.current()
            if measuring is not None and not is_measuring():
                measuring.stop()
                measuring.start()

    unmeasured = Unmeasured()
    event.register("numba:compile", unmeasured)
    return unmeasured


def pytest_configure(config):
    if config.getoption("--cov", None) and not is_interpreted():
        config.pluginmanager.register(measured_without_compiling())
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
        if not is_interpreted() and (is_run_uncompiled(item) or generates_problems(item)):
            item.add_marker("no_cover")


def is_run_uncompiled(item):
    """Whether `make test-interpreted`, which is measured, has this test too."""
    folders = ("tests/solvers/", "tests/problem/", "tests/data/", "tests/properties/")
    is_skipped = COMPILED_ONLY.mark in item.iter_markers("skipif")
    return item.nodeid.startswith(folders) and not is_skipped


def generates_problems(item):
    """Whether a test makes many problems of a kind, and others reach the same lines sooner."""
    if item.nodeid.startswith(("tests/checker/", "tests/storage/")):
        return False  # what reads and judges files is measured in every test of it
    test = getattr(item, "obj", None)
    code = getattr(test, "__code__", None)
    return getattr(test, "is_hypothesis_test", False) or "cases" in getattr(code, "co_names", ())


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
