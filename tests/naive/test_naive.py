"""The slow versions against cases done by hand, against theorems, and against each other."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.naive.delta_rule import delta_rule, largest_stable_rate, loss
from tests.naive.kozinec import kozinec
from tests.naive.perceptron import kesler_rows, perceptron, pocket
from tests.naive.rows import dot, least_margin_row, misclassified
from tests.naive.separation import (
    exact_margins,
    margin_bounds_hold,
    separable_by_fractions,
    separates,
    times_root_at_most,
)
from tests.problems import KINDS, as_sparse, problem, problems

WORKED_X = np.array([[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]])
WORKED_SIGNS = np.array([1.0, -1, -1, 1, 1])
WORKED = WORKED_SIGNS[:, np.newaxis] * np.column_stack([np.ones(5), WORKED_X])

TINY = [p for p in problems(600) if len(p.X) <= 12 and p.X.shape[1] <= 3]
# Kinds whose margins are wide enough for every rule to finish soon.
WIDE = list(problems(60, ["comfortable_margin", "constant_columns", "copied_columns"]))
WIDE = [p for p in WIDE if np.abs(p.X).max() < 20]


def name(p):
    return p.name


# The perceptron.


def test_worked_perceptron():
    run = perceptron(WORKED, rate=0.2, start=[0, 1, 0.5])
    assert_allclose(run.history, [[-0.2, 0.6, 0.9], [0, 0.2, 1.1], [0.2, 0.5, 1.0]], atol=1e-15)
    assert run.used == [[1], [3], [4]]
    assert (run.updates, run.visits, run.separated) == (3, 10, True)
    assert run.mass == pytest.approx(0.6)
    weights_in_force = [[0, 1, 0.5]] + [[-0.2, 0.6, 0.9]] * 2 + [[0, 0.2, 1.1]]
    weights_in_force += [[0.2, 0.5, 1.0]] * 6
    assert_allclose(run.average, np.mean(weights_in_force, axis=0))


def test_blocks_by_hand():
    # From w = 0 all margins are 0. Blocks {0, 1}, {2}: the first adds both rows, w = 2.
    Z = np.array([[1.0], [1.0], [-3.0]])
    run = perceptron(Z, batch_size=2, max_updates=3, decay=1.0)
    # 2, then 2 - 3/2 = 0.5; rows 0, 1 are clean; row 2 takes a third of 3; then 0 is wrong.
    assert_allclose(np.ravel(run.history), [2.0, 0.5, -0.5])
    assert run.used == [[0, 1], [2], [2]]
    assert (run.visits, run.separated) == (8, False)
    assert run.mass == pytest.approx(2 + 1 / 2 + 1 / 3)
    assert_allclose(run.average, [(2 * 2 + 0.5 + 2 * 0.5 - 0.5 + 2 * -0.5) / 8])


def test_worst_by_hand():
    Z = np.array([[1.0, 0.0], [-1.0, 3.0]])
    run = perceptron(Z, order="worst")
    # w = 0 ties, the first is taken; then margins (1, -1), (0, 9), (1, 8).
    assert run.used == [[0], [1], [0]]
    assert_array_equal(run.history, [[1, 0], [0, 3], [1, 3]])
    assert (run.visits, run.separated) == (8, True)
    assert_allclose(run.average, [0.75, 2.25])


def test_full_batch_by_hand():
    run = perceptron(np.array([[1.0, 0.0], [-1.0, 3.0]]), batch_size=2)
    # (0, 3) leaves the first row on the border; (1, 3) has margins 1 and 8.
    assert_array_equal(run.history, [[0, 3], [1, 3]])
    assert run.used == [[0, 1], [0]]
    assert run.visits == 6


def test_permutations_visit_in_their_order():
    identity = perceptron(WORKED, order=[range(5)] * 50)
    cyclic = perceptron(WORKED)
    assert identity.used == cyclic.used
    assert_array_equal(identity.w, cyclic.w)
    reversed_passes = perceptron(WORKED, order=[range(4, -1, -1)] * 50)
    flipped = perceptron(WORKED[::-1])
    assert [[4 - i for i in rows] for rows in flipped.used] == reversed_passes.used
    with pytest.raises(ValueError, match="ran out"):
        perceptron(np.zeros((2, 1)), order=[[0, 1]])


def test_differing_permutations_may_stop_before_they_have_seen_every_row():
    # Row 2 is clean, row 0 turns w to 1, and then 1, 1, 0 are three clean visits: row 2 is wrong.
    Z = np.array([[1.0], [1.0], [-1.0]])
    run = perceptron(Z, start=[-1.0], rate=2.0, order=[[2, 0, 1], [1, 0, 2]])
    assert (run.used, run.visits, run.separated) == ([[0]], 5, True)
    assert misclassified(Z, run.w, range(3)) == [2]


def test_the_budget_allows_a_last_look():
    for budget, separated in [(2, False), (3, True)]:
        run = perceptron(WORKED, rate=0.2, start=[0, 1, 0.5], max_updates=budget)
        assert (run.updates, run.separated) == (budget, separated)


def test_nan_margin_is_an_error():
    Z = np.array([[1e300, -1e300], [1.0, 1.0]])
    assert misclassified(Z, np.array([1e300, 1e300]), [0, 1]) == [0]
    assert least_margin_row(Z, np.array([1e300, 1e300])) == 0


@pytest.mark.parametrize("batch_size", [1, 3, None])
@pytest.mark.parametrize("p", WIDE, ids=name)
def test_perceptron_separates(p, batch_size):
    run = perceptron(p.signed_rows(), batch_size=batch_size or len(p.X), max_updates=10**5)
    assert run.separated
    assert separates(p.X, p.y_signs, run.w)
    total = sum(p.signed_rows()[i] for rows in run.used for i in rows)
    assert_allclose(run.w, total, atol=1e-9)


@pytest.mark.parametrize("order", ["cyclic", "worst"])
@pytest.mark.parametrize("p", WIDE, ids=name)
def test_novikoff(p, order):
    Z = p.signed_rows()
    margin = kozinec(Z, epsilon=0.1 * kozinec(Z).upper).lower
    radius = np.linalg.norm(Z, axis=1).max()
    run = perceptron(Z, order=order)
    assert run.separated
    assert run.updates <= (radius / margin) ** 2


def test_pocket_by_hand():
    # Two right for w = 1, one for w = -1, none for w = 0: the last row always undoes the first.
    Z = np.array([[1.0], [1.0], [-1.0]])
    errors, w = pocket(Z, max_updates=10)
    assert errors == 1
    assert_array_equal(w, [1.0])
    assert pocket(Z, start=[-1.0], max_updates=0)[0] == 2


def test_pocket_finds_what_the_perceptron_finds():
    errors, w = pocket(WORKED)
    assert errors == 0
    assert separates(WORKED_X, WORKED_SIGNS, w)


def test_kesler_by_hand():
    rows = kesler_rows(np.array([[5.0], [7.0]]), [0, 2], 3)
    assert_array_equal(
        rows,
        [[1, 5, -1, -5, 0, 0], [1, 5, 0, 0, -1, -5], [-1, -7, 0, 0, 1, 7], [0, 0, -1, -7, 1, 7]],
    )
    assert_array_equal(kesler_rows(np.array([[5.0]]), [1], 2, fit_intercept=False), [[-5, 5]])


def test_kesler_perceptron_learns_three_classes():
    X = np.array([[0.0, 2], [0, 3], [2, -1], [3, -1], [-2, -1], [-3, -1]])
    codes = np.array([0, 0, 1, 1, 2, 2])
    run = perceptron(kesler_rows(X, codes, 3))
    scores = np.column_stack([np.ones(6), X]) @ run.w.reshape(3, 3).T
    assert_array_equal(scores.argmax(axis=1), codes)


# The delta rule.


def test_delta_rule_by_hand():
    Z = np.array([[1.0, 2.0], [1.0, -1.0]])
    w, losses = delta_rule(Z, rate=0.1, passes=1)
    # (0.1, 0.2), then error 1.1 on the second row.
    assert_allclose(w, [0.21, 0.09])
    assert_allclose(losses, [(0.61**2 + 0.88**2) / 2])
    w, losses = delta_rule(Z, rate=0.1, passes=1, batch_size=2)
    assert_allclose(w, [0.2, 0.1])
    w, losses = delta_rule(Z, thresholded=True, rate=0.1, passes=2)
    # 2 * 0.1 * row 0 = (0.2, 0.4); row 1 has -0.2, so (0.4, 0.2); then both are right.
    assert_allclose(w, [0.4, 0.2])
    assert losses == [0.0, 0.0]
    assert loss(Z, [0.0, 0.0], thresholded=True) == 4.0


def test_thresholded_delta_rule_is_the_perceptron_at_twice_the_rate():
    w, losses = delta_rule(WORKED, thresholded=True, rate=0.1, passes=3, start=[0, 1, 0.5])
    assert_allclose(w, [0.2, 0.5, 1.0])
    assert losses == [0.0, 0.0, 0.0]


def test_stable_rate_divides_convergence_from_divergence():
    limit = largest_stable_rate(WORKED)
    below, losses_below = delta_rule(WORKED, rate=0.9 * limit, passes=500, batch_size=5)
    _, losses_above = delta_rule(WORKED, rate=1.1 * limit, passes=500, batch_size=5)
    least_squares = np.linalg.lstsq(WORKED, np.ones(5), rcond=None)[0]
    assert_allclose(below, least_squares, rtol=1e-9)
    assert np.all(np.diff(losses_below) <= 1e-12)
    assert losses_above[-1] > 1e6


# Kozinec.


def test_kozinec_by_hand():
    # From (1, 2) the row (1, -2) has w.z = -3; the segment's nearest point is (1, 0).
    run = kozinec(np.array([[1.0, 2.0], [1.0, -2.0]]))
    assert_allclose(run.w, [1.0, 0.0], atol=1e-15)
    assert_allclose(run.alpha, [0.5, 0.5])
    assert (run.updates, run.used, run.outcome) == (1, [1], "separated")
    assert (run.lower, run.upper) == (1.0, 1.0)


def test_epsilon_may_step_all_the_way_to_a_shorter_row():
    run = kozinec(np.array([[3.0, 0.0], [1.0, 0.0]]), epsilon=0.1)
    assert_array_equal(run.alpha, [0, 1])
    assert (run.outcome, run.lower, run.upper) == ("epsilon", 1.0, 1.0)


def test_kozinec_meets_the_origin():
    run = kozinec(np.array([[1.0, 1.0], [-1.0, -1.0]]))
    assert run.outcome == "origin"
    assert_array_equal(run.w, [0, 0])
    assert np.isnan(run.lower)
    assert kozinec(np.zeros((2, 2))).outcome == "origin"


def test_kozinec_runs_out():
    Z = np.array([[1.0, 2.0], [1.0, -2.0]])
    assert kozinec(Z, max_updates=0).outcome == "budget"
    assert kozinec(Z, max_updates=1).outcome == "separated"


@pytest.mark.parametrize("order", ["cyclic", pytest.param("worst", marks=pytest.mark.long)])
@pytest.mark.parametrize("p", WIDE, ids=name)
def test_kozinec_proves_its_margin(p, order):
    Z = p.signed_rows()
    plain = kozinec(Z, order=order)
    assert plain.outcome == "separated"
    assert separates(p.X, p.y_signs, plain.w)
    epsilon = 0.01 * plain.upper
    run = kozinec(Z, epsilon, order, max_updates=10**5)
    assert run.outcome == "epsilon"
    assert run.upper - run.lower <= epsilon * (1 + 1e-9)
    assert_allclose(run.alpha @ Z, run.w, atol=1e-9 * run.upper)
    lower, upper = run.lower * (1 - 1e-9), run.upper * (1 + 1e-9)
    assert margin_bounds_hold(p.X, p.y_signs, run.w, run.alpha, lower, upper)
    assert not margin_bounds_hold(p.X, p.y_signs, run.w, run.alpha, run.lower * 1.001, upper)
    assert not margin_bounds_hold(p.X, p.y_signs, run.w, run.alpha, lower, run.upper * 0.999)
    norms = [np.linalg.norm(w) for w in run.history]
    assert np.all(np.diff(norms) <= 1e-12)


# Exact separation.


def test_margins_are_exact():
    X = np.array([[0.1], [1e-300]])
    margins = exact_margins(X, [1.0, -1.0], [1.0, 1e300])
    assert margins[0] == 1 + Fraction(0.1) * Fraction(1e300)
    assert margins[1] == -1 - Fraction(1e-300) * Fraction(1e300)
    assert not separates(X, [1.0, -1.0], [1.0, 1e300])


@pytest.mark.parametrize(
    ("factor", "square", "bound", "holds"),
    [
        (2, 9, 6, True),
        (2, 9, 5, False),
        (-2, 9, -6, True),
        (-2, 9, -5, True),
        (-2, 9, -7, False),
        (-2, 9, 0, True),
        (2, 9, -1, False),
        (0, 9, 0, True),
        (-3, 0, -1, False),
    ],
)
def test_roots_compared_by_squares(factor, square, bound, holds):
    # -2 * 3 = -6 is at most -6, at most -5, and not at most -7.
    assert times_root_at_most(factor, square, bound) == holds


def test_bounds_need_a_proof():
    X, signs = [[1.0], [-1.0]], [1.0, -1.0]
    assert margin_bounds_hold(X, signs, [0.0, 2.0], [1.0, 1.0], 1.0, 1.0)
    assert not margin_bounds_hold(X, signs, [0.0, 0.0], [1.0, 1.0], 0.0, 1.0)
    assert not margin_bounds_hold(X, signs, [0.0, 2.0], [0.0, 0.0], 1.0, 1.0)
    assert not margin_bounds_hold(X, signs, [0.0, 2.0], [2.0, -1.0], 1.0, 9.0)


@pytest.mark.parametrize(
    ("X", "signs", "separable"),
    [
        ([[0.0], [1.0]], [-1, 1], True),
        ([[0.0], [1.0], [2.0]], [-1, 1, -1], False),
        ([[0.0], [0.0]], [-1, 1], False),
        ([[0.0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1], False),
        ([[0.0, 0], [1, 1], [0, 1], [1, 0]], [-1, 1, -1, -1], True),
        # The point in the middle of a side of a triangle touches, so no strict separation.
        ([[0.0, 0], [2, 0], [0, 2], [1, 0]], [-1, -1, -1, 1], False),
        ([[0.0, 0], [2, 0], [0, 2], [1, -1e-300]], [-1, -1, -1, 1], True),
    ],
)
def test_separability_by_hand(X, signs, separable):
    assert separable_by_fractions(X, signs) == separable


def test_without_an_intercept_the_hyperplane_meets_the_origin():
    assert not separable_by_fractions([[1.0], [2.0]], [1, -1], fit_intercept=False)
    assert separable_by_fractions([[1.0], [2.0]], [1, -1])


@pytest.mark.parametrize("p", TINY, ids=name)
def test_flags_and_rules_agree_with_the_exact_decision(p):
    separable = separable_by_fractions(p.X, p.y_signs)
    assert p.separable in (separable, None)
    run = perceptron(p.signed_rows(), max_updates=200)
    plain = kozinec(p.signed_rows(), max_updates=200)
    # Floating margins may round to a positive number, so the exact check has the last word.
    for w, claimed in [(run.w, run.separated), (plain.w, plain.outcome == "separated")]:
        if not separable and np.all(np.isfinite(w)):
            assert not separates(p.X, p.y_signs, w)
        if claimed and p.kind != "extreme_columns":
            assert separable


# The problems.


@pytest.mark.parametrize("kind", KINDS)
def test_problems_are_well_formed(kind):
    for seed in range(40):
        p, again = problem(seed, kind), problem(seed, kind)
        assert_array_equal(p.X, again.X)
        assert_array_equal(p.y_signs, again.y_signs)
        assert p.X.dtype == p.y_signs.dtype == np.float64
        assert p.X.ndim == 2
        assert len(p.X) == len(p.y_signs)
        assert np.all(np.isfinite(p.X))
        assert set(p.y_signs) <= {-1.0, 1.0}
        assert p.one_class == (len(set(p.y_signs)) == 1)
        assert p.one_class == (kind in ("one_class", "one_row"))


def test_consecutive_seeds_cycle_through_the_kinds():
    assert [problem(seed).kind for seed in range(len(KINDS))] == list(KINDS)
    assert [p.kind for p in problems(3, ["one_row", "collinear"])] == [
        "one_row",
        "collinear",
        "one_row",
    ]
    assert [p.name for p in problems(20)] == [problem(seed).name for seed in range(20)]


def test_flags_come_in_all_colours():
    tally = {flag: sum(p.separable is flag for p in problems(340)) for flag in (True, False, None)}
    assert min(tally.values()) >= 30
    assert sum(len(p.X) > 100 for p in problems(340)) >= 3


def test_comfortable_margins_are_comfortable():
    for p in problems(100, ["comfortable_margin"]):
        Z = p.signed_rows()
        radius = np.linalg.norm(Z, axis=1).max()
        run = kozinec(Z, epsilon=0.02 * radius, max_updates=10**5)
        assert run.lower >= 0.05 * radius, p.name


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_sparse_form_is_the_same_matrix(index_dtype):
    for p in problems(34):
        rows = as_sparse(p.X, index_dtype)
        assert rows.format == "csr"
        assert rows.indices.dtype == rows.indptr.dtype == index_dtype
        assert_array_equal(rows.toarray(), p.X)


def test_dot_sums_from_left_to_right():
    assert dot([1.0, 1e17, -1e17], [1.0, 1.0, 1.0]) == 0.0
