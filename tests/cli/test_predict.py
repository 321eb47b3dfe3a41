"""``separatrix predict`` as users run it: files of any size, explained."""

import csv
import io
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import separatrix as sx
from tests.amounts import COMPILED_ONLY
from tests.cli.command import separatrix as run


@pytest.fixture
def texts(tmp_path):
    data, model = tmp_path / "texts.txt", tmp_path / "model.sx"
    data.write_text(
        "a good film\tgood\nnot a good one\tbad\nthe best of all\tgood\ndull and long\tbad\n" * 5
    )
    assert run("fit", data, "-o", model, "--loss", "logistic").returncode == 0
    return data, model


def test_texts_with_and_without_labels_and_why(texts, tmp_path):
    data, model = texts
    told = run("predict", "-m", model, data, "--explain", "2", "--probabilities")
    assert told.returncode == 0, told.stderr
    assert "0 errors in 20 rows with labels" in told.stderr
    rows = list(csv.reader(io.StringIO(told.stdout)))
    assert rows[0] == ["class", "score", "probability of bad", "probability of good", "explanation"]
    assert rows[1][0] == "good"
    assert rows[1][4].count(";") == 1
    assert any(word in rows[2][4] for word in ("not -", "one -"))
    bare = tmp_path / "bare.txt"
    bare.write_text("".join(line.split("\t")[0] + "\n" for line in data.read_text().splitlines()))
    plain = run("predict", "-m", model, bare)
    assert [line.split(",")[:2] for line in plain.stdout.splitlines()] == [row[:2] for row in rows]
    assert "errors" not in plain.stderr
    as_json = json.loads(run("predict", "-m", model, data, "--json", "--explain", "1").stdout)
    assert as_json["errors"] == 0
    assert as_json["rows"][0]["explanation"]
    assert "errors" not in json.loads(run("predict", "-m", model, bare, "--json").stdout)
    assert run("predict", "-m", model, bare, "--explain", "-1").returncode == 2


def test_names_that_are_formulas_are_defused(tmp_path):
    data, model = tmp_path / "d.csv", tmp_path / "m.sx"
    data.write_text('=evil(),kind\n0.5,=1+1\n1.5,"a,""b"""\n0.2,=1+1\n1.9,"a,""b"""\n')
    assert run("fit", data, "--target", "kind", "-o", model).returncode == 0
    told = run("predict", "-m", model, data, "--explain", "3")
    rows = list(csv.reader(io.StringIO(told.stdout)))
    assert [row[0] for row in rows[1:]] == ["'=1+1", 'a,"b"'] * 2
    assert rows[1][2].startswith("'=evil() ")


def test_peers_models_predict_libsvm_files(tmp_path):
    data, model = tmp_path / "d.libsvm", tmp_path / "m.model"
    data.write_text("+1 1:2 3:1\n-1 2:1\n+1 1:1\n-1 2:3 3:1\n")
    table = sx.read(data)
    machine = sx.LinearSVM().fit(table.X, table.y)
    sx.exchange.write_liblinear(machine, model)
    told = run("predict", "-m", model, data)
    assert [line.split(",")[0] for line in told.stdout.splitlines()] == ["class", "1", "-1"] * 1 + [
        "1",
        "-1",
    ]
    kernel = sx.KernelSVM().fit(table.X, table.y)
    sx.exchange.write_libsvm_model(kernel, model)
    told = run("predict", "-m", model, data)
    assert "0 errors in 4 rows" in told.stderr


def test_models_that_cannot_be_used_say_why(tmp_path, texts):
    data, _ = texts
    path = tmp_path / "arrays.sx"
    sx.save(sx.LinearSVM().fit([[0.0], [1.0]], [0, 1]), path)
    assert "trained on arrays" in run("predict", "-m", path, data).stderr
    odd = tmp_path / "odd.sx"
    odd.write_text("nothing")
    assert run("predict", "-m", odd, data).returncode == 3


def test_surrogate_halves_in_a_class_are_printed_as_they_can_be(tmp_path):
    from separatrix.cli.predict import csv_lines

    columns = {"class": np.array(["\ud800x", "b"]), "score": np.array([0.5, -1.0])}
    assert csv_lines(columns) == "\ud800x,0.5\nb,-1.0\n".encode("utf-8", "surrogatepass")
    assert csv_lines({"class": np.array([1, 2])}) == b"1\n2\n"


@pytest.mark.long
@COMPILED_ONLY
def test_a_million_rows_from_standard_input_in_little_memory(tmp_path):
    """The rows come from a process that never ends by itself; the memory stays what it is."""
    data, model = tmp_path / "d.libsvm", tmp_path / "m.sx"
    data.write_text("+1 1:2 3:1\n-1 2:1\n+1 1:1\n-1 2:3 3:1\n")
    table = sx.read(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sx.save(sx.LinearSVM().fit(table.X, table.y), model, table=table)
    script = (
        "import resource, sys\n"
        "from separatrix.cli.main import main\n"
        f"sys.argv = ['separatrix', 'predict', '-m', {str(model)!r}, '-']\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
    )
    peaks = []
    for repeats in (1_000, 60_000):
        done = subprocess.run(
            [sys.executable, "-c", script],
            input=data.read_bytes() * repeats,
            capture_output=True,
            check=True,
        )
        assert done.stdout.count(b"\n") == 4 * repeats + 1
        assert b"0 errors" in done.stderr
        peaks.append(int(done.stderr.split()[-1]) / 1024)
    assert peaks[1] - peaks[0] < 100.0  # megabytes


def test_a_model_may_stand_among_the_arguments(texts, tmp_path):
    data, model = texts
    plain = run("predict", "-m", model, data)
    for order in ((model, data), (data, model)):
        assert run("predict", *order).stdout == plain.stdout
    for given in ((data,), (model,), (model, model, data)):
        refused = run("predict", *given)
        assert refused.returncode == 2
        assert "name the model and the data" in " ".join(refused.stderr.split())
