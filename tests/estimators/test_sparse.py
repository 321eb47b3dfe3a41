"""`l1_ratio` on the linear models: what they are, what they keep, what they refuse."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from tests.naive import sparse as naive

import separatrix as sx
from separatrix.core import sparse
from separatrix.core.sparse import largest_cost_of_zero
from separatrix.storage.model_proof import prove_model

MODELS = [
    sx.LogisticRegression,
    lambda **more: sx.LinearSVM(loss="squared_hinge", **more),
]


def data(n=60, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=n) > 0.0).astype(int)


@pytest.mark.parametrize("model", MODELS)
def test_weight_k_is_k_copies_and_weight_0_is_no_row(model):
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    one = model(C=0.2, l1_ratio=1.0).fit(X, y, weights.astype(float))
    other = model(C=0.2, l1_ratio=1.0).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    assert one.names_of_nonzero_ == other.names_of_nonzero_


@pytest.mark.parametrize("model", MODELS)
def test_copied_columns_change_no_prediction(model):
    X, y = data()
    twice = np.column_stack([X, X[:, 0], X[:, 3]])
    for ratio in (1.0, 0.5):
        one = model(C=0.3, l1_ratio=ratio).fit(X, y)
        other = model(C=0.3, l1_ratio=ratio).fit(twice, y)
        if ratio == 1.0:
            np.testing.assert_allclose(
                one.decision_function(X), other.decision_function(twice), atol=1e-5
            )
        else:  # the ridge shares a weight between copies
            np.testing.assert_allclose(other.coef_[0, 0], other.coef_[0, 12], atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_scale_of_a_column_changes_the_penalty_alone(model):
    X, y = data()
    found = model(C=0.3, l1_ratio=1.0).fit(X * 1e4, y)
    costs, signs = np.full(len(y), 0.3), np.where(y == 1, 1.0, -1.0)
    loss = "logistic" if "Logistic" in type(found).__name__ else "squared_hinge"
    at = found.coef_[0], found.intercept_[0]
    value = naive.objective(X * 1e4, signs, costs, loss, 1.0, 0.0, *at)
    same = naive.proximal_gradient(X * 1e4, signs, costs, loss, 1.0, 0.0, True, 3000)
    assert value <= naive.objective(X * 1e4, signs, costs, loss, 1.0, 0.0, *same) * (1.0 + 1e-8)
    assert found.gap_ < 1e-4


@pytest.mark.parametrize("model", MODELS)
def test_sparse_rows_float32_and_many_classes(model):
    X, y = data()
    dense = model(C=0.3, l1_ratio=0.9).fit(X, y)
    csr = model(C=0.3, l1_ratio=0.9).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, csr.coef_, atol=1e-7)
    single = model(C=0.3, l1_ratio=0.9).fit(X.astype(np.float32), y)
    assert single.certificate_.check(X.astype(np.float32), y)
    X, y = load_iris(return_X_y=True)
    for way in ("ovr", "ovo"):
        three = model(C=0.1, l1_ratio=1.0, multi_class=way).fit(X, y)
        assert three.certificate_.check(X, y)
        assert three.coef_.shape == (3, 4)
        assert not three.coef_.all()
        assert three.score(X, y) > 0.6


def test_names_are_those_of_the_frame():
    frame, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = sx.LogisticRegression(C=0.01, l1_ratio=1.0).fit(frame, y)
    names = model.names_of_nonzero_
    assert names == list(frame.columns[model.coef_[0] != 0.0])
    assert 0 < len(names) < 10
    assert sx.LogisticRegression(l1_ratio=1.0, C=1e-9).fit(frame, y).names_of_nonzero_ == []


def test_a_ratio_of_zero_is_the_ridge_as_before():
    X, y = data()
    one, other = sx.LogisticRegression().fit(X, y), sx.LogisticRegression(l1_ratio=0.0).fit(X, y)
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert type(one.certificate_).__name__ == "DualityGap"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"l1_ratio": 1.5}, "from 0 to 1"),
        ({"l1_ratio": "all"}, "from 0 to 1"),
        ({"l1_ratio": 0.5, "C": np.inf}, "finite C"),
        ({"l1_ratio": 0.5, "C": np.inf, "multi_class": "multinomial"}, "finite C"),
        ({"l1_ratio": 0.5, "solver": "newton"}, "solver of its own"),
        ({"l1_ratio": 0.5, "intercept_penalty": 1.0}, "intercept free"),
    ],
)
def test_what_cannot_be_is_refused_in_words(settings, words):
    with pytest.raises(ValueError, match=words):
        sx.LogisticRegression(**settings).fit(*data())


def test_the_hinge_partitions_and_replays_are_refused(tmp_path):
    X, y = data()
    with pytest.raises(ValueError, match="smooth loss"):
        sx.LinearSVM(l1_ratio=1.0).fit(X, y)
    with pytest.raises(ValueError, match="no replay"):
        list(sx.replay(sx.LogisticRegression(l1_ratio=1.0), X, y))
    path = tmp_path / "rows.csv"
    lines = [
        ",".join(map(repr, row.tolist())) + f",{label}" for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join([",".join([*(f"a{j}" for j in range(12)), "y"]), *lines]) + "\n")
    with pytest.raises(ValueError, match="partitions"):
        sx.LogisticRegression(l1_ratio=1.0).fit(sx.open_partitions([path], target="y"))


@pytest.mark.parametrize("model", MODELS)
def test_model_files_keep_weights_and_proof(model, tmp_path):
    X, y = data()
    found = model(C=0.2, l1_ratio=0.7).fit(X, y)
    sx.save(found, tmp_path / "m.sx")
    again = sx.load(tmp_path / "m.sx")
    assert again.coef_.tobytes() == found.coef_.tobytes()
    assert again.certificate_.check(X, y)
    assert again.names_of_nonzero_ == found.names_of_nonzero_
    holds, said = prove_model(again, X, y)
    assert holds, said
    again.l1_ratio = 0.6
    assert not prove_model(again, X, y)[0]


def test_liblinear_files_name_the_lasso(tmp_path):
    X, y = data()
    for model, word in zip(MODELS, ("L1R_LR", "L1R_L2LOSS_SVC"), strict=True):
        found = model(C=0.2, l1_ratio=1.0).fit(X, y)
        sx.exchange.write_liblinear(found, tmp_path / "m")
        assert f"solver_type {word}\n" in (tmp_path / "m").read_text()
        again = sx.exchange.read_liblinear(tmp_path / "m")
        assert again.l1_ratio == 1.0
        assert (again.predict(X) == found.predict(X)).all()


def test_warm_start_and_budgets():
    X, y = data(200, 40)
    model = sx.LogisticRegression(C=1.0, l1_ratio=1.0, warm_start=True).fit(X, y)
    before = model.n_passes_
    assert model.fit(X, y).n_passes_ < before
    with pytest.warns(UserWarning, match="gap reached"):
        short = sx.LogisticRegression(C=10.0, l1_ratio=1.0, max_passes=3, tol=1e-9).fit(X, y)
    assert short.status_ == "budget"
    assert short.certificate_.check(X, y)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_largest_cost_of_zero_is_exact(loss, intercept):
    for seed in range(6):
        X, y = data(30, 5, seed)
        X = np.rint(X * 4.0) if seed % 2 else X
        signs, weights = np.where(y == 1, 1.0, -1.0), np.ones(30)
        C = largest_cost_of_zero(X, signs, weights, loss, 0.5, intercept)
        model = MODELS[loss != "logistic"]
        settings = {"l1_ratio": 0.5, "fit_intercept": intercept, "tol": 1e-9}
        assert not model(C=C, **settings).fit(X, y).coef_.any()
        assert model(C=C * 1.001, **settings).fit(X, y).coef_.any()


@pytest.mark.parametrize("intercept", [True, False])
def test_the_largest_cost_of_zero_groups_is_exact(intercept):
    groups = np.array([0, 0, 1, 1, 1])
    for seed in range(4):
        X, y = data(30, 5, seed)
        X = np.rint(X * 4.0) if seed % 2 else X
        signs, weights = np.where(y == 1, 1.0, -1.0), np.ones(30)
        more = "logistic", 0.5, intercept
        C = largest_cost_of_zero(X, signs, weights, *more, groups)
        settings = {"l1_ratio": 0.5, "fit_intercept": intercept, "tol": 1e-9, "groups": groups}
        assert not sx.LogisticRegression(C, **settings).fit(X, y).coef_.any()
        assert sx.LogisticRegression(C * 1.001, **settings).fit(X, y).coef_.any()
        alone = largest_cost_of_zero(X, signs, weights, *more, np.arange(5))
        assert alone == largest_cost_of_zero(X, signs, weights, *more)


@pytest.mark.parametrize("square", [Fraction(2), Fraction(1, 9), Fraction(7, 10**300)])
def test_a_quotient_by_a_root_is_rounded_down(square):
    found = Fraction(sparse._over_the_root(Fraction(1), square))
    higher = Fraction(np.nextafter(float(found), np.inf))
    assert found**2 * square <= 1 < higher**2 * square


def test_few_weights_and_many_are_added_alike(monkeypatch):
    for seed in range(4):
        X, y = data(30, 5, seed)
        signs = np.where(y == 1, 1.0, -1.0)
        weights = np.random.default_rng(seed).integers(0, 4, size=30) / 3.0
        found = largest_cost_of_zero(X, signs, weights, "logistic", 1.0, True)
        monkeypatch.setattr(sparse, "_FEW_WEIGHTS", 0)
        assert largest_cost_of_zero(X, signs, weights, "logistic", 1.0, True) == found
        assert largest_cost_of_zero(sp.csr_array(X), signs, weights, "logistic", 1.0, True) == found
        monkeypatch.undo()


def test_no_column_matters_at_any_cost():
    X, signs = np.ones((4, 2)), np.array([1.0, 1.0, -1.0, -1.0])
    assert largest_cost_of_zero(X, signs, np.ones(4), "logistic", 1.0, True) == np.inf
    assert largest_cost_of_zero(X, np.ones(4), np.ones(4), "logistic", 1.0, True) == np.inf
    model = sx.LogisticRegression(C=100.0, l1_ratio=1.0).fit(X, signs)
    assert not model.coef_.any()
    assert len(model.certificate_.zeros) == 2
