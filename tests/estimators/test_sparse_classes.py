"""`l1_ratio` with several classes at once: all weights of a column are zero together."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from tests.cli.command import separatrix as run
from tests.naive import sparse_softmax as naive

import separatrix as sx
from separatrix.core.sparse import largest_cost_of_zero, largest_cost_of_zero_classes
from separatrix.storage.model_proof import prove_model


def data(n=60, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, :3] + 0.5 * rng.gumbel(size=(n, 3))).argmax(axis=1)


def test_columns_are_zero_for_all_classes():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = sx.LogisticRegression(C=0.1, l1_ratio=1.0).fit(X, y)
    assert model.status_ == "optimal"
    assert model.certificate_.kind == "sparse-softmax-gap"
    nonzero = model.coef_.any(axis=0)
    assert (model.coef_[:, nonzero] != 0.0).all()
    assert model.names_of_nonzero_ == list(X.columns[nonzero])
    assert model.certificate_.zeros.tolist() == np.flatnonzero(~nonzero).tolist()
    assert model.certificate_.check(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.9


def test_two_classes_at_once_are_the_lasso_of_two_classes():
    X, y = data()
    X, y = X[y < 2], y[y < 2]
    settings = {"l1_ratio": 1.0, "tol": 1e-9}
    both = sx.LogisticRegression(0.4, multi_class="multinomial", **settings).fit(X, y)
    one = sx.LogisticRegression(0.4, **settings).fit(X, y)
    np.testing.assert_allclose(both.coef_, one.coef_, atol=1e-6)
    assert both.objective_ == pytest.approx(one.objective_, rel=1e-8)


def test_weight_k_is_k_copies_and_weight_0_is_no_row():
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    one = sx.LogisticRegression(0.3, l1_ratio=1.0).fit(X, y, weights.astype(float))
    other = sx.LogisticRegression(0.3, l1_ratio=1.0).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    assert one.names_of_nonzero_ == other.names_of_nonzero_


def test_copied_and_constant_columns_change_no_prediction():
    X, y = data()
    more = np.column_stack([X, X[:, 0], X[:, 3], np.ones(len(X))])
    one = sx.LogisticRegression(0.4, l1_ratio=1.0, tol=1e-9).fit(X, y)
    other = sx.LogisticRegression(0.4, l1_ratio=1.0, tol=1e-9).fit(more, y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(more), atol=1e-5)
    assert not other.coef_[:, -1].any()
    assert 10 in other.certificate_.zeros


def test_groups_are_zero_together():
    X, y = load_wine(return_X_y=True)
    groups = [0] * 4 + [1] * 4 + [2] * 5
    model = sx.LogisticRegression(0.001, l1_ratio=1.0, groups=groups).fit(X, y)
    nonzero = model.coef_.any(axis=0)
    assert 0 < nonzero.sum() < 13
    assert all(len(set(nonzero[np.array(groups) == g])) == 1 for g in range(3))
    assert model.certificate_.check(X, y)
    holds, said = prove_model(model, X, y)
    assert holds, said
    model.groups = None
    assert not prove_model(model, X, y)[0]


def test_sparse_rows_and_float32():
    X, y = data()
    X[abs(X) < 0.5] = 0.0
    dense = sx.LogisticRegression(0.4, l1_ratio=0.9).fit(X, y)
    csr = sx.LogisticRegression(0.4, l1_ratio=0.9).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, csr.coef_, atol=1e-6)
    single = sx.LogisticRegression(0.4, l1_ratio=0.9).fit(X.astype(np.float32), y)
    assert single.certificate_.check(X.astype(np.float32), y)


def test_class_weights_are_row_weights():
    X, y = data()
    one = sx.LogisticRegression(0.3, l1_ratio=1.0, class_weight={0: 2.0, 1: 1.0, 2: 0.5})
    other = sx.LogisticRegression(0.3, l1_ratio=1.0)
    one.fit(X, y)
    other.fit(X, y, np.array([2.0, 1.0, 0.5])[y])
    assert one.coef_.tobytes() == other.coef_.tobytes()


def test_one_row_a_class():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 3.0]]), np.array(["a", "b", "c"])
    for C in (0.01, 1.0, 100.0):
        model = sx.LogisticRegression(C, l1_ratio=1.0).fit(X, y)
        assert model.status_ == "optimal"
        given = X, np.arange(3), np.full(3, C), 3, 1.0, 0.0
        W, b = naive.proximal_gradient(*given, most=5000)
        least = naive.objective(X, np.arange(3), np.full(3, C), 1.0, 0.0, W, b)
        assert model.dual_objective_ <= least * (1.0 + 1e-12)
        assert model.objective_ <= least * (1.0 + 1e-6)


def test_a_class_without_weight_is_left_out():
    X, y = data()
    with pytest.warns(UserWarning, match="left out"):
        model = sx.LogisticRegression(0.3, l1_ratio=1.0).fit(X, y, (y > 0).astype(float))
    assert model.classes_.tolist() == [1, 2]


def test_model_files_keep_weights_and_proof(tmp_path):
    X, y = data()
    found = sx.LogisticRegression(C=0.3, l1_ratio=0.7).fit(X, y)
    sx.save(found, tmp_path / "m.sx")
    again = sx.load(tmp_path / "m.sx")
    assert again.coef_.tobytes() == found.coef_.tobytes()
    assert again.certificate_.check(X, y)
    assert again.names_of_nonzero_ == found.names_of_nonzero_
    holds, said = prove_model(again, X, y)
    assert holds, said
    again.l1_ratio = 0.6
    assert not prove_model(again, X, y)[0]


def test_warm_starts_and_budgets():
    X, y = data(200, 30)
    model = sx.LogisticRegression(C=1.0, l1_ratio=1.0, warm_start=True).fit(X, y)
    before = model.n_passes_
    assert model.fit(X, y).n_passes_ < before
    with pytest.warns(UserWarning, match="gap reached"):
        short = sx.LogisticRegression(C=10.0, l1_ratio=1.0, max_passes=3, tol=1e-9).fit(X, y)
    assert short.status_ == "budget"
    assert short.certificate_.check(X, y)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("groups", [None, np.array([0, 0, 1, 1, 1])])
def test_the_largest_cost_of_zero_is_exact(intercept, groups):
    for seed in range(4):
        X, y = data(30, 5, seed)
        X = np.rint(X * 4.0) if seed % 2 else X
        weights = np.random.default_rng(seed).integers(1, 4, size=30).astype(float)
        C = largest_cost_of_zero_classes(X, y, weights, 3, 0.5, intercept, groups)
        settings = {"l1_ratio": 0.5, "fit_intercept": intercept, "tol": 1e-9, "groups": groups}
        assert not sx.LogisticRegression(C, **settings).fit(X, y, weights).coef_.any()
        assert sx.LogisticRegression(C * 1.001, **settings).fit(X, y, weights).coef_.any()


def test_the_largest_cost_of_two_classes_is_that_of_the_lasso():
    for seed in range(4):
        X, y = data(30, 5, seed)
        y = (y > 0).astype(int)
        weights = np.random.default_rng(seed).integers(0, 4, size=30).astype(float)
        for intercept in (True, False):
            one = largest_cost_of_zero(X, 2.0 * y - 1.0, weights, "logistic", 1.0, intercept)
            both = largest_cost_of_zero_classes(X, y, weights, 2, 1.0, intercept)
            assert both == pytest.approx(one, rel=1e-15)
    assert largest_cost_of_zero_classes(
        np.ones((3, 1)), np.arange(3), np.ones(3), 3, 1.0, True
    ) == (np.inf)


def test_the_commands_fit_and_prove_three_classes(tmp_path):
    X, y = load_iris(return_X_y=True)
    rows = "\n".join(",".join(map(str, [*x, f"c{k}"])) for x, k in zip(X, y, strict=True))
    path, out = tmp_path / "iris.csv", tmp_path / "model.sx"
    path.write_text(f"a,b,c,d,y\n{rows}\n")
    done = run("fit", path, "--target", "y", "--l1", "1", "--loss", "logistic", "-c", "0.1",
               "-o", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sx.load(out).certificate_.kind == "sparse-softmax-gap"
    assert run("verify", out, path).returncode == 0
    done = run("path", path, "--target", "y", "--l1", "1", "--loss", "logistic", "--Cs", "0.02,0.1",
               "--folds", "2", "--json", "--coefficients", tmp_path / "p.svg")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p.svg").exists()
