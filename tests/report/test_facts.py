import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from separatrix.report.facts import Data, Facts, Machine, Path, PathRow
from tests.report.examples import HOSTILE, facts_of, hostile


@pytest.mark.parametrize("names", [("no", "yes"), ("a", "b", "c"), tuple("abcdefghij")])
def test_facts_survive_json(names):
    facts = facts_of(names)
    assert all(getattr(facts, part.name) for part in fields(facts) if part.name != "answer")
    again = Facts.from_json(facts.to_json())
    assert again == facts
    assert Facts.from_json(again.to_json()).to_json() == again.to_json()


@pytest.mark.parametrize("word", [word for word in HOSTILE if "\ud800" not in word])
def test_any_text_survives_json(word):
    facts = hostile(word)
    assert Facts.from_json(facts.to_json()) == facts


def test_numbers_without_a_word_in_json():
    rows = (PathRow(math.inf, math.nan, -math.inf, np.float64(0.5), np.int64(3)),)
    text = Facts("t", path=Path(rows, math.inf)).to_json()
    assert json.loads(text)["path"]["rows"][0]["C"] == "inf"  # strict JSON
    again = Facts.from_json(text).path
    assert again.chosen == math.inf
    assert math.isnan(again.rows[0].validation_error)
    assert again.rows[0].validation_spread == -math.inf
    assert (again.rows[0].training_error, again.rows[0].n_support) == (0.5, 3.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "not the facts of a study"),
        ({"colour": 1}, "facts has no field 'colour'"),
        ({"title": 3}, "facts.title must be a text. Got 3 instead"),
        ({"data": {"source": "s", "n_rows": 1}}, "facts.data must have a field 'n_features'"),
        ({"data": {"source": "s", "n_rows": True, "n_features": 2}}, "facts.data.n_rows must be"),
        ({"machine": []}, "facts.machine must be an object"),
        ({"bounds": "no"}, "facts.bounds must be a list"),
        (
            {"next_steps": [{"kind": "a", "sentence": "b"}, None]},
            r"facts.next_steps\[1\] must be an",
        ),
        ({"path": {"rows": [], "chosen": "many"}}, "facts.path.chosen must be a number"),
    ],
)
def test_what_is_no_fact_is_refused_by_name(change, words):
    whole = json.loads(Facts("t").to_json()) | change
    with pytest.raises(ValueError, match=words):
        Facts.from_json(json.dumps(whole))


def test_a_list_is_no_study():
    with pytest.raises(ValueError, match="not the facts"):
        Facts.from_json("[]")


def test_parts_left_out_are_none_or_empty():
    facts = Facts("t", data=Data("s", 1, 1), machine=Machine("m", "hinge", 1.0))
    whole = json.loads(facts.to_json())
    assert whole["test"] is None
    assert whole["bounds"] == []
    del whole["test"], whole["bounds"]
    assert Facts.from_json(json.dumps(whole)) == facts
    assert replace(facts, title="u") != facts
