from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.amounts import cases
from tests.naive import separation as naive
from tests.naive.perceptron import kesler_rows
from tests.problems import as_sparse, problem

import separatrix as sx
from separatrix.certificates.reading import from_json
from separatrix.certificates.separation import (
    check_margin_bounds,
    check_separation,
    radius_up,
    root_down,
    root_up,
)
from separatrix.checker import Refused
from separatrix.core.novikoff import bounded
from separatrix.problem.canonical import problem_from
from separatrix.problem.signed import KeslerProblem, SignedProblem
from separatrix.solvers.running.drive import Status, solve
from separatrix.solvers.updates import kozinec, perceptron


def test_equals_fractions_on_random_and_near_weights():
    for seed in cases(3000):
        rng = np.random.default_rng(seed)
        case = problem(seed)
        X = as_sparse(case.X, np.int32) if seed % 2 else case.X
        signed = SignedProblem(X, case.y_signs)
        w = rng.normal(size=signed.dimension)
        if seed % 3 == 0:
            # Weights through a row: its margin is zero but for rounding.
            z = signed.signed_rows()[rng.integers(signed.n_rows)]
            if 0 < np.abs(z).max() < 1e100:
                w = w - (w @ z) / (z @ z) * z
        proof = check_separation(signed, w)
        exact = naive.exact_margins(case.X, case.y_signs, w)
        assert proof.holds == (min(exact) > 0)
        if proof.holds:
            assert proof.margin >= 0.0
            square = sum(Fraction(value) ** 2 for value in w.tolist())
            assert Fraction(proof.margin) ** 2 * square <= min(exact) ** 2
        else:
            assert proof.worst_margin <= 0
            assert proof.worst_margin == exact[proof.worst_row]
            if np.abs(case.X).max() < 1e100:
                floats = [float(margin) for margin in exact]
                assert floats[proof.worst_row] == pytest.approx(min(floats), rel=1e-9, abs=1e-9)


def test_knows_a_margin_that_floats_cannot_see():
    """0.1 + 0.2 - 0.3 is positive as stored and w.z is computed as 5.6e-17, or 0, or less."""
    X, signs = np.array([[0.1, 0.2, 0.3]]), np.array([1.0])
    signed = SignedProblem(X, signs, fit_intercept=False)
    assert check_separation(signed, np.array([0.0, 1.0, 1.0, -1.0])).holds
    huge = SignedProblem(np.array([[1e200, 1.0, -1e200]]), signs, fit_intercept=False)
    proof = check_separation(huge, np.array([0.0, 1e100, 1.0, 1e100]))
    assert proof.holds
    assert proof.worst_margin == 1


def test_overflow_and_underflow_are_settled_exactly():
    X = np.array([[1e300, -1e300], [5e-324, 5e-324]])
    signed = SignedProblem(X, np.ones(2), fit_intercept=False)
    assert check_separation(signed, np.array([0.0, 1e300, 1e299])).holds
    tiny = check_separation(signed, np.array([0.0, 2e-300, 1e-300]))
    assert tiny.holds
    assert not check_separation(signed, np.array([0.0, 1e300, 1e300])).holds


def test_weights_that_are_not_numbers_are_refused():
    signed = SignedProblem(np.eye(2), np.array([1.0, -1.0]))
    with pytest.raises(Refused, match="finite"):
        check_separation(signed, np.array([np.nan, 0.0, 0.0]))


def test_check_refuses_other_data_and_other_labels():
    X, y = np.array([[0.0], [1.0], [3.0]]), np.array(["a", "a", "b"])
    proof = check_separation(SignedProblem(X, [-1, -1, 1]), np.array([-2.0, 1.0]))
    assert proof.check(X, y)
    assert proof.check(X.astype(np.float32), [0, 0, 1])
    assert not proof.check(X + 1.0, y)
    assert not proof.check(X, ["a", "b", "b"])
    assert not proof.check(X[:2], ["a", "b"])
    assert not proof.check(np.hstack([X, X]), y)


def test_a_proof_that_claims_to_hold_is_proved_again():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    false = check_separation(SignedProblem(X, [-1, 1]), np.array([0.0, 1.0]))
    object.__setattr__(false, "holds", True)
    assert not false.check(X, y)


def test_margin_bounds_hold_exactly():
    for seed in cases(500):
        case = problem(seed, kind=["comfortable_margin", "overlapping_gaussians"][seed % 2])
        X = as_sparse(case.X, np.int32) if seed % 4 > 1 else case.X
        signed = SignedProblem(X, case.y_signs)
        state, _ = solve(kozinec, signed, 200)
        proof = check_margin_bounds(signed, state.w, state.alpha)
        assert naive.margin_bounds_hold(
            case.X, case.y_signs, state.w, state.alpha, proof.lower, proof.upper
        )
        assert proof.upper == pytest.approx(state.bound, rel=1e-9)
        assert proof.check(X, case.y_signs)
        raised = check_margin_bounds(signed, state.w, state.alpha)
        object.__setattr__(raised, "upper", 0.999 * proof.upper)
        assert not raised.check(X, case.y_signs)


def test_margin_bounds_of_many_classes():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(12, 2)), np.arange(12) % 3
    X[codes == 0] += 9
    X[codes == 1, 0] -= 9
    kesler = KeslerProblem(X, codes, 3)
    state, status = solve(kozinec, kesler)
    assert status is Status.SEPARATED
    proof = check_margin_bounds(kesler, state.w, state.alpha)
    Z = kesler_rows(X, codes, kesler.n_classes)
    assert proof.upper >= np.linalg.norm(Z.T @ state.alpha)
    assert proof.upper == pytest.approx(state.bound, rel=1e-9)
    assert proof.check(X, codes)


@pytest.mark.parametrize("alpha", [[-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_multipliers_must_be_convex_coefficients(alpha):
    signed = SignedProblem(np.eye(2), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="multipliers"):
        check_margin_bounds(signed, np.ones(3), np.array(alpha))


def test_novikoff_bounds_the_mistakes_on_a_thousand_sets():
    tight = 0
    for seed in cases(1000):
        case = problem(seed, kind=["comfortable_margin", "separable_integers"][seed % 2])
        signed = SignedProblem(case.X, case.y_signs)
        rate = [1.0, 0.25][seed // 2 % 2]
        first = None if seed % 3 else np.random.default_rng(seed).normal(size=signed.dimension)
        state, status = solve(perceptron, signed, rate=rate, first=first)
        wide, _ = solve(kozinec, signed, 20_000, epsilon=0.05)
        assert status is Status.SEPARATED
        proof = check_novikoff(signed, wide.w, state.updates, first, rate)
        own = check_novikoff(signed, state.w, state.updates, first, rate)
        assert proof.holds
        assert own.holds
        tight += proof.bound < 1e4
    assert tight > 0


def check_novikoff(signed, separator, mistakes, first=None, rate=1.0):
    """Bound the mistakes by the margin of one separator; `mistake_bound` looks for the widest."""
    return bounded(signed, check_separation(signed, separator).margin, mistakes, first, rate)


def test_novikoff_without_a_margin_has_no_bound():
    signed = SignedProblem(np.eye(2), np.array([1.0, -1.0]))
    proof = check_novikoff(signed, np.zeros(3), 7)
    assert proof.bound == np.inf
    assert "no bound" in str(proof)


def test_the_radius_is_not_less_than_the_longest_row():
    for seed in cases(300):
        case = problem(seed)
        signed = SignedProblem(case.X, case.y_signs)
        exact = max(sum(Fraction(v) ** 2 for v in row) for row in signed.signed_rows().tolist())
        radius = radius_up(signed)
        assert radius == np.inf or Fraction(radius) ** 2 >= exact


def test_roots_are_rounded_outwards():
    rng = np.random.default_rng(0)
    for _ in range(300):
        value = Fraction(float(rng.uniform(0, 2))) * Fraction(2) ** int(rng.integers(-900, 900))
        assert Fraction(root_down(value)) ** 2 <= value <= Fraction(root_up(value)) ** 2
    assert root_down(Fraction(0)) == root_up(Fraction(0)) == 0.0


def test_bounds_at_the_ends_of_the_range_of_floats():
    tiny = SignedProblem(np.array([[1e-170], [-1e-170]]), np.array([1.0, -1.0]), False)
    proof = check_novikoff(tiny, np.array([0.0, 1.0]), 1)
    assert proof.holds
    assert proof.radius >= 1e-170
    huge = SignedProblem(np.full((1, 2), 1.7e308), np.ones(1))
    assert radius_up(huge) == np.inf
    assert check_separation(huge, np.array([0.0, 1.0, 1.0])).margin == pytest.approx(
        1.79e308, rel=1e-2
    )
    far = check_novikoff(tiny, np.array([0.0, 1.0]), 1, first=np.array([0.0, 1e200]))
    assert far.bound > 1e300


def test_margin_bounds_of_other_data_are_refused_without_a_fault():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    signed = SignedProblem(X, np.where(y == 1, 1.0, -1.0))
    state, _ = solve(kozinec, signed, 50)
    proof = check_margin_bounds(signed, state.w, state.alpha)
    assert not proof.holds
    assert proof.check(X, y)
    assert not proof.check(X[:2], y[:2])
    assert not proof.check(np.hstack([X, X]), y)
    assert not proof.check(X + 1, y)


def test_margin_bounds_compare_all_they_say_of_rows_and_data():
    """One multiplier stood for two rows, and other numbers of rows and classes passed."""
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    proof = sx.Kozinec(epsilon=0.1).fit(X, y).certificate_
    assert proof.check(X, y)
    inner = proof.separation
    for forged in (
        replace(proof, rows=(1, 2), multipliers=(0.5,), upper=1e3),
        replace(proof, rows=(1, 1), multipliers=(0.5, 0.5), upper=1e3),
        replace(proof, rows=(-1,), multipliers=(0.5,), upper=1e3),
        replace(proof, separation=replace(inner, n_rows=5)),
        replace(proof, separation=replace(inner, n_features=2)),
        replace(proof, separation=replace(inner, classes=("a", "b", "c"))),
    ):
        assert not forged.check(X, y)


def test_the_closest_row_and_the_margin_are_part_of_the_claim():
    """They are in the sentence; `check` did not look at them."""
    X, y = np.array([[1.0], [2.0], [5.0], [7.0]]), np.array([0, 0, 1, 1])
    proof = check_separation(problem_from(X, y, True), np.array([-3.5, 1.0]))
    assert proof.check(X, y)
    for changed in (
        {"worst_row": 0},
        {"worst_row": 4},
        {"worst_row": -1},
        {"worst_margin": Fraction(2)},
        {"margin": proof.margin * (1.0 + 1e-9)},
        {"margin": -1.0},
    ):
        assert not replace(proof, **changed).check(X, y), changed
    assert replace(proof, margin=proof.margin / 2.0).check(X, y)
    bounds = check_margin_bounds(problem_from(X, y, True), np.array([-3.5, 1.0]), np.ones(4))
    assert bounds.check(X, y)
    for changed in ({"worst_margin": Fraction(9)}, {"holds": False}):
        assert not replace(bounds, separation=replace(proof, **changed)).check(X, y)


def test_a_claim_that_was_read_says_neither_that_it_is_proved_nor_that_it_is_refuted():
    X, y = np.array([[1.0], [5.0]]), np.array([0, 1])
    proof = check_separation(problem_from(X, y, True), np.array([-3.0, 1.0]))
    read = from_json(proof.to_json())
    assert str(read) == "claimed by a file: all 2 rows lie strictly on their own side (exact)"
    assert read.check(X, y)


def test_labels_of_one_class_are_no_data_of_two():
    """They were taken for the second class, whichever they are of."""
    X = np.array([[1.0], [5.0]])
    proof = check_separation(SignedProblem(X, np.ones(2)), np.array([1.0, 1.0]))
    assert proof.holds
    assert not proof.check(X, np.zeros(2))


def test_no_other_row_is_called_the_closest():
    """Its exact margin was compared with that of the row that was named, not with the least."""
    X, y = np.array([[-1.0], [1.0], [100.0]]), np.array([0, 1, 1])
    proof = check_separation(problem_from(X, y, True), np.array([0.0, 1.0]))
    assert (proof.worst_row, proof.worst_margin) == (0, 1)
    assert replace(proof, worst_row=1).check(X, y)  # as close
    assert replace(proof, worst_row=None, worst_margin=Fraction(0)).check(X, y)
    assert not replace(proof, worst_row=2, worst_margin=Fraction(100)).check(X, y)
    assert not replace(proof, worst_row=None).check(X, y)
    X, y = np.array([[-1.0], [1.0], [100.0], [-2.0], [-1.0]]), np.array([0, 1, 1, 1, 1])
    bounds = check_margin_bounds(problem_from(X, y, True), np.array([0.0, 1.0]), np.eye(5)[0])
    inner = bounds.separation
    assert bounds.check(X, y)
    assert replace(bounds, separation=replace(inner, worst_row=4, worst_margin=Fraction(-1))).check(
        X, y
    )
    on_its_side = replace(inner, worst_row=2, worst_margin=Fraction(100))
    assert not replace(bounds, separation=on_its_side).check(X, y)


def test_the_closest_row_is_so_by_its_exact_margin():
    """Rounded margins are equal here, and another order of sums would name another row."""
    X = np.array([[1.0, 2.0**-60], [1.0, -(2.0**-60)], [-1.0, 0.0]])
    proof = check_separation(problem_from(X, [1, 1, 0], True), np.array([0.0, 1.0, 1.0]))
    assert (proof.worst_row, proof.worst_margin) == (1, 1 - Fraction(2) ** -60)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_short_floats_are_no_bounds(kind):
    """NumPy rounds what was proved to their length before it compares."""
    X, y = np.array([[-1.0004], [1.0004]]), np.array([0, 1])
    bounds = check_margin_bounds(problem_from(X, y, True), np.array([0.0, 1.0]), np.ones(2))
    assert bounds.check(X, y)
    assert not replace(bounds, lower=kind(bounds.lower)).check(X, y)
    assert not replace(bounds, upper=kind(bounds.upper)).check(X, y)
    assert not replace(bounds, multipliers=(kind(1.0), 1.0)).check(X, y)
    inner = replace(bounds.separation, margin=kind(bounds.separation.margin))
    assert not inner.check(X, y)
    assert not replace(bounds, separation=inner).check(X, y)


def test_weights_that_are_rounded_before_they_are_tested_are_refused():
    """As integers the first margin is 0; as floats it was 256."""
    x = 2**60 + 768
    X, y = np.array([[float(x)], [0.0]]), np.array([1, 0])
    problem = problem_from(X, y, True)
    proof = check_separation(problem, np.array([float(-3 * x), 3.0]))
    assert proof.check(X, y)
    assert not replace(proof, weights=((-3 * x, 3),)).check(X, y)


@pytest.mark.parametrize("option", [1, np.True_])
def test_an_intercept_that_is_no_bool_is_kept_as_one(option):
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    for proof in (
        sx.separability(X, y, option).certificate,
        sx.Kozinec(fit_intercept=option).fit(X, y).certificate_,
        sx.inference(X, [0, 1, 0, 1], fit_intercept=option).certificate,
    ):
        assert proof.spoken_of().intercept is True
    assert proof.check(X, [0, 1, 0, 1])
