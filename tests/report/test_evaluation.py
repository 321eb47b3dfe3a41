"""Figures of ten classes speak of all ten."""

from dataclasses import replace

import numpy as np
import pytest

from separatrix.report import evaluation, facts
from separatrix.report.headings import headings
from tests.report.examples import facts_of

K, ROWS = 10, 5_000


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, K, size=ROWS)
    scores = rng.normal(size=(ROWS, K)) + 2.0 * np.eye(K)[codes]
    return scores, codes, [f"class {k}" for k in range(K)]


def test_every_class_has_a_curve_and_few_points(scored):
    curves = evaluation.curves_of(*scored)
    assert [curve.name for curve in curves] == scored[2]
    sizes = [len(curve.false_positive_rate) for curve in curves]
    assert max(sizes) == 240
    one = evaluation.curves_of(scored[0][:, 1], (scored[1] == 1).astype(int), ["no", "yes"])
    assert len(one) == 1


def test_every_class_is_compared_with_its_probabilities(scored):
    scores, codes, names = scored
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = evaluation.calibration_of(shares, codes, names, "")
    assert [part.name for part in found] == names


@pytest.mark.parametrize("classes", [2, 3, 8, 9, K])
def test_every_row_has_a_margin(scored, classes):
    scores, codes, names = scored
    codes = codes % classes
    values = scores[:, 0] if classes == 2 else scores[:, :classes]
    found = evaluation.margins_of({"test": (values, codes)}, names[:classes])
    assert sum(sum(group.counts) for group in found.counts) == ROWS
    assert len(found.counts) == min(classes, 9)
    assert (found.counts[-1].name == "all others") == (classes > 8)


def test_more_classes_than_are_kept():
    many = facts.MOST_CLASSES + 5
    codes = np.arange(3 * many) % many
    scores = np.random.default_rng(1).normal(size=(len(codes), many))
    curves = evaluation.curves_of(scores, codes, [str(k) for k in range(many)])
    assert len(curves) == facts.MOST_CLASSES


@pytest.mark.parametrize(("kept", "heading"), [(K, "or more"), (facts.MOST_CLASSES, "Ranking")])
def test_a_heading_speaks_of_all_classes_or_of_none(scored, kept, heading):
    """Of as many classes as are kept at the most, some may have been left out."""
    worst = replace(evaluation.curves_of(*scored)[0], auc=0.25)
    found = replace(facts_of(), curves=(worst,) * kept)
    title = headings(found)["curves"]
    assert heading in title
    assert ("0.25" in title) == (kept == K)
