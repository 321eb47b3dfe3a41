"""What users of LIBLINEAR and scikit-learn type by habit."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

import separatrix as sx
from tests.cli.command import separatrix as run


@pytest.fixture
def table(tmp_path):
    """Numbers, a category, a name with a comma, and a number of each row."""
    rng = np.random.default_rng(0)
    lines = ['age,job,"in,come",id,class']
    for row in range(60):
        age, job, income = rng.normal(40, 10), rng.choice(["clerk", "boss"]), rng.normal()
        kind = "yes" if (age - 40) / 10 + (job == "boss") + income > 0.3 else "no"
        lines.append(f"{age:.2f},{job},{income:.3f},{row},{kind}")
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def told(outcome):
    """Return what was said on the error stream, as one line."""
    return " ".join(outcome.stderr.replace("│", " ").split())


def test_proba_is_a_column_for_each_class_or_a_refusal(table, tmp_path):
    model = tmp_path / "model.sx"
    fitted = run("fit", table, "-t", "class", "--drop", "id", "--loss", "logistic", "-o", model)
    assert fitted.returncode == 0, fitted.stderr
    done = run("predict", "-m", model, table, "--proba")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    read = sx.read(table, target="class", drop=["id"])
    shares = sx.load(model).predict_proba(read.X)
    found = [[float(row[f"probability of {name}"]) for name in ("no", "yes")] for row in rows]
    assert np.allclose(found, shares, rtol=0, atol=1e-15)
    assert np.allclose(np.sum(found, axis=1), 1.0)
    assert run("predict", "-m", model, table, "--probabilities").stdout == done.stdout
    run("fit", table, "-t", "class", "--drop", "id", "-o", model)
    refused = run("predict", "-m", model, table, "--proba", "-o", tmp_path / "out.csv")
    assert refused.returncode == 2
    assert "this model has scores only" in told(refused)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("dropped", "left"),
    [
        (["id,job"], ["age", "in,come"]),
        (["id, job,"], ["age", "in,come"]),
        (["in,come"], ["age", "job", "id"]),
        (["id,in,come,job"], ["age"]),
        (["id", "job"], ["age", "in,come"]),
        (["1,4"], ["job", "in,come"]),
    ],
)
def test_commas_in_drop(table, dropped, left):
    read = sx.read(table, target="class", drop=dropped)
    assert [code.name for code in read.encoding.codes] == left
    words = [word for each in dropped for word in ("--drop", each)]
    done = run("fit", table, "-t", "class", *words, "--json")
    assert len(json.loads(done.stdout)["heaviest"][0]) == read.X.shape[1]


def test_an_unknown_column_in_drop_is_named(table):
    refused = run("fit", table, "-t", "class", "--drop", "id,jobs")
    assert refused.returncode == 3
    assert "there is no column 'jobs'; did you mean 'job'?" in refused.stderr
    assert run("fit", table, "-t", "class", "--drop", ",").returncode == 3


def test_train_is_fit_and_says_so_once(table):
    words = (table, "-t", "class", "--drop", "id")
    train, fit = run("train", *words), run("fit", *words)
    assert train.stdout == fit.stdout
    assert train.stderr.count("separatrix fit") == 1
    assert "separatrix fit" not in fit.stderr
    assert run("train", *words, "-q").stderr == ""


@pytest.mark.parametrize(
    ("written", "same"),
    [("yes=5", {"yes": 5.0}), ("yes=2,no=0.5", {"yes": 2.0, "no": 0.5}), ("balanced", "balanced")],
)
def test_class_weights(table, tmp_path, written, same):
    model = tmp_path / "model.sx"
    words = ("-t", "class", "--drop", "id", "--class-weight", written)
    done = run("fit", table, *words, "-o", model, "--json")
    assert done.returncode == 0, done.stderr
    read = sx.read(table, target="class", drop=["id"])
    expected = sx.LinearSVM(class_weight=same).fit(read.X, read.y)
    assert json.loads(done.stdout)["objective"] == expected.objective_
    assert run("verify", model, table).returncode == 0


def test_class_weights_of_numbers_and_of_names_with_commas(tmp_path):
    from separatrix.cli._fitting import class_weight_of

    found = class_weight_of("1=2,-1=3", False, np.array([-1, 1]))
    assert found == {1: 2.0, -1: 3.0}
    names = np.array(["a,b", "c=d"])
    assert class_weight_of("a,b=2,c=d=3", False, names) == {"a,b": 2.0, "c=d": 3.0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--class-weight", "maybe=2"], "no class 'maybe'; the classes are no, yes"),
        (["--class-weight", "yes=much"], "the factor of 'yes' must be a number"),
        (["--class-weight", "yes"], "must be balanced, or factors by class"),
        (["--class-weight", "yes=0"], "class weights must be above 0"),
        (["--class-weight", "yes=2", "--balanced"], "give one"),
        (["--gamma", "2"], "only kernels have --gamma"),
        (["--kernel", "rbf", "--degree", "2"], "the rbf kernel has no --degree"),
        (["--kernel", "rbf", "--gamma", "wide"], "--gamma must be a number, scale or auto"),
        (["--kernel", "rbf", "--loss", "logistic"], "--kernel fits the hinge"),
        (["--kernel", "rbf", "-s", "3"], "--kernel fits the hinge"),
        (["--kernel", "rbf", "--lift", "polynomial:2"], "give one"),
        (["--kernel", "rbf", "--memory", "1GB"], "for data in memory"),
        (["--kernel", "rbf", "-o", "picture.svg"], "-o model.sx"),
    ],
)
def test_what_does_not_go_together_is_refused(table, words, said):
    refused = run("fit", table, "-t", "class", "--drop", "id", *words)
    assert refused.returncode == 2
    assert said in told(refused)


@pytest.mark.parametrize(
    ("words", "peer"),
    [
        (["rbf", "--gamma", "0.5"], {"gamma": 0.5}),
        (["poly", "--degree", "2", "--coef0", "1"], {"kernel": "poly", "degree": 2, "coef0": 1.0}),
        (["linear"], {"kernel": "linear"}),
    ],
)
def test_a_kernel_model_is_fitted_saved_used_and_proved(table, tmp_path, words, peer):
    model = tmp_path / "model.sx"
    common = ("-t", "class", "--drop", "id", "--scale", "standard")
    done = run("fit", table, *common, "--kernel", *words, "-e", "1e-6", "-o", model, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernel"]["name"] == words[0]
    read = sx.read(table, target="class", drop=["id"])
    X = read.X.toarray() / read.X.toarray().std(axis=0)
    expected = SVC(tol=1e-8, **peer).fit(X, read.y).decision_function(X)
    rows = json.loads(run("predict", "-m", model, table, "--json").stdout)["rows"]
    assert np.allclose([row["score"] for row in rows], expected, atol=1e-3)
    assert run("verify", model, table).returncode == 0
    altered = tmp_path / "altered.csv"
    altered.write_text(table.read_text().replace("boss", "clerk", 1))
    assert run("verify", model, altered).returncode == 1


@pytest.mark.parametrize("features", [[], ["--scale", "standard"]])
def test_a_missing_column_is_an_error_that_names_it(table, tmp_path, features):
    model, fewer = tmp_path / "model.sx", tmp_path / "fewer.csv"
    run("fit", table, "-t", "class", "--drop", "id", *features, "-o", model)
    lines = [line.split(",") for line in table.read_text().splitlines()]
    fewer.write_text("\n".join(",".join(cells[:1] + cells[2:]) for cells in lines) + "\n")
    refused = run("predict", "-m", model, fewer)
    assert refused.returncode == 3
    assert refused.stdout == ""
    assert "the column 'job' of training cannot be found here" in refused.stderr
    assert "--allow-missing" in refused.stderr
    done = run("predict", "-m", model, fewer, "--allow-missing")
    assert done.returncode == 0
    assert "note: job: the column is not there; taken as missing" in done.stderr
    gaps = tmp_path / "gaps.csv"
    gaps.write_text(table.read_text().replace("boss", "").replace("clerk", ""))
    assert run("predict", "-m", model, gaps).stdout == done.stdout


def test_a_frame_without_a_column_likewise(table):
    read = sx.read(table, target="class", drop=["id"])
    frame = pd.read_csv(table)
    with pytest.raises(sx.DataError, match=r"the columns 'age', 'job' .* \('Age' is there\)"):
        read.encoding.transform(frame.drop(columns="job").rename(columns={"age": "Age"}))
    found = read.encoding.transform(frame.drop(columns="age"), allow_missing=True)
    assert (found.X.toarray()[:, 0] == read.encoding.codes[0].median).all()
