import hashlib
import json
import struct
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from tests.amounts import cases

import separatrix as sx
from separatrix.storage import model_file
from separatrix.storage.model_file import from_bytes, has_proof, read_model, to_bytes
from separatrix.storage.model_proof import prove_model
from separatrix.storage.model_values import Packer, Unpacker

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
    "logistic, multinomial": (lambda: sx.LogisticRegression(multi_class="multinomial"), False),
    "logistic, free": (lambda: sx.LogisticRegression(C=np.inf), True),
    "logistic, free, of three": (lambda: sx.LogisticRegression(C=np.inf), False),
    "perceptron": (sx.Perceptron, True),
    "fewest errors": (sx.ZeroOne, True),
    "one against the rest": (lambda: sx.OneVsRest(sx.LogisticRegression()), False),
    "one against one": (lambda: sx.OneVsOne(sx.Perceptron(max_updates=300)), False),
    "kernel, rbf": (sx.KernelSVM, False),
    "kernel, poly": (lambda: sx.KernelSVM(kernel="poly", degree=2, coef0=1.0), True),
    "kernel, sigmoid": (lambda: sx.KernelSVM(kernel="sigmoid", gamma=0.01), True),
    "kernel, linear": (lambda: sx.KernelSVM(kernel="linear", multi_class="ovr"), False),
    "kernel, path": (lambda: sx.KernelSVMCV([0.1, 1.0], gammas=[0.1], cv=3), False),
    "kernel perceptron": (sx.KernelPerceptron, True),
    "kernel kozinec": (lambda: sx.KernelKozinec(epsilon=0.1), True),
    "lifted": (lambda: make_pipeline(sx.lift.Polynomial(2), sx.LinearSVM()), False),
    "scaled and lifted": (
        lambda: make_pipeline(
            StandardScaler(), MinMaxScaler(), sx.lift.RadialBasis(20, random_state=0), sx.Fisher()
        ),
        False,
    ),
    "cosines": (
        lambda: make_pipeline(
            MaxAbsScaler(), sx.lift.RandomFourier(20, random_state=0), sx.LogisticRegression()
        ),
        True,
    ),
    "rows as basis": (
        lambda: make_pipeline(sx.lift.Nystrom(20, random_state=0), sx.LinearSVM()),
        True,
    ),
    "sigmoids": (lambda: make_pipeline(sx.lift.Sigmoid(20, random_state=0), sx.LinearSVM()), True),
    "gradient steps": (lambda: sx.SGD(max_passes=4), False),
    "gradient steps, free": (lambda: sx.SGD("logistic", C=np.inf, max_passes=2), True),
}
# The perceptron is stopped before it separates, and says so.
UNPROVED = {"one against one"}


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
    again, plain = sx.load(path), read_model(path, plain=True).model
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    for loaded in (again, plain):
        assert (loaded.predict(rows) == model.predict(rows)).all()
        assert loaded.classes_.dtype == model.classes_.dtype
        for method in ("decision_function", "predict_proba"):
            assert hasattr(loaded, method) == hasattr(model, method)
            if hasattr(model, method):
                wanted = getattr(model, method)(rows).tobytes()
                assert getattr(loaded, method)(rows).tobytes() == wanted
    said = str(getattr(model, "certificate_", None) or "no proof")
    claimed = said.replace("proved", "claimed by a file", 1)
    assert str(again) == str(model).replace(said, claimed)
    if has_proof(model):
        assert prove_model(again, rows, labels) == prove_model(model, rows, labels)
        assert prove_model(again, rows, labels)[0] or name in UNPROVED
        other = rows.copy()
        other[3, 1] += 0.5
        assert not prove_model(again, other, labels)[0]
    assert to_bytes(again) == path.read_bytes()
    assert [each.name for each in tmp_path.iterdir()] == ["model.sx"]


def test_sparse_frames_and_columns_in_fortran_order(tmp_path):
    import pandas

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
    dense = table.X[rows].toarray() if sp.issparse(table.X) else table.X[rows]
    np.testing.assert_allclose(whole.spreads, dense.std(axis=0), atol=1e-12)
    read_again = whole.encoding.transform(data)
    assert (whole.model.decision_function(read_again.X) == model.decision_function(table.X)).all()


@pytest.mark.parametrize("lift", ["Polynomial", "RadialBasis", "RandomFourier", "Nystrom"])
def test_a_lift_alone_is_kept(lift):
    for rows in (X, sp.csr_array(X)):
        model = getattr(sx.lift, lift)().fit(rows)
        contents = to_bytes(model)
        again = from_bytes(contents).model
        assert_same = np.testing.assert_array_equal
        lifted, same = model.transform(rows), again.transform(rows)
        assert_same(sp.csr_array(lifted).toarray(), sp.csr_array(same).toarray())
        assert to_bytes(again) == contents


def test_kernel_values_and_sparse_support_vectors_are_kept():
    values = X @ X.T
    given = sx.KernelSVM(kernel="precomputed").fit(values, Y)
    assert (from_bytes(to_bytes(given)).model.predict(values) == given.predict(values)).all()
    for kind in (sp.csr_array, sp.csr_matrix):
        model = sx.KernelSVM().fit(kind(X), Y)
        again = from_bytes(to_bytes(model)).model
        assert sp.issparse(again.support_vectors_)
        assert (again.decision_function(kind(X)) == model.decision_function(kind(X))).all()


def test_what_stands_twice_is_kept_once():
    model = sx.OneVsRest(sx.LinearSVM()).fit(X, Y)
    again = from_bytes(to_bytes(model)).model
    assert again.certificates_[0].weights is again.estimators_[0].certificate_.weights


def test_the_loss_of_a_path_comes_back():
    model = sx.LogisticRegressionCV([0.1, 1.0], cv=3).fit(X[PAIR], Y[PAIR])
    assert from_bytes(to_bytes(model)).model.path_.loss == model.path_.loss == "logistic"


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


def index(**changed):
    plain = {"kind": "index", "n_features": 1, "first": 1, "prefix": "", "classes": []}
    return plain | {"target": None} | changed


def words(**changed):
    plain = {"kind": "text", "vocabulary": ["ab"], "ngrams": [1, 1], "weighting": "counts"}
    rest = {"stop_words": [], "hashing": 0, "idf": [], "classes": [], "column": None}
    return plain | rest | {"target": None} | changed


def table(column):
    rest = {"missing": [], "target": None, "dropped": [], "classes": [], "single": False}
    return {"kind": "table", "columns": [column], **rest}


def texts(kind, items):
    return {"is": "texts", "of": kind, "shape": [len(items)], "items": items}


def kernel(name="poly", degree=3):
    floats = {key: {"is": "float", "hex": "0x1p+0"} for key in ("gamma", "coef0")}
    fields = {"name": name, "degree": degree, "function": None, **floats}
    return {"is": "record", "name": "Kernel", "fields": fields}


def lift(columns, degree):
    parameters = {"degree": degree, "interaction_only": False, "include_bias": False}
    fitted_values = {"n_features_in_": columns, "n_output_features_": 3}
    plain = {"estimator": "Polynomial", "parameters": parameters, "fitted": fitted_values}
    return {"is": "estimator", **plain}


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
        (lambda h: h.update(encoding=index(n_features=2)), "names 2"),
        (lambda h: h.update(encoding=index(n_features=2**40)), "numbered"),
        (lambda h: h.update(encoding=index(prefix=3)), "prefix"),
        (lambda h: h.update(encoding=words(hashing=-1)), "whole numbers"),
        (lambda h: h.update(encoding=words(vocabulary=["a"], hashing=5)), "named or hashed"),
        (lambda h: h.update(encoding=words(idf=[1.0])), "one number a word"),
        (lambda h: h.update(encoding=words(ngrams=[1, 10**9])), "from 1 to 9"),
        (lambda h: h.update(encoding=words(vocabulary=[3])), "must be words"),
        (lambda h: h.update(encoding=table({"kind": "number", "name": 3})), "have a name"),
        (lambda h: h.update(encoding=table({"kind": "odd", "name": "a"})), "unknown kind"),
        (lambda h: h.update(feature_names=["a", "b"]), "names 2"),
        (lambda h: h.update(rows=3), "number the rows"),
        (lambda h: h.update(spreads=3), "one standard deviation"),
        (lambda h: h.update(spreads=h["fitted"]["classes_"]), "one standard deviation"),
        (
            lambda h: h["fitted"].update(classes_=texts("text", ["x" * 10**6] + ["y"] * 999)),
            "different lengths",
        ),
        (lambda h: h["fitted"].update(classes_=texts("text", ["a", "b", "c"])), "fit together"),
        (lambda h: h["fitted"].update(extra_=texts("text", [3])), "text that is none"),
        (
            lambda h: h["fitted"].update(
                extra_={"is": "fraction", "parts": ["0x" + "1" * 20000] * 2}
            ),
            "too many digits",
        ),
        (
            lambda h: h["fitted"].update(extra_={"is": "integer", "hex": "1" * 300000}),
            "too many digits",
        ),
        (lambda h: h["fitted"].update(extra_=kernel(degree=10**9)), "kernel"),
        (lambda h: h["fitted"].update(extra_=kernel(name="callable")), "kernel"),
        (
            lambda h: h["fitted"].update(extra_={"is": "estimator", "estimator": "Popen"}),
            "not known",
        ),
        (lambda h: h["fitted"].update(extra_=lift(10**6, 3)), "no lift of degree 3"),
        (lambda h: h["fitted"].update(extra_=lift(10, 10**9)), "at most 100"),
    ],
)
def test_forgeries_with_a_right_hash_are_refused(small, change, words):
    for plain in (False, True):
        with pytest.raises(sx.ModelFileError, match=words):
            from_bytes(forged(small, change), plain=plain)
        model = from_bytes(forged(small, lambda h: None), plain=plain).model
        assert model.predict(np.array([[0.0]])).tolist() == ["low"]


def test_a_width_that_nothing_has_takes_no_memory():
    """A file of 2 kB once took 16 GB and 19 seconds: its row of zeros was filled in."""
    whole = to_bytes(sx.GaussianPlugIn(covariance="full").fit(X, Y))
    with pytest.raises(sx.ModelFileError, match="2,147,483,648 features and holds none"):
        from_bytes(forged(whole, lambda h: h["fitted"].update(n_features_in_=2**31)))
    wide = sp.csr_array(([1.0, 1.0], ([0, 1], [0, 2**24])), shape=(3, 2**24 + 1))
    machine = sx.KernelSVM(gamma=1.0).fit(wide, [0, 1, 1])
    assert from_bytes(to_bytes(machine)).model.predict(wide).tolist() == [0, 1, 1]


def test_classes_that_no_machine_tells_apart_take_no_memory():
    """A text of 3,000 letters in their place once made four million pairs, and 470 MB."""
    whole = to_bytes(sx.KernelSVM().fit(X, Y))
    for classes in ("x" * 3000, 7, texts("text", ["c"] * 3000), texts("text", [])):
        with pytest.raises(sx.ModelFileError, match="classes of the model file"):
            from_bytes(forged(whole, lambda h, c=classes: h["fitted"].update(classes_=c)))


def test_sparse_rows_that_loops_would_follow_out_of_memory_are_refused():
    """Row starts that go back to 0 pass SciPy's check, and once crashed the process."""
    model = sx.KernelSVM().fit(sp.csr_array(X), Y)
    starts = model.support_vectors_.indptr.copy()
    for change in (
        {"indptr": np.where(np.arange(len(starts)) < len(starts) // 2, starts, starts[::-1])},
        {"indptr": starts[1:]},
        {"indptr": starts + 1},
        {"indices": model.support_vectors_.indices + 4},
        {"indices": model.support_vectors_.indices - 1},
        {"data": model.support_vectors_.data[1:]},
        {"data": model.support_vectors_.data.astype(np.int64)},
    ):
        packer = Packer()
        rows = model.support_vectors_
        parts = [
            packer.pack(change.get(name, getattr(rows, name)), name)
            for name in ("data", "indices", "indptr")
        ]
        plain = {"is": "sparse", "of": "csr_array", "shape": list(rows.shape), "parts": parts}
        with pytest.raises(sx.ModelFileError, match="sparse rows"):
            Unpacker(packer.arrays).unpack(plain)


def test_a_pipeline_of_no_estimators_is_refused():
    whole = to_bytes(make_pipeline(sx.lift.Polynomial(), sx.LinearSVM()).fit(X, Y))
    for steps in ([], 5, [["a", 1]], [{"is": "tuple", "items": ["a", 5]}]):
        with pytest.raises(sx.ModelFileError, match="steps are no estimators"):
            from_bytes(forged(whole, lambda h, steps=steps: h["parameters"].update(steps=steps)))


def test_what_cannot_be_kept_is_refused_before_anything_is_written(tmp_path):
    from sklearn.svm import LinearSVC

    path = tmp_path / "model.sx"
    path.write_bytes(b"old")
    rows, labels = [[0.0], [1.0]], [0, 1]
    for model, words in [
        (LinearSVC().fit(rows, labels), "cannot be saved"),
        (sx.LinearSVM(), "not fitted"),
        (sx.LinearSVM(random_state=np.random.RandomState(0)).fit(rows, labels), "RandomState"),
        (sx.KernelSVM(kernel=lambda A, B: A @ B.T).fit(rows, labels), "holds no code"),
        (sx.OneVsRest(LinearSVC()).fit(rows, labels), "LinearSVC of sklearn cannot be saved"),
        (sx.lift.Polynomial(101).fit(rows), "at most 100"),
        (sx.lift.Polynomial(), "not fitted"),
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
