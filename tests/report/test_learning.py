"""The learning curve in words, and where there is none."""

import dataclasses

import numpy as np
import pytest

from separatrix.data.lectures import breast_cancer, iris
from separatrix.report import learning
from separatrix.report.facts import LearningPoint
from separatrix.report.learning import reading_of_curve
from separatrix.report.study import Settings, study

pytestmark = pytest.mark.usefixtures("plain_page")


@pytest.mark.parametrize(
    ("gained", "kind", "words"),
    [
        ([0.02, 0.021, 0.019], "helps", "lowered the error from 7.0 to 5.0 %: more rows would"),
        ([0.05, 0.03, -0.01], "may help", "lowered the error from 7.3 to 5.0 %: more rows may"),
        ([0.05, -0.04, 0.0], "no gain", "lowered the error from 5.3 to 5.0 %, within its noise"),
        ([-0.01, -0.01, -0.01], "no gain", "raised the error from 4.0 to 5.0 %: no gain seen"),
        ([0.0, 0.0, 0.0], "no gain", "left the error at 5.0 %: no gain seen."),
    ],
)
def test_the_last_doubling_is_told(gained, kind, words):
    gain = np.array(gained)
    points = (
        LearningPoint(251, 0.2), LearningPoint(500, 0.05 + gain.mean()), LearningPoint(751, 0.05),
        LearningPoint(1000, 0.05),
    )  # fmt: skip
    told = reading_of_curve(points, gain)
    assert told.kind == kind
    assert told.sentence.startswith("Doubling the rows from 500 to 1,000 ")
    assert words in told.sentence


def test_a_study_has_a_curve_that_ends_where_the_path_is(tmp_path):
    facts = study(breast_cancer(), tmp_path, Settings(features="standard", folds=3, times=False))
    points = facts.learning.points
    assert [each.rows for each in points] == [77, 152, 228, 303]
    chosen = next(row for row in facts.path.rows if facts.path.chosen == row.C)
    assert points[-1].error == chosen.validation_error
    assert facts.learning.kind in ("helps", "may help", "no gain")
    assert max(each.error for each in points) < facts.baseline.error


def test_large_data_and_few_rows_have_none_and_say_why(tmp_path, monkeypatch):
    settings = Settings(features="raw", Cs=(1.0,), folds=3, loss="hinge", times=False)
    table = iris()
    few = np.r_[0:50, 50:100:5]
    small = dataclasses.replace(table, X=table.X[few], y=table.y[few])
    told = study(small, tmp_path / "few", settings).learning
    assert told.points == ()
    assert told.sentence == (
        "No learning curve was drawn: the smallest class has fewer than 16 training rows."
    )
    monkeypatch.setattr(learning, "_MOST_ENTRIES", 10)
    told = study(table, tmp_path / "large", settings).learning
    assert "so large" in told.sentence
