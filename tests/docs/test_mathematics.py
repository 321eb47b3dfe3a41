"""Every formula of the book becomes MathML, in which no command of LaTeX is left."""

import importlib.util
import re
from pathlib import Path

import pytest
from tests.optional import module

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CODE = re.compile(r"^```[\s\S]*?^```|`[^`\n]+`", re.MULTILINE)


@pytest.fixture(scope="module")
def mathematics():
    module("latex2mathml", "make docs")
    spec = importlib.util.spec_from_file_location("docs_maths", DOCS / "made" / "mathematics.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_formulas_in_a_line_and_on_their_own(mathematics):
    page = "Let $w \\cdot x$ be `$5`.\n\n$$\n\\frac{a}{b}\n$$\n\n```console\n$ ls $HOME\n```\n"
    made = mathematics.with_mathml(page)
    assert made.count("<math") == 2
    assert "<mfrac>" in made
    assert '<div class="formula">' in made
    assert "`$5`" in made, "code is left alone"
    assert "$ ls $HOME" in made


def test_a_line_may_begin_with_a_formula(mathematics):
    markdown = module("markdown", "make docs")
    made = markdown.markdown(mathematics.with_mathml("Let\n$w$ be long,\n$|w|$ at most 1."))
    assert made.count("<p>") == 1
    assert made.count('lspace="0"') == 2, "bars stand close to what they enclose"


def test_an_unknown_command_is_an_error(mathematics):
    with pytest.raises(ValueError, match="not understood"):
        mathematics.with_mathml("Let $\\nosuchcommand x$ be.")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_no_dollar_is_left_over(page, mathematics):
    made = mathematics.with_mathml(page.read_text(encoding="utf-8"))
    prose = CODE.sub("", made)
    assert "$" not in prose, "a formula is on one line, or between lines of $$"
    assert not re.search(r"\\[a-zA-Z]", prose), "LaTeX outside of a formula"


@pytest.mark.parametrize("page", sorted(DOCS.glob("methods/*.md")), ids=lambda page: page.stem)
def test_every_method_states_its_problem_as_a_formula(page):
    """Formulas are written as formulas: no indented block of plain text stands in for one."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    assert "$$" in text
    assert not re.search(r"^    .*(?:sum|max|min) ", text, re.MULTILINE)
