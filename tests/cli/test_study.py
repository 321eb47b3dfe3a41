import json

import numpy as np
import pytest

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.storage.model_file import read_model
from tests.cli.command import separatrix as run


@pytest.fixture(autouse=True)
def plain_page(monkeypatch):
    """The page has tests of its own."""
    monkeypatch.setattr("separatrix.report.page.render_report", lambda facts: facts.to_json())


@pytest.fixture
def clouds(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3)).round(4)
    y = X[:, 0] + 0.5 * rng.normal(size=60) > 0
    lines = ["width,height,job,label"]
    for row, label in zip(X, y, strict=True):
        job = "clerk" if row[2] > 0 else "cook"
        lines.append(f"{row[0]},{row[1]},{job},{'yes' if label else 'no'}")
    path = tmp_path / "clouds.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


QUICK = ["--Cs", "0.1,10", "--folds", "3", "--no-times"]


def test_study_predict_and_verify_in_one_line_each(clouds, tmp_path):
    out = tmp_path / "out"
    done = run("study", clouds, "--target", "label", "-o", out, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "test, opened once:" in done.stdout
    assert f"Report: {out / 'report.html'}" in done.stdout
    model = out / "model.sx"
    proved = run("verify", model, clouds)
    assert proved.returncode == 0, proved.stderr
    assert proved.stdout.startswith("proved: no hyperplane lowers the objective")
    whole = run("verify", out / "certificate.json", clouds, "--target", "label")
    assert whole.returncode == 0, whole.stdout
    assert whole.stdout.startswith("proved: the verdict, and the model: no hyperplane lowers")
    told = run("predict", "-m", model, clouds, "--probabilities")
    machine = sx.load(model)
    table = read_model(model).encoding.transform(clouds)
    lines = told.stdout.splitlines()
    assert lines[0] == "class,score,probability of no,probability of yes"
    assert [line.split(",")[0] for line in lines[1:]] == machine.predict(table.X).tolist()
    scores = [float(line.split(",")[1]) for line in lines[1:]]
    assert scores == machine.decision_function(table.X).tolist()
    assert "errors in 60 rows with labels" in told.stderr
    as_json = json.loads(run("predict", "-m", model, clouds, "--json").stdout)
    assert [row["class"] for row in as_json["rows"]] == machine.predict(table.X).tolist()
    assert as_json["errors"] == int((machine.predict(table.X) != table.y).sum())


def test_rows_that_were_changed_are_not_proved(clouds, tmp_path):
    out = tmp_path / "out"
    run("study", clouds, "--target", "label", "-o", out, *QUICK)
    lines = clouds.read_text().splitlines()
    clouds.write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    for proof in ("model.sx", "certificate.json"):
        refused = run("verify", out / proof, clouds)
        assert refused.returncode == 1
        assert refused.stdout.startswith("refused:")


def test_json_says_the_same_as_the_file(clouds, tmp_path):
    out = tmp_path / "out"
    done = run("study", clouds, "--target", "label", "-o", out, "--json", *QUICK)
    assert done.stdout == (out / "study.json").read_text()
    assert "it had never seen" in json.loads(done.stdout)["answer"]


def test_the_column_that_was_taken_for_the_target_is_named(clouds, tmp_path):
    done = run("study", clouds, "-o", tmp_path / "out", *QUICK)
    assert "note: the target is 'label'" in done.stdout


def test_one_against_all_others_is_proved_too(tmp_path):
    from sklearn.datasets import load_iris

    iris = load_iris()
    path = tmp_path / "iris.csv"
    rows = [
        ",".join([*map(str, row), iris.target_names[k]])
        for row, k in zip(iris.data[::3], iris.target[::3], strict=True)
    ]
    path.write_text("\n".join(["a,b,c,d,kind", *rows]) + "\n")
    out = tmp_path / "out"
    done = run("study", path, "-t", "kind", "--positive", "virginica", "-o", out, *QUICK)
    assert done.returncode == 0, done.stderr
    assert run("verify", out / "model.sx", path).returncode == 0
    assert run("verify", out / "certificate.json", path, "-t", "kind").returncode == 0


def test_the_certificates_of_three_classes_are_proved_and_forged_ones_refused(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 2.0 * y[:, None]
    path, out = tmp_path / "three.csv", tmp_path / "out"
    rows = [f"{a},{b},{'abc'[k]}" for (a, b), k in zip(X, y, strict=True)]
    path.write_text("\n".join(["u,v,kind", *rows]) + "\n")
    hinge = ("--loss", "squared_hinge")
    assert run("study", path, "-t", "kind", "-o", out, *hinge, *QUICK).returncode == 0
    told = run("verify", out / "certificate.json", path, "-t", "kind")
    assert told.returncode == 0, told.stdout
    assert "3 of 3 verdicts, and the model: 3 models" in told.stdout
    whole = json.loads((out / "certificate.json").read_text())
    forged = tmp_path / "forged.json"
    for change in (
        lambda w: w["machine"][1]["claim"].update(dual=w["machine"][1]["claim"]["primal"] + "0"),
        lambda w: w["machine"].clear(),
        lambda w: w["verdict"].pop(),
        lambda w: w["verdict"].reverse(),
        lambda w: w["training_rows"].reverse(),
        lambda w: w["training_rows"].append(60),
        lambda w: w["training_rows"].append("x"),
        lambda w: w.pop("verdict"),
    ):
        copied = json.loads(json.dumps(whole))
        change(copied)
        forged.write_text(json.dumps(copied))
        refused = run("verify", forged, path, "-t", "kind")
        assert refused.returncode == 1, refused.stdout
        assert refused.stdout.startswith("refused:")


def test_ctrl_c_says_how_to_go_on(clouds, tmp_path, monkeypatch):
    from separatrix.report.study import Study

    def interrupted(self, what, done, total):
        if "fold" in what and done >= 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Study, "_say", interrupted)
    out = tmp_path / "out"
    stopped = run("study", clouds, "--target", "label", "-o", out, *QUICK)
    assert stopped.returncode == 130
    assert stopped.stderr.count("\n") == 1
    assert "the same command resumes from there" in stopped.stderr
    kept = int(stopped.stderr.split()[1])
    assert kept >= 2
    monkeypatch.undo()
    again = run("study", clouds, "--target", "label", "-o", out, *QUICK)
    assert again.returncode == 0
    assert f"Went on from {kept} finished folds." in again.stderr


def test_another_model_on_an_opened_test_is_refused(clouds, tmp_path):
    out = tmp_path / "out"
    common = ["study", clouds, "--target", "label", "-o", out, *QUICK]
    assert run(*common).returncode == 0
    refused = run(*common, "--loss", "squared_hinge")
    assert refused.returncode == 3
    assert "choose another --seed" in refused.stderr
    assert run(*common, "--loss", "squared_hinge", "--seed", "1").returncode == 0


@pytest.mark.skipif(is_interpreted(), reason="569 rows are many for interpreted loops")
def test_without_data_the_embedded_sets_are_studied(tmp_path):
    done = run("study", "-o", tmp_path, *QUICK)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "breast_cancer" / "report.html").exists()
    assert (tmp_path / "iris" / "report.html").exists()
    assert run("study", "--target", "x").returncode == 2


@pytest.mark.parametrize(
    "wrong",
    [["--Cs", "many"], ["--test-share", "1"], ["--test-share", "1.5"], ["--folds", "1"],
     ["--rule", "worst"], ["--Cs", "inf"], ["--Cs", "1e400"], ["--Cs", "0"], ["--Cs=-1"],
     ["--Cs", "nan"], ["--Cs", "0,1"], ["--max-seconds=-5"], ["--max-seconds", "0"],
     ["--verdict-seconds=-1"]],
)  # fmt: skip
def test_wrong_options_are_refused(clouds, tmp_path, wrong):
    done = run("study", clouds, "--target", "label", "-o", tmp_path / "out", *wrong)
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()


def test_fit_writes_a_model_that_predict_reads(clouds, tmp_path):
    model = tmp_path / "model.sx"
    assert run("fit", clouds, "-t", "label", "-o", model).returncode == 0
    new = tmp_path / "new.csv"
    new.write_text("width,height,job\n3.0,0.1,cook\n-3.0,0.1,pilot\n")
    told = run("predict", "-m", model, new, "-o", tmp_path / "told.csv")
    assert told.returncode == 0, told.stderr
    rows = (tmp_path / "told.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["class", "yes", "no"]
    assert run("verify", model, clouds).returncode == 0
    assert run("predict", "-m", model, new, "--probabilities").returncode == 2
    model.write_bytes(model.read_bytes()[:-5])
    damaged = run("predict", "-m", model, new)
    assert damaged.returncode == 3
    assert "damaged or was altered" in damaged.stderr
