import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

import separatrix as sx
from tests.cli.command import separatrix as run


@pytest.fixture
def irises(tmp_path):
    """Versicolor and virginica by two columns, with a column of groups beside them."""
    iris = load_iris()
    lines = ["width,length,plot,species"]
    for k, (row, kind) in enumerate(zip(iris.data[50:, [1, 3]], iris.target[50:], strict=True)):
        lines.append(f"{row[0]},{row[1]},p{k % 10},{iris.target_names[kind]}")
    path = tmp_path / "irises.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_path_marks_the_c_chosen_and_says_why(irises, tmp_path):
    picture = tmp_path / "path.svg"
    done = run("path", irises, "--target", "species", "--drop", "plot", "--folds", "4",
               "--out", picture)  # fmt: skip
    table = sx.read(irises, target="species", drop=("plot",))
    machine = sx.LinearSVMCV(cv=4).fit(table.X, table.y)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    marked = [line for line in lines if line.strip().startswith("*")]
    assert f"{machine.C_:.4g}" in marked[0]
    assert machine.path_.reason in done.stdout
    assert "proved: no hyperplane" in done.stdout
    assert len(lines) >= 3 + len(machine.path_)
    assert picture.read_text().startswith("<?xml")
    assert not list(tmp_path.glob(".*part*"))


def test_path_as_json_equals_the_library(irises, tmp_path):
    written = tmp_path / "path.csv"
    done = run("path", irises, "--target", "species", "--Cs", "0.1,10", "--loss", "logistic",
               "--groups", "plot", "--scoring", "roc_auc", "--json", "--out", written)  # fmt: skip
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    table = sx.read(irises, target="species", drop=("plot",))
    groups = np.arange(100) % 10
    machine = sx.LogisticRegressionCV([0.1, 10.0], scoring="roc_auc")
    machine.fit(table.X, table.y, groups=[f"p{k}" for k in groups])
    assert facts["C"] == machine.C_
    assert [row["validation_score"] for row in facts["rows"]] == (
        machine.path_["validation_score"].tolist()
    )
    with open(written, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["C"]) for row in rows] == [0.1, 10.0]
    assert [row["chosen"] for row in rows].count("1") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--Cs", "0.1;1"], 2, "commas"),
        (["--Cs", "0,1"], 2, "Cs must be"),
        (["--out", "path.doc"], 2, ".svg"),
        (["--folds", "70"], 3, "folds need 70 rows"),
        (["--folds", "1"], 2, "--folds"),
        (["--groups", "farm"], 3, "farm"),
    ],
)
def test_refusals(irises, arguments, code, said):
    done = run("path", irises, "--target", "species", "--drop", "plot", *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_budget_that_ends_is_told_by_the_exit_code(irises):
    done = run("path", irises, "--target", "species", "--tol", "1e-30", "--Cs", "1")
    assert done.returncode == 4
    assert "larger gap" in done.stderr


def test_classes_with_fewer_rows_than_folds_are_named(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{'ab'[k > 8]}" for k, x in enumerate(rng.normal(size=12))]
    (tmp_path / "few.csv").write_text("x,class\n" + "\n".join(rows) + "\n")
    done = run("path", tmp_path / "few.csv", "--target", "class", "--Cs", "1")
    assert done.returncode == 0
    assert done.stderr.count("'b' (3). Not every fold validates them") == 1
