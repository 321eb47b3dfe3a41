"""Sample weights: who takes them, what they mean, and that wrappers say so truly."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.utils.validation import has_fit_parameter

import separatrix as sx
from separatrix.errors import DataError

X, CODES = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
COPIES = RNG.integers(0, 4, len(X))
REPEATED = np.repeat(np.arange(len(X)), COPIES)
OVERLAP = CODES > 0
VISITS = {
    "perceptron": sx.Perceptron(max_updates=300),
    "averaged": sx.Perceptron(average=True, max_passes=5),
    "batch": sx.Perceptron(update="batch", max_updates=50),
    "random": sx.Perceptron(order="random", max_updates=300),
    "delta": sx.DeltaRule(max_updates=200),
    "delta, one row": sx.DeltaRule(update="single", max_passes=5),
}


def quiet(model, *data, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.__class__(**model.get_params(deep=False)).fit(*data, **named)


def data_for(model):
    rows = np.ones(len(X), dtype=bool) if isinstance(model, sx.Perceptron) else OVERLAP
    return X[rows], CODES[rows], COPIES[rows]


@pytest.mark.parametrize("name", VISITS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_weight_is_so_many_visits(name, form):
    rows, labels, copies = data_for(VISITS[name])
    again = np.repeat(np.arange(len(rows)), copies)
    model = quiet(VISITS[name], form(rows), labels, sample_weight=copies.astype(float))
    want = quiet(VISITS[name], form(rows[again]), labels[again])
    np.testing.assert_array_equal(model.coef_, want.coef_)
    np.testing.assert_array_equal(model.intercept_, want.intercept_)
    assert model.n_iter_ == want.n_iter_
    kept = quiet(VISITS[name], form(rows), labels, sample_weight=(copies > 0).astype(float))
    left = quiet(VISITS[name], form(rows[copies > 0]), labels[copies > 0])
    np.testing.assert_array_equal(kept.coef_, left.coef_)


def test_partial_fit_visits_as_often():
    first, again = sx.Perceptron(), sx.Perceptron()
    first.partial_fit(X, CODES, classes=[0, 1, 2], sample_weight=COPIES)
    again.partial_fit(X[REPEATED], CODES[REPEATED], classes=[0, 1, 2])
    np.testing.assert_array_equal(first.coef_, again.coef_)


@pytest.mark.parametrize("model", [sx.Perceptron(), sx.DeltaRule()], ids=["perceptron", "delta"])
def test_visits_are_whole_numbers(model):
    rows, labels = X[OVERLAP], CODES[OVERLAP]
    with pytest.raises(ValueError, match=r"whole numbers.*as costs of rows"):
        model.fit(rows, labels, sample_weight=np.full(100, 0.5))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(rows, labels, sample_weight=np.full(100, -1.0))
    with pytest.raises(sx.DataError, match="too many"):
        model.fit(rows, labels, sample_weight=np.full(100, 1e9))
    with pytest.raises(ValueError, match="non-zero"):
        model.fit(rows, labels, sample_weight=np.zeros(100))


@pytest.mark.parametrize("slack", [False, True])
def test_weights_of_the_linear_program_are_costs(slack):
    rows, labels, copies = X[OVERLAP], CODES[OVERLAP], COPIES[OVERLAP]
    again = np.repeat(np.arange(100), copies)
    plain = sx.LinearProgramHalfspace(slack=slack)
    model = quiet(plain, rows, labels, sample_weight=copies)
    want = quiet(plain, rows[again], labels[again])
    assert model.objective_ == pytest.approx(want.objective_, abs=1e-9)
    np.testing.assert_allclose(
        model.decision_function(rows), want.decision_function(rows), atol=1e-6
    )
    assert model.slack_.shape == model.dual_coef_.shape == (100,)
    assert not model.slack_[copies == 0].any()
    half = quiet(plain, rows, labels, sample_weight=copies / 2.0)
    assert half.objective_ == pytest.approx(model.objective_, abs=1e-9)
    heavy = quiet(plain, rows, labels, sample_weight=np.where(labels == 1, 1.0, 1e3))
    assert heavy.objective_ == pytest.approx(quiet(plain, rows, labels).objective_, abs=1e-9)


def test_a_row_of_weight_zero_is_left_out_of_the_linear_program():
    rows, labels = [[0.0], [1.0], [0.5], [3.0], [4.0]], [0, 0, 1, 1, 1]
    with pytest.warns(UserWarning, match="least mean violation"):
        assert sx.LinearProgramHalfspace().fit(rows, labels).certificate_.kind != "separation"
    model = sx.LinearProgramHalfspace().fit(rows, labels, sample_weight=[1, 1, 0, 2, 1])
    assert model.certificate_.holds
    assert model.slack_[2] == 0.0


@pytest.mark.parametrize("wrapper", [sx.OneVsRest, sx.OneVsOne])
def test_a_wrapper_takes_weights_where_its_estimator_does(wrapper):
    assert has_fit_parameter(wrapper(sx.LinearSVM()), "sample_weight")
    assert has_fit_parameter(wrapper(sx.DeltaRule()), "sample_weight")
    without = wrapper(sx.Kozinec())
    assert not has_fit_parameter(without, "sample_weight")
    with pytest.raises(ValueError, match="Kozinec does not take sample_weight"):
        without.fit(X, CODES, sample_weight=np.ones(150))
    with pytest.raises(ValueError, match="Kozinec does not take sample_weight"):
        without.fit(X, CODES, np.ones(150))
    assert "sample_weight" in inspect.signature(wrapper.fit).parameters
    separable = without.fit(X[::50], CODES[::50], sample_weight=None)
    assert separable.predict(X[::50]).tolist() == [0, 1, 2]
    assert "copy of the estimator" in wrapper(sx.Kozinec()).fit.__doc__


def test_scikit_learn_does_without_weights_that_nobody_takes():
    two = CODES != 2
    model = CalibratedClassifierCV(sx.OneVsRest(sx.Kozinec()), cv=2)
    with pytest.warns(UserWarning, match="sample_weight"):
        model.fit(X[two], CODES[two], sample_weight=np.ones(100))
    assert model.score(X[two], CODES[two]) > 0.9


@pytest.mark.parametrize("wrapper", [sx.OneVsRest, sx.OneVsOne])
def test_wrapped_weights_are_visits_too(wrapper):
    model = quiet(wrapper(sx.DeltaRule(max_updates=50)), X, CODES, sample_weight=COPIES)
    want = quiet(wrapper(sx.DeltaRule(max_updates=50)), X[REPEATED], CODES[REPEATED])
    np.testing.assert_array_equal(model.decision_function(X), want.decision_function(X))


@pytest.mark.parametrize("size", [3.1e307, 5e-324])
@pytest.mark.parametrize("model", [
    sx.GaussianPlugIn(), sx.Fisher(shrinkage=0.5), sx.LeastSquares(ridge=[0.0, 1.0]),
    sx.LinearSVM(), sx.KernelSVM(), sx.LogisticRegression(), sx.SGD(), sx.Perceptron(),
    sx.LinearProgramHalfspace(),
], ids=str)  # fmt: skip
def test_weights_whose_sum_leaves_the_range_are_refused(model, size):
    """Priors of 0 and weights of 0 came out as optimal: everything was divided by infinity."""
    rows = [[0.0, 0.0], [1.0, 1.5], [2.0, 2.0], [1.0, 0.0], [2.0, 1.5], [3.0, 2.2]]
    with pytest.raises(DataError, match="sum to"):
        quiet(model, rows, [0, 0, 0, 1, 1, 1], sample_weight=np.full(6, size))


def test_weights_of_classes_whose_sum_leaves_the_range_are_refused():
    with pytest.raises(DataError, match="sum to"):
        quiet(sx.LeastSquares(class_weight={0: 1e308, 1: 1.0}), X[:100], CODES[:100])


@pytest.mark.parametrize("wrapper", [sx.OneVsRest, sx.OneVsOne])
@pytest.mark.parametrize("model", [sx.LeastSquares(), sx.Fisher(), sx.GaussianPlugIn(),
                                   sx.LinearSVM(), sx.LogisticRegression()], ids=str)  # fmt: skip
def test_weighted_fits_of_many_classes_are_proved(wrapper, model):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    many = wrapper(model).fit(X, CODES, sample_weight=weights)
    assert many.check(X, CODES, weights)
    assert many.certificate_.check(X, CODES, sample_weight=weights)
    holds_its_costs = isinstance(model, sx.LinearSVM | sx.LogisticRegression)
    assert many.check(X, CODES) is holds_its_costs
    assert many.check(X, CODES, weights[::-1]) is holds_its_costs
