"""Strategies on finite tables: likelihood ratios, every strategy there is, and forgeries."""

import json
from dataclasses import replace
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

import separatrix as sx


def drawn(seed):
    """Return a table that may hold zeros, equal rows and floats, and its loss."""
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(1, 8)), int(rng.integers(2, 5))
    p = rng.integers(0, 6, size=(n, classes))
    if seed % 3 == 0:
        p = np.repeat(p, 2, axis=0)
    p[rng.integers(0, len(p), size=classes), np.arange(classes)] += 1
    values = p.tolist() if seed % 2 else (p * rng.random(p.shape) + 1e-3 * (p > 0)).tolist()
    loss = (
        None if seed % 4 else rng.integers(0, 5, size=(int(rng.integers(1, 5)), classes)).tolist()
    )
    return sx.FiniteTable(values, loss)


def certain_strategies(table):
    """Yield the risks by class of every strategy without chance: slow and obvious."""
    given = table.given_class()
    for chosen in product(range(len(table.loss)), repeat=len(given)):
        yield [
            sum(row[k] * table.loss[d][k] for row, d in zip(given, chosen, strict=True))
            for k in range(len(table.classes))
        ]


@pytest.mark.parametrize("seed", range(40))
def test_every_task_is_solved_exactly_on_drawn_tables(seed):
    table = drawn(seed)
    minimax, bayes = table.minimax(), table.bayes()
    assert bayes.check()
    assert minimax.check()
    assert minimax.risk == max(minimax.class_risks.values())
    safest = minimax.risk + F(seed % 5, 7)
    bounded = table.neyman_pearson({table.classes[0]: safest})
    assert bounded.check()
    assert bounded.class_risks[table.classes[0]] <= safest


@pytest.mark.parametrize("seed", range(1, 40, 4))
def test_no_strategy_without_chance_is_better(seed):
    table = drawn(seed)
    if len(table.loss) ** len(table.p) > 300:
        table = sx.FiniteTable(table.p[:3] + ((F(1),) * len(table.classes),))
    minimax, bayes = table.minimax(), table.bayes()
    for risks in certain_strategies(table):
        assert max(risks) >= minimax.risk
        assert sum(p * r for p, r in zip(table.priors, risks, strict=True)) >= bayes.risk


def test_two_classes_are_cut_at_a_likelihood_ratio():
    """The lemma of Neyman and Pearson: rows by ratio, the last one by chance."""
    table = sx.FiniteTable([[1, 8], [4, 4], [9, 2], [6, 6]], classes=["quiet", "alarm"])
    found = table.neyman_pearson({"alarm": F(1, 4)})
    # p(x | alarm) of rows 2, 3, 1 in the order of their ratio: 2/20, 6/20, 4/20. A quarter holds
    # the first and half of the second; the third has the same ratio.
    assert found.class_risks["alarm"] == F(1, 4)
    assert found.risk == 1 - F(9, 20) - F(3, 20)
    assert found.check()


def test_numbers_are_taken_exactly():
    table = sx.FiniteTable([["1/3", 0.1], [F(1, 7), 2]])
    assert table.p[0][1] / table.p[0][0] == F(0.1) * 3
    assert sum(map(sum, table.p)) == 1


def test_bounds_that_no_strategy_keeps_are_refused_with_the_distance():
    table = sx.FiniteTable([[1, 1, 1]], classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="misses its own by 1/4 or more"):
        table.neyman_pearson({"a": F(1, 4), "b": F(1, 4)})
    assert table.neyman_pearson({"a": F(1, 2), "b": F(1, 2)}).risk == 1


@pytest.mark.parametrize(
    ("p", "loss", "message"),
    [
        ([[1, -1]], None, "at least 0"),
        ([[0, 0]], None, "not zeros alone"),
        ([], None, "at least one number"),
        ([[1, 2], [3]], None, "one length"),
        ([[1, float("nan")]], None, "finite numbers"),
        ([[1, "x"]], None, "finite numbers"),
        ([[1, 2]], [[1]], "a column for each of the 2 classes"),
    ],
)
def test_what_is_no_table_is_refused(p, loss, message):
    with pytest.raises(ValueError, match=message):
        sx.FiniteTable(p, loss)


def test_names_and_absent_classes():
    table = sx.FiniteTable([[1, 0], [2, 0]], observations=["red", "blue"])
    assert table.bayes().decide("red") == {"0": F(1)}
    with pytest.raises(ValueError, match="the class 1 has probability 0"):
        table.minimax()
    with pytest.raises(ValueError, match="2 different names"):
        sx.FiniteTable([[1, 2]], classes=["a", "a"])
    with pytest.raises(ValueError, match="not all"):
        table.neyman_pearson({"0": 1, "1": 1})


def test_forged_strategies_do_not_check():
    table = sx.FiniteTable([[3, 1], [2, 2], [1, 6]])
    good = table.minimax()
    worse = ((F(1), F(0)), (F(1), F(0)), (F(0), F(1)))
    assert not replace(good, probabilities=worse).check()
    too_much = ((F(2), F(-1)), *good.probabilities[1:])
    assert not replace(good, probabilities=too_much).check()
    with pytest.raises(ValueError, match="sum to 1"):
        replace(good, multipliers={"0": F(2), "1": F(2)}).check()
    bounded = table.neyman_pearson({"1": F(1, 9)})
    assert not replace(bounded, at_most={"1": F(1, 10)}).check()


def test_json_holds_fractions():
    kept = json.loads(sx.FiniteTable([[3, 1], [2, 2], [1, 6]]).minimax().to_json())
    assert kept["risk"] == kept["risk_at_least"] == "4/15"
    assert kept["decisions"]["1"] == {"0": "7/10", "1": "3/10"}
