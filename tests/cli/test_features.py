"""``fit --features`` and ``path --features``: what columns become is part of the model."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.cli._fitting import FixedFeatures
from separatrix.cli.study import Features
from separatrix.data.encodings.column_features import COLUMN_FEATURES
from separatrix.data.encodings.grams import TEXT_FEATURES
from separatrix.data.raw_rows import RawRows
from tests.cli.command import separatrix as run


@pytest.fixture
def table(tmp_path):
    """Columns of very different scale, one category, and sites that stay together."""
    rng = np.random.default_rng(3)
    lines = ["length,weight,colour,site,class"]
    for row in range(90):
        length, weight = rng.normal(), 1e4 * rng.normal()
        colour = rng.choice(["red", "blue"])
        kind = "b" if length + weight / 1e4 + (colour == "red") + rng.normal() > 0.5 else "a"
        lines.append(f"{length:.4f},{weight:.2f},{colour},s{row % 9},{kind}")
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    good, bad = ["a good film", "the best of all!", "fine, really"], ["not good", "dull", "a bore?"]
    kinds = {"good": good, "bad": bad}
    lines = [f"{text} {k}\t{kind}" for k in range(8) for kind in kinds for text in kinds[kind]]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("features", ["standard", "ranks", "splines", "products"])
def test_fitted_features_of_columns_are_used_and_proved(table, tmp_path, features):
    model = tmp_path / "model.sx"
    common = ("-t", "class", "--drop", "site", "--features", features)
    done = run("fit", table, *common, "--loss", "logistic", "-o", model, "--json")
    assert done.returncode == 0, done.stderr
    read = sx.read(table, target="class", drop=["site"])
    _, codes = np.unique(read.y, return_inverse=True)
    X = RawRows(read).learn(features, np.arange(90), codes).X
    X = X.toarray() if hasattr(X, "toarray") else X
    if features == "standard":
        raw = read.X.toarray()
        scaled = raw / np.where(((raw == 0) | (raw == 1)).all(axis=0), 1.0, raw.std(axis=0))
        assert np.allclose(X, scaled)
    peer = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, read.y)
    rows = json.loads(run("predict", "-m", model, table, "--json").stdout)["rows"]
    scores = [row["score"] for row in rows]
    assert np.allclose(scores, peer.decision_function(X), atol=2e-2)
    assert run("verify", model, table).returncode == 0


@pytest.mark.parametrize("features", ["words", "ratios", "characters", "joined"])
def test_fitted_features_of_texts(texts, tmp_path, features):
    model, new = tmp_path / "model.sx", tmp_path / "new.txt"
    done = run("fit", texts, "--features", features, "-o", model)
    assert done.returncode == 0, done.stderr
    new.write_text("a fine film\na dull bore\n")
    rows = json.loads(run("predict", "-m", model, new, "--json").stdout)["rows"]
    assert [row["class"] for row in rows] == ["good", "bad"]
    assert run("verify", model, texts).returncode == 0


def test_a_lift_and_a_kernel_come_after_the_features(table, tmp_path):
    model = tmp_path / "model.sx"
    for words in (["--lift", "polynomial:2"], ["--kernel", "rbf"]):
        common = ("-t", "class", "--drop", "site", "--features", "standard")
        assert run("fit", table, *common, *words, "-o", model).returncode == 0
        assert run("verify", model, table).returncode == 0
        assert "errors in 90 rows" in run("predict", "-m", model, table).stderr


@pytest.mark.parametrize(
    ("command", "words", "code", "said"),
    [
        ("fit", ["--features", "words"], 3, "features of a table must be one of raw, standard"),
        ("fit", ["--features", "standard", "--scale", "min-max"], 2, "give one"),
        ("fit", ["--features", "standard", "--memory", "1GB"], 2, "for data in memory"),
        ("fit", ["--features", "standard", "--certificate", "c.json"], 2, "-o model.sx"),
        ("fit", ["--features", "standard", "-o", "a.svg"], 2, "leave --features"),
        ("fit", ["--features", "nice"], 2, "'nice'"),
        ("path", ["--features", "ranks", "--scoring", "f1"], 2, "--scoring cannot be given"),
        ("path", ["--features", "ranks", "--max-seconds", "9"], 2, "--max-seconds cannot be"),
    ],
)
def test_what_does_not_go_together_is_refused(table, command, words, code, said):
    refused = run(command, table, "-t", "class", "--drop", "site", *words)
    assert refused.returncode == code
    assert said in " ".join(refused.stderr.replace("│", " ").split())


def test_a_path_learns_features_in_each_fold(table):
    common = ("-t", "class", "--features", "standard", "--Cs", "0.01,1", "--loss", "hinge")
    done = run("path", table, *common, "--drop", "site", "--folds", "3", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    read = sx.read(table, target="class", drop=["site"])
    _, codes = np.unique(read.y, return_inverse=True)
    from separatrix.selection.folds import folds_of

    errors = []
    for fold in folds_of(3, read.X, codes, np.arange(2)):
        train, held = fold.train > 0, fold.validation > 0
        raw = read.X.toarray()
        plain = ((raw == 0) | (raw == 1)).all(axis=0)
        scaler = StandardScaler(with_mean=False).fit(raw[train])
        scale = np.where(plain, 1.0, scaler.scale_)
        machine = sx.LinearSVM(0.01).fit(raw[train] / scale, codes[train])
        errors.append(np.mean(machine.predict(raw[held] / scale) != codes[held]))
    row = facts["rows"][0]
    assert row["C"] == 0.01
    assert row["validation_error"] == pytest.approx(np.mean(errors), abs=1e-12)


def test_a_path_in_features_keeps_groups_whole(table):
    common = ("-t", "class", "--features", "standard", "--groups", "site")
    rule = ("--Cs", "3", "--rule", "one_standard_error")
    done = run("path", table, *common, *rule, "--folds", "9", "--json")
    assert done.returncode == 0, done.stderr
    few = run("path", table, *common, "--folds", "10")
    assert few.returncode == 3
    assert "there are 9" in few.stderr


def test_commands_name_the_features_that_there_are():
    known = {*COLUMN_FEATURES, *TEXT_FEATURES}
    assert {each.value for each in FixedFeatures} == known
    assert {each.value for each in Features} == known | {"auto"}
