"""What is made from the code is current: reference, manual page, the picture of the layers."""

import functools
import importlib.util
import re
from pathlib import Path

import pytest

import separatrix as sx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def module(path):
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@functools.cache
def made_pages():
    """Return the paths of the pages that are made while the site is built."""
    return set(module(DOCS / "made" / "site.py").made())


def test_the_reference_holds_every_public_name():
    pages = module(DOCS / "made" / "api_pages.py").pages()
    text = "\n".join(pages.values())
    for name in sx.__all__:
        if name != "__version__":
            assert f"## sx.{name}\n" in text
    assert pages["api/index.md"].count("| [`sx.") == len(sx.__all__) - 1
    fences = [line for line in text.split("\n") if line.startswith("```")]
    assert len(fences) % 2 == 0


def test_the_page_of_commands_names_every_option():
    page = module(DOCS / "made" / "commands_page.py").page()
    manual = module(DOCS / "made" / "man_page.py")
    for command in manual.app.registered_commands:
        name = command.name or command.callback.__name__
        part = page.split(f"\n## separatrix {name}\n")[1].split("\n## ")[0]
        for words, _, said in manual.options_of(command.callback):
            assert all(f"`{word}`" in part for word in words), f"{name} {words}"
            assert said[:10].split("[")[0].split("|")[0] in part.replace("\\", "")


def test_the_manual_page_is_current():
    made = module(DOCS / "made" / "man_page.py")
    written = made.PAGE.read_text(encoding="utf-8")
    assert written == made.page(), "run `python docs/made/man_page.py`"
    for command in ("study", "separable", "fit", "predict", "verify", "stream", "lab"):
        assert f".SS separatrix {command}" in written


def test_the_picture_of_the_layers_is_current():
    layers = module(DOCS / "pictures" / "layers.py")
    packages = [package for layer in layers.layers() for package in layer]
    folders = {path.parent.name for path in layers.SOURCE.glob("*/__init__.py")}
    assert set(packages) == folders, "every package stands in a layer"
    drawn = (DOCS / "pictures" / "layers.svg").read_text(encoding="utf-8")
    written = re.search("<desc>(.*)</desc>", drawn)[1]
    assert written == layers.in_words(layers.imports(packages)), (
        "run `python docs/pictures/layers.py`"
    )


def test_the_decision_tree_is_current_and_names_what_exists():
    tree = module(DOCS / "pictures" / "decision_tree.py")
    drawn = (DOCS / "pictures" / "decision_tree.svg").read_text(encoding="utf-8")
    assert drawn == tree.drawn(), "run `python docs/pictures/decision_tree.py`"
    for name in re.findall(r"sx\.(\w+)", drawn):
        assert hasattr(sx, name)


def test_every_page_stands_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        path = page.relative_to(DOCS).as_posix()
        if not path.startswith("_"):
            assert path in nav, f"{path} is not in mkdocs.yml"


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.rglob("*.md")], ids=lambda p: p.name)
def test_links_and_pictures_lead_somewhere(page):
    made = made_pages()
    text = re.sub(r"```[\s\S]*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w.-]*)?\)", text):
        if re.match(r"https?:", target):
            continue
        path = (page.parent / target).resolve()
        assert path.exists() or path.relative_to(DOCS).as_posix() in made, target


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.rglob("*.md")], ids=lambda p: p.name)
def test_sessions_stand_in_fences(page):
    """A prompt outside of one would be shown as a quotation."""
    text = re.sub(r"^```[\s\S]*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert not re.search(r"^>>> ", text, flags=re.MULTILINE)
