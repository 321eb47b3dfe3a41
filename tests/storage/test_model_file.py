import hashlib
import json
import struct
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from tests.amounts import cases

import separatrix as sx
from separatrix.storage import model_file
from separatrix.storage.model_file import from_bytes, read_model, to_bytes

IRIS = load_iris()
X, Y = IRIS.data, IRIS.target_names[IRIS.target]
PAIR = Y != "virginica"
MODELS = {
    "delta rule": (lambda: sx.DeltaRule(max_updates=300), True),
    "fisher": (sx.Fisher, False),
    "fisher of two": (sx.Fisher, True),
    "plug-in": (sx.GaussianPlugIn, False),
    "plug-in, full": (lambda: sx.GaussianPlugIn(covariance="full"), False),
    "kozinec": (lambda: sx.Kozinec(epsilon=0.1), True),
    "least squares": (sx.LeastSquares, False),
    "linear program": (sx.LinearProgramHalfspace, True),
    "svm": (sx.LinearSVM, False),
    "svm, hard": (lambda: sx.LinearSVM(C=np.inf), True),
    "svm, probable": (lambda: sx.LinearSVM(probability=True), True),
    "svm, weighted": (lambda: sx.LinearSVM(class_weight={"setosa": 2.0}), True),
    "svm, path": (lambda: sx.LinearSVMCV([0.1, 1.0], cv=3), True),
    "svm, pairs": (lambda: sx.LinearSVM(multi_class="ovo"), False),
    "svm, direct": (lambda: sx.LinearSVM(multi_class="direct"), False),
    "logistic, path": (lambda: sx.LogisticRegressionCV([0.1, 1.0], cv=3), True),
    "logistic": (sx.LogisticRegression, False),
    "logistic, free": (lambda: sx.LogisticRegression(C=np.inf), True),
    "perceptron": (sx.Perceptron, True),
    "fewest errors": (sx.ZeroOne, True),
    "gradient steps": (lambda: sx.SGD(max_passes=4), False),
    "gradient steps, free": (lambda: sx.SGD("logistic", C=np.inf, max_passes=2), True),
}


def fitted(name):
    make, two = MODELS[name]
    rows = PAIR if two else slice(None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(X[rows], Y[rows]), X[rows], Y[rows]


@pytest.mark.parametrize("name", MODELS)
def test_what_is_loaded_predicts_to_the_same_bit(name, tmp_path):
    model, rows, labels = fitted(name)
    path = tmp_path / "model.sx"
    sx.save(model, path)
    again = sx.load(path)
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    assert (again.predict(rows) == model.predict(rows)).all()
    assert again.classes_.dtype == model.classes_.dtype
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            assert getattr(again, method)(rows).tobytes() == getattr(model, method)(rows).tobytes()
    assert str(again) == str(model)
    if model.certificate_ is not None:
        assert again.certificate_.check(rows, labels) == model.certificate_.check(rows, labels)
    assert to_bytes(again) == path.read_bytes()
    assert [each.name for each in tmp_path.iterdir()] == ["model.sx"]


def test_sparse_frames_and_columns_in_fortran_order(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"col {k}" for k in range(4)])
    model = sx.LogisticRegression().fit(frame, Y)
    model.coef_ = np.asfortranarray(model.coef_)
    again = from_bytes(to_bytes(model)).model
    assert again.feature_names_in_.tolist() == list(frame.columns)
    assert again.coef_.flags.f_contiguous
    assert (again.decision_function(frame) == model.decision_function(frame)).all()
    numbers = sx.LinearSVM().fit(sp.csr_array(X), IRIS.target)
    assert from_bytes(to_bytes(numbers)).model.predict(sp.csr_array(X)).dtype == IRIS.target.dtype


@pytest.mark.parametrize(
    "contents",
    ["text,label\n", "age,job,label\n"],
)
def test_raw_data_become_the_features_of_training(contents, tmp_path):
    rng = np.random.default_rng(0)
    words = ["good film again", "bad plot and dull", "not good at all", "fine, a fine one"]
    for _ in range(40):
        k = rng.integers(4)
        if contents.startswith("text"):
            contents += f'"{words[k]} number {rng.integers(99)}",{k % 2}\n'
        else:
            contents += f"{rng.integers(20, 60)},{['clerk', 'none', '?', 'cook'][k]},{k % 2}\n"
    data, path = tmp_path / "data.csv", tmp_path / "model.sx"
    data.write_text(contents)
    table = sx.read(data, target="label")
    model = sx.LinearSVM().fit(table.X, table.y)
    rows = np.arange(0, 40, 2)
    sx.save(model, path, table=table, rows=rows, about={"note": "half"})
    whole = read_model(path)
    assert whole.encoding == table.encoding
    assert (whole.rows == rows).all()
    assert whole.about["data_sha256"] == table.sha256
    assert whole.about["note"] == "half"
    read_again = whole.encoding.transform(data)
    assert (whole.model.decision_function(read_again.X) == model.decision_function(table.X)).all()


@pytest.fixture(scope="module")
def small():
    return to_bytes(sx.LinearSVM().fit([[0.0], [1.0], [3.0]], ["low", "low", "high"]))


def test_truncation_at_every_byte_is_refused(small):
    for length in range(len(small)):
        with pytest.raises(sx.ModelFileError):
            from_bytes(small[:length])


def test_every_changed_bit_of_some_and_added_bytes_are_refused(small):
    for at in range(len(small)):
        altered = bytearray(small)
        altered[at] ^= 1 << (at % 8)
        with pytest.raises(sx.ModelFileError):
            from_bytes(bytes(altered))
    with pytest.raises(sx.ModelFileError):
        from_bytes(small + b"\0")


def mutated(rng, contents):
    """Change, drop, repeat or insert a few bytes somewhere."""
    altered = bytearray(contents)
    for _ in range(rng.integers(1, 4)):
        at, end = sorted(rng.integers(0, len(altered), 2).tolist())
        end = min(end, at + 40)
        kind = rng.integers(4)
        if kind == 0:
            altered[at] = (altered[at] + rng.integers(1, 256)) % 256
        elif kind == 1:
            del altered[at : end + 1]
        elif kind == 2:
            altered[at:at] = altered[at:end]
        else:
            altered[at:at] = rng.bytes(rng.integers(1, 9))
    return bytes(altered)


def test_a_thousand_mutations_are_refused(small):
    rng = np.random.default_rng(6)
    for _ in cases(1000):
        altered = mutated(rng, small)
        if altered == small:
            continue
        with pytest.raises(sx.ModelFileError):
            from_bytes(altered)


def sealed_again(body):
    return model_file.MAGIC + hashlib.sha256(model_file.MAGIC + body).digest() + body


def test_mutations_with_their_hash_put_right_load_or_are_refused(small):
    rng = np.random.default_rng(7)
    refused = 0
    for _ in cases(1000):
        try:
            model = from_bytes(sealed_again(mutated(rng, small[40:]))).model
        except sx.ModelFileError:
            refused += 1
            continue
        assert isinstance(model, sx.LinearSVM)  # a name or a number in it was changed
    assert refused > 0


def forged(small, change):
    (length,) = struct.unpack_from("<Q", small, 40)
    header = json.loads(small[48 : 48 + length])
    change(header)
    text = json.dumps(header).encode()
    return sealed_again(struct.pack("<Q", len(text)) + text + small[48 + length :])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: h.update(estimator="os.system"), "not known"),
        (lambda h: h.update(estimator=["LinearSVM"]), "not known"),
        (lambda h: h.update(format=2), "newer Separatrix"),
        (lambda h: h["fitted"].update(predict="x"), "not a fitted value"),
        (lambda h: h["fitted"].update(__class__="x"), "not a fitted value"),
        (lambda h: h["fitted"].update(extra_={"is": "eval", "of": "1"}), "unknown kind"),
        (lambda h: h["fitted"].update(extra_=1.5), "unknown kind"),
        (
            lambda h: h["fitted"].update(extra_={"is": "record", "name": "Popen", "fields": {}}),
            "well-formed",
        ),
        (lambda h: h["fitted"].update(n_features_in_=7), "do not fit together"),
        (lambda h: h["fitted"].pop("n_features_in_"), "how many features"),
        (lambda h: h["parameters"].update(evil=1), "well-formed"),
        (lambda h: h.pop("about"), "well-formed"),
        (lambda h: h.update(about=[]), "about itself"),
        (lambda h: h.update(encoding={"kind": "nothing"}), "well-formed"),
    ],
)
def test_forgeries_with_a_right_hash_are_refused(small, change, words):
    with pytest.raises(sx.ModelFileError, match=words):
        from_bytes(forged(small, change))
    assert from_bytes(forged(small, lambda h: None)).model.predict([[0.0]]).tolist() == ["low"]


def test_what_cannot_be_kept_is_refused_before_anything_is_written(tmp_path):
    from sklearn.svm import LinearSVC

    path = tmp_path / "model.sx"
    path.write_bytes(b"old")
    rows, labels = [[0.0], [1.0]], [0, 1]
    for model, words in [
        (LinearSVC().fit(rows, labels), "cannot be saved"),
        (sx.LinearSVM(), "not fitted"),
        (sx.LinearSVM(random_state=np.random.RandomState(0)).fit(rows, labels), "RandomState"),
    ]:
        with pytest.raises(sx.ModelFileError, match=words):
            sx.save(model, path)
    assert path.read_bytes() == b"old"
    with pytest.raises(sx.ModelFileError, match=r"model\.sx: this is not a model file"):
        sx.load(path)


def test_a_failure_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.sx"
    model = sx.LinearSVM().fit([[0.0], [1.0]], [0, 1])
    sx.save(model, path)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        sx.save(sx.LinearSVM().fit([[0.0], [2.0]], [0, 1]), path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.sx"]
