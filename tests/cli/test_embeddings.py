"""Embeddings on the command line; scaling, lifting and devices in `fit`."""

import json
import shlex

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import separatrix as sx
from tests.cli.command import separatrix as run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("embeddings")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0, "up", "down")
    np.save(where / "rows.npy", X)
    (where / "labels.txt").write_text("\n".join(y) + "\n")
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 5)
    parquet.write_table(pa.table({"vector": lists, "side": y}), where / "rows.parquet")
    lines = ["a,b,side"]
    lines += [f"{1000 * u:.6f},{v:.6f},{s}" for (u, v), s in zip(X[:, :2], y, strict=True)]
    (where / "table.csv").write_text("\n".join(lines) + "\n")
    return where


def test_fit_predict_and_verify_arrays_with_labels_beside(folder, tmp_path):
    rows, labels = folder / "rows.npy", folder / "labels.txt"
    model = tmp_path / "model.sx"
    fitted = run("fit", rows, "--labels", labels, "--loss", "logistic", "-o", model)
    assert fitted.returncode == 0, fitted.stderr
    assert "Heaviest weights towards up: x0" in fitted.stdout
    told = run("predict", "-m", model, rows, "--labels", labels, "-o", tmp_path / "told.csv")
    assert told.returncode == 0, told.stderr
    assert "errors in 200 rows with labels" in told.stderr
    assert len((tmp_path / "told.csv").read_text().splitlines()) == 201
    again = run("predict", "-m", model, folder / "rows.parquet", "-o", tmp_path / "again.csv")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "told.csv").read_bytes()
    assert run("verify", model, rows, "--labels", labels).returncode == 0
    known = run("info", rows, "--labels", labels)
    assert "npy, 200 rows, 5 features" in known.stdout
    missing = run("fit", rows)
    assert missing.returncode == 3
    assert "--labels FILE" in missing.stderr


def test_a_study_of_embeddings(folder, tmp_path):
    done = run(
        "study", folder / "rows.npy", "--labels", folder / "labels.txt", "--loss", "logistic",
        "--Cs", "0.1,1", "--folds", "2", "-o", tmp_path / "study",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "study" / "study.json").read_text())
    assert facts["data"]["kind"] == "npy"
    assert facts["features"][0]["features"][0]["name"] in ("x0", "rank of x0")


def test_path_of_embeddings(folder):
    done = run("path", folder / "rows.parquet", "--Cs", "0.1,1", "--folds", "2")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        (["--scale", "standard"], ["StandardScaler"]),
        (["--scale", "min-max", "--lift", "polynomial:2"], ["MinMaxScaler", "Polynomial"]),
        (["--lift", "fourier:20"], ["RandomFourier"]),
        (["--lift", "nystrom:20"], ["Nystrom"]),
        (["--lift", "radial:5"], ["RadialBasis"]),
        (["--scale", "standard", "--lift", "sigmoid:5"], ["StandardScaler", "Sigmoid"]),
    ],
)
def test_what_fit_does_to_the_columns_is_kept_and_proved(folder, tmp_path, options, steps):
    data, model = folder / "table.csv", tmp_path / "model.sx"
    fitted = run("fit", data, "--loss", "squared_hinge", *options, "-o", model, "--json")
    assert fitted.returncode == 0, fitted.stderr
    kept = sx.load(model)
    assert [type(step).__name__ for _, step in kept.steps] == [*steps, "LinearSVM"]
    table = sx.read(data)
    wrong = json.loads(fitted.stdout)["training_error"]
    assert wrong == pytest.approx(float((kept.predict(table.X) != table.y).mean()))
    assert run("predict", "-m", model, data, "-o", tmp_path / "told.csv").returncode == 0
    proved = run("verify", model, data)
    assert proved.returncode == 0, proved.stdout + proved.stderr


def test_sparse_columns_keep_their_zeros(folder, tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text("+1 1:2 3:100\n-1 2:1\n+1 1:1\n-1 3:-40\n" * 5)
    for scale in ("standard", "min-max"):
        model = tmp_path / f"{scale}.sx"
        done = run("fit", path, "--scale", scale, "-o", model)
        assert done.returncode == 0, done.stderr
        assert run("verify", model, path).returncode == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--lift", "cubic"], "--lift takes a lift and a number"),
        (["--lift", "polynomial:two"], "--lift takes a lift and a number"),
        (["--scale", "standard", "--certificate", "c.json"], "separatrix verify model.sx DATA"),
        (["--scale", "standard", "-o", "picture.svg"], "leave --features, --scale, --lift out"),
        (["--scale", "standard", "--memory", "1GB"], "for data in memory"),
        (["--device", "auto", "--memory", "1GB"], "for data in memory"),
    ],
)
def test_options_that_do_not_go_together(folder, options, words):
    refused = run("fit", folder / "table.csv", *options)
    assert refused.returncode == 2
    assert words in " ".join(refused.stderr.replace("│", " ").split())


def test_devices_by_name(folder, tmp_path):
    rows = ["--labels", folder / "labels.txt", "--loss", "logistic"]
    anywhere = run("fit", folder / "rows.npy", *rows, "--device", "auto", "--json")
    assert anywhere.returncode == 0, anywhere.stderr
    here = run("fit", folder / "rows.npy", *rows, "--json")
    told = [json.loads(one.stdout)["objective"] for one in (anywhere, here)]
    assert told[0] == pytest.approx(told[1], rel=1e-4)
    path = run("path", folder / "rows.npy", *rows, "--Cs", "1", "--folds", "2", "--device", "auto")
    assert path.returncode == 0, path.stderr
    unknown = run("fit", folder / "rows.npy", *rows, "--device", "tpu")
    assert unknown.returncode == 2
    assert "device must be 'cpu', 'cuda', 'cuda:N' or 'auto'" in unknown.stderr
    sparse = tmp_path / "a.libsvm"
    sparse.write_text("+1 1:2\n-1 2:1\n")
    refused = run("fit", sparse, "--device", "cuda")
    assert refused.returncode == 3
    assert "dense data" in refused.stderr


def test_the_next_command_reads_the_data_as_they_were_read(folder):
    told = run("info", folder / "rows.npy", "--labels", folder / "labels.txt")
    command = told.stdout.splitlines()[-1].removeprefix("next: separatrix ")
    assert run(*shlex.split(command)).returncode == 0


def test_rows_without_a_label_are_not_counted(tmp_path):
    rows = [{"v": [float(k), 1.0], "y": "ab"[k > 3]} for k in range(8)]
    data, model = tmp_path / "x.jsonl", tmp_path / "model.sx"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("fit", data, "-o", model).returncode == 0
    del rows[2]["y"], rows[5]["y"]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "0 errors in 6 rows with labels" in run("predict", "-m", model, data).stderr
