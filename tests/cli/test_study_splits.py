"""``study --group``, ``--time``, ``--dedupe`` as users run them."""

import json

import numpy as np
import pytest

from tests.cli.command import separatrix as run

FAST = ("--folds", "3", "--Cs", "0.1,10", "--features", "raw")


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["a,b,site,when,kind"]
    for row in range(80):
        a, b = rng.normal(size=2).round(1)
        lines.append(f"{a},{b},{row % 10},{1000 - row},{'x' if a > b else 'y'}")
    path = tmp_path / "data.csv"
    path.write_text("\n".join([*lines, *lines[1:31]]) + "\n")
    return path


def test_groups_of_numbers_in_study_and_path(data, tmp_path):
    common = ("-t", "kind", "--drop", "when")
    done = run("study", data, *common, "--group", "site", *FAST, "-o", tmp_path / "s", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["data"]["n_features"] == 2
    assert "no group of site is on both sides" in facts["split"]["how"]
    kept = json.loads((tmp_path / "s" / "certificate.json").read_text())["training_rows"]
    site = [line.split(",")[2] for line in data.read_text().splitlines()[1:]]
    trained = {site[row] for row in kept}
    assert not trained & {site[row] for row in range(110) if row not in set(kept)}
    assert run("verify", tmp_path / "s" / "model.sx", data).returncode == 0
    assert run("path", data, *common, "--groups", "site", "--Cs", "1,10").returncode == 0
    few = run("study", data, *common, "--group", "site", "--folds", "9", "-o", tmp_path / "t")
    assert few.returncode == 3
    assert "9 folds need as many groups of site" in few.stderr


def test_time_by_a_column(data, tmp_path):
    words = ("-t", "kind", "--drop", "site", "--time", "when", *FAST, "-o", tmp_path / "s")
    done = run("study", data, *words)
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "s" / "certificate.json").read_text())["training_rows"]
    when = [int(line.split(",")[3]) for line in data.read_text().splitlines()[1:]]
    tested = [row for row in range(110) if row not in set(kept)]
    assert max(when[row] for row in kept) < min(when[row] for row in tested)


def test_repeated_rows_are_said_or_dropped(data, tmp_path):
    common = ("-t", "kind", "--drop", "site,when", *FAST)
    plain = run("study", data, *common, "-o", tmp_path / "plain")
    assert "test, opened once, on rows not seen before:" in plain.stdout
    assert "test rows also stand in training; with them" in plain.stdout
    clean = run("study", data, *common, "--dedupe", "-o", tmp_path / "clean")
    assert "repeated rows dropped before the split" in clean.stdout
    assert "not seen before" not in clean.stdout
    assert run("verify", tmp_path / "clean" / "model.sx", data).returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--group", "wards"], 3, "there is no column 'wards'"),
        (["--group", "kind"], 3, "the target 'kind' cannot be kept aside too"),
        (["--group", "site", "--time", "when"], 3, "give one"),
        (["--by-time", "--time", "when"], 3, "give one"),
    ],
)
def test_what_cannot_be_is_refused(data, tmp_path, words, code, said):
    refused = run("study", data, "-t", "kind", *words, "-o", tmp_path / "s")
    assert refused.returncode == code
    assert said in refused.stderr


def test_data_without_columns_have_no_groups(tmp_path):
    path = tmp_path / "d.libsvm"
    path.write_text("1 1:2\n-1 1:1\n" * 10)
    refused = run("study", path, "--group", "site", "-o", tmp_path / "s")
    assert refused.returncode == 3
    assert "the data have no named columns" in refused.stderr
    assert run("study", "--group", "site", "-o", tmp_path / "s").returncode == 2
