"""ONNX with its encoding, against `separatrix predict`, row by row, on raw columns."""

import csv
import dataclasses
import io
import json

import numpy as np
import onnx.reference
import onnxruntime
import pandas as pd
import pytest
from tests.cli.command import separatrix as run

import separatrix as sx
from separatrix.data.encodings.column_features import ColumnFeatures

HEADER = ["age", "job", "in,come", "label", "add_1", "height", "class"]


@pytest.fixture
def mixed(tmp_path):
    """Numbers, gaps, categories with an (other) and gaps; names that a graph would trip over."""
    rng = np.random.default_rng(5)
    rows = [HEADER]
    for row in range(80):
        age, income, height = rng.normal(40, 12), rng.lognormal(8, 2), rng.normal(1.7, 0.1)
        job = rng.choice(["clerk", "boss", "cook", "pilot", ""], p=[0.4, 0.3, 0.15, 0.1, 0.05])
        label = rng.choice(["a", "b"])
        kind = "yes" if age / 10 + (job == "boss") + np.log(income) + rng.normal() > 12 else "no"
        tall = "?" if row % 9 == 0 else f"{height:.3f}"
        rows.append([f"{age:.2f}", job, f"{income:.2f}", label, f"{row % 4}", tall, kind])
    path = tmp_path / "mixed.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture
def later(mixed, tmp_path):
    """Rows to predict: unseen and missing categories, missing numbers, values beyond training."""
    with mixed.open(newline="") as file:
        rows = [row[:-1] for row in csv.reader(file)]
    rows += [
        ["-500", "astronaut", "1e12", "b", "0", "9"],
        ["", "NA", "?", "c", "", ""],
        ["1e100", "cook", "-5", "a", "3", "-1e100"],
        ["40", "clerk", "3000", "", "17", "1.7"],
    ]
    path = tmp_path / "later.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def predicted(model, data):
    """Return what the command line says of every row."""
    done = run("predict", "-m", model, data, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def ran(path, data):
    """Run the graph on raw columns, whichever inputs it has."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options)
    with data.open(newline="") as file:
        table = list(csv.DictReader(file))
    told = json.loads(session.get_modelmeta().custom_metadata_map["columns"])
    missing = sx.data.table.TableEncoding(()).missing

    def numbers(column):
        cells = [row[column] for row in table]
        return np.array([np.nan if cell in missing else float(cell) for cell in cells])[:, None]

    if isinstance(told, list):
        given = {"X": np.hstack([numbers(column) for column in told])}
    else:
        kinds = {each.name: each.type for each in session.get_inputs()}
        given = {
            name: np.array([[row[column]] for row in table], dtype=object)
            if kinds[name] == "tensor(string)"
            else numbers(column)
            for name, column in told.items()
        }
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True)), given


def require_the_same(model, path, data):
    rows, (found, _) = predicted(model, data), ran(path, data)
    assert found["label"].tolist() == [row["class"] for row in rows]
    scores = np.array([row["score"] for row in rows])
    np.testing.assert_allclose(found["scores"].ravel(), scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("features", ["raw", "standard", "ranks", "splines", "products", "cosines"])
@pytest.mark.parametrize("more", [[], ["-O", "max_categories=2"], ["--drop", "job,label"]])
def test_every_raw_row_is_predicted_alike(mixed, later, tmp_path, features, more):
    model, path = tmp_path / "model.sx", tmp_path / "model.onnx"
    words = ("-t", "class", "--features", features, *more)
    assert run("fit", mixed, *words, "-o", model).returncode == 0
    done = run("export", model, "-o", path)
    assert done.returncode == 0, done.stderr
    require_the_same(model, path, later)


def test_everything_that_columns_become_has_a_form():
    known = {"shift", "scale", "ranks", "splines", "pairs", "cosines"}
    found = {part.name for part in dataclasses.fields(ColumnFeatures)}
    assert found == known, "storage/onnx_encoding.py and exchange.py know no other"


def test_inputs_are_named_by_their_columns_or_by_number(mixed, tmp_path):
    model, path = tmp_path / "model.sx", tmp_path / "model.onnx"
    run("fit", mixed, "-t", "class", "-o", model)
    run("export", model, "-o", path)
    graph = onnx.load(path).graph
    names = [each.name for each in graph.input]
    assert names == ["age", "job", "column_3", "column_4", "column_5", "height"]
    reference = onnx.reference.ReferenceEvaluator(onnx.load(path))
    found, given = ran(path, mixed)
    assert (reference.run(["label"], given)[0] == found["label"]).all()


def test_steps_follow_the_encoding(mixed, later, tmp_path):
    model, path = tmp_path / "model.sx", tmp_path / "model.onnx"
    for words in (["--lift", "polynomial:2"], ["--kernel", "rbf"]):
        run("fit", mixed, "-t", "class", "--features", "standard", *words, "-o", model)
        assert run("export", model, "-o", path).returncode == 0
        require_the_same(model, path, mixed.with_name("mixed.csv"))


def test_single_precision_is_kept(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)).astype(np.float32), columns=list("abc"))
    frame["kind"] = np.where(frame.a + frame.b > 0, "up", "down")
    table = sx.read(frame, target="kind")
    model = sx.LinearSVM(C=1e6).fit(table.X, table.y)
    made = sx.exchange.to_onnx(model, encoding=table.encoding)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    rows = rng.normal(size=(50, 3))
    found = session.run(["scores"], {"X": rows})[0].ravel()
    expected = model.decision_function(rows.astype(np.float32).astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("features", ["words", "joined", "characters", "raw"])
def test_texts_are_refused_unless_features_are_meant(tmp_path, features):
    data, model = tmp_path / "texts.txt", tmp_path / "model.sx"
    lines = ("a good film, really\tgood", "the best of all\tgood", "not a good one\tbad")
    data.write_text("\n".join(lines * 4) + "\n")
    assert run("fit", data, "--features", features, "-o", model).returncode == 0
    for to in ("onnx", "liblinear", "libsvm"):
        words = ("export", model, "--to", to, "-o", tmp_path / "out", "--number-classes")
        refused = run(*words)
        assert refused.returncode == 2
        assert "makes its features from texts" in refused.stderr
        assert not (tmp_path / "out").exists()
        assert run(*words, "--features").returncode == 0
        (tmp_path / "out").unlink()


def test_a_column_of_sentences_among_others_is_refused_too(tmp_path):
    rng = np.random.default_rng(0)
    words = ["good", "bad", "film", "plot", "never", "really", "slow"]
    texts = [" ".join(rng.choice(words, 7)) for _ in range(40)]
    frame = pd.DataFrame({"age": rng.normal(size=40), "comment": texts})
    frame["kind"] = ["up" if "good" in text else "down" for text in texts]
    data, model = tmp_path / "data.csv", tmp_path / "model.sx"
    frame.to_csv(data, index=False)
    assert run("fit", data, "-t", "kind", "-o", model).returncode == 0
    refused = run("export", model, "-o", tmp_path / "model.onnx")
    assert refused.returncode == 2
    assert "makes its features from texts" in refused.stderr


def test_standardised_numbers_are_folded_for_liblinear_and_ranks_refused(tmp_path):
    rng = np.random.default_rng(1)
    data, model = tmp_path / "data.libsvm", tmp_path / "model.sx"
    X = rng.normal(size=(40, 3)) * [1.0, 100.0, 1e-3]
    y = np.where(X @ [1.0, 0.01, 1e3] > 0, 1, -1)
    lines = [" ".join([str(k), *(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()))])
             for k, row in zip(y, X, strict=True)]  # fmt: skip
    data.write_text("\n".join(lines) + "\n")
    for to in ("liblinear", "libsvm"):
        assert run("fit", data, "--features", "standard", "-o", model).returncode == 0
        other = tmp_path / "other.model"
        done = run("export", model, "--to", to, "-o", other)
        assert done.returncode == 0, done.stderr
        ours, theirs = predicted(model, data), predicted(other, data)
        assert [row["class"] for row in ours] == [row["class"] for row in theirs]
        scores = [abs(row["score"]) for row in ours], [abs(row["score"]) for row in theirs]
        np.testing.assert_allclose(*scores, rtol=1e-9)
    for features in ("ranks", "splines", "products", "cosines"):
        assert run("fit", data, "--features", features, "-o", model).returncode == 0
        refused = run("export", model, "--to", "liblinear", "-o", other)
        assert refused.returncode == 2
        assert "makes its features from columns" in refused.stderr


def test_a_csv_of_weights_names_the_features(mixed, tmp_path):
    model, out = tmp_path / "model.sx", tmp_path / "weights.csv"
    run("fit", mixed, "-t", "class", "--features", "ranks", "-o", model)
    run("export", model, "-o", out)
    names = [row[0] for row in csv.reader(io.StringIO(out.read_text()))]
    assert "rank of age" in names
    assert "job=boss" in names
