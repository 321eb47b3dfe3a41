"""Entries of very different sizes: the simplex in balls against the one in integers."""

import numpy as np
import pytest
from tests.amounts import cases
from tests.naive.separability import kind

import separatrix as sx
from separatrix.solvers.separability import ball_simplex
from separatrix.solvers.separability.ball_simplex import alternative, alternative_in_balls


def spread(rng, rows, columns, bits=300):
    size = (rows, columns)
    digits, shifts = rng.integers(-9, 10, size=size), rng.integers(0, bits, size=size)
    return [
        [int(v) << int(s) for v, s in zip(a, b, strict=True)]
        for a, b in zip(digits.tolist(), shifts.tolist(), strict=True)
    ]


def is_right(answer, rows):
    def dot(left, right):
        return sum(a * b for a, b in zip(left, right, strict=True))

    if answer.direction is not None:
        return all(dot(row, answer.direction) > 0 for row in rows)
    sums = [dot(answer.multipliers, column) for column in zip(*rows, strict=True)]
    return not any(sums) and min(answer.multipliers) >= 0 < sum(answer.multipliers)


@pytest.mark.parametrize("attempt", [(256, True), (4096, True), (4096, False)])
def test_agrees_with_the_integers(attempt, monkeypatch):
    monkeypatch.setattr(ball_simplex, "ATTEMPTS", (attempt,))
    decided = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = spread(rng, int(rng.integers(2, 12)), int(rng.integers(1, 5)))
        found = alternative_in_balls(rows)
        if found is None:
            continue
        decided += 1
        assert is_right(found, rows)
        assert (found.direction is None) == (alternative(rows).direction is None)
    assert decided >= 15


def test_the_precision_of_others_is_left_alone():
    import flint

    before = flint.ctx.prec
    alternative_in_balls([[1, 2], [-2, 1]])
    assert flint.ctx.prec == before


@pytest.mark.parametrize("columns", [3, pytest.param(10, marks=pytest.mark.long)])
def test_entries_over_all_floats_are_decided(columns):
    for seed in cases(6):
        rng = np.random.default_rng(seed)
        size = (int(rng.integers(6, 10)) if columns == 3 else 25, columns)
        X = rng.normal(size=size) * 10.0 ** rng.integers(-300, 300, size=size)
        signs = rng.choice([-1.0, 1.0], size=len(X))
        signs[:2] = 1.0, -1.0
        verdict = sx.separability(X, signs)
        assert verdict.kind != "undecided"
        assert verdict.certificate.check(X, signs)
        if columns == 3:
            assert verdict.kind == kind(X.tolist(), signs.tolist(), True)


def test_a_search_ends_by_its_work(monkeypatch):
    rows = spread(np.random.default_rng(3), 12, 4)
    assert is_right(alternative(rows), rows)
    assert is_right(alternative_in_balls(rows), rows)
    assert alternative(rows, most_work=100.0) is None
    monkeypatch.setattr(ball_simplex, "MOST_WORK", 100.0)
    assert alternative_in_balls(rows) is None
