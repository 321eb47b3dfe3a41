"""Sparse paths: where they begin, what each C is, which is chosen."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.plots.curves import save_coefficient_paths
from separatrix.selection.refinement import sparse_grid
from separatrix.storage.model_proof import prove_model


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_every_model_of_a_path_is_that_of_its_own_fit(cancer):
    X, y = cancer
    path = sx.LogisticRegressionPath(Cs=5, tol=1e-8).fit(X, y)
    assert path.path_["n_nonzero"][0] == 0
    assert (np.diff(path.Cs_) > 0.0).all()
    for k in (1, 4):
        one = sx.LogisticRegression(path.Cs_[k], l1_ratio=1.0, tol=1e-8).fit(X, y)
        assert abs(one.objective_ - path.path_["objective"][k]) <= 1e-7 * one.objective_
        np.testing.assert_allclose(path.coefs_[k], one.coef_[0], atol=1e-3)
    assert all(proof.check(X, y) for proof in path.certificates_)
    assert (path.path_["gap"] <= 1e-8).all()
    proved = path.path_["n_proved_zero"] + path.path_["n_nonzero"]
    assert (proved <= 30).all()
    assert proved[0] == 30 or path.path_["n_proved_zero"][0] >= 29  # one column is at its bound


def test_a_path_is_drawn_with_names(cancer, tmp_path):
    X, y = cancer
    path = sx.LogisticRegressionPath([0.001, 0.01, 0.1], l1_ratio=0.9).fit(X, y)
    path.names_[int(np.argmax(abs(path.coefs_[-1])))] = "the <largest>"
    save_coefficient_paths(path, tmp_path / "path.svg", names=3, chosen=0.01)
    assert "largest" in (tmp_path / "path.svg").read_text()


def test_a_path_refuses_the_ridge():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="above 0 here"):
        sx.LogisticRegressionPath(l1_ratio=0.0).fit(X, y)


@pytest.mark.parametrize("groups", [None, ["sepal", "sepal", "petal", "petal"]])
def test_a_path_of_three_classes(groups, tmp_path):
    X, y = load_iris(return_X_y=True)
    path = sx.LogisticRegressionPath(Cs=5, tol=1e-7, groups=groups).fit(X, y)
    assert path.coefs_.shape == (5, 3, 4)
    assert path.intercepts_.shape == (5, 3)
    assert path.path_["n_nonzero"][0] == 0
    assert (path.path_["gap"] <= 1e-7).all()
    assert all(proof.check(X, y) for proof in path.certificates_)
    settings = {"l1_ratio": 1.0, "tol": 1e-7, "groups": groups}
    one = sx.LogisticRegression(path.Cs_[2], **settings).fit(X, y)
    assert one.objective_ == pytest.approx(path.path_["objective"][2], rel=2e-7)
    more = sx.LogisticRegression(1.001 * path.Cs_[0], **settings | {"tol": 1e-10}).fit(X, y)
    assert more.coef_.any()
    save_coefficient_paths(path, tmp_path / "path.svg")
    assert (tmp_path / "path.svg").stat().st_size > 0


def test_folds_choose_a_cost_for_three_classes():
    X, y = load_iris(return_X_y=True)
    one = sx.LogisticRegressionCV(Cs=5, l1_ratios=[0.5, 1.0], cv=3, tol=1e-5).fit(X, y)
    assert one.l1_ratio_ in (0.5, 1.0)
    assert one.certificate_.kind == "sparse-softmax-gap"
    assert one.certificate_.l1 == one.l1_ratio_
    assert one.certificate_.check(X, y)
    assert one.path_["n_nonzero"][0] == 0
    assert one.score(X, y) > 0.9
    holds, said = prove_model(one, X, y)
    assert holds, said


def test_folds_choose_ratio_and_cost(cancer):
    X, y = cancer
    one = sx.LogisticRegressionCV(Cs=6, l1_ratios=[0.5, 1.0], cv=3).fit(X, y)
    assert one.l1_ratio_ in (0.5, 1.0)
    assert one.path_["n_nonzero"][0] <= one.path_["n_nonzero"][-1]
    assert one.certificate_.l1 == one.l1_ratio_
    assert one.certificate_.check(X, y)
    assert any("l1_ratio" in note for note in one.path_.notes)
    simpler = sx.LogisticRegressionCV(
        Cs=6, l1_ratios=[one.l1_ratio_], cv=3, rule="one_standard_error"
    ).fit(X, y)
    assert simpler.C_ <= one.C_
    assert len(simpler.names_of_nonzero_) <= len(one.names_of_nonzero_)


def test_groups_of_columns_come_in_together_on_the_path_and_in_folds(cancer, tmp_path):
    X, y = cancer
    labels = [f"measure {j % 10}" for j in range(30)]
    path = sx.LogisticRegressionPath(Cs=6, groups=labels).fit(X, y)
    assert path.path_["n_nonzero"][0] == 0
    for w, proof in zip(path.coefs_, path.certificates_, strict=True):
        inside = (w != 0.0).reshape(3, 10)
        assert (inside.all(axis=0) == inside.any(axis=0)).all()
        assert proof.groups == tuple(range(10)) * 3
        assert proof.check(X, y)
    model = sx.LogisticRegressionCV(path.Cs_[1:4], l1_ratios=[1.0], groups=labels, cv=3).fit(X, y)
    at = int(np.flatnonzero(path.Cs_ == model.C_)[0])
    assert abs(model.objective_ - path.path_["objective"][at]) <= 2e-4 * model.objective_
    assert model.certificate_.groups == tuple(range(10)) * 3
    sx.save(model, tmp_path / "m.sx")
    again = sx.load(tmp_path / "m.sx")
    holds, said = prove_model(again, X, y)
    assert holds, said
    again.groups = None
    assert not prove_model(again, X, y)[0]


def test_groups_of_columns_need_ratios_and_leave_the_ridge_alone(cancer):
    X, y = cancer
    with pytest.raises(ValueError, match="l1_ratio must be above 0"):
        sx.LogisticRegressionCV([0.1], groups=[[0, 1]]).fit(X, y)
    with pytest.raises(ValueError, match="a label for each"):
        sx.LogisticRegressionCV([0.1], l1_ratios=[1.0], groups=["a"]).fit(X, y)
    settings = {"cv": 2, "l1_ratios": [0.0, 1.0]}
    plots = np.arange(len(y)) % 7  # of rows
    model = sx.LogisticRegressionCV([0.1], groups=[[0, 1]], **settings).fit(X, y, groups=plots)
    assert model.l1_ratio_ in (0.0, 1.0)


def test_a_store_keeps_the_ratios_apart(cancer):
    X, y = cancer
    kept = {}

    class Store:
        def get(self, key):
            return kept.get(key)

        def put(self, key, facts, arrays):
            kept[key] = (facts, arrays)

    settings = {"Cs": [0.01, 0.1], "l1_ratios": [0.0, 1.0], "cv": 2}
    one = sx.LogisticRegressionCV(**settings).fit(X, y, store=Store())
    assert len(kept) == 8
    other = sx.LogisticRegressionCV(**settings).fit(X, y, store=Store())
    assert one.coef_.tobytes() == other.coef_.tobytes()


def test_a_fit_forgets_the_ratio_that_an_earlier_one_chose():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), [0, 1] * 20
    model = sx.LogisticRegressionCV([0.1, 1.0], l1_ratios=[1.0], cv=2, refine=False).fit(X, y)
    assert model.l1_ratio_ == 1.0
    model.set_params(l1_ratios=None).fit(X, y)
    assert not hasattr(model, "l1_ratio_")
    assert model.certificate_.kind == "duality-gap"


def test_many_classes_and_files(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = sx.LinearSVMCV(Cs=4, loss="squared_hinge", l1_ratios=[1.0], cv=3).fit(X, y)
    sx.save(model, tmp_path / "m.sx")
    again = sx.load(tmp_path / "m.sx")
    assert again.l1_ratio_ == 1.0
    assert again.certificate_.check(X, y)


@pytest.mark.parametrize("given", [[], [2.0], ["a"]])
def test_ratios_are_checked(given):
    with pytest.raises(ValueError, match="l1_ratio"):
        sx.LogisticRegressionCV(l1_ratios=given).fit([[0.0], [1.0]] * 5, [0, 1] * 5)


def test_the_grid_begins_where_all_weights_are_zero():
    X = np.eye(4)[:, :2]
    values, given = sparse_grid(4, 0.25, X)
    assert values[0] == 0.25
    assert values[-1] == pytest.approx(250.0)
    assert not given
    assert sparse_grid([1.0, 2.0], 0.25, X)[1]
    assert sparse_grid(4, np.inf, X)[0].tolist() == [1.0]
    for least in (1e299, 1e307, 1.7e308):
        values, _ = sparse_grid(4, least, X)
        assert values[0] == least
        assert values[-1] == max(least, 1e300)


def test_columns_of_unlike_sizes_have_a_longer_path():
    X = np.eye(6)[:, :3] * [1e5, 1.0, 1.0]
    assert sparse_grid(4, 1.0, X)[0][-1] == pytest.approx(1e8)
    assert sparse_grid(4, 1.0, sp.csr_matrix(X))[0][-1] == pytest.approx(1e8)
    assert sparse_grid(4, 1.0, np.zeros((3, 2)))[0][-1] == pytest.approx(1e3)
