"""Every page of a method has the same parts, in words of its own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))
PARTS = (
    "What it solves",
    "How it works",
    "When to use it",
    "Cost",
    "Proof",
    "Implementation",
)
LECTURES = ("Chiariotti", "Linear predictors", "Hlaváč, Matas and Drbohlav", "Iocchi", "Module 6")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_has_every_part(page):
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert [part for part in PARTS if part in headings] == list(PARTS), "in this order"
    for part in PARTS[:-1]:
        body = text.split(f"\n## {part}\n", 1)[1].split("\n## ", 1)[0]
        assert len(body.split()) >= 15, f"{part}: too short to say anything"
    assert ">>> " in text, "a session"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_names_files_that_exist_and_its_lecture(page):
    closing = page.read_text(encoding="utf-8").split("\n## Implementation\n", 1)[1]
    named = re.findall(r"`((?:solvers|estimators|selection|problem|core)/[\w/]+\.py)`", closing)
    assert named, "the file that implements it"
    for path in named:
        assert (ROOT / "src" / "separatrix" / path).exists(), path
    lectures = re.search(r"^Lectures?: (.+?)(?:\n\n|\Z)", closing, re.MULTILINE | re.DOTALL)[1]
    assert any(name in " ".join(lectures.split()) for name in (*LECTURES, "none of the five"))


def test_every_page_opens_with_a_picture_of_its_own():
    """It stands before the first section, and no other method shows the same."""
    opening = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"!\[.+?\]\((\S+)\)", text)
        first = re.search(r"!\[.+?\]\((\S+)\)", text.split("\n## ", 1)[0])
        assert first, f"{page.stem} opens without a picture"
        for picture in shown:
            assert (page.parent / picture).exists(), picture
            assert opening.setdefault(picture, page.stem) == page.stem, picture
