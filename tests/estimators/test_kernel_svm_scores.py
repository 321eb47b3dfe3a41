"""`KernelSVM`: scores of pairs, weights of a linear kernel, probabilities of held-out folds."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import separatrix as sx
from separatrix.core.linear_model import fitted_slopes
from separatrix.storage.model_proof import prove_model

X, Y = load_iris(return_X_y=True)
MOONS, SIDES = make_moons(120, noise=0.3, random_state=0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_scores_of_pairs_are_those_of_scikit_learn_with_the_later_class_positive(kernel):
    peer = SVC(kernel=kernel, decision_function_shape="ovo", tol=1e-9).fit(X, Y)
    ours = sx.KernelSVM(kernel=kernel, decision_function_shape="ovo").fit(X, Y)
    assert_allclose(ours.decision_function(X), -peer.decision_function(X), atol=1e-3)
    votes = sx.KernelSVM(kernel=kernel).fit(X, Y)
    assert votes.decision_function(X).shape == (150, 3)
    assert_array_equal(votes.predict(X), ours.predict(X))
    assert len(ours.n_iter_) == len(ours.intercept_) == 3


def test_two_classes_have_one_score_whatever_the_shape():
    for shape in ("ovr", "ovo"):
        model = sx.KernelSVM(decision_function_shape=shape).fit(MOONS, SIDES)
        assert model.decision_function(MOONS).shape == (120,)
        assert model.n_iter_.shape == (1,)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"decision_function_shape": "all"}, "decision_function_shape must be"),
        ({"decision_function_shape": "ovo", "multi_class": "ovr"}, "needs multi_class='ovo'"),
        ({"decision_function_shape": "ovo", "multi_class": "direct"}, "needs multi_class='ovo'"),
    ],
)
def test_a_shape_that_there_is_not_is_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        sx.KernelSVM(**settings).fit(X, Y)


@pytest.mark.parametrize("rows", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_the_weights_of_a_linear_kernel_are_those_of_the_scores(rows):
    model = sx.KernelSVM(kernel="linear", C=0.1, decision_function_shape="ovo").fit(rows, Y)
    assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(rows), atol=1e-9)
    two = sx.KernelSVM(kernel="linear").fit(MOONS, SIDES)
    plain = sx.LinearSVM(tol=1e-8).fit(MOONS, SIDES)
    assert_allclose(two.coef_, plain.coef_, atol=1e-3)
    assert "weights" in str(two)


def test_the_weights_are_not_to_be_written_and_absent_for_other_kernels():
    model = sx.KernelSVM(kernel="linear").fit(MOONS, SIDES)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 0.0
    with pytest.raises(AttributeError):
        model.coef_ = np.zeros((1, 2))
    for other in (sx.KernelSVM(kernel="linear"), sx.KernelSVM().fit(MOONS, SIDES)):
        assert not hasattr(other, "coef_")


@pytest.mark.parametrize("way", ["ovo", "ovr", "direct"])
def test_probabilities_follow_the_prediction(way):
    model = sx.KernelSVM(probability=True, multi_class=way).fit(X, Y)
    shares = model.predict_proba(X)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(shares.argmax(axis=1), model.predict(X))
    assert_allclose(np.exp(model.predict_log_proba(X)), shares)
    assert log_loss(Y, shares) < 0.4


def test_slopes_are_those_of_five_fits_without_the_rows_held_out():
    model = sx.KernelSVM(gamma=0.5, probability=True).fit(MOONS, SIDES)
    scores = np.empty((120, 1))
    for kept, out in StratifiedKFold(5, shuffle=True, random_state=0).split(MOONS, SIDES):
        one = sx.KernelSVM(gamma=0.5).fit(MOONS[kept], SIDES[kept])
        scores[out, 0] = one.decision_function(MOONS[out])
    naive = fitted_slopes(scores, SIDES, np.ones(120))
    assert_allclose(model._calibration.below, naive.below, rtol=1e-3)
    assert_allclose(model._calibration.above, naive.above, rtol=1e-3)


def test_a_given_kernel_has_the_probabilities_of_the_named_one():
    named = sx.KernelSVM(kernel="linear", probability=True).fit(MOONS, SIDES)
    given = sx.KernelSVM(kernel="precomputed", probability=True).fit(MOONS @ MOONS.T, SIDES)
    assert_allclose(given.predict_proba(MOONS @ MOONS.T), named.predict_proba(MOONS), rtol=1e-4)


def test_probabilities_need_a_fit_that_was_made_for_them():
    model = sx.KernelSVM().fit(MOONS, SIDES)
    assert not hasattr(model, "predict_proba")
    model.probability = True
    with pytest.raises(NotFittedError, match="Fit again"):
        model.predict_proba(MOONS)


@pytest.mark.parametrize("kind", [sx.KernelSVM, sx.KernelSVMCV])
def test_a_model_file_keeps_the_probabilities_and_proves_them(kind, tmp_path):
    model = kind(probability=True, decision_function_shape="ovo").fit(X, Y)
    sx.save(model, tmp_path / "model.sx")
    kept = sx.load(tmp_path / "model.sx")
    assert_array_equal(kept.predict_proba(X), model.predict_proba(X))
    assert_array_equal(kept.decision_function(X), model.decision_function(X))
    assert prove_model(kept, X, Y)[0]
    steeper = dict(vars(kept._calibration)) | {"above": 9.0, "below": 9.0}
    kept._calibration = type(kept._calibration)(**steeper)
    assert not prove_model(kept, X, Y)[0]
