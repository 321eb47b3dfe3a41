"""Sparse weights of three classes are the multinomial model in studies and paths too."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.cli._fitting import FixedFeatures, Loss
from separatrix.cli.path import _fitted_in_folds
from separatrix.report.page import render_report
from separatrix.report.study import Settings, Study, study
from separatrix.selection.folds import folds_of
from tests.cli.command import separatrix as run
from tests.storage.test_onnx_encoding import ran

pytestmark = pytest.mark.usefixtures("plain_page")

LASSO = Settings(folds=3, times=False, l1=1.0, features="standard")
KIND = "sparse-softmax-gap"


@pytest.fixture(scope="module")
def three_file(tmp_path_factory):
    """Ninety rows, thirty columns: one tells each of three classes, the others tell nothing."""
    rng = np.random.default_rng(5)
    y = np.arange(90) % 3
    X = rng.integers(-2, 3, size=(90, 30))
    X[:, :3] += 3 * np.eye(3, dtype=int)[y]
    path = tmp_path_factory.mktemp("data") / "three.csv"
    names = ",".join([*(f"g{j}" for j in range(30)), "class"])
    rows = [",".join([*map(str, row), "abc"[k]]) for row, k in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join([names, *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def done(three_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("three")
    return study(sx.read(three_file), folder, LASSO), folder


def test_one_proof_is_about_all_classes(done, three_file):
    facts, folder = done
    (proof,) = json.loads((folder / "certificate.json").read_text())["machine"]
    assert proof["kind"] == KIND
    assert facts.machine.n_machines == 1
    for name in ("model.sx", "certificate.json"):
        proved = run("verify", folder / name, three_file)
        assert proved.returncode == 0, proved.stderr
        assert "columns are zero in every optimal set" in proved.stdout


def test_the_columns_are_named_once(done, three_file, tmp_path):
    facts, folder = done
    zeros = sx.load(folder / "model.sx").certificate_.zeros.tolist()
    assert len(facts.features) == 3
    for group in facts.features:
        assert group.proved_zero == tuple(f"g{j}" for j in zeros)
    page = render_report(facts)
    assert page.count("play no part</b>") == 1
    assert "Their weight is 0 for every class in every optimal model" in page
    said = run("study", three_file, "--l1", "1", "--features", "standard", "--folds", "3",
               "-o", tmp_path).stdout  # fmt: skip
    assert (
        f"no part: {len(zeros)} of 30 features have the weight 0, proved, for every class" in said
    )


def test_the_squared_hinge_has_one_model_for_each_class(three_file, tmp_path):
    settings = dataclasses.replace(LASSO, loss="squared_hinge")
    facts = study(sx.read(three_file), tmp_path, settings)
    kept = json.loads((tmp_path / "certificate.json").read_text())["machine"]
    assert [proof["kind"] for proof in kept] == ["sparse-gap"] * 3
    assert len(facts.no_part) == 3
    assert render_report(facts).count("play no part</b>") == 3


def test_probabilities_and_the_graph_are_those_of_softmax(done, three_file, tmp_path):
    model, graph = done[1] / "model.sx", tmp_path / "three.onnx"
    made = run("export", model, "--to", "onnx", "-o", graph)
    assert made.returncode == 0, made.stderr
    returned, _ = ran(graph, three_file)
    rows = json.loads(run("predict", model, three_file, "--proba", "--json").stdout)["rows"]
    shares = np.array([[row[f"probability of {name}"] for name in "abc"] for row in rows])
    np.testing.assert_allclose(returned["probabilities"], shares, atol=1e-6)
    np.testing.assert_allclose(softmax(returned["scores"], axis=1), shares, atol=1e-6)
    assert returned["label"].tolist() == [row["class"] for row in rows]


@pytest.mark.parametrize("features", ["raw", "standard"])
def test_held_out_scores_are_those_of_softmax(features, three_file, tmp_path):
    settings = dataclasses.replace(LASSO, features=features, scoring="log_loss", Cs=(0.3,))
    table = sx.read(three_file)
    facts = study(table, tmp_path, settings)
    train = np.array(json.loads((tmp_path / "certificate.json").read_text())["training_rows"])
    X, y = table.X[train], np.unique(table.y[train], return_inverse=True)[1]
    losses = []
    for fold in folds_of(3, X, y, np.unique(y), seed=0):
        own, held = fold.train > 0.0, fold.validation > 0.0
        scaler = StandardScaler(with_mean=features != "raw", with_std=features != "raw").fit(X[own])
        model = sx.LogisticRegression(0.3, l1_ratio=1.0, tol=1e-6)
        model.fit(scaler.transform(X[own]), y[own])
        logs = model.predict_log_proba(scaler.transform(X[held]))
        losses.append(-logs[np.arange(held.sum()), y[held]].mean())
    assert facts.scoring.value == pytest.approx(np.mean(losses), rel=1e-3)
    assert facts.machine.n_machines == 1


def test_a_path_of_scaled_columns_is_the_model_in_python(three_file, tmp_path):
    given = ("--l1", "1", "--scale", "standard", "--Cs", "4", "--folds", "3")
    said = run("path", three_file, *given, "--coefficients", tmp_path / "w.svg")
    assert said.returncode == 0, said.stderr
    assert "no 3 weight vectors lower the objective" in said.stdout
    table = sx.read(three_file)
    settings = {"cv": 3, "rule": "best", "tol": 1e-4, "class_weight": None, "random_state": 0,
                "n_jobs": 1, "l1_ratios": [1.0]}  # fmt: skip
    found = _fitted_in_folds(
        table, None, FixedFeatures.STANDARD, Loss.LOGISTIC, 4, settings, lambda *_: None
    )
    assert found.certificate_.kind == KIND
    X = StandardScaler().fit_transform(table.X)
    ours = sx.LogisticRegression(found.C, l1_ratio=1.0).fit(X, table.y)
    assert (found.predict(X) == ours.predict(X)).all()
    np.testing.assert_allclose(found.coef_, ours.coef_, atol=1e-6)
    out = json.loads(run("path", three_file, *given, "--json").stdout)
    assert out["training_error"] == pytest.approx(np.mean(ours.predict(X) != table.y))


@pytest.mark.parametrize("given", [("--scale", "standard"), ("--features", "ranks")])
def test_a_fit_of_learned_columns_is_multinomial(given, three_file, tmp_path):
    out = tmp_path / "model.sx"
    made = run("fit", three_file, "--l1", "1", "-c", "0.3", *given, "-o", out)
    assert made.returncode == 0, made.stderr
    model = sx.load(out)
    assert getattr(model, "steps", [("", model)])[-1][1].certificate_.kind == KIND
    assert run("verify", out, three_file).returncode == 0


def test_interrupted_it_ends_with_the_same_bytes(done, three_file, tmp_path):
    class Ended(Exception):
        pass

    seen = []

    def progress(what, done, total):
        seen.append(what)
        if len(seen) > 20:
            raise Ended

    with pytest.raises(Ended):
        Study(sx.read(three_file), tmp_path, LASSO, (), progress).run()
    study(sx.read(three_file), tmp_path, LASSO)
    for name in ("study.json", "model.sx", "certificate.json", "path.csv"):
        assert (tmp_path / name).read_bytes() == (done[1] / name).read_bytes()
