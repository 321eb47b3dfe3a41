"""The table from lecture to code has no empty cell, and nothing it names is missing."""

import re
from pathlib import Path

import pytest
from tests.optional import lecture_file

import separatrix as sx

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "lectures.md").read_text(encoding="utf-8")
PARTS = re.split(r"^## Lecture (\d+)\n", PAGE.split("## The sessions")[0], flags=re.MULTILINE)
TABLES = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
HOMES = ("src/separatrix", "")


def rows(table):
    lines = [line for line in table.split("\n") if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


ROWS = [(lecture, row) for lecture, table in TABLES.items() for row in rows(table)]


def test_all_five_are_there():
    assert sorted(TABLES) == ["000", "001", "002", "003", "004"]
    assert len(ROWS) > 150


@pytest.mark.parametrize(
    ("lecture", "row"), ROWS, ids=[f"{lecture}-{row[0][:40]}" for lecture, row in ROWS]
)
def test_no_cell_is_empty_and_what_is_named_exists(lecture, row):
    assert len(row) == 4
    assert all(row)
    _, _, where, session = row
    assert re.search(r"`|out of scope: \w", where) or "scikit-learn" in where, where
    for dotted in re.findall(r"`sx\.([\w.]+)`", where):
        value = sx
        for name in dotted.split("."):
            value = getattr(value, name)
    for path in re.findall(r"`([\w/]+\.(?:py|md|svg))`", where):
        assert any((ROOT / home / path).exists() for home in HOMES), path
    heading, anchor = re.fullmatch(r"\[([^\]]+)\]\(#([\w-]+)\)", session).groups()
    blocks = {slug(title): body for title, body in SESSIONS}
    assert ">>>" in blocks[anchor], f"no session under {heading!r}"


def slug(title):
    return re.sub(r"[^\w\s-]", "", title).strip().lower().replace(" ", "-")


SESSIONS = re.findall(r"^### (.+)\n([\s\S]*?)(?=^##|\Z)", PAGE, flags=re.MULTILINE)


def test_every_slip_is_listed_once_and_checked():
    marked = {int(n) for n in re.findall(r"\(slips? (\d+)", PAGE.split("## The sessions")[0])}
    table, checks = PAGE.split("## Slips in the lectures")[1].split("### Slips 1 to", 1)
    listed = [int(n) for n in re.findall(r"^\| (\d+) \|", table, flags=re.MULTILINE)]
    assert listed == list(range(1, len(listed) + 1))
    assert marked <= set(listed)
    for number in listed:
        assert re.search(rf"#.*\b{number}\b|Slip {number}, checked", checks), number


@pytest.mark.parametrize("lecture", sorted(TABLES))
def test_the_sections_stand_in_the_lecture_in_this_order(lecture):
    """Of slides by their titles, of notes by their numbers, wherever the lectures are at hand."""
    path = lecture_file(lecture)
    lines = [line.strip().lstrip("# ") for line in path.read_text(encoding="utf-8").split("\n")]
    if lecture == "004":
        contents = lines[: lines.index("1 Introduction to Linear Classification")]
        numbers = [m[1] for m in map(re.compile(r"(\d+\.\d+)\t.*\t\d+$").match, contents) if m]
        assert len(numbers) > 40
        assert [row[0].split(" ")[0] for row in rows(TABLES[lecture])] == numbers
        return
    at = 0
    for section, *_ in rows(TABLES[lecture]):
        title = re.sub(r"(: .*|, \(.*|, Example.*)$", "", section) if lecture == "003" else section
        title = re.split(r", \(\d", title)[0]
        found = [k for k, line in enumerate(lines) if k >= at and title in line]
        if lecture == "001" and not found:
            continue  # an equation or a remark: named by its number or by its matter
        assert found, f"{section!r} is not in lecture {lecture} after line {at}"
        at = found[0]


@pytest.mark.parametrize("lecture", ["000", "002", "003"])
def test_every_slide_that_goes_on_is_listed(lecture):
    """What stands alone between empty lines more than once is the title of slides that go on."""
    path = lecture_file(lecture)
    text = path.read_text(encoding="utf-8")
    listed = [row[0] for row in rows(TABLES[lecture])]
    titles = re.findall(r"\n\n([A-ZεO][\w' ():/\-–,.ε\\{}^]{5,70})\n\n", text)
    titles = [title for title in titles if not title.endswith((".", ":", ","))]
    repeated = {title for title in titles if titles.count(title) > 1} - {"Update of weights w"}
    missing = [t for t in repeated if not any(t.split(", Iter")[0] in row for row in listed)]
    assert not missing
