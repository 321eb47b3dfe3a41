"""Every page of a method has the same parts, in words of its own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))
PARTS = (
    "The problem",
    "The rule",
    "The guarantee",
    "The certificate",
    "Cost",
    "When it fails",
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_has_every_part(page):
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert [part for part in PARTS if part in headings] == list(PARTS), "in this order"
    for part in PARTS:
        body = text.split(f"\n## {part}\n", 1)[1].split("\n## ", 1)[0]
        assert len(body.split()) >= 15, f"{part}: too short to say anything"
    assert re.search(r"!\[.+\]\(|sx\.replay\(", text), "a picture or a replay"
    assert ">>> " in text, "a session"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_names_files_that_exist_and_its_lecture(page):
    opening = page.read_text(encoding="utf-8").split("\n## ", 1)[0]
    named = re.findall(r"`((?:solvers|estimators|selection|problem|core)/[\w/]+\.py)`", opening)
    assert named, "the file that implements it"
    for path in named:
        assert (ROOT / "src" / "separatrix" / path).exists(), path
    assert re.search(r"[Ll]ectures? (?:00\d|none)", opening), "the lecture's section"
