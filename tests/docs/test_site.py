"""The site as it is built: every page, its search, nothing from outside."""

import re

import pytest
from tests.docs.test_made import DOCS, module

pytestmark = pytest.mark.long


def test_every_page_of_the_navigation_is_there_and_can_be_searched(site):
    found = (site / "search.json").read_text(encoding="utf-8")
    for page in module(DOCS / "made" / "readability.py").kinds():
        address = re.sub(r"(?:^|/)index$", "", page.removesuffix(".md"))
        assert (site / address / "index.html").exists(), page
        assert f'"{address}/' in found or not address, page


def test_no_page_loads_anything_from_outside(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r'<(?:script|img|iframe|link)\b[^>]*(?:src|href)="(https?:[^"]*)"', text
        )
        assert not loaded, page.relative_to(site)


def test_no_source_of_the_pages_is_published(site):
    assert not [path for path in site.rglob("*") if path.suffix in (".py", ".md")]
