"""Exact solutions against fractions: Gauss-Jordan as it is taught."""

from fractions import Fraction

import numpy as np
import pytest
from tests.amounts import cases

from separatrix.solvers.separability.witness import DIGIT_PRIME, Basis, DigitSolver, inverse_modulo


def by_fractions(rows, right):
    table = [[Fraction(v) for v in [*row, b]] for row, b in zip(rows, right, strict=True)]
    for k in range(len(table)):
        pivot = next(i for i in range(k, len(table)) if table[i][k])
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [v / table[k][k] for v in table[k]]
        for i, row in enumerate(table):
            if i != k and row[k]:
                table[i] = [a - row[k] * b for a, b in zip(row, table[k], strict=True)]
    return [row[-1] for row in table]


def regular(rng, size, largest):
    while True:
        rows = rng.integers(-largest, largest + 1, size=(size, size)).tolist()
        if inverse_modulo(np.array(rows, dtype=float)) is not None:
            return rows


def long_numbers(rng, count):
    bits = rng.integers(0, 300, size=count).tolist()
    return [int(rng.integers(-3, 4)) * (1 << b) + int(rng.integers(-9, 10)) for b in bits]


@pytest.mark.parametrize("size", [1, 2, 7, 31, 32, 33, pytest.param(40, marks=pytest.mark.long)])
def test_equals_gauss_in_fractions(size):
    rng = np.random.default_rng(size)
    for _ in cases(5 if size < 30 else 2):
        rows = regular(rng, size, int(rng.choice([1, 9, 2**16])))
        right = long_numbers(rng, size)
        solver = DigitSolver.of(rows)
        numerators, denominator = solver.solve(right)
        assert denominator > 0
        assert [Fraction(v, denominator) for v in numerators] == by_fractions(rows, right)
        flipped = solver.transposed().solve(right)
        columns = [list(column) for column in zip(*rows, strict=True)]
        assert [Fraction(v, flipped[1]) for v in flipped[0]] == by_fractions(columns, right)


def test_the_inverse_is_one():
    rng = np.random.default_rng(3)
    for size in (1, 5, 32, 70):
        rows = regular(rng, size, 50)
        inverse = inverse_modulo(np.array(rows, dtype=float)).astype(np.int64)
        assert ((np.array(rows) @ inverse) % DIGIT_PRIME == np.eye(size)).all()


def test_what_it_cannot_hold_is_left_to_others():
    assert DigitSolver.of([[1, 2], [2, 4]]) is None
    assert DigitSolver.of([[DIGIT_PRIME, 1], [0, 1]]) is None
    assert DigitSolver.of([[2**40, 1], [0, 1]]) is None


@pytest.mark.parametrize("largest", [5, 2**40])  # digits, and flint where entries are long
def test_large_bases_are_solved_either_way(largest):
    rng = np.random.default_rng(0)
    rows = rng.integers(-largest, largest + 1, size=(101, 104)).tolist()
    basis = Basis(rows, 104)
    mu = rng.integers(-9, 10, size=101).tolist()
    target = [sum(m * row[j] for m, row in zip(mu, rows, strict=True)) for j in range(104)]
    assert basis.combination(target) == (mu, 1)
    assert basis.combination([*target[:-1], target[-1] + 1]) is None
    vectors = basis.null_space()
    assert len(vectors) == 3
    for vector in vectors:
        assert all(sum(a * b for a, b in zip(row, vector, strict=True)) == 0 for row in rows)
