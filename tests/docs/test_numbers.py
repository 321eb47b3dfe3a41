"""One case has one figure: tables are pulled from `benchmarks/kept`, and prose quotes them."""

import json
import re

import pytest
from tests.docs.test_made import DOCS, ROOT, module

figures = module(DOCS / "made" / "figures.py")
PAGES = figures.PAGES
KEPT = figures.kept()
COMMAND = re.compile(r"python -m benchmarks\.(\w+)")
# A figure of prose: a number with the unit of a measurement.
FIGURE = re.compile(r"(?<![\w.^])(\d[\d,]*(?:\.\d+)?)(?= ?(?:x\b(?! \d)|s\b|ms\b|MB/s|%))")
# Tables beside the name of a benchmark that hold no figures of it.
OTHERS = (
    "| case | ours, proved | peer | ratio |",  # `benchmarks.all --write` itself writes it
    "| command | what |",
    "| field | what |",
    "| value | the coefficient |",
    "| `shrinkage` |",
    "| test | command | reached | outcome |",  # of the long runs, most of them in fuzz/
)


def sections(text):
    """Split a page at its headings."""
    return re.split(r"^##+ ", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_tables_of_a_page_are_those_kept(page):
    text = page.read_text(encoding="utf-8")
    assert text == figures.current(text), "run `python docs/made/figures.py`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_table_of_a_benchmark_is_written_by_hand(page):
    for section in sections(figures.MARK.sub("", page.read_text(encoding="utf-8"))):
        if COMMAND.search(section):
            for head in re.findall(r"^(\|.*)\n\|[-:|]+\|$", section, flags=re.MULTILINE):
                assert head.startswith(OTHERS), f"{head}: keep it in benchmarks/kept"


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_is_whole_and_shown(name):
    one = KEPT[name]
    assert one["command"] == f"python -m benchmarks.{name}"
    assert (ROOT / "benchmarks" / f"{name}.py").exists()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["measured"])
    assert one["machine"]
    assert one["commit"]
    assert (figures.KEPT / f"{name}.json").read_text(encoding="utf-8") == figures.written(one)
    asked = [found[1] for page in PAGES for found in figures.MARK.finditer(page.read_text("utf-8"))]
    for key, table in one["tables"].items():
        assert {len(row) for row in [*table["rows"], table["align"]]} == {len(table["columns"])}
        assert {name, f"{name} {key}"} & set(asked), f"no page shows {key}"


def named_rows():
    """Give page, header, case and figures of every row of every table of figures."""
    for page in PAGES:
        for found in figures.MARK.finditer(page.read_text(encoding="utf-8")):
            header, _, *rows = found[2].strip().split("\n")
            for row in rows:
                cells = [cell.strip() for cell in row.strip("|").split("|")]
                words = 2 if re.match(r"\| (data|rows) \| (model|loss) \|", header) else 1
                yield page.name, (header, *cells[:words]), cells[words:]


def test_a_case_that_stands_on_two_pages_has_the_same_figures_on_both():
    first, shared = {}, 0
    for page, case, shown in named_rows():
        there, before = first.setdefault(case, (page, shown))
        if there != page:
            shared += 1
            assert shown == before, f"{case}: {page} and {there} differ"
    assert shared >= 20, "the README quotes the tables"


def digits(shown):
    """Count the significant digits of a number as it stands."""
    plain = shown.replace(",", "")
    whole = plain.replace(".", "").lstrip("0")
    return len(whole if "." in plain else whole.rstrip("0")) or 1


def rounds_to(value, shown):
    """Say whether a full figure is the one that is shown, to the digits shown."""
    return float(f"{value:.{digits(shown) - 1}e}") == float(shown.replace(",", ""))


def quotations():
    """Return every paragraph of the two overviews that quotes a benchmark of another place."""
    found = []
    for page in (ROOT / "README.md", DOCS / "benchmarks.md"):
        for section in sections(figures.MARK.sub("", page.read_text(encoding="utf-8"))):
            for paragraph in re.split(r"\n\n+", section):
                names = [name for name in COMMAND.findall(paragraph) if name in KEPT]
                if names and not paragraph.rstrip().endswith(":"):
                    found.append(pytest.param(paragraph, names, id=" ".join(names)))
    return found


@pytest.mark.parametrize(("paragraph", "names"), quotations())
def test_prose_quotes_the_figures_that_are_kept(paragraph, names):
    tables = json.dumps([KEPT[name]["tables"] for name in names])
    full = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\.?\d*", tables)]
    for shown in FIGURE.findall(paragraph):
        assert any(rounds_to(value, shown) for value in full), f"{shown} in {paragraph}"


def test_what_a_benchmark_prints_is_taken(tmp_path, monkeypatch):
    one = {"measured": "", "commit": "", "tables": {"a": {"columns": ["x", "y"], "rows": []}}}
    (tmp_path / "some.json").write_text(json.dumps(one))
    monkeypatch.setattr(figures, "KEPT", tmp_path)
    figures.take("some", "# Title\n\n| x | y |\n|---|---:|\n| a9a | 1.2 |\n\n| z |\n|---|\n| 3 |\n")
    taken = json.loads((tmp_path / "some.json").read_text())
    assert taken["tables"]["a"]["rows"] == [["a9a", "1.2"]]
    assert taken["measured"]
    with pytest.raises(SystemExit, match="no table"):
        figures.take("some", "| other |\n|---|\n| 3 |\n")


@pytest.mark.parametrize("name", ["stream", "before_after"])
def test_two_benchmarks_print_the_columns_that_are_kept(name):
    source = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    (table,) = KEPT[name]["tables"].values()
    assert f"| {' | '.join(table['columns'])} |" in source


def test_figures_agree_to_the_digits_shown():
    assert rounds_to(516438.0, "516,000")
    assert rounds_to(0.253, "0.25")
    assert not rounds_to(0.26, "0.25")
    assert not rounds_to(517438.0, "516,000")
    assert FIGURE.findall("0.32 / > 22.4 s, 15.58 %, C10, 5.5x, 1,000 x 768") == [
        "22.4", "15.58", "5.5",
    ]  # fmt: skip
