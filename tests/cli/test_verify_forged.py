"""Files whose words and names are not those of the data: ``verify`` refuses each, by name."""

import io
import json
import sys
import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import openpyxl
import pandas as pd
import pytest
from fuzz.model_files import joined, parts
from safetensors.numpy import load, save
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from tests.cli.command import separatrix as run

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 2)).round(3)
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, "b", "a")


def altered(path, change, name="forged.sx"):
    """Write the file again with its header and arrays changed, and its seal made new."""
    header, tail = parts(path.read_bytes())
    header, arrays = json.loads(json.dumps(header)), dict(load(tail))
    change(header, arrays)
    out = path.with_name(name)
    out.write_bytes(joined(header, save(arrays)))
    return out


def array_of(header, arrays, name, values):
    key = f"extra {name}"
    arrays[key] = np.ascontiguousarray(values)
    header[name] = {"is": "array", "number": key, "columns": False}


def table_of(path):
    rows = zip(X.tolist(), Y, strict=True)
    path.write_text("u,v,label\n" + "".join(f"{a},{b},{label}\n" for (a, b), label in rows))
    return path


def libsvm_of(path, labels=None):
    labels = np.where(Y == "b", 1, -1) if labels is None else labels
    rows = zip(X.tolist(), labels.tolist(), strict=True)
    path.write_text("".join(f"{label:+d} 1:{a} 2:{b}\n" for (a, b), label in rows))
    return path


def says(ran, code, words=""):
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert words in ran.stdout + ran.stderr


# ---- within --memory


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h, a: h["encoding"].update(first=0), "does not take its features"),
        (lambda h, a: h["encoding"].update(prefix="x"), "does not take its features"),
        (lambda h, a: h.update(encoding=None), "does not take its features"),
        (lambda h, a: h.update(feature_names=["2", "1"]), "names of the features"),
        (lambda h, a: array_of(h, a, "rows", np.arange(3)), "numbers rows of training"),
        (lambda h, a: array_of(h, a, "spreads", np.ones(2)), "without --memory"),
        (lambda h, a: h["about"].update(threshold={}), "claim about its threshold"),
    ],
)
def test_what_a_file_says_beside_a_model_of_blocks_is_compared(tmp_path, change, words):
    data, model = libsvm_of(tmp_path / "rows.libsvm"), tmp_path / "m.sx"
    says(run("fit", data, "--memory", "10MB", "-o", model, "-q"), 0)
    says(run("verify", model, data, "--memory", "10MB"), 0, "what the file says about itself")
    says(run("verify", altered(model, change), data, "--memory", "10MB"), 1, words)


def test_blocks_beside_the_data_are_not_believed(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    data, proof, model = folder / "one.libsvm", tmp_path / "p.json", tmp_path / "m.sx"
    libsvm_of(data)
    says(run("fit", folder, "--memory", "10MB", "--certificate", proof, "-o", model, "-q"), 0)
    home = folder / ".separatrix"
    old = next(each for each in home.iterdir() if each.is_dir())
    libsvm_of(data, RNG.choice([-1, 1], 60))
    from separatrix.data.readers.partition_sources import looked_through

    (home / "one.libsvm.seen.json").unlink()
    old.rename(home / (looked_through(data)[0][:32] + old.name[32:]))
    before = sorted(home.iterdir())
    for path in (proof, model):
        says(run("verify", path, folder, "--memory", "10MB"), 1)
    assert sorted(home.iterdir()) == before


def test_models_of_blocks_and_of_tables_name_the_way_to_verify_them(tmp_path):
    data, blocks, whole = libsvm_of(tmp_path / "a.libsvm"), tmp_path / "b.sx", tmp_path / "w.sx"
    says(run("fit", data, "--memory", "10MB", "-o", blocks, "-q"), 0)
    says(run("fit", data, "-o", whole, "-q"), 0)
    says(run("verify", blocks, data), 1, "verify it with --memory")
    says(run("verify", whole, data, "--memory", "10MB"), 1, "without --memory")


def test_a_proof_of_blocks_is_told_as_proved(tmp_path):
    data, proof = libsvm_of(tmp_path / "a.libsvm"), tmp_path / "p.json"
    says(run("fit", data, "--memory", "10MB", "--certificate", proof, "-q"), 0)
    ran = run("verify", proof, data, "--memory", "10MB")
    says(ran, 0, "proved: no hyperplane")
    assert "claimed by a file" not in ran.stdout


# ---- names


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h, a: h.update(feature_names=["v", "u"]), "names of the features"),
        (lambda h, a: array_of(h, a, "spreads", np.array([1e-6, 1e6])), "standard deviations"),
        (lambda h, a: array_of(h, a, "rows", np.arange(3)), "numbers rows of training"),
        (lambda h, a: h["about"].update(threshold={}), "claim about its threshold"),
    ],
)
def test_what_a_file_says_beside_a_model_of_arrays_is_compared(tmp_path, change, words):
    data, model = table_of(tmp_path / "t.csv"), tmp_path / "m.sx"
    table = sx.read(data, "label")
    sx.save(sx.LogisticRegression().fit(table.X, table.y), model)
    says(run("verify", model, data, "-t", "label"), 0, "what the file says about itself")
    says(run("verify", altered(model, change), data, "-t", "label"), 1, words)


def test_the_last_step_of_a_pipeline_has_no_names_of_its_own(tmp_path):
    data, model = table_of(tmp_path / "t.csv"), tmp_path / "m.sx"
    table = sx.read(data, "label")
    sx.save(
        make_pipeline(StandardScaler(), sx.LinearSVM()).fit(table.X, table.y), model, table=table
    )

    def change(header, arrays):
        last = header["parameters"]["steps"][-1]["items"][1]
        names = {"is": "texts", "of": "object", "shape": [2], "items": ["v", "u"]}
        last["fitted"]["feature_names_in_"] = names

    says(run("verify", model, data), 0)
    says(run("verify", altered(model, change), data), 1, "feature_names_in_ of LinearSVM")


@pytest.mark.parametrize("name", ["_names", "feature_names_in_"])
def test_the_columns_of_an_encoder_are_named_as_in_the_data(tmp_path, name):
    data, model = table_of(tmp_path / "t.csv"), tmp_path / "m.sx"
    frame = pd.read_csv(data)
    steps = make_pipeline(sx.Encoder(), sx.LogisticRegression())
    sx.save(steps.fit(frame[["u", "v"]], frame["label"]), model)

    def change(header, arrays):
        held = header["parameters"]["steps"][0]["items"][1]["fitted"]
        names = held[name] if name == "_names" else held[name]["items"]
        names.reverse()

    says(run("verify", model, data, "-t", "label"), 0, "notes_ of Encoder")
    forged = altered(model, change)
    says(run("verify", forged, data, "-t", "label"), 1, "columns in the encoder")


def test_numbered_features_are_numbered_as_the_data_number_them(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    labels, model = tmp_path / "labels.txt", tmp_path / "m.sx"
    labels.write_text("\n".join(Y) + "\n")
    source = [tmp_path / "rows.npy", "--labels", labels]
    says(run("fit", *source, "-o", model, "-q"), 0)
    says(run("verify", model, *source), 0)
    for change in ({"first": 1}, {"prefix": "pixel"}):
        forged = altered(model, lambda h, a, change=change: h["encoding"].update(change))
        says(run("verify", forged, *source), 1, "not numbered as in these data")


@pytest.mark.parametrize("rows", [[0] * 5 + [1] * 5, []])
def test_each_row_of_training_is_numbered_once(tmp_path, rows):
    data, model = table_of(tmp_path / "t.csv"), tmp_path / "m.sx"
    table = sx.read(data, "label")
    sx.save(sx.LinearSVM().fit(table.X, table.y), model, table=table)
    forged = altered(model, lambda h, a: array_of(h, a, "rows", np.array(rows, dtype=np.int64)))
    says(run("verify", forged, data), 1, "numbered twice" if rows else "on no rows")


# ---- words

TEXTS = ["a very good film", "not a good film at all", "the best of all", "dull and long",
         "good fun", "long and bad", "best fun film", "bad dull film"]  # fmt: skip


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("way", ["word", "weight", "honest", "few", "pairs"])
def test_words_and_their_weights_are_learned_again(tmp_path, way, column):
    options = {"few": {"max_features": 5}, "pairs": {"ngrams": (1, 2)}}.get(way, {})
    if column:
        data = tmp_path / "x.csv"
        pd.DataFrame({"text": TEXTS * 2, "label": list("ab") * 8}).to_csv(data, index=False)
        table = sx.read(data, "label", text="text", weighting="tfidf", **options)
    else:
        data = tmp_path / "x.txt"
        data.write_text("".join(f"{text}\t{k % 2}\n" for k, text in enumerate(TEXTS)))
        table = sx.read(data, weighting="tfidf", **options)
    encoding, idf = (
        table.encoding,
        dict(zip(table.encoding.vocabulary, table.encoding.idf, strict=True)),
    )
    if way == "word":
        idf["zzz"] = 1e12
    if way == "weight":
        idf["film"] = 9.0
    encoding = replace(encoding, vocabulary=tuple(idf), idf=tuple(idf.values()))
    made = encoding.transform(data)
    sx.save(
        sx.LogisticRegression().fit(made.X, made.y), tmp_path / "m.sx",
        table=replace(made, encoding=encoding),
    )  # fmt: skip
    forged = way in ("word", "weight")
    ran = run("verify", tmp_path / "m.sx", data)
    says(ran, 1 if forged else 0, "not learned from these data" if forged else "")


# ---- honest models, however they were given their data


@pytest.mark.filterwarnings("error")
def test_a_scaler_fitted_on_a_frame_and_a_step_that_needs_labels_are_proved(tmp_path):
    data, model = table_of(tmp_path / "t.csv"), tmp_path / "m.sx"
    frame = pd.read_csv(data)
    for first in (StandardScaler(), sx.Fisher()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sx.save(make_pipeline(first, sx.LinearSVM()).fit(frame[["u", "v"]], frame.label), model)
        says(run("verify", model, data, "-t", "label"), 0)


def test_a_step_holds_what_its_parameters_ask_for_before_it_is_fitted_again(tmp_path):
    data, model = table_of(tmp_path / "t.csv"), tmp_path / "m.sx"
    table = sx.read(data, "label")
    steps = make_pipeline(sx.lift.RandomFourier(3, random_state=0), sx.LinearSVM())
    sx.save(steps.fit(table.X, table.y), model, table=table)

    def change(header, arrays):
        first = header["parameters"]["steps"][0]["items"][1]
        first["parameters"]["n_components"] = 60_000_000

    says(run("verify", altered(model, change), data), 1, "more than it holds")


def test_standard_input_is_read_once(tmp_path):
    data, model, proof = table_of(tmp_path / "t.csv"), tmp_path / "m.sx", tmp_path / "p.json"
    says(run("fit", data, "-t", "label", "-o", model, "--certificate", proof, "-q"), 0)
    for path in (model, proof):
        given = io.TextIOWrapper(io.BytesIO(data.read_bytes()))
        with mock.patch.object(sys, "stdin", given):
            says(run("verify", path, "-"), 0)


def test_the_sheet_and_the_kind_that_were_named_are_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["u", "v", "label"])
    for row in ([1.0, 2.0, "a"], [2.0, 1.0, "b"]):
        book.active.append(row)
    sheet = book.create_sheet("data")
    for line in table_of(tmp_path / "t.csv").read_text().splitlines():
        cells = line.split(",")
        sheet.append(cells if cells[0] == "u" else [float(cells[0]), float(cells[1]), cells[2]])
    book.save(tmp_path / "t.xlsx")
    named = [tmp_path / "t.xlsx", "--sheet", "data"]
    says(run("fit", *named, "-t", "label", "-o", tmp_path / "m.sx", "-q"), 0)
    says(run("verify", tmp_path / "m.sx", *named), 0)
    named = [libsvm_of(tmp_path / "rows.csv"), "--kind", "libsvm"]
    says(run("fit", *named, "-o", tmp_path / "m.sx", "-q"), 0)
    says(run("verify", tmp_path / "m.sx", *named), 0)


@pytest.mark.parametrize("slack", [False, True])
def test_a_model_that_claims_no_separation_was_not_altered(tmp_path, slack):
    data, model = table_of(tmp_path / "t.csv"), tmp_path / "m.sx"
    table = sx.read(data, "label")
    kind = sx.LinearProgramHalfspace(slack=True) if slack else sx.Perceptron(max_updates=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sx.save(kind.fit(table.X, table.y), model, table=table)
    ran = run("verify", model, data)
    says(ran, 1, "nothing to prove")
    assert "altered" not in ran.stdout


def test_scores_of_pairs_are_named_by_their_classes(tmp_path):
    data, model = tmp_path / "t.csv", tmp_path / "m.sx"
    labels = np.array(list("klmn"))[np.arange(60) % 4]
    rows = zip(X.tolist(), labels, strict=True)
    data.write_text("u,v,label\n" + "".join(f"{a},{b},{label}\n" for (a, b), label in rows))
    table = sx.read(data, "label")
    fitted = sx.KernelSVM(decision_function_shape="ovo").fit(table.X, table.y)
    sx.save(fitted, model, table=table)
    ran = run("predict", "-m", model, data)
    says(ran, 0)
    pairs = [f"{a} against {b}" for a, b in ("lk", "mk", "nk", "ml", "nl", "nm")]
    assert ran.stdout.splitlines()[0] == ",".join(["class", *(f"score of {p}" for p in pairs)])
