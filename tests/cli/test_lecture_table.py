"""``separatrix lecture-table``."""

import json

import numpy as np
import pytest

from separatrix.selection.lecture_table import LECTURE
from tests.cli.command import separatrix
from tests.optional import shared_file


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """As many sentences as the lecture has, of a few words each."""
    rng = np.random.default_rng(26)
    words = {0: ["bad", "poor", "broken"], 1: ["good", "fine", "great"]}
    file = tmp_path_factory.mktemp("lecture") / "sentences.txt"
    file.write_text("".join(f"A {rng.choice(words[k % 2])} thing!\t{k % 2}\n" for k in range(3000)))
    return file


def test_other_sentences_lie_outside(made_up):
    outcome = separatrix("lecture-table", made_up, "--splits", 2)
    assert outcome.returncode == 0, outcome.stderr
    opening, _, *_ = outcome.stdout.split("\n")
    assert opening == "3,000 sentences, 7 words; 2 splits, their means"
    rows = [line.split() for line in outcome.stdout.split("\n") if line.endswith("outside")]
    assert [float(row[0]) for row in rows] == list(LECTURE)
    assert [(float(r[1]), float(r[3]), int(r[5])) for r in rows] == list(LECTURE.values())
    assert {(row[2], row[4]) for row in rows} == {("0.00", "0.0")}, "the words decide the class"


def test_json_holds_the_same(made_up):
    outcome = separatrix("lecture-table", made_up, "--splits", 1, "--json")
    facts = json.loads(outcome.stdout)
    assert facts["splits"] == 1
    assert [line["C"] for line in facts["lines"]] == list(LECTURE)
    assert not any(line["within"] for line in facts["lines"])
    assert facts["lines"][1]["lecture"] == {
        "training_error": 7.88,
        "test_error": 18.4,
        "support_vectors": 1766,
    }


def test_the_lectures_sentences_lie_within():
    folder = shared_file("sentiment/imdb_labelled.txt").parent
    outcome = separatrix("lecture-table", folder, "--splits", 1)
    assert outcome.stdout.count(" within\n") == 6, outcome.stdout


def plain(text):
    return " ".join(text.replace("│", " ").split())


def test_without_a_file_it_says_which_data_it_needs():
    outcome = separatrix("lecture-table")
    assert outcome.returncode == 2
    assert '"Sentiment Labelled Sentences"' in plain(outcome.stderr)
    assert "UCI Machine Learning Repository" in plain(outcome.stderr)


def test_a_wrong_file_is_refused_with_the_data_it_needs(tmp_path):
    few = tmp_path / "few.txt"
    few.write_text("good\t1\nbad\t0\nfine\t1\n")
    for path, said in (
        (few, "expected 3,000 sentences, half of them positive, and found 3 with 2 positive"),
        (tmp_path / "none.txt", "there is no such file"),
        (tmp_path, "amazon_cells_labelled.txt: there is no such file"),
    ):
        outcome = separatrix("lecture-table", path)
        assert outcome.returncode == 3
        assert said in outcome.stderr
        assert "UCI Machine Learning Repository" in outcome.stderr
        assert "Traceback" not in outcome.stderr
