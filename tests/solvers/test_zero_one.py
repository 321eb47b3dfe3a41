import json
import pickle
import warnings
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import cases
from tests.error_forgeries import WAYS, accepted, small_problem, thin_problem
from tests.naive.zero_one import fewest_errors as naive
from tests.problems import problem

import separatrix as sx
from separatrix.certificates import errors as certified
from separatrix.certificates.errors import cheapest_sides, fewest_by_cells
from separatrix.certificates.reading import from_json
from separatrix.checker import Refused
from separatrix.core import zero_one as core
from separatrix.problem.canonical import locations, problem_from, whole_weights
from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.decide import decide
from separatrix.solvers.zero_one.cells import best_sides
from separatrix.solvers.zero_one.hitting_set import SEPARATED, WITNESS, nearest_point


def weight_of(wrong, weights):
    return wrong.sum() if weights is None else weights[wrong].sum()


# ---- against the naive version


@pytest.mark.parametrize("seed", cases(30))
def test_as_few_errors_as_brute_force_finds(seed):
    X, signs, weights = small_problem(seed)
    machine = sx.ZeroOne().fit(X, signs, weights)
    assert machine.errors_ == machine.lower_bound_ == naive(X, signs, weights)
    assert machine.status_ == "optimal"
    wrong = machine.predict(X) != signs
    assert weight_of(wrong, weights) == machine.errors_
    counted = wrong if weights is None else wrong & (weights > 0)
    assert np.flatnonzero(counted).tolist() == machine.misclassified_.tolist()
    assert machine.certificate_.check(X, signs, weights)


@pytest.mark.long
@pytest.mark.parametrize("seed", cases(18))
def test_witnesses_prove_what_cells_do(seed):
    """With columns copied the same problem has too many dimensions for cells."""
    X, signs, weights = small_problem(seed)
    wide = np.hstack([X, X, X[:, :1], X[:, :1]])[:, :4]
    machine = sx.ZeroOne(max_seconds=900).fit(wide, signs, weights)
    assert machine.errors_ == machine.lower_bound_ == naive(X, signs, weights)
    assert machine.certificate_.by in ("witnesses", "nothing")
    assert machine.certificate_.check(wide, signs, weights)


@pytest.mark.long
@pytest.mark.parametrize("seed", cases(4))
def test_in_more_dimensions(seed):
    rng = np.random.default_rng(seed)
    d = 4 + seed % 2
    X = rng.integers(-2, 3, size=(10, d)).astype(float) if seed % 3 else rng.normal(size=(10, d))
    signs = np.where(np.arange(10) % 2, 1.0, -1.0)
    machine = sx.ZeroOne(max_seconds=900).fit(X, signs)
    assert machine.errors_ == machine.lower_bound_ == naive(X, signs)


@pytest.mark.long
@pytest.mark.parametrize("seed", cases(20))
def test_the_exact_recount_by_itself(seed):
    X, signs, weights = small_problem(seed)
    weights = np.ones(len(X), dtype=int) if weights is None else weights
    if seed % 5 == 0:
        X = X * 10.0 ** np.random.default_rng(seed).integers(-150, 150, size=X.shape)
    points, at = np.unique(X + 0.0, axis=0, return_inverse=True)
    up, down = np.zeros(len(points), dtype=int), np.zeros(len(points), dtype=int)
    np.add.at(up, at.ravel()[signs < 0], weights[signs < 0])
    np.add.at(down, at.ravel()[signs > 0], weights[signs > 0])
    assert fewest_by_cells(points, up, down) == naive(X, signs, weights)


@pytest.mark.parametrize("seed", cases(30))
def test_the_sides_that_cells_give_cost_what_they_claim(seed):
    X, signs, _ = small_problem(seed)
    points, first = np.unique(X + 0.0, axis=0, return_index=True)
    signs = signs[first]
    up, down = np.where(signs < 0, 1, 0), np.where(signs > 0, 1, 0)
    sides = best_sides(points, up, down)
    assert (sides != signs).sum() == fewest_by_cells(points, up, down)


@pytest.mark.parametrize("seed", [434, 1483, *cases(30)])
def test_the_cheapest_cell_of_the_recount_is_a_cell(seed):
    X, signs, weights = small_problem(seed)
    weights = np.ones(len(X), dtype=np.int64) if weights is None else weights
    points, up, down = locations(X, signs, weights)
    sides = cheapest_sides(points, up, down)
    assert np.where(sides > 0, up, down).sum() == fewest_by_cells(points, up, down)
    assert decide(SignedRows(points, sides)).kind == "separable"


@pytest.mark.parametrize("seed", cases(100))
def test_the_nearest_point_decides_separability(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 30)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) if seed % 2 else rng.integers(-2, 3, size=(n, d)).astype(float)
    signs = rng.choice([-1.0, 1.0], size=n)
    X = X + rng.choice([0.0, 0.5, 1.0]) * signs[:, None]
    rows = np.column_stack([np.ones(n), X]) * signs[:, None]
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    corral, weights, x = np.empty(d + 3, dtype=np.int64), np.empty(d + 3), np.empty(d + 1)
    outcome, size = nearest_point(rows, np.ones(n, dtype=bool), corral, weights, x)
    if outcome == SEPARATED:
        assert (rows @ x > 0).all()
    else:
        assert outcome == WITNESS
        assert np.abs(weights[:size] @ rows[corral[:size]]).max() < 1e-9
        assert (weights[:size] > 0).all()
        assert size <= d + 2
    assert (outcome == SEPARATED) == (decide(SignedRows(X, signs)).kind == "separable")


@pytest.mark.parametrize("seed", cases(34))
def test_the_ugly_kinds(seed):
    case = problem(seed)
    if case.one_class:
        with pytest.raises(sx.DataError, match="one class"):
            sx.ZeroOne().fit(case.X, case.y_signs)
        return
    if case.kind == "extreme_columns":
        return  # no weights in floats: see below
    machine = sx.ZeroOne(max_seconds=900).fit(case.X, case.y_signs)
    assert machine.status_ == "optimal"
    assert (machine.predict(case.X) != case.y_signs).sum() == machine.errors_
    assert machine.certificate_.check(case.X, case.y_signs)
    if case.separable is not None:
        assert (machine.errors_ == 0) == case.separable


def test_separable_only_beyond_floats_is_said_to_be_so():
    outcomes = set()
    for seed in cases(8):
        case = problem(8 + 17 * seed, kind="extreme_columns")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine = sx.ZeroOne().fit(case.X, case.y_signs)
        outcomes.add(str(machine.status_))
        assert machine.errors_ == machine.lower_bound_ == 0
        assert machine.certificate_.check(case.X, case.y_signs)
        predicted = (machine.predict(case.X) != case.y_signs).sum()
        by_columns = (machine.predict(np.asfortranarray(case.X)) != case.y_signs).sum()
        assert (machine.status_ == "optimal") == (predicted == by_columns == 0)
    assert outcomes <= {"optimal", "unproved"}


@pytest.mark.parametrize("seed", [434, 1483])
def test_a_cell_thinner_than_rounding_is_found_and_floats_within_it(seed):
    """Points on a line as decimals, a hair off it as stored, with the best hyperplane between."""
    X, signs, weights = small_problem(seed)
    machine = sx.ZeroOne().fit(X, signs, weights)
    assert machine.errors_ == machine.lower_bound_ == naive(X, signs, weights)
    assert machine.status_ == "optimal"
    assert (machine.predict(X) != signs).sum() == machine.errors_
    assert machine.certificate_.check(X, signs, weights)


@pytest.mark.parametrize(
    ("seed", "dimensions"), [(73, 3), (389, 3), (560, 2), (1508, 2), (1540, 2)]
)
def test_where_floats_are_too_short_integers_prove_it(seed, dimensions):
    X, signs = thin_problem(seed, dimensions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = sx.ZeroOne().fit(X, signs)
    assert machine.errors_ == machine.lower_bound_ == machine.solver_bound_ == naive(X, signs)
    assert len(machine.misclassified_) == machine.errors_
    predicted = (machine.predict(X) != signs).sum()
    by_columns = (machine.predict(np.asfortranarray(X)) != signs).sum()
    is_right = max(predicted, by_columns) == machine.errors_
    assert str(machine.status_) == ("optimal" if is_right else "unproved")
    assert machine.certificate_.check(X, signs)
    whole = json.loads(machine.certificate_.to_json())
    assert accepted(whole, X, signs, None)
    rng = np.random.default_rng(seed)
    for way in WAYS:
        copy = deepcopy(whole)
        if way(copy, rng):
            assert not accepted(copy, X, signs, None), way.__name__


def test_predictions_that_rounding_spoils_are_told(monkeypatch):
    monkeypatch.setattr(core, "roundings", lambda direction, lengths: iter(()))
    X, signs, _ = small_problem(1483)
    with pytest.warns(ConvergenceWarning, match="proved to be the fewest, but in floating point"):
        machine = sx.ZeroOne().fit(X, signs)
    assert (machine.errors_, machine.lower_bound_, machine.status_) == (1, 1, "unproved")
    assert (machine.predict(X) != signs).sum() > 1 == len(machine.misclassified_)
    assert len(machine.certificate_.integers) == 3
    assert machine.certificate_.weights == ()
    assert accepted(json.loads(machine.certificate_.to_json()), X, signs, None)


# ---- what a fit leaves


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_errors_are_those_predicted_of_rows_and_of_columns():
    """Rows on a line in six dimensions: sums of scores round as the array is laid out."""
    for seed in cases(20):
        rng = np.random.default_rng([6, seed])
        X = np.outer(10.0 ** rng.uniform(-2.0, 0.5, 8), rng.normal(size=6))
        y = rng.integers(0, 2, 8)
        y[:2] = 0, 1
        model = sx.ZeroOne(max_seconds=2.0).fit(X, y)
        if str(model.status_) == "optimal":
            for laid_out in (np.ascontiguousarray(X), np.asfortranarray(X)):
                assert (model.predict(laid_out) != y).sum() <= model.errors_, seed


def test_iris_needs_one_error():
    X, y = load_iris(return_X_y=True)
    machine = sx.ZeroOne().fit(X[50:], y[50:])
    assert (machine.errors_, machine.lower_bound_, machine.status_) == (1, 1, "optimal")
    assert machine.certificate_.by == "witnesses"
    assert "no hyperplane makes fewer" in str(machine)
    assert machine.certificate_.check(X[50:], y[50:])
    assert not machine.certificate_.check(X[50:], y[::-1][50:])
    assert not machine.certificate_.check(X[49:], y[49:])


def test_separable_sets_are_done_at_once():
    X, y = load_breast_cancer(return_X_y=True)
    machine = sx.ZeroOne(max_seconds=1e-3).fit(X, y)
    assert (machine.errors_, machine.lower_bound_, machine.n_iter_) == (0, 0, 0)
    assert machine.score(X, y) == 1.0
    assert machine.certificate_.by == "nothing"


def test_a_budget_leaves_both_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 8)), rng.integers(0, 2, size=150)
    with pytest.warns(ConvergenceWarning, match="are attained, and .* the most that is proved"):
        machine = sx.ZeroOne(max_seconds=0.3).fit(X, y)
    assert machine.status_ == "budget"
    assert 0 <= machine.lower_bound_ <= machine.solver_bound_ < machine.errors_
    assert machine.errors_ == (machine.predict(X) != y).sum()
    assert machine.certificate_.check(X, y)


@pytest.mark.parametrize("seed", cases(12))
def test_weights_are_copies_and_nothing_is_a_row_left_out(seed):
    rng = np.random.default_rng(seed)
    d = 1 + seed % 4
    X = rng.integers(-2, 3, size=(12, d)).astype(float)
    y, weights = rng.integers(0, 2, size=12), rng.integers(0, 4, size=12)
    y[:2], weights[:2] = (0, 1), 1
    weighted = sx.ZeroOne().fit(X, y, sample_weight=weights)
    order = rng.permutation(np.repeat(np.arange(12), weights))
    copied = sx.ZeroOne().fit(X[order], y[order])
    assert weighted.errors_ == copied.errors_ == weighted.lower_bound_
    assert np.array_equal(weighted.coef_, copied.coef_)
    halves = sx.ZeroOne().fit(X, y, sample_weight=weights / 2)
    assert halves.errors_ == weighted.errors_ / 2
    assert not weighted.certificate_.check(X, y)


def test_weights_that_cannot_be_counted_are_refused():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    with pytest.raises(ValueError, match="whole numbers"):
        sx.ZeroOne().fit(X, y, sample_weight=[0.1, 1e9, 0.3])
    with pytest.raises(ValueError, match="only one has rows of positive weight"):
        sx.ZeroOne().fit(X, y, sample_weight=[1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        sx.ZeroOne().fit(X, y, sample_weight=[1.0, -1.0, 1.0])
    assert whole_weights([4.0, 8.0], 2)[0].tolist() == [4, 8]


def test_forms_of_data_agree():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :2], np.array(["versicolor", "virginica"])[y[50:] - 1]
    reference = sx.ZeroOne().fit(X, y)
    for form in (sp.csr_array(X), np.asfortranarray(X), pd.DataFrame(X, columns=["a", "b"])):
        machine = sx.ZeroOne().fit(form, y)
        assert np.array_equal(machine.coef_, reference.coef_)
        assert machine.errors_ == reference.errors_
    assert sx.ZeroOne().fit(sp.csr_array(X), y).certificate_.check(X, y)
    assert reference.classes_.tolist() == ["versicolor", "virginica"]


def test_bad_settings_and_three_classes():
    with pytest.raises(ValueError, match="max_seconds must be a number above 0"):
        sx.ZeroOne(max_seconds=0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="got 3 classes"):
        sx.ZeroOne().fit([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_can_be_cloned_and_pickled():
    X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    machine = sx.ZeroOne().fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    assert again.certificate_.check(X, y)
    assert str(again) == str(machine)
    assert not hasattr(clone(machine), "coef_")


# ---- certificates


@pytest.mark.parametrize("seed", cases(12))
def test_forged_certificates_are_refused(seed):
    rng = np.random.default_rng(seed)
    X, signs, weights = small_problem(seed, dimensions=1 + seed % 5)
    whole = json.loads(sx.ZeroOne().fit(X, signs, weights).certificate_.to_json())
    assert accepted(whole, X, signs, weights)
    forged = 0
    for way in WAYS:
        copy = deepcopy(whole)
        if way(copy, rng):
            forged += 1
            assert not accepted(copy, X, signs, weights), way.__name__
    assert forged >= 11


def test_a_tree_is_checked_leaf_by_leaf():
    """Three witnesses on three rows, any two of which hit all: the relaxation says 1.5."""
    X = np.array([[0.0], [0.0], [0.0], [1.0]])
    signs = np.array([1.0, -1.0, -1.0, 1.0])
    machine = sx.ZeroOne().fit(X, signs)
    whole = json.loads(machine.certificate_.to_json())
    pair = {"rows": [0, 1], "multipliers": ["0x1", "0x1"]}
    whole["claim"] |= {"by": "witnesses", "witnesses": [pair], "lower": 1}
    leaf = {"loads": [[0, "0x1"]], "denominator": "0x1"}
    empty = {"loads": [], "denominator": "0x1"}

    def holds(tree, lower=1):
        copy = deepcopy(whole)
        copy["claim"] |= {"tree": tree, "lower": lower}
        return from_json(copy, "errors").check(X, signs)

    assert holds(leaf)
    assert not holds(leaf, lower=2)
    assert holds({"row": 0, "wrong": empty, "right": leaf})
    assert holds({"row": 1, "wrong": empty, "right": leaf}, lower=1)
    assert not holds({"row": 0, "wrong": empty, "right": empty})
    assert not holds(
        {"row": 0, "wrong": leaf, "right": leaf}
    )  # a witness that is hit forces nothing
    assert not holds({"row": 9, "wrong": empty, "right": leaf})
    assert not holds({"row": 3, "wrong": empty, "right": empty})
    deep = leaf
    for _ in range(5000):
        deep = {"row": 3, "wrong": empty, "right": deep}
    with pytest.raises(Refused, match="nested too deeply"):
        from_json(whole | {"claim": whole["claim"] | {"tree": deep}}, "errors")


def test_weights_of_another_kind_are_refused():
    """As integers the first row is on the boundary; rounded to floats it was on its own side."""
    x = 2**60 + 768
    X, y = np.array([[float(x)], [0.0]]), np.array([1, 0])
    problem = problem_from(X, y, True)
    none, weights = certified.LowerBound("nothing"), np.array([float(-3 * x), 3.0])
    proof = certified.certify_errors(problem, np.ones(2, int), Fraction(1), weights, none)
    assert proof.errors == 0
    assert proof.check(X, y)
    for changed in (
        {"weights": (-3 * x, 3.0)},
        {"weights": (np.float32(-3 * x), np.float32(3.0))},
        {"weights": (), "integers": (np.int64(-3 * x + 300), np.int64(3))},
        {"integers": (-3 * x + 300, 3)},
        {"unit": np.float64(1.0)},
    ):
        assert not replace(proof, **changed).check(X, y), changed
    assert replace(proof, weights=(), integers=(-3 * x + 300, 3)).check(X, y)
