"""A class whose rows all weigh nothing is as good as absent, and a warning says so."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import separatrix as sx

X, CODES = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(150)
X, CODES = X[ORDER], CODES[ORDER]
WEIGHTS = np.where(CODES == 0, 0.0, np.random.default_rng(1).uniform(0.5, 2.0, 150))
KEPT = np.flatnonzero(CODES != 0)
MODELS = {
    "svm": sx.LinearSVM(),
    "calibrated": sx.LinearSVM(probability=True),
    "pairs": sx.LinearSVM(multi_class="ovo"),
    "direct": sx.LinearSVM(multi_class="direct"),
    "balanced": sx.LinearSVM(class_weight="balanced"),
    "logistic": sx.LogisticRegression(),
    "multinomial": sx.LogisticRegression(multi_class="multinomial"),
    "kernel": sx.KernelSVM(gamma=0.5),
    "kernel, rest": sx.KernelSVM(gamma=0.5, multi_class="ovr"),
    "sgd": sx.SGD(max_passes=3),
    "squares": sx.LeastSquares(),
    "fisher": sx.Fisher(),
    "plug-in": sx.GaussianPlugIn("full"),
    "rest": sx.OneVsRest(sx.LinearSVM()),
    "wrapped pairs": sx.OneVsOne(sx.LinearSVM()),
    "path": sx.LinearSVMCV(Cs=[0.1, 1.0], cv=3),
    "logistic path": sx.LogisticRegressionCV(Cs=[0.1, 1.0], cv=3),
    "kernel path": sx.KernelSVMCV(Cs=[1.0], gammas=[0.5], cv=3),
}


def fresh(name):
    return MODELS[name].__class__(**MODELS[name].get_params(deep=False))


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@pytest.mark.parametrize("name", MODELS)
def test_weight_zero_is_a_class_left_out(name):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = fresh(name).fit(X, CODES, sample_weight=WEIGHTS)
    said = [str(one.message) for one in seen if "weight zero" in str(one.message)]
    assert len(said) == 1
    assert "class 0" in said[0]
    want = quiet(fresh(name), X[KEPT], CODES[KEPT], WEIGHTS[KEPT])
    assert model.classes_.tolist() == want.classes_.tolist() == [1, 2]
    np.testing.assert_array_equal(model.decision_function(X), want.decision_function(X))
    if hasattr(want, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), want.predict_proba(X))
    if hasattr(want, "support_"):
        np.testing.assert_array_equal(model.support_, KEPT[want.support_])
    if getattr(model, "support_vectors_", None) is not None:
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("form", [pd.DataFrame, sp.csr_array, np.ndarray.tolist])
def test_every_form_of_rows_is_cut(form):
    rows = X if form is np.ndarray.tolist else np.asarray(X)
    model = quiet(sx.LinearSVM(), form(rows), pd.Series(CODES, index=ORDER), WEIGHTS.tolist())
    want = quiet(sx.LinearSVM(), form(rows[KEPT]), CODES[KEPT], WEIGHTS[KEPT])
    np.testing.assert_allclose(model.coef_, want.coef_, atol=1e-9)


def test_a_single_class_left_is_an_error():
    for model in (sx.LinearSVM(), sx.LogisticRegression(), sx.KernelSVM(), sx.Fisher()):
        with pytest.raises(sx.DataError, match="class"):
            model.fit(X, CODES, (CODES == 1).astype(float))


def test_folds_that_number_rows_and_kernels_of_rows_refuse_the_class():
    folds = [(np.arange(75), np.arange(75, 150)), (np.arange(75, 150), np.arange(75))]
    with pytest.raises(sx.DataError, match="weight zero"):
        sx.LinearSVMCV(cv=folds).fit(X, CODES, WEIGHTS)
    with pytest.raises(sx.DataError, match="weight zero"):
        sx.KernelSVM(kernel="precomputed").fit(X @ X.T, CODES, WEIGHTS)


def test_rows_of_weight_zero_beside_others_of_their_class_warn_of_nothing():
    weights = np.where(np.arange(150) % 7 == 0, 0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = sx.LinearSVM().fit(X, CODES, weights)
    assert len(model.classes_) == 3
