"""A machine fitted without scikit-learn is the estimator's: the same model file, byte for byte."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.core import machine as core
from separatrix.core.checks import seed_of
from separatrix.core.linear_model import pairs_of, tally
from separatrix.core.models import fresh, settings_of
from separatrix.errors import DataError, UnfinishedWarning
from separatrix.storage.model_file import from_bytes, to_bytes

X, Y = load_iris(return_X_y=True)
PAIR = Y < 2
SETTINGS = [
    ("LinearSVM", {}),
    ("LinearSVM", {"C": 10.0, "loss": "squared_hinge", "class_weight": "balanced"}),
    ("LinearSVM", {"multi_class": "ovo"}),
    ("LinearSVM", {"multi_class": "direct"}),
    ("LinearSVM", {"intercept_penalty": 1.0, "n_jobs": 1}),
    ("LogisticRegression", {}),
    ("LogisticRegression", {"multi_class": "ovo"}),
    ("LogisticRegression", {"multi_class": "multinomial"}),
]
PLAIN = {
    "LinearSVM": core.LinearSVM,
    "LogisticRegression": core.LogisticRegression,
}


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)
@pytest.mark.parametrize("rows", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_the_model_file_is_the_same(name, settings, rows):
    plain = PLAIN[name](**settings).fit(rows, Y)
    estimator = getattr(sx, name)(**settings).fit(rows, Y)
    assert to_bytes(plain) == to_bytes(estimator)
    again = from_bytes(to_bytes(plain)).model
    assert type(again) is type(estimator)
    assert again.certificate_.check(rows, Y)


def test_hard_margins_and_free_likelihoods():
    plain = core.LinearSVM(C=np.inf).fit(X[PAIR], Y[PAIR])
    assert to_bytes(plain) == to_bytes(sx.LinearSVM(C=np.inf).fit(X[PAIR], Y[PAIR]))
    with pytest.warns(sx.SeparationWarning):
        free = core.LogisticRegression(C=np.inf).fit(X[PAIR], Y[PAIR])
    with pytest.warns(sx.SeparationWarning):
        estimator = sx.LogisticRegression(C=np.inf).fit(X[PAIR], Y[PAIR])
    assert to_bytes(free) == to_bytes(estimator)


def test_sample_weights():
    weights = np.arange(len(Y)) % 3.0
    plain = core.LinearSVM().fit(X, Y, weights)
    assert to_bytes(plain) == to_bytes(sx.LinearSVM().fit(X, Y, weights))


def test_what_is_no_number_is_refused():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(DataError, match="NaN in row 3"):
        core.LinearSVM().fit(bad, Y)
    with pytest.raises(DataError, match="3 features, but LinearSVM is expecting 4"):
        core.LinearSVM().fit(X, Y).predict(X[:, :3])


def test_a_budget_that_ends_a_fit_warns():
    with pytest.warns(UnfinishedWarning, match="The gap reached"):
        machine = core.LinearSVM(max_passes=1).fit(X, Y)
    assert str(machine.status_) == "budget"


def test_a_fresh_model_has_the_settings_and_nothing_learned():
    machine = core.LinearSVM(C=3.0, tol=0.1).fit(X, Y)
    again = fresh(machine, tol=0.2)
    assert settings_of(again) == settings_of(machine) | {"tol": 0.2}
    assert not hasattr(again, "coef_")


def test_threads():
    assert core.LinearSVM(n_jobs=3)._cores() == 3
    assert core.LinearSVM(n_jobs=-1000)._cores() == 1
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        core.LinearSVM(n_jobs=0)._cores()


def test_seeds_are_those_of_scikit_learn():
    from sklearn.utils import check_random_state

    assert seed_of(7) == 7
    wanted = check_random_state(np.random.RandomState(3)).randint(2**31 - 1)
    assert seed_of(np.random.RandomState(3)) == wanted
    assert 0 <= seed_of(None) < 2**31
    with pytest.raises(ValueError, match="random_state must be"):
        seed_of("seed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seed_of(np.int64(4))


def test_votes_of_margins_without_end_are_counted():
    margins = np.array([[np.inf, np.inf, np.inf], [1.5e308, 1.5e308, 1.0], [-np.inf, 1.0, -2.0]])
    found = tally(margins, pairs_of(3), 3)
    expected = [[-1 / 3, 1, 7 / 3], [-1 / 3, 4 / 3, 7 / 3], [4 / 3, 2 / 3, 5 / 6]]
    assert found == pytest.approx(np.array(expected))
