"""Bounds of least squares at sizes where products vanish, and Fisher's claim field by field."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from fuzz.exact_judge import exact
from fuzz.exact_squares import perturbation

import separatrix as sx
from separatrix.certificates.least_squares import SquaresBounds, check_least_squares
from separatrix.storage.model_proof import prove_model


def exact_objective(X, t, s, w, b):
    return sum(
        Fraction(si) * (sum(Fraction(x) * Fraction(v) for x, v in zip(row, w, strict=True))
                        + Fraction(b) - Fraction(ti)) ** 2
        for row, ti, si in zip(X.tolist(), t.tolist(), s.tolist(), strict=True)
    )  # fmt: skip


@pytest.mark.parametrize("size", [1e-305, 1e-200, 1.0, 1e200, 1e305])
def test_small_weights_hide_no_column(size):
    """Lengths of columns underflowed, the column was dropped, and w = 0 had a gap of 0."""
    X, t = np.array([[1.0], [2.0], [3.0], [5.0]]), np.array([1.0, 2.0, 3.0, 5.0])
    s = np.full(4, size)
    nothing = check_least_squares(
        X, t, np.zeros((1, 1)), np.zeros(1), sample_weight=s, fit_intercept=False, task="regression"
    )
    assert nothing.gap > 0.5
    assert nothing.least == 0.0
    assert Fraction(nothing.objective) >= exact_objective(X, t, s, [0.0], 0.0)
    best = check_least_squares(
        X, t, np.ones((1, 1)), np.zeros(1), sample_weight=s, fit_intercept=False, task="regression"
    )
    assert best.holds
    # Moved to their mean, entries of 1e-10 had squares that vanish.
    X, t = 1.0 + 2.0**-33 * np.array([[1.0], [2.0], [3.0], [6.0]]), np.array([1.0, 2.0, 3.0, 6.0])
    level = check_least_squares(
        X, t, np.zeros((1, 1)), np.array([3.0]), sample_weight=s, task="regression"
    )
    assert level.gap > 0.5
    assert level.least == 0.0
    assert not level.holds


def test_weights_of_all_sizes_bound_the_exact_objective():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(6, 2)) * 10.0 ** rng.integers(-150, 150)
        t, w, b = rng.normal(size=6), rng.normal(size=2), float(rng.normal())
        s = rng.random(6) * 10.0 ** rng.choice([-300, -160, 0, 160])
        found = check_least_squares(
            X, t, w[None], np.array([b]), sample_weight=s, task="regression"
        )
        exact = exact_objective(X, t, s, w.tolist(), b)
        assert found.objective == np.inf or Fraction(found.objective) >= exact
        assert Fraction(found.least) <= exact


@pytest.mark.parametrize("field", ["objective", "least", "perturbation", "gap", "ridge", "n_rows"])
def test_what_fisher_reads_is_compared(field):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    X[:, 0] += y
    proof = sx.Fisher().fit(X, y).certificate_
    assert proof.check(X, y)
    squares = proof.squares
    moved = {
        "objective": squares.objective * 0.5,
        "least": squares.least * 1.5,
        "perturbation": 0.0,
        "gap": 0.0,
        "ridge": 1.0,
        "n_rows": 61,
    }
    assert not replace(proof, squares=replace(squares, **{field: moved[field]})).check(X, y)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (sx.LeastSquares(), ("objective", "perturbation", "gap")),
        (sx.LeastSquares(ridge=1.0), ("objective", "perturbation", "gap")),
        (sx.GaussianPlugIn("full"), ("means", "covariances", "offsets")),
        (sx.GaussianPlugIn(), ("means", "offsets")),
    ],
    ids=repr,
)
def test_a_claim_leaves_room_for_sums_in_another_order(model, names):
    """On a processor that adds up otherwise, one in ten honest claims was refused."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(90, 12)) + 3.0, np.arange(90) % 2
    proof = model.fit(X, y).certificate_
    for name in names:
        claimed = getattr(proof, name)
        tighter = claimed * (1.0 - 1e-16) if name == "objective" else 0.7 * claimed
        assert replace(proof, **{name: tighter}).check(X, y), name


def test_the_ratio_of_scatters_leaves_room_too():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(90, 12)) + 3.0, np.arange(90) % 2
    proof = sx.Fisher().fit(X, y).certificate_
    assert replace(proof, ratio=proof.ratio * (1.0 + 1e-15)).check(X, y)
    assert replace(proof, bound=proof.bound * (1.0 - 1e-15)).check(X, y)
    many = sx.Fisher().fit(X, np.arange(90) % 3)
    proof = many.certificate_
    assert replace(proof, moved=0.7 * proof.moved).check(X, np.arange(90) % 3)


def test_a_column_that_differs_in_its_last_digit_is_moved_by_its_exact_mean():
    X = np.array([[0.0, -3.7e9]] * 6)
    X[3, 1], X[4, 0] = np.nextafter(-3.7e9, 0.0), -293.0
    T = np.array([[
        2.8563324240094639e-06, 1.6561113555600746e-06, 5.9819258269247640e-06,
        5.5601163572508097e-07, -1.1351738391323430e-06, -1.6346694212171976e-06,
    ]]).T  # fmt: skip
    W = np.array([[9.4157118210021774e-07, 1.0301420489190375e-08, -2.5447869786492378e-16]])
    s = np.ones(6)
    *_, found, _ = SquaresBounds.prove(X, T, s, W, 0.0, True)
    rows, targets, (weights,) = (
        [[exact(v) for v in row] for row in part.tolist()] for part in (X, T, W)
    )
    share = perturbation(
        rows, targets, [exact(1.0)] * 6, [weights[1:]], weights[:1], exact(0.0), True, True
    )
    assert float(share.lower()) <= found <= float(share.upper()) * (1.0 + 1e-6)


def test_a_bias_that_no_sum_has_is_refused():
    """Without an intercept the bias was left out of the proof, and predicted with all the same."""
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    model = sx.LeastSquares(fit_intercept=False).fit(X, y)
    assert prove_model(model, X, y)[0]
    weights = ((5.0, *model.certificate_.weights[0][1:]),)
    model.certificate_ = replace(model.certificate_, weights=weights)
    model.intercept_ = np.array([5.0])
    assert not model.certificate_.check(X, y)
    assert not prove_model(model, X, y)[0]


@pytest.mark.parametrize("ridge", [-1.0, -np.inf, np.nan])
def test_a_ridge_below_zero_bounds_nothing(ridge):
    X, t = np.array([[0.1], [0.2]]), np.array([1.0, 2.0])
    settings = {"ridge": ridge, "fit_intercept": False, "task": "regression"}
    assert not check_least_squares(X, t, np.ones((1, 1)), np.zeros(1), **settings).check(X, t)
