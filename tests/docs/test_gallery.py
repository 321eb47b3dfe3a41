"""Every script of the gallery draws its picture, and the page shows all of them."""

import importlib.util
import re
from pathlib import Path

import pytest

from separatrix._compiled import is_interpreted

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("[0-9]*.py"))


def module(path):
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_there_are_twenty_one():
    assert len(SCRIPTS) == 21


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="pictures of compiled runs; loops are tested apart")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_draws(script, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "gallery"))
    picture = tmp_path / "picture.svg"
    module(script).draw(str(picture))
    text = picture.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</svg>")
    assert len(re.findall("<path|<use", text)) > 10, "an empty picture"


def test_the_page_shows_every_picture_and_its_code():
    page = module(DOCS / "made" / "gallery_page.py").page()
    shown = re.findall(r"!\[([^\]]+)\]\((\S+)\)", page)
    assert len(shown) == len(SCRIPTS)
    for title, picture in shown:
        assert title
        assert (DOCS / picture).exists(), f"{picture}: draw it with `make pictures`"
    assert page.count("def draw(path=") == len(SCRIPTS)
