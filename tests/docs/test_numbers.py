"""One case has one figure: what a page quotes of a benchmark is what the full table says.

A table is a quotation where another page says more about the same ``python -m benchmarks.NAME``.
Every figure in it must be there too, rounded or not. Its first column names the cases and is no
figure.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
COMMAND = re.compile(r"python -m (benchmarks\.\w+)")
NUMBER = re.compile(r"(?<![\w.^])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def numbers(text):
    """Give every number of a text as it stands, and its value."""
    for shown in NUMBER.findall(text):
        yield shown, float(shown.rstrip(",").replace(",", ""))


def sections(text):
    """Split a page at its headings."""
    return re.split(r"^##+ ", text, flags=re.MULTILINE)


def digits(shown):
    """Count the significant digits of a number as it stands."""
    plain = shown.split("e")[0].replace(",", "")
    whole = plain.replace(".", "").lstrip("0")
    return len(whole if "." in plain else whole.rstrip("0")) or 1


def rounds_to(value, shown):
    """Say whether a full figure is the one that is shown, to the digits shown."""
    return float(f"{value:.{digits(shown) - 1}e}") == float(shown.rstrip(",").replace(",", ""))


def tables(text):
    """Give every table with the paragraph before it, and its cells without the first column."""
    for block in re.finditer(r"([^\n]+(?:\n[^\n|]+)*)\n\n((?:\|.*\n)+)", text):
        rows = block[2].strip().split("\n")[2:]
        cells = [row.strip("|").split("|", 1)[1] for row in rows]
        yield block[1], cells


def quotations():
    """Give every table of the README that names its benchmark, but for its own one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for caption, cells in tables(text):
        if COMMAND.search(caption) and "benchmarks.all" not in caption:
            yield pytest.param(caption, cells, id=" ".join(COMMAND.findall(caption)))


@pytest.mark.parametrize(("caption", "cells"), list(quotations()))
def test_the_readme_has_the_figures_of_the_full_tables(caption, cells):
    names = set(COMMAND.findall(caption))
    full = [
        value
        for page in PAGES
        for section in sections(page.read_text(encoding="utf-8"))
        if names & set(COMMAND.findall(section))
        for _, value in numbers(section)
    ]
    assert full, f"no page has the table of {names}"
    for cell in cells:
        for shown, _ in numbers(cell):
            assert any(rounds_to(value, shown) for value in full), f"{shown} in {cell}"


def named_rows():
    """Give page, header, case and figures of every table under a benchmark's name."""
    for page in [ROOT / "README.md", *PAGES]:
        for section in sections(page.read_text(encoding="utf-8")):
            if COMMAND.search(section):
                for block in re.findall(r"(?:^\|.*\n)+", section, flags=re.MULTILINE):
                    header, _, *rows = block.strip().split("\n")
                    for row in rows:
                        case, _, figures = row.strip("|").partition("|")
                        yield page.name, (header, case.strip()), figures.strip()


def test_a_case_that_stands_on_two_pages_has_the_same_figures_on_both():
    first, shared = {}, 0
    for page, case, figures in named_rows():
        there, before = first.setdefault(case, (page, figures))
        if case[1] and there != page:
            shared += 1
            assert figures == before, f"{case[1]}: {page} and {there} differ"
    assert shared >= 9, "the README shows the table of starting times"


def test_figures_agree_to_the_digits_shown():
    assert rounds_to(516438.0, "516,000")
    assert rounds_to(0.253, "0.25")
    assert not rounds_to(0.26, "0.25")
    assert not rounds_to(517438.0, "516,000")
    assert [shown for shown, _ in numbers("0.32 / > 22.4 s, 15.58 %, C10")] == [
        "0.32",
        "22.4",
        "15.58",
    ]
