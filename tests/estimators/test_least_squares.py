import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeClassifierCV
from sklearn.metrics import r2_score
from tests.amounts import cases
from tests.problems import as_sparse, problem

import separatrix as sx

PEER_KINDS = ["overlapping_gaussians", "comfortable_margin", "separable_integers", "mostly_zero"]


def test_equals_ridge_classifier_where_both_define_the_same():
    for seed in cases(120):
        case = problem(seed, kind=PEER_KINDS[seed % 4])
        ridge = [1e-3, 1.0, 50.0][seed % 3]
        X = as_sparse(case.X) if seed % 2 else case.X
        weights = np.random.default_rng(seed).uniform(0.1, 3.0, size=len(case.X))
        ours = sx.LeastSquares(ridge).fit(X, case.y_signs, sample_weight=weights)
        peer = RidgeClassifier(ridge).fit(case.X, case.y_signs, sample_weight=weights)
        assert_allclose(ours.coef_, np.atleast_2d(peer.coef_), rtol=1e-6, atol=1e-9)
        assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-6, atol=1e-9)
        assert ours.status_ == "optimal"
        assert ours.certificate_.check(X, case.y_signs, weights)


def test_one_of_k_codes_are_those_of_the_lecture():
    X, y = load_iris(return_X_y=True)
    T = np.eye(3)[y]
    with_ones = np.column_stack([np.ones(150), X])
    W, *_ = np.linalg.lstsq(with_ones, T, rcond=None)
    ours = sx.LeastSquares().fit(X, y)
    assert_allclose(np.vstack([ours.intercept_, ours.coef_.T]), W, atol=1e-10)
    assert (ours.predict(X) == (with_ones @ W).argmax(axis=1)).all()
    # Fitted codes sum to 1, as the codes do.
    assert_allclose(ours.decision_function(X).sum(axis=1), 1.0)
    # Peers code with -1 and +1: twice the weights, the same decisions.
    peer = RidgeClassifier(2.0).fit(X, y)
    assert_allclose(2.0 * sx.LeastSquares(2.0).fit(X, y).coef_, peer.coef_, rtol=1e-8)


def test_two_classes_decide_as_one_of_two_codes_would():
    case = problem(5, kind="overlapping_gaussians")
    T = np.column_stack([case.y_signs < 0, case.y_signs > 0]).astype(float)
    two = sx.LeastSquares(0.3, task="regression").fit(case.X, T)
    one = sx.LeastSquares(0.3).fit(case.X, case.y_signs)
    assert_allclose(two.coef_[1] - two.coef_[0], one.coef_[0])
    outputs = two.predict(case.X)
    assert_allclose(outputs[:, 1] - outputs[:, 0], one.decision_function(case.X))


def test_regression_has_the_manners_of_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    ours = sx.LeastSquares(task="regression").fit(X, y)
    peer = LinearRegression().fit(X, y)
    assert_allclose(ours.coef_, peer.coef_)
    assert ours.coef_.shape == (4,)
    assert np.ndim(ours.intercept_) == 0
    assert ours.score(X, y) == pytest.approx(r2_score(y, ours.predict(X)))
    assert not hasattr(ours, "decision_function")
    assert "proved" in str(ours)
    several = sx.LeastSquares(2.0, task="regression").fit(sp.csr_array(X), np.column_stack([y, -y]))
    assert_allclose(several.coef_[0], Ridge(2.0).fit(X, y).coef_, rtol=1e-8)
    assert several.predict(X).shape == (50, 2)
    with pytest.raises(ValueError, match="y contains NaN"):
        sx.LeastSquares(task="regression").fit(X, np.column_stack([y, np.full(50, np.nan)]))


def test_a_path_of_ridges_is_chosen_by_leave_one_out():
    case = problem(3, kind="overlapping_gaussians")
    X, y = load_iris(return_X_y=True)
    ridges = [0.01, 0.1, 1.0, 10.0, 1000.0]
    ours = sx.LeastSquares(ridges).fit(X, y)
    peer = RidgeClassifierCV(ridges).fit(X, y)
    assert ours.ridge_ == peer.alpha_ == ridges[int(ours.loo_error_.argmin())]
    # The peer's error is the mean over outputs coded -1 and +1.
    assert ours.loo_error_.min() == pytest.approx(-peer.best_score_ * 3 / 4, rel=1e-8)
    assert ours.loo_mistakes_.shape == (5,)
    assert "loo" in str(ours)
    mistakes = 0
    for i in range(len(case.X)):
        others = np.arange(len(case.X)) != i
        one = sx.LeastSquares(1.0).fit(case.X[others], case.y_signs[others])
        mistakes += int(one.predict(case.X[[i]])[0] != case.y_signs[i])
    path = sx.LeastSquares([1.0]).fit(case.X, case.y_signs)
    assert path.loo_mistakes_[0] == pytest.approx(mistakes / len(case.X))


def test_dependent_columns_are_noted():
    X = np.array([[0.0, 0.0, 5.0], [1.0, 2.0, 5.0], [2.0, 4.0, 5.0], [4.0, 8.0, 5.0]])
    machine = sx.LeastSquares().fit(X, [0, 0, 1, 1])
    assert machine.rank_ == 1
    assert "rank 1 of 3" in str(machine)
    assert "shortest" in machine._repr_mimebundle_()["text/html"]
    assert_allclose(machine.coef_[0, 1], 2.0 * machine.coef_[0, 0])
    assert machine.coef_[0, 2] == 0.0
    again = pickle.loads(pickle.dumps(machine))
    assert str(again) == str(machine)
    assert again.certificate_.check(X, [0, 0, 1, 1])


def test_a_budget_is_warned_about_with_what_is_proved():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 3000), density=0.02, rng=rng, format="csr")
    y = rng.integers(0, 2, size=300)
    with pytest.warns(
        ConvergenceWarning, match="proved: the exact solution of data, the rows of the ridge"
    ):
        machine = sx.LeastSquares(0.01, max_passes=4).fit(X, y)
    assert machine.status_ == "budget"
    whole = sx.LeastSquares(0.01).fit(X, y)
    assert whole.status_ == "optimal"
    assert whole.method_ == "LSMR"
    assert whole.certificate_.check(X, y)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ridge": -1.0}, "ridge must be a number at least 0"),
        ({"ridge": [1.0, np.nan]}, "ridge must be"),
        ({"ridge": []}, "Got none"),
        ({"task": "both"}, "task must be one of"),
        ({"tol": 0}, "tol"),
        ({"max_passes": -1}, "max_passes"),
    ],
)
def test_bad_parameters_get_one_clear_error(settings, words):
    with pytest.raises(ValueError, match=words):
        sx.LeastSquares(**settings).fit([[0.0], [1.0]], [0, 1])


def test_rows_without_weight_are_not_there():
    X, y = [[0.0], [1.0], [5.0]], ["a", "b", "c"]
    with pytest.warns(UserWarning, match="class 'c' have weight zero"):
        machine = sx.LeastSquares().fit(X, y, sample_weight=[1.0, 1.0, 0.0])
    assert machine.classes_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="at least one non-zero"):
        sx.LeastSquares().fit(X, y, sample_weight=[0.0, 0.0, 0.0])
    with pytest.raises(sx.DataError, match="one class"):
        sx.LeastSquares().fit(X, y, sample_weight=[1.0, 0.0, 0.0])


def test_weights_too_large_to_write_down_are_refused():
    with pytest.raises(sx.DataError, match="Divide large columns"):
        sx.LeastSquares().fit([[5e-324], [0.0], [1e-323]], [1, 0, 1])
