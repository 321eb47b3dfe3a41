"""`separatrix infer`: the table, its files, and a certificate that `verify` proves."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from separatrix.cli.main import app

run = CliRunner()


@pytest.fixture
def table(tmp_path):
    """A column that separates one way: all who were exposed fell ill."""
    rng = np.random.default_rng(0)
    path = tmp_path / "study.csv"
    lines = ["exposed,age,smoker,times,ill"]
    for k in range(40):
        exposed = int(k % 5 == 0)
        ill = "yes" if exposed or rng.random() < 0.4 else "no"
        smoker = ("no", "often", "yes")[k % 3]
        lines.append(f"{exposed},{rng.integers(20, 80)},{smoker},{1 + k % 2},{ill}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_table_and_its_proof(table, tmp_path):
    for options in ([], ["--firth"], ["--ridge", "2"]):
        proof = tmp_path / "proof.json"
        words = ["infer", str(table), "--target", "ill", "--drop", "times"]
        done = run.invoke(app, [*words, *options, "--certificate", str(proof)])
        assert done.exit_code == 0, done.output
        assert "smoker=often" in done.output
        assert "quasi-separable" in done.output
        again = run.invoke(app, ["verify", str(proof), str(table)])
        assert again.exit_code == 0, again.output
        assert " standard errors, " in again.output
    changed = tmp_path / "changed.csv"
    changed.write_text(table.read_text().replace("often", "yes", 1))
    assert run.invoke(app, ["verify", str(proof), str(changed)]).exit_code == 1


def test_options(table, tmp_path):
    words = ["infer", str(table), "--target", "ill", "--firth", "--weights", "times"]
    done = run.invoke(app, [*words, "--reference", "smoker=yes", "--json", "--level", "0.9"])
    found = json.loads(done.output)
    names = [each["name"] for each in found["coefficients"]]
    assert names == ["intercept", "exposed", "age", "smoker=no", "smoker=often"]
    assert found["level"] == 0.9
    for ending in ("csv", "tex", "html", "json"):
        out = tmp_path / f"table.{ending}"
        assert run.invoke(app, [*words, "-o", str(out)]).exit_code == 0
        assert "exposed" in out.read_text()
    proof = tmp_path / "proof.json"
    assert run.invoke(app, [*words, "--certificate", str(proof)]).exit_code == 4
    assert not proof.exists()


def test_refusals(table):
    words = ["infer", str(table), "--target", "ill"]
    assert run.invoke(app, [*words, "--firth", "--ridge", "1"]).exit_code == 2
    assert run.invoke(app, [*words, "--reference", "smoker"]).exit_code == 2
    assert run.invoke(app, [*words, "-o", "table.xls"]).exit_code == 2
