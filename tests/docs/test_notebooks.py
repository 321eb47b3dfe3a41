"""The notebooks of the lectures: made from their pages, without outputs, and they run."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

import separatrix as sx

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "lectures"
PAGES = sorted(FOLDER.glob("*.md"))
spec = importlib.util.spec_from_file_location("docs_notebooks", ROOT / "docs/made/notebooks.py")
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)


def cells(page):
    return json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]


def test_every_lecture_has_a_page_and_a_notebook():
    assert [page.name[:3] for page in PAGES] == ["000", "001", "002", "003", "004"]
    assert sorted(FOLDER.glob("*.ipynb")) == [page.with_suffix(".ipynb") for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name[:3])
def test_page_and_notebook_are_current(page):
    text = page.read_text(encoding="utf-8")
    assert text == made.with_exercises(page), "run `python docs/made/notebooks.py`"
    written = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert written == made.notebook(page, text), "run `python docs/made/notebooks.py`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name[:3])
def test_it_is_a_notebook_without_outputs(page):
    whole = json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert (whole["nbformat"], whole["nbformat_minor"]) == (4, 5)
    assert set(whole) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    names = [cell["id"] for cell in whole["cells"]]
    assert len(set(names)) == len(names)
    for cell in whole["cells"]:
        assert re.fullmatch(r"[\w-]{1,64}", cell["id"])
        assert all(isinstance(line, str) for line in cell["source"])
        assert cell["source"], "an empty cell"
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            assert ">>>" not in "".join(cell["source"])
        else:
            assert set(cell) == {"cell_type", "id", "metadata", "source"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name[:3])
def test_the_ten_exercises_stand_in_it(page):
    lecture = page.name[:3]
    text = "\n".join("".join(cell["source"]) for cell in cells(page))
    for name, question in sx.lectures.exercises(lecture).items():
        assert f'sx.lectures.check("{name}", ...)' in text
        assert question.replace("*", r"\*") in text


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name[:3])
def test_it_runs_from_top_to_bottom(page):
    names, run = {}, 0
    for cell in cells(page):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
            run += 1
    assert run > 20
    assert names["sx"] is sx
