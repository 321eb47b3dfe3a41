import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

import separatrix as sx
from tests.cli.command import separatrix as run


@pytest.fixture
def irises(tmp_path):
    """Two irises by two columns: setosa (separable) or virginica against versicolor."""
    iris = load_iris()

    def write(first):
        kept = (iris.target == first) | (iris.target == 1)
        lines = ["width,length,species"]
        for row, kind in zip(iris.data[kept][:, [1, 3]], iris.target[kept], strict=True):
            lines.append(f"{row[0]},{row[1]},{iris.target_names[kind]}")
        path = tmp_path / f"{first}.csv"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return write


def test_fit_says_what_it_found_and_proves_it(irises, tmp_path):
    data, proof = irises(2), tmp_path / "proof.json"
    done = run("fit", data, "--target", "species", "--certificate", str(proof))
    assert done.returncode == 0
    assert "No hyperplane lowers the objective" in done.stdout
    assert "Support vectors:" in done.stdout
    assert "length" in done.stdout
    checked = run("verify", str(proof), data, "--target", "species")
    assert checked.returncode == 0
    assert "proved" in checked.stdout
    whole = json.loads(proof.read_text())
    whole["claim"]["dual"] = whole["claim"]["primal"]
    proof.write_text(json.dumps(whole))
    assert run("verify", str(proof), data, "--target", "species").returncode == 1


def test_fit_as_json_equals_the_library(irises):
    data = irises(2)
    done = run("fit", data, "--target", "species", "--C", "10", "--loss", "logistic", "--json")
    facts = json.loads(done.stdout)
    table = sx.read(data, target="species")
    machine = sx.LogisticRegression(C=10.0).fit(table.X, table.y)
    assert facts["objective"] == machine.objective_
    assert facts["heaviest"][0]["length"] == machine.coef_[0, 1]
    assert facts["status"] == "optimal"


@pytest.mark.parametrize(
    ("letter", "same"),
    [("0", "logistic"), ("1", "squared_hinge"), ("3", "hinge")],
)
def test_letters_of_liblinear_are_understood(irises, letter, same):
    data = irises(2)
    short = run("fit", data, "-t", "species", "-s", letter, "-c", "2", "-e", "1e-6", "--json")
    long = run(
        "fit", data, "--target", "species", "--loss", same, "--cost", "2", "--tol", "1e-6", "--json"
    )
    assert json.loads(short.stdout) == json.loads(long.stdout)
    assert run("fit", data, "-t", "species", "-s", letter, "-q").stdout == ""


def test_a_hard_margin_is_drawn_or_refused(irises, tmp_path):
    picture = tmp_path / "margin.svg"
    done = run("fit", irises(0), "--target", "species", "-c", "inf", "--out", str(picture))
    assert done.returncode == 0
    assert "<svg" in picture.read_text()
    refused = run("fit", irises(2), "--target", "species", "-c", "inf")
    assert refused.returncode == 3
    assert "cannot be separated" in refused.stderr


def test_wrong_options_and_budgets_have_exit_codes(irises):
    data = irises(2)
    assert run("fit", data, "--target", "species", "-s", "99").returncode == 2
    assert run("fit", data, "--target", "species", "-c", "many").returncode == 2
    assert run("fit", data, "--target", "species", "-c", "-1").returncode == 2
    ended = run("fit", data, "--target", "species", "--max-seconds", "1e-9", "--tol", "1e-12")
    assert ended.returncode == 4
    assert "The gap reached is" in ended.stderr


def test_three_classes(tmp_path):
    iris = load_iris()
    path = tmp_path / "iris.csv"
    rows = np.column_stack([iris.data, iris.target])
    np.savetxt(path, rows, delimiter=",", header="a,b,c,d,kind", comments="")
    done = run("fit", str(path), "--target", "kind")
    assert done.returncode == 0
    assert "3 models" in done.stdout
    refused = run("fit", str(path), "--target", "kind", "--certificate", str(tmp_path / "c.json"))
    assert refused.returncode == 2


@pytest.mark.parametrize("command", ["fit", "separable"])
def test_a_file_that_cannot_be_written_by_its_name_is_refused_first(irises, tmp_path, command):
    for out in (tmp_path, tmp_path / "model", tmp_path / "model.foo"):
        refused = run(command, irises(0), "--target", "species", "-o", out)
        assert refused.returncode == 2
        assert "--out must be a file that ends in" in refused.stderr.replace("\n", " ")


def test_where_the_model_is(irises, tmp_path):
    model = tmp_path / "model.sx"
    assert f"Model: {model}" in run("fit", irises(0), "--target", "species", "-o", model).stdout
    missing = run("verify", tmp_path / "none.sx", irises(0))
    assert missing.returncode == 3
    assert missing.stderr == (
        f"separatrix: {tmp_path / 'none.sx'}: there is no such file or folder; check the path\n"
    )
    taken = run("study", irises(0), "--target", "species", "-o", model)
    assert "a folder is needed" in taken.stderr


def test_what_was_decided_on_the_way_is_said(tmp_path):
    for name, text in (
        ("good", "a fine film, a joy\nfine, really\n"),
        ("bad", "a bore\ndull film\n"),
    ):
        (tmp_path / f"{name}.txt").write_text(text)
    done = run("fit", tmp_path)
    assert done.returncode == 0
    assert "note: each file is taken as one class" in done.stderr
    assert "note" not in done.stdout
    assert run("fit", tmp_path, "-q").stderr == ""
    for name in ("good", "bad"):
        (tmp_path / f"{name}.txt").write_text("1 1:2\n-1 2:1\n")
    done = run("fit", tmp_path)
    assert done.returncode == 3
    assert "this is LIBSVM data" in done.stderr


@pytest.mark.parametrize("command", ["fit", "path", "study"])
def test_a_libsvm_file_of_amounts_is_not_trained_on(tmp_path, command):
    path = tmp_path / "prices.libsvm"
    path.write_text("".join(f"{k + 0.5} 1:{k % 7} 2:1\n" for k in range(60)))
    refused = run(command, path, *(["-o", tmp_path / "out"] if command == "study" else []))
    assert refused.returncode == 3
    assert "60 different ones in 60 rows, which are amounts and name no classes" in refused.stderr
    assert run("convert", path, "--out", tmp_path / "prices.csv").returncode == 0
