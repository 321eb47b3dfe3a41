"""``separatrix separable`` and ``separatrix verify`` as users run them."""

import json

import pytest
from typer.testing import CliRunner

from separatrix.cli.main import app
from separatrix.core.verdict import Verdict

run = CliRunner()


@pytest.fixture
def crossed(tmp_path):
    path = tmp_path / "crossed.csv"
    path.write_text("a,b,label\n0,0,no\n1,1,no\n0,1,yes\n1,0,yes\n")
    return path


@pytest.fixture
def apart(tmp_path):
    path = tmp_path / "apart.csv"
    path.write_text("a,b,label\n0,0,no\n0.1,1,no\n2,1,yes\n3,0,yes\n")
    return path


def test_says_it_in_words(crossed):
    done = run.invoke(app, ["separable", str(crossed), "--target", "label"])
    assert done.exit_code == 0
    assert "Rows 0, 1, 2 and 3 cannot be separated" in done.output


def test_json_is_a_verdict(apart):
    done = run.invoke(app, ["separable", str(apart), "--target", "label", "--json"])
    whole = json.loads(done.output)
    assert (done.exit_code, whole["kind"]) == (0, "separable")


@pytest.mark.parametrize(("kind", "code"), [("separable", 1), ("overlapping", 0)])
def test_require_sets_the_exit_code(crossed, kind, code):
    asked = ["separable", str(crossed), "--target", "label", "--require", kind]
    assert run.invoke(app, asked).exit_code == code


@pytest.mark.parametrize("options", [[], ["--decimal"], ["--no-intercept"]])
def test_a_certificate_is_verified_and_a_forged_one_refused(crossed, apart, tmp_path, options):
    for data in (crossed, apart):
        proof = tmp_path / "proof.json"
        asked = ["separable", str(data), "--target", "label", "--certificate", str(proof), *options]
        assert run.invoke(app, asked).exit_code == 0
        check = ["verify", str(proof), str(data), "--target", "label"]
        done = run.invoke(app, check)
        assert (done.exit_code, done.output[:7]) == (0, "proved:"), done.output
        other = apart if data is crossed else crossed
        refused = run.invoke(app, ["verify", str(proof), str(other), "--target", "label", "--json"])
        assert refused.exit_code == 1
        assert json.loads(refused.output)["proved"] is False


def test_one_class_against_the_rest(tmp_path):
    path = tmp_path / "three.csv"
    path.write_text("a,label\n0,x\n1,y\n2,z\n3,z\n")
    done = run.invoke(app, ["separable", str(path), "--target", "label", "--positive", "z"])
    assert done.output.startswith("Separable")
    missing = run.invoke(app, ["separable", str(path), "--target", "label", "--positive", "q"])
    assert missing.exit_code == 2


def test_draws_two_features(crossed, apart, tmp_path):
    for data in (crossed, apart):
        out = tmp_path / f"{data.stem}.svg"
        done = run.invoke(app, ["separable", str(data), "--target", "label", "--out", str(out)])
        assert done.exit_code == 0, done.output
        assert out.read_text().startswith("<?xml")


def test_three_classes_ask_for_one_of_them(tmp_path):
    path = tmp_path / "three.csv"
    path.write_text("u,kind\n1,a\n2,b\n3,c\n4,a\n")
    refused = run.invoke(app, ["separable", str(path), "--target", "kind"])
    assert refused.exit_code == 2
    assert "--positive NAME" in refused.output


def test_signs_that_the_data_leave_open_are_said_to_be_open(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("a,b,label\n-3,1,no\n-2,-1,no\n-2,1,no\n2,1,yes\n3,-1,yes\n2,-1,yes\n")
    done = run.invoke(app, ["separable", str(path), "--target", "label"])
    assert "Logistic coefficients +infinite: a." in done.output
    assert "in a direction the data leave open: intercept, b." in done.output


def test_an_undecided_verdict_names_a_next_step(crossed, monkeypatch):
    verdict = Verdict("undecided", bound=0.1, classes=("no", "yes"), n_rows=4)
    monkeypatch.setattr("separatrix.core.verdict.separability_of", lambda *_, **__: verdict)
    done = run.invoke(app, ["separable", str(crossed), "--target", "label"])
    assert done.exit_code == 4
    assert "no hyperplane was found" in done.output
    assert f"separatrix fit {crossed} -o model.sx --target label" in done.output.replace("\n", " ")
