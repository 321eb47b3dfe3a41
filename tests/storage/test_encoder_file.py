"""Pipelines that begin with an encoder, in a model file: the same predictions, and no forgeries."""

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from fuzz.model_files import joined, parts
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.cli.command import separatrix as run

import separatrix as sx
from separatrix.storage.model_file import read_model


def people(n=80):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=n), "job": rng.choice(list("abc"), n)})
    y = np.where(frame.age + 0.5 * (frame.job == "a") > 0.1, "in", "out")
    frame.loc[3, "age"] = None
    return frame, y


@pytest.mark.parametrize(
    "steps",
    [
        (sx.Encoder(), sx.LinearSVM()),
        (sx.Encoder("standard"), sx.LogisticRegression()),
        (sx.Encoder("ranks", sparse_output=False), StandardScaler(), sx.LinearSVM()),
    ],
)
def test_saved_and_loaded_it_predicts_alike(steps, tmp_path):
    frame, y = people()
    pipeline = make_pipeline(*steps).fit(frame, y)
    sx.save(pipeline, tmp_path / "model.sx")
    again = sx.load(tmp_path / "model.sx")
    assert (again.decision_function(frame) == pipeline.decision_function(frame)).all()
    late = pd.DataFrame({"age": [None, 2.0], "job": ["z", None]})
    assert (again.predict(late) == pipeline.predict(late)).all()
    plain = read_model(tmp_path / "model.sx", plain=True).model
    assert (plain.predict(frame) == pipeline.predict(frame)).all()


def test_words_and_an_encoder_alone(tmp_path):
    frame, y = people()
    texts = pd.DataFrame({"text": [f"word{k % 7} is a thing of number {k}" for k in range(len(y))]})
    pipeline = make_pipeline(sx.Encoder("words"), sx.LinearSVM()).fit(texts, y)
    sx.save(pipeline, tmp_path / "model.sx")
    assert (sx.load(tmp_path / "model.sx").predict(texts) == pipeline.predict(texts)).all()
    encoder = sx.Encoder().fit(frame)
    sx.save(encoder, tmp_path / "encoder.sx")
    again = sx.load(tmp_path / "encoder.sx")
    assert (again.transform(frame) != encoder.transform(frame)).nnz == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda fitted: fitted.update(n_features_in_=3), "sets feature_names_in_ to what no"),
        (lambda fitted: fitted.update(_names=["age", "age"]), "not named once each"),
        (lambda fitted: fitted.update(_names=["age", "other"]), "takes columns that it does not"),
        (lambda fitted: fitted.update(encoding_=7), "has learned nothing"),
        (lambda fitted: fitted["encoding_"]["of"].update(kind="os"), "not well-formed"),
        (lambda fitted: fitted["encoding_"]["of"]["columns"].pop(), "makes 2 features"),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused(change, said, tmp_path):
    frame, y = people()
    sx.save(make_pipeline(sx.Encoder(), sx.LinearSVM()).fit(frame, y), tmp_path / "model.sx")
    header, arrays = parts((tmp_path / "model.sx").read_bytes())
    assert json.dumps(header).count('"estimator": "Encoder"') == 1
    steps = header["parameters"]["steps"]
    change(steps[0]["items"][1]["fitted"])
    (tmp_path / "forged.sx").write_bytes(joined(header, arrays))
    with pytest.raises(sx.ModelFileError, match=said):
        sx.load(tmp_path / "forged.sx")


# ---- on the command line


@pytest.mark.parametrize(
    "steps",
    [
        (sx.Encoder(), sx.LinearSVM()),
        (sx.Encoder("standard"), sx.LogisticRegression()),
        (sx.Encoder("cosines"), sx.LinearSVM()),
        (sx.Encoder("ranks", sparse_output=False), StandardScaler(), sx.LinearSVM()),
    ],
)
def test_the_commands_take_a_pipeline_from_python(steps, tmp_path):
    frame, y = people()
    frame["unused"] = 7.5
    model, data, path = tmp_path / "model.sx", tmp_path / "data.csv", tmp_path / "model.onnx"
    frame.assign(kind=y).to_csv(data, index=False)
    pipeline = make_pipeline(*steps).fit(frame[["age", "job"]], y)
    sx.save(pipeline, model)
    done = run("predict", "-m", model, data, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["class"] for row in rows] == pipeline.predict(frame[["age", "job"]]).tolist()
    done = run("verify", model, data, "--target", "kind")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("proved")
    assert run("export", model, "-o", path).returncode == 0
    session = onnxruntime.InferenceSession(path.read_bytes())
    ages = frame.age.to_numpy(dtype=float)[:, None]
    given = {"age": ages, "job": frame.job.to_numpy(dtype=object)[:, None]}
    found = session.run(["label"], given)[0]
    assert found.tolist() == [row["class"] for row in rows]


def test_other_data_do_not_teach_its_encoding(tmp_path):
    frame, y = people()
    sx.save(make_pipeline(sx.Encoder(), sx.LinearSVM()).fit(frame, y), tmp_path / "model.sx")
    frame.assign(age=2.0 * frame.age, kind=y).to_csv(tmp_path / "data.csv", index=False)
    done = run("verify", tmp_path / "model.sx", tmp_path / "data.csv", "--target", "kind")
    assert done.returncode == 1
    assert "not learned from these data" in done.stdout
    done = run("verify", tmp_path / "model.sx", tmp_path / "data.csv")
    assert done.returncode == 2
    assert "name it with --target" in done.stderr
