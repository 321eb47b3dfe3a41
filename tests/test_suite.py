"""The suite itself: what a bare machine lacks is asked for in one place, and no skip is silent."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Not installed by `make run` and `make test`; each is brought by a command of the Makefile.
NOT_INSTALLED = {"torch", "liblinear", "libsvm", "vowpalwabbit"}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda p: str(p.relative_to(TESTS))
)
def test_what_is_optional_is_asked_for_in_one_place(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not NOT_INSTALLED & set(imported(tree)), "ask for it with tests/optional.py"
    if path.name != "optional.py":
        named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert "importorskip" not in named, "tests/optional.py names the command"


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("torch is not there: `make torch`", {"skipped": 1}),
        ("not today", {"failed": 1}),
    ],
)
def test_a_skip_names_the_command_that_brings_what_is_missing(pytester, reason, outcome):
    pytester.makeconftest((TESTS / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(f"import pytest\ndef test_it():\n    pytest.skip({reason!r})")
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(**outcome)


def test_a_module_skipped_in_silence_is_an_error(pytester):
    pytester.makeconftest((TESTS / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile("import pytest\npytest.skip('not today', allow_module_level=True)")
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(errors=1)
