"""Every Python session in the README and the documentation is run."""

import doctest
from pathlib import Path

import pytest

from separatrix._compiled import is_interpreted

pytestmark = pytest.mark.skipif(
    is_interpreted(), reason="the pages show figures of compiled runs, which round differently"
)

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sessions_run(page):
    outcome = doctest.testfile(
        str(page),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert outcome.failed == 0
