"""Fitted estimators, verdicts and certificates go through pickle, copies and joblib."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.storage.test_model_file import MODELS, fitted

import separatrix as sx

X, CODES = load_iris(return_X_y=True)
SEPARABLE = CODES != 2
OVERLAPPING = CODES != 0


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_pickled(name):
    model, rows, _ = fitted(name)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(rows) == model.predict(rows)).all()


@pytest.mark.parametrize("rows", [SEPARABLE, OVERLAPPING], ids=["separable", "overlapping"])
def test_logistic_regression_without_penalty_is_pickled(rows, tmp_path):
    with np.errstate(all="ignore"), pytest.warns() if rows is SEPARABLE else _nothing():
        model = sx.LogisticRegression(C=np.inf).fit(X[rows], CODES[rows])
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X[rows]) == model.predict_proba(X[rows])).all()
    assert str(again) == str(model)
    joblib.dump(model, tmp_path / "model.joblib")
    kept = joblib.load(tmp_path / "model.joblib")
    assert (kept.coef_ == model.coef_).all()


class _nothing:
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return False


@pytest.mark.parametrize("rows", [SEPARABLE, OVERLAPPING], ids=["separable", "overlapping"])
@pytest.mark.parametrize("through", [copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_a_verdict_is_pickled_with_what_it_has_not_worked_out(rows, through):
    data = X[rows], CODES[rows]
    verdict, fresh = sx.separability(*data), sx.separability(*data)
    again = through(verdict)
    assert again.to_json() == fresh.to_json()
    assert again.check(*data)
    assert again.certificate.check(*data)
    np.testing.assert_array_equal(again.infinite, fresh.infinite)
    assert through(again).to_json() == fresh.to_json()
