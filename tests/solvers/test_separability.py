"""The verdict against the simplex in fractions, and every step on its own."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from tests.amounts import cases
from tests.degenerate import KINDS, degenerate, integer_grid
from tests.naive.separability import feasible, kind

import separatrix as sx
from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability import facial_reduction
from separatrix.solvers.separability.ball_simplex import alternative
from separatrix.solvers.separability.decide import decide
from separatrix.solvers.separability.facial_reduction import Undecided, partition, strictly_off
from separatrix.solvers.separability.infinite import row_space
from separatrix.solvers.separability.peeling import merge, peel
from separatrix.solvers.separability.row_generation import minimise
from separatrix.solvers.separability.witness import (
    PRIME,
    SHORT_PRIME,
    Basis,
    exact_multipliers,
    independent_rows,
)

PER_KIND = 15


def margins(X, signs, w, fit_intercept):
    rows = [[Fraction(v) for v in ([1, *x] if fit_intercept else x)] for x in X.tolist()]
    values = [sum(a * b for a, b in zip(row, w, strict=True)) for row in rows]
    return [int(s) * v for s, v in zip(signs, values, strict=True)]


@pytest.mark.parametrize("which", range(len(KINDS)), ids=[make.__name__ for make in KINDS])
def test_agrees_with_the_simplex_in_fractions(which):
    for seed in range(which, which + PER_KIND * len(KINDS), len(KINDS)):
        X, signs, fit_intercept = degenerate(seed)
        stored = sparse.csr_array(X) if seed % 2 else X
        verdict = sx.separability(stored, signs, fit_intercept=fit_intercept)
        assert verdict.kind == kind(X.tolist(), signs.tolist(), fit_intercept), seed
        assert verdict.certificate.check(X, signs), seed
        assert verdict.check(stored, signs), seed
        assert (verdict.witness is None) == (verdict.kind == "separable"), seed
        if verdict.witness is not None:
            assert len(verdict.witness.rows) <= X.shape[1] + 2, seed


def infinite_by_definition(X, signs, fit_intercept):
    """Whether some direction without negative margins moves each coefficient, by the simplex.

    For independent columns only.
    """
    rows = [
        [Fraction(int(s)) * Fraction(v) for v in ([1, *x] if fit_intercept else x)]
        for x, s in zip(X.tolist(), signs.tolist(), strict=True)
    ]
    answer = []
    for j in range(len(rows[0])):
        signs_possible = set()
        for sign in (1, -1):
            aim = [Fraction(sign * (k == j)) for k in range(len(rows[0]))]
            if feasible([*rows, aim], [Fraction(0)] * len(rows) + [Fraction(1)]):
                signs_possible.add(sign)
        answer.append(signs_possible)
    return answer


def test_infinite_coefficients_follow_the_definition():
    seen = set()
    for seed in range(max(60, len(cases(400)))):
        X, signs, fit_intercept = degenerate(seed)
        full = np.column_stack([np.ones(len(X)), X]) if fit_intercept else X
        if X.shape[1] > 5 or np.abs(X).max() > 1e3 or np.linalg.matrix_rank(full) < full.shape[1]:
            continue
        verdict = sx.separability(X, signs, fit_intercept=fit_intercept)
        found = verdict.infinite[0 if fit_intercept else 1 :]
        if any(value != value for value in found):
            continue
        for value, possible in zip(
            found, infinite_by_definition(X, signs, fit_intercept), strict=True
        ):
            expected = {(): 0.0, (-1,): -np.inf, (1,): np.inf, (-1, 1): "open"}
            assert value == expected[tuple(sorted(possible))], seed
            seen.add(value)
        seen.add(verdict.kind)
    kinds = {"separable", "quasi-separable", "overlapping"}
    assert seen == kinds | {0.0, np.inf, -np.inf, "open"}


@pytest.mark.parametrize("prime", [2**61 - 1, 2**31 - 1, PRIME, SHORT_PRIME])
def test_no_prime_hides_a_row_or_a_column(prime):
    """Ranks are found modulo a prime: determinants that it divides hung, or gave false columns."""
    b = int(float(prime))
    a = b - prime
    runs = -np.inf if a else 0.0
    for rows, labels, name, infinite in (
        ([[a], [b]], [0, 1], "separable", [-np.inf, np.inf]),
        ([[a, 1.5], [b, -1.0]], [0, 1], "separable", [-np.inf, np.inf, np.nan]),
        ([[a], [b], [a], [b]], [0, 1, 1, 0], "overlapping", [0.0, 0.0]),
        ([[a], [b], [a], [5e19]], [0, 1, 1, 1], "quasi-separable", [runs, np.inf]),
        (
            [[a, 0], [b, 0], [a, 0], [b, 0], [3, 1], [4, 1]],
            [0, 1, 1, 0, 1, 1],
            "quasi-separable",
            [0.0, 0.0, np.inf],
        ),
    ):
        X = np.array(rows, dtype=float)
        verdict = sx.separability(X, labels)
        assert verdict.kind == name
        np.testing.assert_array_equal(verdict.infinite, infinite)
        assert verdict.check(X, labels)


def test_a_column_of_powers_of_two_depends_on_no_constant():
    """Its determinant is 2^122 - 1 times a power of two, a multiple of 2^61 - 1."""
    X = np.array([[2.0**-78, 2.0**-727], [2.0**44, -(2.0**-547)]])
    np.testing.assert_array_equal(sx.separability(X, [1, 0]).infinite, [np.inf, -np.inf, np.nan])


def test_signs_of_infinite_coefficients_do_not_hang_on_the_solver():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    signs = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 2 * signs
    verdict = sx.separability(X, signs)
    assert verdict.infinite.tolist() == ["open", np.inf, "open", "open"]
    again = sx.Verdict.from_json(verdict.to_json())
    assert again.infinite.tolist() == verdict.infinite.tolist()
    assert again.check(X, signs)
    forged = verdict.to_json().replace('"open"', '"inf"')
    assert not sx.Verdict.from_json(forged).check(X, signs)


def test_collinear_columns_change_no_verdict_and_are_marked():
    rng = np.random.default_rng(0)
    for seed in range(40):
        X, signs, _ = degenerate(len(KINDS) * seed + KINDS.index(integer_grid))
        wide = np.column_stack([X, X @ rng.integers(-2, 3, size=(X.shape[1], 2)), X[:, 0]])
        plain, more = sx.separability(X, signs), sx.separability(wide, signs)
        assert more.kind == plain.kind
        aliased = [value != value for value in more.infinite]
        assert all(aliased[X.shape[1] + 1 :])
        assert aliased[: X.shape[1] + 1] == [value != value for value in plain.infinite]


def test_peeling_settles_one_column_and_merges_exactly():
    X = np.array([[0.0, 5.0], [1.0, 0.0], [1.0, 2.0], [1.0, 1.0], [3.0, 0.0]])
    signs = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])
    rows = SignedRows(X, signs)
    levels, live = peel(rows)
    assert live.size == 0
    total = merge(rows, levels, {})
    w = [total.get(j, Fraction(0)) for j in range(3)]
    assert min(margins(X, signs, w, True)) > 0
    assert strictly_off(rows, w)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_peeling_keeps_what_it_promises(store):
    for seed in range(200):
        X, signs, fit_intercept = degenerate(seed)
        rows = SignedRows(store(X), signs, fit_intercept)
        levels, live = peel(rows)
        gone = np.zeros(len(X), dtype=bool)
        for level in levels:
            w = [level.direction.get(j, Fraction(0)) for j in range(rows.width)]
            values = margins(X, signs, w, fit_intercept)
            assert all(values[i] > 0 for i in level.rows)
            assert all(values[i] >= 0 for i in np.flatnonzero(~gone))
            gone[level.rows] = True
        assert set(live) == set(np.flatnonzero(~gone))


def test_engine_stops_at_a_separator_or_at_multipliers_of_zero_sum():
    rng = np.random.default_rng(3)
    for flips in (0, 5):
        rows = rng.normal(size=(80, 4))
        rows *= np.sign(rows @ np.ones(4))[:, None]
        rows[:flips] *= -1
        found = minimise(rows)
        if found.separated:
            assert (rows @ found.w > 0).all()
        else:
            assert np.abs(rows.T @ found.multipliers).max() < 1e-10 * found.multipliers.sum()
        assert found.separated == (flips == 0)


def test_exact_simplex_proves_one_of_the_two():
    rng = np.random.default_rng(5)
    for _ in range(150):
        rows = rng.integers(-2, 3, size=(rng.integers(1, 8), rng.integers(1, 4))).tolist()
        answer = alternative(rows)
        assert (answer.multipliers is None) != (answer.direction is None)
        if answer.direction is not None:
            assert all(sum(map(int.__mul__, row, answer.direction)) > 0 for row in rows)
        else:
            assert min(answer.multipliers) >= 0
            assert any(answer.multipliers)
            sums = [sum(map(int.__mul__, answer.multipliers, c)) for c in zip(*rows, strict=True)]
            assert not any(sums)


def test_exact_multipliers_sum_to_zero_or_are_refused():
    rng = np.random.default_rng(6)
    accepted = 0
    for _ in range(300):
        rows = rng.integers(-3, 4, size=(rng.integers(2, 9), rng.integers(1, 5))).tolist()
        exact = exact_multipliers(rows, rng.random(len(rows)) + 0.1)
        if exact is None:
            continue
        accepted += 1
        assert min(exact.multipliers) > 0
        sums = [sum(map(int.__mul__, exact.multipliers, c)) for c in zip(*rows, strict=True)]
        assert not any(sums)
        assert len(exact.basis) == np.linalg.matrix_rank(np.array(rows))
    assert accepted > 10


def test_null_space_is_exact_and_complete():
    rng = np.random.default_rng(7)
    for _ in range(100):
        rows = rng.integers(-3, 4, size=(4, 6)).tolist()
        kept = independent_rows(rows)
        basis = Basis([rows[i] for i in kept], 6)
        vectors = basis.null_space()
        assert len(vectors) == 6 - len(kept)
        assert all(sum(map(int.__mul__, row, v)) == 0 for row in rows for v in vectors)


def test_row_space_reaches_every_row():
    X = np.zeros((500, 6))
    X[np.arange(500), 0] = np.arange(500)
    X[499, 4] = 1.0
    rows = SignedRows(X, np.ones(500))
    assert row_space(rows, []).pivots == [0, 1, 5]


def test_a_sample_proves_overlap_of_many_rows():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(20_000, 4))
    signs = np.where(rng.random(20_000) < 0.1, -1.0, 1.0) * np.sign(X[:, 0])
    claim = decide(SignedRows(X, signs))
    assert claim.kind == "overlapping"
    assert claim.others == 0
    assert len(claim.rows) <= 2 * 5


def test_separable_by_the_last_bit():
    """A linear program in floats calls this infeasible."""
    X = np.array([[0.0], [1.0], [np.nextafter(1.0, 2.0)], [2.0]])
    verdict = sx.separability(X, [0, 0, 1, 1])
    assert verdict.kind == "separable"
    shifted = np.column_stack([X[:, 0] + 1.0, X[:, 0] * 3.0])
    assert sx.separability(shifted, [0, 0, 1, 1]).kind in ("separable", "quasi-separable")


def test_partition_finds_every_row_that_can_be_off():
    """Levels of quasi-separation: each column frees rows only once the ones before it are gone."""
    X = np.array([[0, 0], [0, 0], [0, 1], [0, 2], [1, 9], [2, -9.0]])
    signs = np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    found = partition(SignedRows(X, signs))
    assert sorted(found.off.tolist()) == [2, 3, 4, 5]
    assert sorted(found.tight_rows.tolist()) == [0, 1]


def test_wide_problems_have_a_witness_too(monkeypatch):
    """Past a width no vertex is looked for: the witness is then the spanning set itself."""
    from separatrix.solvers.separability import facial_reduction

    monkeypatch.setattr(facial_reduction, "VERTEX_WIDTH", 0)
    monkeypatch.setattr(facial_reduction, "opposite_duplicates", lambda rows: None)
    for seed in range(60):
        X, signs, fit_intercept = degenerate(seed)
        verdict = sx.separability(X, signs, fit_intercept=fit_intercept)
        assert (verdict.witness is None) == (verdict.kind == "separable"), seed
        assert verdict.check(X, signs), seed


def test_directions_that_would_not_fit_leave_the_witness(monkeypatch):
    """Wide rows with one pair of opposite twins: not separable is proved, and no more is tried."""
    monkeypatch.setattr(facial_reduction, "MOST_CELLS", 100)
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(30, 40)).astype(float)
    X[1] = X[0]
    y = np.where(np.arange(30) % 2 == 0, 1, 0)
    verdict = sx.separability(X, y)
    assert verdict.kind == "undecided"
    assert verdict.witness.rows == (0, 1)
    assert "Not separable" in str(verdict)
    with pytest.raises(sx.NotSeparableError):
        sx.LinearSVM(C=np.inf).fit(X, y)


def left_open(monkeypatch):
    """Let the search give up before it has found anything."""

    def give_up(*_):
        raise Undecided(0.1)

    monkeypatch.setattr("separatrix.solvers.separability.decide.partition", give_up)


def test_what_is_known_is_said_where_the_search_gives_up(monkeypatch):
    left_open(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    signs = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    verdict = sx.separability(X, signs)
    assert (verdict.kind, verdict.certificate) == ("undecided", None)
    assert verdict.witness_holds(X, signs)  # from the dual of one linear program
    assert str(verdict).startswith("Not separable; ")
    twice = np.vstack([X, X[7]])
    verdict = sx.separability(twice, np.append(signs, -signs[7]))
    assert verdict.witness.rows == (7, 50)  # two equal rows of different classes


def test_a_linear_program_is_the_last_resort(monkeypatch):
    left_open(monkeypatch)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    signs = np.where(X @ [1.0, -2.0, 1.0] > 0.0, 1.0, -1.0)
    for rows in (X, sparse.csr_array(X)):
        verdict = sx.separability(rows, signs)
        assert verdict.kind == "separable"
        assert verdict.certificate.check(rows, signs)


def test_a_vector_moved_onto_the_pivots_keeps_every_product():
    rng = np.random.default_rng(3)
    for _ in range(40):
        n, d = int(rng.integers(1, 6)), int(rng.integers(1, 9))
        rows = rng.integers(-9, 10, size=(n, d)).tolist()
        basis = Basis([rows[i] for i in independent_rows(rows)], d)
        w = [Fraction(int(a), int(b)) for a, b in rng.integers(1, 50, size=(d, 2))]
        moved = basis.on_pivots(w)
        assert {j for j, v in enumerate(moved) if v} <= set(basis.pivots)
        for row in rows:
            assert sum(x * v for x, v in zip(row, moved, strict=True)) == sum(
                x * v for x, v in zip(row, w, strict=True)
            )
