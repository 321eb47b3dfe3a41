"""`score` of the estimators that choose C returns the measure that chose it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, make_scorer

import separatrix as sx

X, CODES = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
PATH = {"Cs": [0.01, 1.0], "cv": 3}


def test_log_loss_chosen_by_is_log_loss_returned():
    model = sx.LogisticRegressionCV(scoring="neg_log_loss", **PATH).fit(X, CODES)
    want = -log_loss(CODES, model.predict_proba(X))
    assert model.score(X, CODES) == pytest.approx(want)
    weighted = -log_loss(CODES, model.predict_proba(X), sample_weight=WEIGHTS)
    assert model.score(X, CODES, WEIGHTS) == pytest.approx(weighted)
    assert model.score(X, CODES) != pytest.approx(accuracy_score(CODES, model.predict(X)))


@pytest.mark.parametrize("scoring", ["balanced_accuracy", make_scorer(balanced_accuracy_score)])
def test_a_scorer_and_its_name_are_alike(scoring):
    part = slice(0, 120)
    model = sx.LinearSVMCV(scoring=scoring, **PATH).fit(X[part], CODES[part])
    want = balanced_accuracy_score(CODES[part], model.predict(X[part]))
    assert model.score(X[part], CODES[part]) == pytest.approx(want)
    assert want != pytest.approx(accuracy_score(CODES[part], model.predict(X[part])))


def test_without_scoring_it_is_the_accuracy():
    model = sx.LogisticRegressionCV(**PATH).fit(X, CODES)
    assert model.score(X, CODES, WEIGHTS) == accuracy_score(
        CODES, model.predict(X), sample_weight=WEIGHTS
    )


def test_a_function_of_model_and_rows_is_called():
    def fewest(estimator, rows, labels):
        return -float((estimator.predict(rows) != labels).sum())

    model = sx.LinearSVMCV(scoring=fewest, **PATH).fit(X, CODES)
    assert model.score(X, CODES) == fewest(model, X, CODES)
