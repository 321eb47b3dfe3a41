"""LogisticRegression(multi_class="multinomial"), as its users meet it."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from tests import optional

import separatrix as sx
from separatrix.errors import DataError


def machine(**settings):
    return sx.LogisticRegression(multi_class="multinomial", **settings)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_probabilities_are_those_of_scikit_learn(load, C):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = machine(C=C, tol=1e-9).fit(X, y)
    peer = Peer(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    assert ours.certificate_.check(X, y)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X), atol=1e-12)


def test_two_classes_are_the_machine_of_two_classes_at_twice_the_cost():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    ours = machine(C=1.0, tol=1e-10).fit(X, y)
    two = sx.LogisticRegression(C=2.0, tol=1e-10).fit(X, y)
    assert_allclose(ours.coef_, two.coef_, rtol=1e-4)
    assert_allclose(2.0 * ours.objective_, two.objective_, rtol=1e-8)
    assert_allclose(ours.predict_proba(X), two.predict_proba(X), atol=1e-5)


def test_weights_are_copies_and_threads_change_no_bit():
    X, y = load_iris(return_X_y=True)
    counts = 1 + np.arange(len(y)) % 3
    weighed = machine().fit(X, y, sample_weight=counts)
    copied = machine().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighed.coef_, copied.coef_, rtol=1e-4, atol=1e-6)
    X, y = load_digits(return_X_y=True)
    one, two = (machine(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()


def test_sparse_rows_and_names_of_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    dense, sparse = machine().fit(X, names), machine().fit(sp.csr_matrix(X), names)
    assert_allclose(dense.objective_, sparse.objective_, rtol=1e-9)
    assert sparse.certificate_.check(X, names)
    assert set(dense.predict(X)) <= set(names)


def test_fewer_rows_than_columns_are_turned_into_their_span():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 200)), np.arange(30) % 3
    turned = machine(tol=1e-8, C=10.0).fit(X, y)
    plain = machine(tol=1e-8, C=10.0).fit(sp.csr_matrix(X), y)
    assert_allclose(turned.objective_, plain.objective_, rtol=1e-7)
    assert turned.certificate_.check(X, y)
    again = machine(tol=1e-8, C=10.0, warm_start=True)
    assert again.fit(X, y).n_passes_ > again.fit(X, y).n_passes_


def test_what_cannot_be_is_said():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="solver of its own"):
        machine(solver="gram").fit(X, y)
    with pytest.raises(DataError, match="weight zero"):
        machine().fit(X, y, sample_weight=(y > 1).astype(float))
    with pytest.raises(ValueError, match="multinomial"):
        sx.LogisticRegression(multi_class="direct").fit(X, y)
    with pytest.raises(ValueError, match="multi_class"):
        sx.LinearSVM(multi_class="multinomial").fit(X, y)
    with pytest.raises(AttributeError, match="slack_"):
        _ = machine().fit(X, y).slack_


def test_a_budget_is_kept_and_the_gap_is_still_proved():
    X, y = load_digits(return_X_y=True)
    with pytest.warns(UserWarning, match="gap reached"):
        short = machine(C=100.0, max_passes=5).fit(X, y)
    assert short.status_ == "budget"
    assert short.certificate_.check(X, y)


def test_a_warm_start_goes_on():
    X, y = load_digits(return_X_y=True)
    warm = machine(warm_start=True).fit(X, y)
    first = warm.n_passes_
    assert warm.set_params(C=1.1).fit(X, y).n_passes_ < first


def test_models_travel(tmp_path):
    X, y = load_iris(return_X_y=True)
    fitted = machine().fit(X, y)
    sx.save(fitted, tmp_path / "model.sx")
    again = sx.load(tmp_path / "model.sx")
    assert again.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    assert again.certificate_.check(X, y)
    assert_allclose(sx.to_sklearn(fitted).predict_proba(X), fitted.predict_proba(X), atol=1e-12)


def test_C_is_chosen():
    X, y = load_wine(return_X_y=True)
    chosen = sx.LogisticRegressionCV(
        multi_class="multinomial", Cs=[1e-3, 1.0, 100.0], cv=3, scoring="neg_log_loss"
    ).fit(X, y)
    assert chosen.C_ in (1e-3, 1.0, 100.0)
    assert (chosen.path_["gap"] <= 1e-4).all()
    assert chosen.certificate_.check(X, y)
    alone = machine(C=chosen.C_).fit(X, y)
    assert_allclose(chosen.objective_, alone.objective_, rtol=2e-4)


def test_tensors_take_the_same_road():
    torch = optional.torch()
    X, y = load_wine(return_X_y=True)
    here = machine(tol=1e-7).fit(X, y)
    there = machine(tol=1e-7).fit(torch.tensor(X), torch.tensor(y))
    assert_allclose(here.objective_, there.objective_, rtol=1e-6)
    assert (here.predict(X) == there.predict(torch.tensor(X))).all()
    assert there.certificate_.check(X, y)
    single = machine().fit(torch.tensor(X, dtype=torch.float32), y)
    assert_allclose(single.objective_, here.objective_, rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("away", [1e3, 1e8])
def test_columns_far_from_zero(away, dtype):
    rng = np.random.default_rng(0)
    X, y = (rng.normal(size=(200, 5)) + away).astype(dtype), rng.integers(0, 3, 200)
    fitted = machine().fit(X, y)
    assert fitted.status_ == "optimal"
    assert fitted.certificate_.check(X, y)
    centred = machine().fit(X.astype(np.float64) - away, y)  # the biases take up the rest
    assert_allclose(fitted.objective_, centred.objective_, rtol=2e-4)


def test_what_cannot_be_factored_or_proved_is_said():
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(10, 400)) * 1e5 + 1e9, rng.normal(size=(60, 5)) * 1e50):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = machine().fit(X, np.arange(len(X)) % 3)
        assert fitted.status_ in ("optimal", "unproved")
        assert fitted.gap_ <= 1.001  # no loss is below 0


def test_a_fit_that_fails_leaves_the_machine_as_it_was():
    X, y = load_wine(return_X_y=True)
    fitted = machine().fit(X, y)
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.fit(np.full((4, 2), np.nan), [0, 1, 2, 3])
    with pytest.raises(ValueError, match="class"):
        fitted.fit(X[:5, :4], y[:5])
    assert vars(fitted) == before
