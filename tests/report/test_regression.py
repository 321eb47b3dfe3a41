"""The coefficients in a report: those of `sx.inference` on the training rows, or none."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.report.facts import Coefficient, Facts, Regression
from separatrix.report.headings import headings
from separatrix.report.measures import regression_facts
from separatrix.report.page import render_report


def work_of(frame, train, texts=False):
    table = sx.read(frame, target="y")
    y = np.asarray(table.y)
    names, codes = np.unique(y, return_inverse=True)
    return SimpleNamespace(
        table=table, names=[str(name) for name in names], X_train=table.X[train],
        y_train=y[train], codes_train=codes[train],
    )  # fmt: skip


def drawn(n=150, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": rng.normal(50, 9, n), "smoker": rng.choice(["no", "often", "yes"], n)}
    )
    chance = 1.0 / (1.0 + np.exp(-(frame["age"] - 50) / 9 - (frame["smoker"] == "yes")))
    return frame.assign(y=np.where(rng.random(n) < chance, "ill", "well"))


def test_coefficients_are_those_of_the_training_rows():
    frame, train = drawn(), np.arange(120)
    found = regression_facts(work_of(frame, train))
    alone = sx.inference(frame.iloc[:120], "y")
    assert (found.positive, found.method, found.rows, found.proof) == ("well", "mle", 120, "global")
    assert [each.name for each in found.coefficients] == alone.names
    for each in found.coefficients:
        row = alone[each.name]
        assert (each.estimate, each.low, each.high) == pytest.approx(
            (row["estimate"], row["lower"], row["upper"])
        )


def test_separated_classes_have_firths_estimates():
    frame = drawn()
    frame["y"] = np.where(frame["age"] > 50, "ill", "well")
    found = regression_facts(work_of(frame, np.arange(150)))
    assert (found.method, found.separation) == ("firth", "separable")
    assert all(np.isfinite(each.high) for each in found.coefficients)


def test_no_table_where_it_would_say_nothing():
    frame = drawn()
    few = frame.assign(y=np.where(np.arange(150) < 5, "ill", "well"))
    assert regression_facts(work_of(few, np.arange(150))) is None
    many = frame.assign(y=np.arange(150) % 3)
    assert regression_facts(work_of(many, np.arange(150))) is None
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(150, 20))).assign(y=frame["y"])
    wide.columns = [str(name) for name in wide.columns]
    assert regression_facts(work_of(wide, np.arange(150))) is None


@pytest.mark.parametrize(
    ("ends", "heading"),
    [
        ([(0.1, 2.0)], "The interval of the coefficient excludes zero"),
        ([(-0.1, 2.0), (-1.0, 1.0)], "None of the intervals of two coefficients excludes zero"),
        ([(-0.1, 2.0), (-2.0, -1.0)], "One of the intervals of two coefficients excludes zero"),
        ([(0.1, 2.0), (-2.0, -1.0)], "Two of the intervals of two coefficients exclude zero"),
    ],
)
def test_the_heading_counts_intervals(ends, heading):
    rows = [Coefficient("intercept", 1.0, 0.5, 1.5, 0.01)]
    rows += [Coefficient(f"x{k}", 0.5 * sum(pair), *pair, 0.5) for k, pair in enumerate(ends)]
    facts = Facts("t", regression=Regression(tuple(rows), "ill", "mle", 90))
    assert headings(facts)["regression"] == heading
    page = render_report(facts)
    assert heading in page
    assert "by maximum likelihood" in page
