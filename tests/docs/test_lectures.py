"""The table from lecture to code has no empty cell, and nothing it names is missing."""

import inspect
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from tests.optional import lecture_file

import separatrix as sx
from separatrix.checker.kinds import CLAIMS
from separatrix.problem import losses
from separatrix.solvers.running.drive import Frame

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "lectures.md").read_text(encoding="utf-8")
PAGES = sorted((DOCS / "lectures").glob("*.md"))
MANUAL = (DOCS / "separatrix.1").read_text(encoding="utf-8")
PARTS = re.split(r"^## (\d{3}): .+\n", PAGE.split("## The sessions")[0], flags=re.MULTILINE)
TABLES = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
HOMES = ("src/separatrix", "")


def rows(table):
    lines = [line for line in table.split("\n") if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


ROWS = [(lecture, row) for lecture, table in TABLES.items() for row in rows(table)]


def test_all_five_are_there():
    assert sorted(TABLES) == ["000", "001", "002", "003", "004"]
    assert len(ROWS) > 170


@pytest.mark.parametrize(
    ("lecture", "row"), ROWS, ids=[f"{lecture}-{row[0][:40]}" for lecture, row in ROWS]
)
def test_no_cell_is_empty_and_what_is_named_exists(lecture, row):
    assert len(row) == 4
    assert all(row)
    _, _, where, session = row
    assert re.search(r"`|out of scope: \w", where) or "scikit-learn" in where, where
    for token in re.findall(r"`([^`]+)`", where):
        assert exists(token), token
    for page, title in re.findall(r'`docs/([\w/]+\.md)`, "([^"]+)"', where):
        assert slug(title) in anchors_of(ROOT / "docs" / page), title
    heading, anchor = re.fullmatch(r"\[([^\]]+)\]\(#([\w-]+)\)", session).groups()
    blocks = {slug(title): body for title, body in SESSIONS}
    assert ">>>" in blocks[anchor], f"no session under {heading!r}"


def text_of(lecture):
    text = lecture_file(lecture).read_text(encoding="utf-8")
    return text.replace(r"\mathbb{R}^2", "the plane")


def exists(token):
    """Whether a name of the table is one: of a file, a command, an option, or in the library."""
    if token.startswith("sx."):
        value = sx
        for name in re.sub(r"\(.*?\)", "", token).split(".")[1:]:
            value = getattr(value, name, None)
        return value is not None
    if re.fullmatch(r"[\w/]+\.(py|md|svg)", token):
        return any((ROOT / home / token).exists() for home in HOMES)
    if token.startswith("separatrix "):
        return f".SS {token} ".replace("-", r"\-") in MANUAL
    if option := re.search(r"--[\w-]+", token):
        return option[0].replace("-", r"\-") in MANUAL
    return re.match(r"\w+", token)[0] in names_of_the_library()


@cache
def names_of_the_library():
    """Parameters, methods and documented attributes of what is public; losses and certificates."""
    found = {"sx", "separatrix", "make_pipeline"} | set(CLAIMS)
    found |= set(dir(sx.LinearSVM().fit(*sx.lectures.five_points())))
    found |= {name for name in vars(losses) if name.isupper()}
    for name in sx.__all__:
        value = getattr(sx, name)
        parts = [value, *(getattr(value, each) for each in getattr(value, "__all__", []))]
        for part in parts + [sx.bounds.vc(1, 100, 3), Frame]:
            kind = part if isinstance(part, type) else type(part)
            found |= set(dir(kind)) | set(getattr(kind, "__dataclass_fields__", {}))
            if callable(part):
                with suppress(TypeError, ValueError):
                    found |= set(inspect.signature(part).parameters)
            for line in re.findall(r"^([\w, ]+) : ", inspect.getdoc(part) or "", re.MULTILINE):
                found |= {each.strip() for each in line.split(",")}
    return found


@pytest.mark.parametrize(
    "token", ["sx.Perceptrom", "solvers/none.py", "separatrix teach", "--no-option", "slacks_"]
)
def test_a_name_that_does_not_exist_is_found_out(token):
    assert not exists(token)


@pytest.mark.parametrize("page", [DOCS / "lectures.md", *PAGES], ids=lambda page: page.stem)
def test_links_lead_to_headings(page):
    links = re.findall(r"\]\(([\w./]*)#([\w-]+)\)", page.read_text(encoding="utf-8"))
    assert links
    for target, anchor in links:
        there = (page.parent / target).resolve() if target else page
        assert anchor in anchors_of(there), f"{target}#{anchor}"


@cache
def anchors_of(page):
    text = re.sub(r"^```[\s\S]*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {slug(title) for title in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}


def test_no_lecture_is_named_by_its_file():
    for page in [DOCS / "lectures.md", *PAGES]:
        assert not re.search(r"00\d_[0-9a-f]{16}", page.read_text(encoding="utf-8"))


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
    text = text_of(lecture)
    lines = [line.strip().lstrip("# ") for line in text.split("\n")]
    if lecture == "004":
        contents = lines[: lines.index("1 Introduction to Linear Classification")]
        numbers = [m[1] for m in map(re.compile(r"(\d+\.\d+)\t.*\t\d+$").match, contents) if m]
        assert len(numbers) > 40
        sections = [row[0].split(" ")[0] for row in rows(TABLES[lecture])]
        assert [each for each in sections if each != "Figure"] == numbers
        figures = [row[0] for row in rows(TABLES[lecture]) if row[0].startswith("Figure")]
        assert figures == [f"Figure {k}" for k in range(1, 11)]
        at = 0
        for section, *_ in rows(TABLES[lecture]):
            start = section + ":" if section.startswith("Figure") else section
            after = [k for k in range(max(at, len(contents)), len(lines)) if start in lines[k]]
            assert after, f"{section!r} is not in its place"
            at = after[0]
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
    text = text_of(lecture)
    listed = [row[0] for row in rows(TABLES[lecture])]
    titles = re.findall(r"\n\n([A-ZεO][\w' ():/\-–,.ε\\{}^]{5,70})\n\n", text)
    titles = [title for title in titles if not title.endswith((".", ":", ","))]
    repeated = {title for title in titles if titles.count(title) > 1} - {"Update of weights w"}
    missing = [t for t in repeated if not any(t.split(", Iter")[0] in row for row in listed)]
    assert not missing
