"""LeastSquares: weights at least 0, folds and scores, class weights, several labels a row."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_score
from tests.amounts import cases

import separatrix as sx
from separatrix.certificates.nonnegative_squares import check_nonnegative_squares
from separatrix.storage.model_proof import prove_model

X, CODES = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def drawn(seed, n=30, d=4):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, size=d) + rng.normal(size=d)
    return rows, rows @ (rng.normal(size=d) / abs(rows).max(axis=0)) + rng.normal(size=n), rng


# ---- positive


def by_every_support(rows, t, s, ridge, intercept):
    """Return the least objective of weights >= 0: the best of every set of columns, slowly."""
    n, d = rows.shape
    best, found = np.inf, None
    for used in itertools.chain.from_iterable(
        itertools.combinations(range(d), k) for k in range(d + 1)
    ):
        A = np.column_stack([rows[:, used], np.ones(n)] if intercept else [rows[:, used]])
        root = np.sqrt(s)
        below = np.sqrt(ridge) * np.eye(len(used), A.shape[1])
        whole, right = (
            np.vstack([A * root[:, None], below]),
            np.append(root * t, np.zeros(len(used))),
        )
        w = np.linalg.lstsq(whole, right, rcond=None)[0] if A.shape[1] else np.zeros(0)
        if (w[: len(used)] < 0).any():
            continue
        value = float(((whole @ w - right) ** 2).sum())
        if value < best:
            best, found = value, np.zeros(d)
            found[list(used)] = w[: len(used)]
    return best, found


def test_weights_at_least_zero_are_the_best_of_every_support():
    for seed in cases(40):
        rows, t, rng = drawn(seed)
        s = rng.uniform(0.5, 2.0, size=len(t))
        ridge, intercept = [0.0, 0.7][seed % 2], seed % 3 > 0
        model = sx.LeastSquares(
            ridge, positive=True, task="regression", fit_intercept=intercept
        ).fit(sp.csr_array(rows) if seed % 4 == 0 else rows, t, sample_weight=s)
        best, found = by_every_support(rows, t, s, ridge, intercept)
        assert_allclose(model.coef_, found, rtol=1e-6, atol=1e-12 * abs(found).max())
        proof = model.certificate_
        assert proof.holds
        assert proof.least <= best * (1 + 1e-12)
        assert best <= proof.objective * (1 + 1e-12)
        assert proof.check(sp.csr_array(rows) if seed % 4 == 0 else rows, t, s)


def test_peers_find_the_same_weights():
    rows, t = DIABETES
    ours = sx.LeastSquares(positive=True, task="regression").fit(rows, t)
    peer = LinearRegression(positive=True).fit(rows, t)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-7, atol=1e-7)
    assert (ours.coef_ == 0.0).any()
    ours = sx.LeastSquares(0.5, positive=True, task="regression").fit(rows, t)
    peer = Ridge(0.5, positive=True, tol=1e-12).fit(rows, t)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-4, atol=1e-2)
    ours = sx.LeastSquares(1.0, positive=True).fit(X, CODES > 1)
    peer = RidgeClassifier(1.0, positive=True, tol=1e-10).fit(X, CODES > 1)
    assert_allclose(ours.coef_[0], peer.coef_, atol=1e-5)
    assert (ours.predict(X) == peer.predict(X)).all()


def test_a_bound_that_binds_nowhere_changes_nothing():
    rows, _, rng = drawn(1)
    t = rows @ [1.0, 0.3, 2.0, 0.5] + 0.01 * rng.normal(size=len(rows))
    free = sx.LeastSquares(task="regression").fit(rows, t)
    bounded = sx.LeastSquares(task="regression", positive=True).fit(rows, t)
    assert_allclose(bounded.coef_, free.coef_, rtol=1e-9)
    exact = sx.LeastSquares(task="regression", positive=True).fit(rows, rows @ [1.0, 0.0, 2.0, 0.5])
    assert exact.certificate_.holds
    nothing = sx.LeastSquares(task="regression", positive=True).fit(rows, -rows @ [1.0, 1, 1, 1])
    assert (nothing.coef_ >= 0.0).all()
    assert nothing.certificate_.holds


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ridge", [1.0, 1e40, 1e300])
def test_a_ridge_beyond_all_bounds_leaves_a_tiny_column_out(ridge):
    rows, t, _ = drawn(3)
    tiny = rows * [1e-140, 1.0, 1e139, 1.0]
    rest = sx.LeastSquares(ridge, positive=True, task="regression").fit(tiny[:, 1:], t)
    assert rest.status_ == "optimal"
    for given in (tiny, sp.csr_array(tiny)):
        model = sx.LeastSquares(ridge, positive=True, task="regression").fit(given, t)
        assert model.certificate_.check(given, t)
        assert model.coef_[0] <= 1e-135
        assert_allclose(model.coef_[1:], rest.coef_, rtol=1e-9)


@pytest.mark.parametrize("change", ["negative", "other", "larger"])
def test_other_weights_are_not_proved(change):
    rows, t = DIABETES
    model = sx.LeastSquares(positive=True, task="regression").fit(rows, t)
    coef = model.coef_.copy()
    if change == "negative":
        coef[coef == 0.0] = -1e-9
    elif change == "other":
        coef[coef == 0.0] = 1e-3
    else:
        coef *= 1.0001
    claim = check_nonnegative_squares(
        rows, t, coef[None], np.array([model.intercept_]), task="regression"
    )
    assert not claim.holds
    # And a claim of less than is true is refused.
    forged = dataclasses.replace(model.certificate_, least=model.certificate_.objective * 1.01)
    assert not forged.check(rows, t)
    assert not model.certificate_.check(rows, t + 1.0)


def test_targets_that_are_fitted_without_error_say_nothing_where_there_is_a_ridge():
    """These weights fit the targets, and half of what the ridge takes is for nothing."""
    rows, ridge = np.diag([1.0, 1e-20]), 1e-20
    weights, targets = np.ones((1, 2)), np.array([1.0, 1e-20])
    given = {"fit_intercept": False, "task": "regression"}
    claim = check_nonnegative_squares(rows, targets, weights, np.zeros(1), ridge=ridge, **given)
    assert not claim.holds
    model = sx.LeastSquares(ridge, positive=True, **given).fit(rows, targets)
    assert_allclose(model.coef_, [1.0, 1e-20])
    assert model.certificate_.holds
    forged = dataclasses.replace(claim, objective=1.0, least=0.0, perturbation=1e-9, gap=1.0)
    assert forged.holds
    assert not forged.check(rows, targets)


def test_a_model_file_keeps_the_bound(tmp_path):
    model = sx.LeastSquares(0.1, positive=True).fit(X, CODES)
    sx.save(model, tmp_path / "m.sx")
    loaded = sx.load(tmp_path / "m.sx")
    assert prove_model(loaded, X, CODES)[0]
    loaded.positive = False
    assert not prove_model(loaded, X, CODES)[0]


# ---- folds and scores

RIDGES = [1e-3, 0.1, 1.0, 10.0, 100.0, 1e4]


def test_folds_choose_as_scikit_learns():
    ours = sx.LeastSquares(RIDGES, cv=5).fit(X, CODES)
    peer = GridSearchCV(sx.LeastSquares(), {"ridge": RIDGES}, cv=5).fit(X, CODES)
    assert_allclose(ours.cv_scores_.mean(axis=1), peer.cv_results_["mean_test_score"])
    assert ours.ridge_ == peer.best_params_["ridge"]
    folds = KFold(4, shuffle=True, random_state=1)
    scored = sx.LeastSquares(RIDGES, task="regression", cv=folds, scoring="neg_mean_absolute_error")
    peer = RidgeCV(RIDGES, cv=folds, scoring="neg_mean_absolute_error").fit(*DIABETES)
    assert scored.fit(*DIABETES).ridge_ == peer.alpha_
    assert_allclose(scored.coef_, peer.coef_, rtol=1e-6)


def test_scores_of_rows_left_out_choose_as_scikit_learns():
    ours = sx.LeastSquares(RIDGES, task="regression", scoring="neg_mean_absolute_error")
    peer = RidgeCV(RIDGES, scoring="neg_mean_absolute_error").fit(*DIABETES)
    assert ours.fit(*DIABETES).ridge_ == peer.alpha_
    assert_allclose(ours.cv_scores_.max(), peer.best_score_, rtol=1e-8)
    two = CODES > 1
    ours = sx.LeastSquares(RIDGES, scoring="accuracy").fit(X, two)
    wrong = [1.0 - share for share in ours.loo_mistakes_]
    assert_allclose(ours.cv_scores_, wrong)
    left = cross_val_score(RidgeClassifier(RIDGES[2]), X, two, cv=LeaveOneOut()).mean()
    assert_allclose(ours.cv_scores_[2], left)


def test_positive_weights_are_chosen_by_folds():
    model = sx.LeastSquares(RIDGES, positive=True, cv=3, task="regression").fit(*DIABETES)
    assert model.ridge_ in RIDGES
    with pytest.raises(ValueError, match="choose the ridge by cv"):
        sx.LeastSquares(RIDGES, positive=True).fit(X, CODES)
    one = sx.LeastSquares(1.0, cv=3).fit(X, CODES)
    assert_allclose(one.cv_scores_[0], cross_val_score(sx.LeastSquares(1.0), X, CODES, cv=3))


def test_folds_count_rows_of_weight_zero_and_weigh_the_others():
    weights = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    weighted = sx.LeastSquares(RIDGES, cv=folds).fit(X, CODES, weights)
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    groups = np.empty(len(X), dtype=int)
    for number, (_, test) in enumerate(folds):
        groups[test] = number
    repeated = [np.flatnonzero(groups[copies] != k) for k in range(4)]
    repeated = [(train, np.flatnonzero(groups[copies] == k)) for k, train in enumerate(repeated)]
    plain = sx.LeastSquares(RIDGES, cv=repeated).fit(X[copies], CODES[copies])
    assert_allclose(weighted.cv_scores_, plain.cv_scores_)
    assert_allclose(weighted.coef_, plain.coef_, rtol=1e-9)


def test_a_model_file_keeps_the_choice(tmp_path):
    for settings in ({"cv": 3}, {"scoring": "accuracy"}, {}):
        model = sx.LeastSquares(RIDGES, **settings).fit(X, CODES)
        sx.save(model, tmp_path / "m.sx")
        loaded = sx.load(tmp_path / "m.sx")
        assert prove_model(loaded, X, CODES)[0], settings
        loaded.ridge_ = 2.0
        assert not prove_model(loaded, X, CODES)[0]


# ---- class weights


@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 5.0, 2: 0.5}])
def test_class_weights_are_factors_of_row_weights(weights):
    given = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
    rows, labels, given = X[20:], CODES[20:], given[20:]
    ours = sx.LeastSquares(1.0, class_weight=weights).fit(rows, labels, given)
    peer = RidgeClassifier(1.0, class_weight=weights).fit(rows, labels, given)
    if weights != "balanced":  # theirs balances counts of rows, ours their weights
        assert (ours.predict(rows) == peer.predict(rows)).all()
        assert_allclose(2.0 * ours.coef_, peer.coef_, rtol=1e-6)
    plain = sx.LeastSquares(1.0, class_weight=weights).fit(rows, labels)
    peer = RidgeClassifier(1.0, class_weight=weights).fit(rows, labels)
    assert_allclose(2.0 * plain.coef_, peer.coef_, rtol=1e-6)
    assert prove_model(ours, rows, labels, given)[0]
    assert prove_model(plain, rows, labels)[0]
    with pytest.raises(ValueError, match="has no classes"):
        sx.LeastSquares(task="regression", class_weight="balanced").fit(X, CODES)


def test_folds_keep_class_weights():
    model = sx.LeastSquares(RIDGES, cv=3, class_weight="balanced").fit(X[20:], CODES[20:])
    assert prove_model(model, X[20:], CODES[20:])[0]


# ---- several labels a row


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_several_labels_are_decided_each_by_its_own_sign(kind, tmp_path):
    rows, labels = make_multilabel_classification(random_state=0, n_samples=60)
    peer = RidgeClassifier(1.0).fit(rows, labels)
    model = sx.LeastSquares(1.0).fit(kind(rows), labels)
    assert_allclose(model.coef_, peer.coef_, rtol=1e-7)
    assert_allclose(model.decision_function(rows), peer.decision_function(rows), rtol=1e-7)
    assert (model.predict(rows) == peer.predict(rows)).all()
    assert model.score(rows, labels) == peer.score(rows, labels)
    assert model.certificate_.check(kind(rows), labels)
    sx.save(model, tmp_path / "m.sx")
    loaded = sx.load(tmp_path / "m.sx")
    assert prove_model(loaded, kind(rows), labels)[0]
    assert (loaded.predict(rows) == peer.predict(rows)).all()
    assert "proof" in str(model)
    chosen = sx.LeastSquares(RIDGES).fit(rows, labels)
    assert chosen.loo_mistakes_.shape == (len(RIDGES),)
    with pytest.raises(ValueError, match="one label a row"):
        sx.LeastSquares(class_weight="balanced").fit(rows, labels)


def test_scores_of_regression_are_those_of_the_outputs():
    model = sx.LeastSquares(RIDGES, task="regression", scoring="r2").fit(*DIABETES)
    assert model.score(*DIABETES) == pytest.approx(
        r2_score(DIABETES[1], model.predict(DIABETES[0]))
    )
    assert mean_absolute_error(DIABETES[1], model.predict(DIABETES[0])) < 60
