"""LinearSVM and LogisticRegression against the obvious, against peers, and against their proofs."""

import json
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from tests.amounts import cases
from tests.naive import machine as naive
from tests.optional import shared_file
from tests.problems import as_sparse, problem

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.certificates.reading import from_json

LOSSES = ["hinge", "squared_hinge", "logistic"]
SENSIBLE = [
    "comfortable_margin",
    "separable_integers",
    "overlapping_gaussians",
    "integer_grid",
    "duplicate_rows",
    "opposite_duplicates",
    "collinear",
    "constant_columns",
    "fewer_rows_than_columns",
    "zero_rows",
    "zero_columns",
    "copied_columns",
    "mostly_zero",
]


def made(loss, **settings):
    if loss == "logistic":
        return sx.LogisticRegression(**settings)
    return sx.LinearSVM(loss=loss, **settings)


def posed(seed):
    """A problem of every kind, with weights, at some C and some scale."""
    case = problem(seed, SENSIBLE[seed % len(SENSIBLE)])
    rng = np.random.default_rng(seed)
    weights = np.ones(len(case.X))
    if seed % 3 == 0:
        weights = rng.integers(0, 4, size=len(case.X)).astype(float)
        for sign in (-1.0, 1.0):
            weights[np.flatnonzero(case.y_signs == sign)[:1]] = 1.0
    scales = 10.0 ** rng.uniform(-2.0, 2.0, size=case.X.shape[1]) if seed % 4 == 1 else 1.0
    return case.X * scales, case.y_signs, weights, 10.0 ** rng.integers(-2, 3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_the_objective_is_the_least_there_is(loss, penalty):
    for seed in cases(80):
        X, y, weights, C = posed(seed)
        data = as_sparse(X) if seed % 2 else X
        machine = made(loss, C=C, tol=1e-9, intercept_penalty=penalty).fit(data, y, weights)
        least = naive.optimum(X, y, C * weights, loss, penalty)
        assert machine.status_ == "optimal"
        assert abs(machine.objective_ - least) <= 1e-6 * (1.0 + least)
        assert machine.certificate_.check(data, y)


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_is_so_many_copies_and_order_does_not_matter(loss):
    for seed in cases(40):
        X, y, _, C = posed(seed)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, size=len(X))
        for sign in (-1.0, 1.0):
            weights[np.flatnonzero(y == sign)[:1]] = 2
        copies = np.repeat(np.arange(len(X)), weights)
        rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
        by_weight = made(loss, C=C, tol=1e-9).fit(X, y, weights)
        by_copies = made(loss, C=C, tol=1e-9).fit(X[copies], y[copies])
        turned = made(loss, C=C, tol=1e-9).fit(X[rows][:, columns], y[rows], weights[rows])
        kept = np.flatnonzero(weights)
        without = made(loss, C=C, tol=1e-9).fit(X[kept], y[kept], weights[kept])
        for other in (by_copies, turned, without):
            assert_allclose(other.objective_, by_weight.objective_, rtol=1e-8)
        size = 1e-4 * (1e-8 + abs(by_weight.coef_).max())
        assert_allclose(by_copies.coef_, by_weight.coef_, rtol=1e-4, atol=size)
        assert_allclose(turned.coef_, by_weight.coef_[:, columns], rtol=1e-4, atol=size)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_threads_do_not_change_a_bit(loss):
    X, y = load_iris(return_X_y=True)
    one = made(loss, n_jobs=1).fit(X, y)
    two = made(loss, n_jobs=2).fit(X, y)
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.certificate_.check(X, y)
    assert two.certificate_.gap <= 1e-4


@pytest.mark.parametrize("solver", ["interior_point", "dual_coordinate", "gram"])
def test_every_road_leads_to_the_same_hinge_machine(solver):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    found = sx.LinearSVM(solver=solver, tol=1e-7).fit(X, y)
    peer = SVC(kernel="linear", tol=1e-8).fit(X, y)
    assert_allclose(found.coef_, peer.coef_, atol=2e-3)
    assert_allclose(found.intercept_, peer.intercept_, atol=5e-3)
    assert set(found.support_) == set(peer.support_)
    assert found.n_support_.tolist() == peer.n_support_.tolist()
    order = np.argsort(peer.support_)
    assert_allclose(found.dual_coef_[0], peer.dual_coef_[0][order], atol=2e-3)
    assert found.solver_ == solver


@pytest.mark.parametrize("solver", ["newton", "dual_coordinate", "gram"])
def test_every_road_leads_to_the_same_squared_hinge_machine(solver):
    X, y = load_iris(return_X_y=True)
    by_default = sx.LinearSVM(loss="squared_hinge", tol=1e-9).fit(X[50:], y[50:])
    found = sx.LinearSVM(loss="squared_hinge", solver=solver, tol=1e-9).fit(X[50:], y[50:])
    assert_allclose(found.coef_, by_default.coef_, rtol=1e-3)


def test_a_road_that_does_not_lead_there_is_refused_in_words():
    with pytest.raises(ValueError, match=r"interior_point.*hinge"):
        sx.LogisticRegression(solver="interior_point").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"newton.*smooth"):
        sx.LinearSVM(solver="newton").fit([[0.0], [1.0]], [0, 1])


def test_support_vectors_slack_and_margin_mean_what_they_say():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, 2:], y[50:]
    machine = sx.LinearSVM(tol=1e-8).fit(X, y)
    margins = np.where(y == 2, 1, -1) * machine.decision_function(X)
    outside = np.setdiff1d(np.arange(len(X)), machine.support_)
    assert (margins[outside] >= 1 - 1e-6).all()
    assert (margins[machine.support_] <= 1 + 1e-6).all()
    assert_allclose(machine.slack_, np.maximum(0, 1 - margins), atol=1e-12)
    assert machine.margin_ == pytest.approx(1 / np.linalg.norm(machine.coef_))
    assert machine.n_support_.sum() == len(machine.support_)
    assert_allclose(machine.dual_coef_ @ X[machine.support_], machine.coef_, atol=1e-6)
    assert machine.dual_coef_.sum() == pytest.approx(0.0, abs=1e-12)
    low, high = machine.intercept_interval_
    assert low <= machine.intercept_[0] <= high
    kinds = [violation.kind for violation in machine.certificate_.violations]
    assert len(kinds) == 4
    assert all(violation.largest < 1e-3 for violation in machine.certificate_.violations)


def test_the_interval_of_the_bias_holds_the_bias():
    """With such costs the last bits of the scores decide, and the hard margin is taken instead."""
    X = 1e8 + np.array([
        [9.55656242, 8.72263119], [10.51265386, 9.80683568], [-0.12542014, -0.11176963],
        [-0.23499426, -0.1943684], [-0.01629752, 0.62934195],
    ])  # fmt: skip
    model = sx.LinearSVM(C=9e10, class_weight="balanced", solver="interior_point")
    model.fit(sp.csr_matrix(X), [1, 1, 0, 0, 0])
    low, high = model.intercept_interval_
    assert low <= model.intercept_[0] <= high


@pytest.mark.parametrize("weight", [1.0, 1e280])
def test_the_interval_of_the_bias_is_that_of_the_weights_returned(weight):
    """With a hard margin it held biases that were best for the weights before their last digits."""
    X = np.array([[128.0, -128, 0], [0, 0, 0], [-32, 64, -32], [0, 256, 256]])
    y, signs = [0, 0, 0, 1], np.array([-1.0, -1.0, -1.0, 1.0])
    for C in (1.0, np.inf):
        model = sx.LinearSVM(C=C, tol=1e-9).fit(X, y, np.full(4, weight))
        for bias in model.intercept_interval_:
            margins = signs * (X @ model.coef_[0] + bias)
            assert margins.min() >= 1.0 - 1e-11


def test_the_bias_without_free_support_vectors_is_the_middle_of_its_interval():
    # Both rows at their cost: any b between leaves both inside the margin.
    machine = sx.LinearSVM(C=0.1).fit([[0.0], [2.0]], [0, 1])
    assert_allclose(machine.intercept_interval_, (-0.9, 0.5), atol=0.5)
    low, high = machine.intercept_interval_
    assert low < high
    assert machine.intercept_[0] == pytest.approx((low + high) / 2)


# ---- the hard margin


def test_the_hard_margin_of_the_lecture():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100, 1:3], y[:100]
    machine = sx.LinearSVM(C=np.inf, tol=1e-9).fit(X, y)
    peer = SVC(kernel="linear", C=1e9, tol=1e-9).fit(X, y)
    assert machine.margin_ == pytest.approx(1 / np.linalg.norm(peer.coef_), rel=1e-4)
    assert set(machine.support_) <= set(np.flatnonzero(abs(peer.decision_function(X)) < 1.01))
    assert len(machine.support_) == 3
    assert machine.slack_.max() < 1e-9


def test_a_hard_margin_that_cannot_be_had_names_the_rows():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(sx.NotSeparableError, match="cannot be separated") as caught:
        sx.LinearSVM(C=np.inf).fit(X[50:], y[50:])
    witness = caught.value.witness
    signs = np.where(y[50:] == 2, 1, -1)
    rows = list(witness.rows)
    assert sum(int(m) * int(signs[r]) for m, r in zip(witness.multipliers, rows, strict=True)) == 0
    exact = [[Fraction(float(v)) for v in X[50 + r]] for r in rows]
    terms = zip(witness.multipliers, rows, exact, strict=True)
    columns = zip(*([int(m) * int(signs[r]) * v for v in x] for m, r, x in terms), strict=True)
    assert all(sum(column) == 0 for column in columns)


def test_the_hard_margin_on_wide_sparse_rows():
    rng = np.random.default_rng(0)
    X = as_sparse(np.where(rng.random((300, 2000)) < 0.01, rng.random((300, 2000)), 0.0))
    y = np.where(rng.random(300) < 0.5, 1, 0)
    by_passes = sx.LinearSVM(C=np.inf, solver="dual_coordinate", tol=1e-6).fit(X, y)
    by_gram = sx.LinearSVM(C=np.inf, solver="gram", tol=1e-8).fit(X, y)
    assert by_passes.margin_ == pytest.approx(by_gram.margin_, rel=1e-5)
    assert by_passes.certificate_.check(X, y)


def test_a_thin_margin_on_raw_columns():
    X, y = load_breast_cancer(return_X_y=True)
    machine = sx.LinearSVM(C=np.inf).fit(X, y)
    assert machine.gap_ <= 1e-4
    assert machine.n_support_.sum() <= X.shape[1] + 1
    assert machine.score(X, y) == 1.0


# ---- without a penalty


def test_maximum_likelihood_warns_where_there_is_none():
    table = pd.read_csv(shared_file("endometrial.csv"))
    y = table.pop("HG")
    with pytest.warns(sx.SeparationWarning, match=r"NV \+inf") as caught:
        machine = sx.LogisticRegression(C=np.inf).fit(table, y)
    assert caught[0].message.names == ("NV",)
    assert machine.status_ == "infinite"
    assert machine.verdict_.kind == "quasi-separable"
    assert machine.verdict_.weights is not None


def test_maximum_likelihood_where_there_is_one():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4]
    machine = sx.LogisticRegression(C=np.inf, tol=1e-7).fit(X, y)
    probabilities = machine.predict_proba(X)[:, 1]
    # At the maximum the residuals are orthogonal to every column.
    residual = (y - probabilities) @ np.column_stack([np.ones(len(X)), X / X.std(axis=0)])
    assert abs(residual).max() < 1e-5
    assert machine.status_ == "optimal"
    assert machine.verdict_.kind == "overlapping"
    assert machine.certificate_.check(X, y)
    again = from_json(machine.certificate_.to_json(), "duality-gap")
    assert again.check(X, y)


# ---- many classes, probabilities


def test_many_classes_each_against_the_rest():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    machine = sx.LinearSVM().fit(X, names)
    for k, name in enumerate(machine.classes_):
        alone = sx.LinearSVM().fit(X, names == name)
        assert_allclose(alone.coef_[0], machine.coef_[k])
        assert machine.objective_[k] == alone.objective_
    assert machine.dual_coef_.shape == (3, len(machine.support_))
    assert machine.slack_.shape == (150, 3)
    assert machine.certificate_.check(X, names)
    assert not machine.certificate_.check(X, np.roll(names, 1))
    assert machine.score(X, names) > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_never_contradict_the_prediction(n_classes):
    X, y = load_iris(return_X_y=True)
    kept = y < n_classes if n_classes == 3 else y > 0
    X, y = X[kept], y[kept]
    machine = sx.LinearSVM(probability=True).fit(X, y)
    found = machine.predict_proba(X)
    assert_allclose(found.sum(axis=1), 1.0)
    assert (machine.classes_[found.argmax(axis=1)] == machine.predict(X)).all()
    if n_classes == 2:
        order = np.argsort(machine.decision_function(X))
        assert (np.diff(found[order, 1]) >= 0.0).all()
    with pytest.raises(AttributeError, match="predict_proba"):
        sx.LinearSVM().fit(X, y).predict_proba(X)


def test_logistic_probabilities():
    X, y = load_iris(return_X_y=True)
    two = sx.LogisticRegression().fit(X[50:], y[50:])
    scores = two.decision_function(X[50:])
    assert_allclose(two.predict_proba(X[50:])[:, 1], 1 / (1 + np.exp(-scores)))
    assert_allclose(np.exp(two.predict_log_proba(X[50:])), two.predict_proba(X[50:]))
    three = sx.LogisticRegression().fit(X, y)
    found = three.predict_proba(X)
    assert_allclose(found.sum(axis=1), 1.0)
    assert (found.argmax(axis=1) == three.predict(X)).all()
    far = three.predict_proba([[-1e4, 1e4, -1e4, 1e4]])
    assert np.isfinite(far).all()
    assert_allclose(far.sum(), 1.0)


# ---- budgets, warm starts, bad input


def test_a_budget_ends_the_fit_with_the_gap_reached():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.repeat(X, 5, axis=0)
    machine = sx.LinearSVM(max_passes=20, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"The gap reached is .*tolerance: 1e-09"):
        machine.fit(X, np.repeat(y, 5))
    assert machine.status_ == "budget"
    assert machine.gap_ > 1e-9
    assert machine.certificate_.check(X, np.repeat(y, 5))


def test_a_warm_start_begins_where_the_last_fit_ended():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.repeat(X / X.std(axis=0), 3, axis=0)
    y = np.repeat(y, 3)
    machine = sx.LinearSVM(C=0.1, warm_start=True, solver="dual_coordinate", tol=1e-3).fit(X, y)
    first = machine.n_passes_
    machine.fit(X, y)
    assert machine.n_passes_ < first
    assert machine.status_ == "optimal"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"C": 0.0}, "C must be a number above 0"),
        ({"C": -np.inf}, "C must be a number above 0"),
        ({"C": float("nan")}, "C must be a number above 0"),
        ({"tol": 0.0}, "tol must be a number above 0"),
        ({"loss": "absolute"}, "loss must be one of"),
        ({"solver": "lbfgs"}, "solver must be one of"),
        ({"max_seconds": 0}, "max_seconds must be a number above 0"),
        ({"class_weight": "even"}, "class_weight must be"),
        ({"class_weight": {7: 1.0}}, "does not hold"),
        ({"class_weight": {0: -1.0}}, "above 0"),
        ({"intercept_penalty": -1.0}, "intercept_penalty must be"),
    ],
)
def test_wrong_parameters_are_refused_in_words(settings, words):
    with pytest.raises(ValueError, match=words):
        sx.LinearSVM(**settings).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("solver", ["auto", "dual_coordinate"])
def test_a_deadline_ends_a_hard_margin_that_cannot_be_had(solver):
    """The verdict that would tell so takes its own time: none is begun once the time is up."""
    X, y = [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 1, 1, 0]
    with pytest.raises(sx.NotSeparableError):
        sx.LinearSVM(np.inf, solver=solver).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="seconds"):
        machine = sx.LinearSVM(np.inf, solver=solver, max_seconds=1e-9).fit(X, y)
    assert machine.status_ == "budget"
    assert machine.gap_ == np.inf


def test_bad_data_is_refused_in_words():
    with pytest.raises(sx.DataError, match="column 1"):
        sx.LinearSVM().fit([[0.0, 1e120], [1.0, 0.0]], [0, 1])
    with pytest.raises(sx.DataError, match="one class"):
        sx.LinearSVM().fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(sx.DataError, match="weight zero"):
        sx.LinearSVM().fit([[0.0], [1.0]], [0, 1], [1.0, 0.0])
    with pytest.raises(ValueError, match="NaN"):
        sx.LogisticRegression().fit([[np.nan], [1.0]], [0, 1])


def test_class_weights_are_row_weights():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:130], y[50:130]
    by_class = sx.LinearSVM(class_weight={1: 3.0}).fit(X, y)
    by_row = sx.LinearSVM().fit(X, y, np.where(y == 1, 3.0, 1.0))
    assert_allclose(by_class.coef_, by_row.coef_)
    balanced = sx.LinearSVM(class_weight="balanced").fit(X, y)
    by_hand = sx.LinearSVM().fit(X, y, np.where(y == 1, 80 / 100, 80 / 60))
    assert_allclose(balanced.coef_, by_hand.coef_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_does_not_matter(dtype):
    X, y = load_iris(return_X_y=True)
    X = X.astype(dtype)
    dense = sx.LinearSVM(tol=1e-8).fit(X, y == 1)
    sparse = sx.LinearSVM(tol=1e-8).fit(as_sparse(X), y == 1)
    frame = sx.LinearSVM(tol=1e-8).fit(pd.DataFrame(X, columns=list("abcd")), y == 1)
    assert_allclose(sparse.coef_, dense.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(frame.coef_, dense.coef_)
    assert "a " in str(frame)


def test_a_fitted_machine_survives_pickling_and_cloning():
    X, y = load_iris(return_X_y=True)
    machine = sx.LinearSVM().fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    assert again.certificate_.check(X, y)
    assert clone(machine).get_params() == machine.get_params()


def test_the_certificate_can_be_written_and_read():
    X, y = load_iris(return_X_y=True)
    machine = sx.LinearSVM().fit(X[50:], y[50:])
    whole = json.loads(machine.certificate_.to_json())
    assert whole["kind"] == "duality-gap"
    assert from_json(whole, "duality-gap").check(X[50:], y[50:])


def test_progress_is_reported_to_callbacks_and_to_the_terminal(capsys):
    from sklearn import callback

    class Seen:
        tasks = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, *args, **kwargs):
            pass

        def on_fit_task_end(self, *args, **kwargs):
            Seen.tasks += 1

    assert isinstance(Seen(), callback.FitCallback)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 30))
    y = X[:, 0] + rng.normal(size=2000) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sx.LinearSVM(tol=1e-9, verbose=True).set_callbacks(Seen()).fit(X, y)
    assert Seen.tasks > 0
    assert capsys.readouterr().out == ""


def test_raw_dense_columns_are_not_given_to_passes_over_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 200)) * np.exp(rng.uniform(-8, 8, size=200))
    y = rng.random(300) < 0.5
    for loss in LOSSES:
        assert made(loss).fit(X, y).status_ == "optimal"


@pytest.mark.skipif(is_interpreted(), reason="hundreds of passes, a hundred times slower")
def test_where_passes_get_nowhere_another_solver_is_used():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 200)) < 0.1, rng.normal(size=(300, 200)), 0.0) * 1e3
    X[:, 0] += 1e5
    machine = sx.LinearSVM(C=1e3).fit(as_sparse(X), rng.random(300) < 0.5)
    assert machine.status_ == "optimal"


def test_probabilities_agree_with_predictions_however_certain():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 5.0], [5.0, 0.0], [-5.0, -5.0]], 30, axis=0)
    machine = sx.LogisticRegression(1e4).fit(
        rng.normal(size=(90, 2)) + centres, np.repeat([0, 1, 2], 30)
    )
    far = rng.normal(size=(2000, 2)) * 100.0
    assert (machine.predict_proba(far).argmax(axis=1) == machine.predict(far)).all()


def test_likelihood_by_gram_is_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60) > 0
    by_gram = sx.LogisticRegression(np.inf, solver="gram", tol=1e-7).fit(X, y)
    by_newton = sx.LogisticRegression(np.inf, tol=1e-7).fit(X, y)
    assert_allclose(by_gram.coef_, by_newton.coef_, rtol=1e-4)


def test_costs_beyond_numbers_and_wrong_thread_counts_are_refused():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(sx.DataError, match="Raise C"):
        sx.LinearSVM(1e-300).fit(X, y, np.full(3, 1e-30))
    with pytest.raises(sx.DataError, match="Lower C"):
        sx.LinearSVM(1e300).fit(X, y, np.full(3, 1e30))
    with pytest.raises(ValueError, match="n_jobs"):
        sx.LinearSVM(n_jobs=0).fit(X, y)
    assert sx.LinearSVM(n_jobs=-1).fit(X, y).status_ == "optimal"


def test_a_multiplier_moved_by_the_balance_counts_as_bound():
    machine = sx.LinearSVM().fit(np.zeros((6, 2)), [0, 1, 0, 1, 1, 1])
    assert all(violation.largest < 1e-9 for violation in machine.certificate_.violations)


@pytest.mark.parametrize(
    ("loss", "thin", "solver"),
    [
        ("squared_hinge", False, "dual_coordinate"),
        ("hinge", False, "gram"),
        ("hinge", True, "dual_coordinate"),
        ("squared_hinge", True, "dual_coordinate"),
    ],
)
def test_few_rows_and_many_columns_take_a_solver_that_gets_there(loss, thin, solver):
    """Newton's steps took thousands on the squared hinge at a high C, and a dense matrix of rows
    costs more than passes where rows are thin."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 400)) * (rng.random((150, 400)) < (0.05 if thin else 1.0))
    y = X[:, 0] + rng.normal(size=150) > 0.0
    machine = sx.LinearSVM(1e4, loss=loss, tol=1e-6).fit(as_sparse(X) if thin else X, y)
    assert (machine.solver_, machine.status_) == (solver, "optimal")
    assert machine.certificate_.check(X, y)


def test_a_cost_far_above_all_multipliers_is_proved_as_the_hard_margin():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(42)
    rows = rng.permutation(X.shape[0])[: int(rng.choice([200, 1000, 5000]))]
    sixes = (y[rows] == 6).astype(int)
    soft = sx.LinearSVM(1e4, tol=1e-7).fit(X[rows], sixes)  # the gap stayed at 3e-7
    assert soft.status_ == "optimal"
    assert soft.certificate_.check(X[rows], sixes)
    hard = sx.LinearSVM(np.inf, tol=1e-7).fit(X[rows], sixes)
    assert soft.objective_ == pytest.approx(hard.objective_, rel=1e-7)


def test_the_hair_is_as_long_as_the_rounding_of_long_rows_asks_for():
    table = sx.read(shared_file("alon.csv.gz"))
    codes = np.unique(np.asarray(table.y), return_inverse=True)[1]
    for C in (1.0, 100.0):
        machine = sx.LinearSVM(C=C, tol=5e-9).fit(table.X, codes)
        assert machine.status_ == "optimal"
        assert machine.certificate_.check(table.X, codes)
