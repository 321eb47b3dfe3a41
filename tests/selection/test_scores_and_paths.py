"""`LogisticRegressionCV`: scores and weights of every fold, and the mean of the folds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score

import separatrix as sx
from separatrix.storage.model_proof import prove_model

X, Y = load_iris(return_X_y=True)
CS = [0.01, 1.0, 100.0]
FOLDS = StratifiedKFold(4)
TWO = slice(50, None)
CASES = [("auto", slice(None)), ("ovr", slice(None)), ("auto", TWO), ("multinomial", TWO)]


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
@pytest.mark.parametrize(("way", "rows"), CASES)
def test_scores_are_those_of_a_fit_for_every_fold_and_C(way, rows, scoring):
    chosen = sx.LogisticRegressionCV(CS, cv=FOLDS, scoring=scoring, multi_class=way, tol=1e-8)
    found = chosen.fit(X[rows], Y[rows]).scores_
    assert found.shape == (4, 3)
    for k, C in enumerate(CS):
        one = sx.LogisticRegression(C, multi_class=way, tol=1e-8)
        naive = cross_val_score(one, X[rows], Y[rows], cv=FOLDS, scoring=scoring)
        assert_allclose(found[:, k], naive, rtol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("way", "rows"), CASES)
def test_paths_hold_the_weights_of_every_fold_the_intercept_last(way, rows, intercept):
    settings = {"multi_class": way, "fit_intercept": intercept, "tol": 1e-8}
    chosen = sx.LogisticRegressionCV(CS, cv=FOLDS, store_cv_results=True, **settings)
    found = chosen.fit(X[rows], Y[rows]).coefs_paths_
    assert found.shape == (4, 3, len(chosen.coef_), 4 + intercept)
    train, _ = list(FOLDS.split(X[rows], Y[rows]))[2]
    one = sx.LogisticRegression(CS[1], **settings).fit(X[rows][train], Y[rows][train])
    assert_allclose(found[2, 1, :, :4], one.coef_, atol=1e-3)
    if intercept:
        assert_allclose(found[2, 1, :, 4], one.intercept_, atol=1e-2)


def test_paths_are_kept_where_they_are_to_be():
    assert not hasattr(sx.LogisticRegressionCV(CS).fit(X, Y), "coefs_paths_")
    again = sx.LogisticRegressionCV(CS, store_cv_results=True).fit(X, Y)
    again.set_params(store_cv_results=False).fit(X, Y)
    assert not hasattr(again, "coefs_paths_")


@pytest.mark.parametrize(("way", "rows"), CASES)
def test_without_a_refit_the_mean_of_the_folds_is_proved_as_it_is(way, rows, tmp_path):
    chosen = sx.LogisticRegressionCV(
        CS, cv=4, multi_class=way, refit=False, store_cv_results=True
    ).fit(X[rows], Y[rows])
    at = chosen.path_["C"].tolist().index(chosen.C_)
    mean = chosen.coefs_paths_[:, at].mean(axis=0)
    assert_allclose(np.column_stack([chosen.coef_, chosen.intercept_]), mean, atol=1e-12)
    best = sx.LogisticRegression(chosen.C_, multi_class=way, tol=1e-8).fit(X[rows], Y[rows])
    assert chosen.certificate_.check(X[rows], Y[rows])
    assert np.all(chosen.objective_ >= best.dual_objective_)
    assert np.all(chosen.dual_objective_ <= best.objective_)
    assert chosen.status_ == "budget"
    sx.save(chosen, tmp_path / "mean.sx")
    kept = sx.load(tmp_path / "mean.sx")
    assert_array_equal(kept.scores_, chosen.scores_)
    assert_array_equal(kept.coefs_paths_, chosen.coefs_paths_)
    assert prove_model(kept, X[rows], Y[rows])[0]


def test_the_mean_of_folds_goes_with_the_best_C_alone():
    with pytest.raises(ValueError, match="rule='best'"):
        sx.LogisticRegressionCV(CS, rule="one_standard_error", refit=False).fit(X, Y)
