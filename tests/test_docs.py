"""Every Python session in the README and the documentation is run; tables are whole."""

import doctest
from pathlib import Path

import pytest

from separatrix._compiled import is_interpreted
from tests.optional import module

pytestmark = pytest.mark.skipif(
    is_interpreted(), reason="the pages show figures of compiled runs, which round differently"
)

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONG_SESSIONS = (
    "figures.md", "lectures.md", "study.md", "diverged.md", "dual_coordinate.md", "004_module_6.md",
)  # fmt: skip


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.long] * (page.name in LONG_SESSIONS)) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_sessions_run(page):
    if page.name == "other_tools.md":
        module("skops", "make tools", "TOOLS")
    outcome = doctest.testfile(
        str(page),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert outcome.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_are_in_one_piece(page):
    """Rows behind an empty line are no rows of a table any more: they show as running text."""
    lines = ["", *page.read_text(encoding="utf-8").splitlines(), ""]
    for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
        if line.startswith("| ") and not before.strip():
            assert after.startswith(("|---", "|:--")), line
