"""The suite's own settings: silent skips fail, and a test that passed need not run again."""

from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
TESTS = """
import pytest

def test_passes():
    pass

@pytest.mark.skipif({without}, reason="{reason}")
def test_needs_something():
    pass
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    for name in ("TESTS_PASSED", "COVERAGE_FILE"):  # of the tests that are running
        monkeypatch.delenv(name, raising=False)
    pytester.makeini("[pytest]")
    pytester.makeconftest(CONFTEST)

    def run(without, reason):
        pytester.makepyfile(test_drawn=TESTS.format(without=without, reason=reason))
        return pytester.runpytest_subprocess("-p", "no:cacheprovider")

    return run


@pytest.mark.long
def test_what_passed_is_not_run_again(suite, monkeypatch, tmp_path):
    monkeypatch.setenv("TESTS_PASSED", str(tmp_path / "passed"))
    suite(without=True, reason="`make it` brings it").assert_outcomes(passed=1, skipped=1)
    suite(without=False, reason="it is here").assert_outcomes(passed=1, deselected=1)
    suite(without=False, reason="it is here").assert_outcomes(deselected=2)


@pytest.mark.long
def test_without_the_file_everything_runs(suite):
    for _ in range(2):
        suite(without=False, reason="it is here").assert_outcomes(passed=2)


def test_a_skip_names_its_remedy(suite):
    suite(without=True, reason="not today").assert_outcomes(passed=1, errors=1)


MEASURED = """
import doctest

def test_a_session_that_compiles():
    session = ">>> from numba import njit; njit(lambda x: x)(1)\\n1"
    test = doctest.DocTestParser().get_doctest(session, {}, "session", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0

def test_after_it():
    import judged
    assert judged.double(2) == 4
"""


def test_what_follows_a_session_that_compiles_is_measured(suite, pytester):
    pytester.makepyfile(judged="def double(x):\n    return 2 * x", test_measured=MEASURED)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--cov=judged")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["judged.py * 100%"])
