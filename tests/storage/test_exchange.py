"""Models to and from LIBLINEAR, LIBSVM, scikit-learn and spreadsheets."""

import csv
import json
import random
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from fuzz.reading import mutate
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from tests import optional
from tests.amounts import cases
from tests.cli.command import separatrix as run
from tests.naive.peer_models import liblinear_predictions, libsvm_predictions
from tests.optional import shared_file
from tests.storage.test_model_file import MODELS, fitted

import separatrix as sx
from separatrix.core.explanation import linear_form
from separatrix.storage.model_file import from_bytes, to_bytes

IRIS = load_iris()
X, CODES = IRIS.data, IRIS.target
TWO = CODES != 2
LINEAR = {
    "svm": sx.LinearSVM(),
    "direct": sx.LinearSVM(multi_class="direct"),
    "logistic": sx.LogisticRegression(),
    "squares": sx.LeastSquares(),
    "fisher": sx.Fisher(),
    "plug-in": sx.GaussianPlugIn(),
    "wrapper": sx.OneVsRest(sx.Perceptron(max_updates=200)),
    "scaled": make_pipeline(StandardScaler(), MinMaxScaler(), sx.LinearSVM(loss="squared_hinge")),
    "no intercept": sx.LinearSVM(fit_intercept=False),
}
KERNELS = {
    "linear": sx.KernelSVM(kernel="linear"),
    "poly": sx.KernelSVM(kernel="poly", degree=2, coef0=1.0, gamma=0.1),
    "rbf": sx.KernelSVM(),
    "sigmoid": sx.KernelSVM(kernel="sigmoid", gamma=0.01),
    "sparse": sx.KernelSVM(gamma=0.2),
}


def quiet_fit(model, rows, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, labels)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("rows", [TWO, slice(None)], ids=["two", "three"])
def test_liblinear_written_and_read(name, rows, tmp_path):
    model, path = quiet_fit(LINEAR[name], X[rows], CODES[rows]), tmp_path / "m.model"
    sx.exchange.write_liblinear(model, path)
    assert liblinear_predictions(path, X[rows].tolist()) == model.predict(X[rows]).tolist()
    again = sx.exchange.read_liblinear(path)
    assert (again.predict(X[rows]) == model.predict(X[rows])).all()
    twice = tmp_path / "again.model"
    sx.exchange.write_liblinear(again, twice)
    assert liblinear_predictions(twice, X[rows].tolist()) == model.predict(X[rows]).tolist()
    assert (from_bytes(to_bytes(again)).model.predict(X) == again.predict(X)).all()
    assert again.certificate_ is None
    assert "read" in str(again)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("rows", [TWO, slice(None)], ids=["two", "three"])
def test_libsvm_written_and_read(name, rows, tmp_path):
    data = sp.csr_array(X) if name == "sparse" else X
    model, path = quiet_fit(KERNELS[name], data[rows], CODES[rows]), tmp_path / "m.model"
    sx.exchange.write_libsvm_model(model, path)
    told = np.array(libsvm_predictions(path, X[rows].tolist()))
    again = sx.exchange.read_libsvm_model(path, 4)
    assert (again.predict(data[rows]) == told).all()
    votes = np.sort(np.floor(model.decision_function(data[rows]).reshape(len(told), -1) + 0.4))
    tied = votes[:, -1] == votes[:, -2] if votes.shape[1] > 2 else np.zeros(len(told), bool)
    assert (told == model.predict(data[rows]))[~tied].all()
    twice = tmp_path / "again.model"
    sx.exchange.write_libsvm_model(again, twice)
    assert libsvm_predictions(twice, X[rows].tolist()) == told.tolist()
    assert (from_bytes(to_bytes(again)).model.predict(X) == again.predict(X)).all()


def test_a_linear_machine_as_one_support_vector(tmp_path):
    model, path = sx.LinearSVM().fit(X[TWO], CODES[TWO]), tmp_path / "m.model"
    sx.exchange.write_libsvm_model(model, path)
    assert libsvm_predictions(path, X[TWO].tolist()) == model.predict(X[TWO]).tolist()
    with pytest.raises(ValueError, match="several classes"):
        sx.exchange.write_libsvm_model(sx.LinearSVM().fit(X, CODES), path)


def test_liblinears_own_program_agrees_on_heart_and_a9a(tmp_path):
    peer = optional.peer("liblinear.liblinearutil")
    path = tmp_path / "m.model"
    for name in ("heart_scale.libsvm", "a9a.t.libsvm"):
        table = sx.read(shared_file(name))
        part = table.X[:4000], table.y[:4000]
        ours = sx.LinearSVM(tol=1e-2).fit(*part)
        sx.exchange.write_liblinear(ours, path)
        rows = sp.csr_matrix(table.X)
        told, _, scores = peer.predict([], rows, peer.load_model(str(path)), "-q")
        assert (np.array(told) == ours.predict(table.X)).all()
        np.testing.assert_allclose(np.ravel(scores), ours.decision_function(table.X), atol=1e-12)
        for solver in (0, 1, 4, 5):
            machine = peer.train(part[1].tolist(), sp.csr_matrix(part[0]), f"-s {solver} -B 1 -q")
            peer.save_model(str(path), machine)
            read = sx.exchange.read_liblinear(path)
            told, _, _ = peer.predict([], rows, machine, "-q")
            assert (np.array(told) == read.predict(table.X[:, : read.n_features_in_])).all()


def test_libsvms_own_program_agrees_on_heart(tmp_path):
    peer = optional.peer("libsvm.svmutil")
    table, path = sx.read(shared_file("heart_scale.libsvm")), tmp_path / "m.model"
    rows = sp.csr_matrix(table.X)
    for number, kernel in enumerate(("linear", "poly", "rbf", "sigmoid")):
        ours = quiet_fit(sx.KernelSVM(kernel=kernel, gamma=0.05, coef0=0.5), table.X, table.y)
        sx.exchange.write_libsvm_model(ours, path)
        told, _, _ = peer.svm_predict([], rows, peer.svm_load_model(str(path)), "-q")
        assert (np.array(told) == ours.predict(table.X)).all()
        machine = peer.svm_train(table.y.tolist(), rows, f"-t {number} -r 0.5 -g 0.05 -q")
        peer.svm_save_model(str(path), machine)
        told, _, scores = peer.svm_predict([], rows, machine, "-q")
        read = sx.exchange.read_libsvm_model(path, table.X.shape[1])
        assert (read.predict(table.X) == np.array(told)).all()
        np.testing.assert_allclose(read.decision_function(table.X), np.ravel(scores), atol=1e-9)


def test_classes_that_are_no_whole_numbers_are_refused_or_numbered(tmp_path):
    path = tmp_path / "m.model"
    model = sx.LinearSVM().fit(X[TWO], IRIS.target_names[CODES[TWO]])
    with pytest.raises(ValueError, match="'setosa' is not a whole number"):
        sx.exchange.write_liblinear(model, path)
    assert not path.exists()
    sx.exchange.write_liblinear(model, path, number_classes=True)
    assert liblinear_predictions(path, X[TWO].tolist()) == CODES[TWO].tolist()
    with pytest.raises(ValueError, match="Two classes are the same"):
        sx.exchange.write_liblinear(
            sx.LinearSVM().fit(X[TWO], np.where(CODES[TWO], "1", "1.0")), path
        )


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sx.LinearSVM(multi_class="ovo"), "vote"),
        (sx.KernelSVM(), "no weights for the features"),
        (make_pipeline(sx.lift.Polynomial(), sx.LinearSVM()), "linear in what it makes"),
        (sx.GaussianPlugIn(covariance="full"), "does not decide by"),
        (sx.lift.Polynomial(), "does not classify"),
    ],
)
def test_what_liblinear_cannot_say_is_refused(model, words, tmp_path):
    model = quiet_fit(model, X, CODES)
    with pytest.raises(ValueError, match=words):
        sx.exchange.write_liblinear(model, tmp_path / "m.model")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sx.KernelSVM(multi_class="ovr"), "each class against each"),
        (sx.KernelSVM(kernel=lambda A, B: A @ B.T), "hold no code"),
    ],
)
def test_what_libsvm_cannot_say_is_refused(model, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        sx.exchange.write_libsvm_model(quiet_fit(model, X, CODES), tmp_path / "m.model")


def test_precomputed_kernels_name_their_rows(tmp_path):
    path = tmp_path / "m.model"
    model = sx.KernelSVM(kernel="precomputed").fit(X[TWO] @ X[TWO].T, CODES[TWO])
    sx.exchange.write_libsvm_model(model, path)
    named = [line.split()[-1] for line in path.read_text().split("SV\n")[1].splitlines()]
    assert sorted(named) == sorted(f"0:{row + 1}" for row in model.support_)
    with pytest.raises(sx.ModelFileError, match="precomputed"):
        sx.exchange.read_libsvm_model(path)


LIBLINEAR = "solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias 1\nw\n0.5 \n-1 \n2 \n"
LIBSVM = (
    "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 1 -1\n"
    "nr_sv 1 1\nSV\n0.5 1:1 2:2 \n-0.5 2:1 \n"
)


@pytest.mark.parametrize("text", [LIBLINEAR, LIBSVM], ids=["liblinear", "libsvm"])
def test_mutated_files_of_peers_are_read_or_refused(text, tmp_path):
    path, draw = tmp_path / "m.model", random.Random(5)
    outcomes = set()
    for _ in cases(3000):
        path.write_bytes(mutate(text.encode(), draw, words=True))
        try:
            whole = sx.exchange.read(path)
            whole.model.predict(np.zeros((1, whole.model.n_features_in_)))
            outcomes.add("read")
        except sx.ModelFileError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("L2R_LR", "L2R_L2LOSS_SVR", "no classifier"),
        ("nr_feature 2", "nr_feature 2000000000", "weights"),
        ("nr_feature 2", "nr_feature 9999999999999", "whole number"),
        ("nr_class 2", "nr_class 3", "values of label"),
        ("label 1 -1", "label 1 1", "labels"),
        ("0.5", "nan", "finite"),
        ("0.5", "x", "must be numbers"),
        ("bias 1", "bias 1\nbias 1", "twice"),
        ("\nw\n", "\nv\n", "does not end"),
    ],
)
def test_faults_of_a_liblinear_file(old, new, words, tmp_path):
    path = tmp_path / "m.model"
    path.write_text(LIBLINEAR.replace(old, new, 1))
    with pytest.raises(sx.ModelFileError, match=words):
        sx.exchange.read_liblinear(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("c_svc", "epsilon_svr", "no classifier"),
        ("rbf", "precomputed", "precomputed"),
        ("total_sv 2", "total_sv 3", "support vectors"),
        ("nr_sv 1 1", "nr_sv 2 1", "counted"),
        ("gamma 0.5", "gamma -1", "gamma"),
        ("1:1 2:2", "2:1 1:2", "ascend"),
        ("1:1 2:2", "1-1", "pairs"),
        ("1:1 2:2", "3000000000:2", "ascend"),
        ("-0.5 2:1", "", "support vectors"),
        ("-0.5 2:1", "2:1", "numbers"),
    ],
)
def test_faults_of_a_libsvm_file(old, new, words, tmp_path):
    path = tmp_path / "m.model"
    path.write_text(LIBSVM.replace(old, new, 1))
    with pytest.raises(sx.ModelFileError, match=words):
        sx.exchange.read_libsvm_model(path)


def test_a_narrower_width_than_the_support_vectors_is_refused(tmp_path):
    path = tmp_path / "m.model"
    path.write_text(LIBSVM)
    with pytest.raises(sx.ModelFileError, match="more than 1"):
        sx.exchange.read_libsvm_model(path, 1)
    assert sx.exchange.read_libsvm_model(path, 9).n_features_in_ == 9


# ---- scikit-learn


@pytest.mark.parametrize("name", [name for name in MODELS if name != "plug-in, full"])
def test_scikit_learn_predicts_the_same(name):
    model, rows, _ = fitted(name)
    plain = sx.to_sklearn(model)
    assert type(plain).__module__.startswith("sklearn.")
    assert (plain.predict(rows) == model.predict(rows)).all()
    if hasattr(plain, "predict_proba") and hasattr(model, "predict_proba"):
        np.testing.assert_allclose(plain.predict_proba(rows), model.predict_proba(rows), atol=1e-12)


def test_texts_become_a_pipeline_of_scikit_learn(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a good film, Été\t1\nnot a good film\t0\nthe best of all\t1\ndull & long\t0\n")
    for options in ({"weighting": "tfidf"}, {"ngrams": (1, 2)}, {"weighting": "binary"}):
        table = sx.read(path, **options)
        model = sx.LogisticRegression().fit(table.X, table.y)
        plain = sx.to_sklearn(model, table.encoding)
        np.testing.assert_allclose(
            plain.predict_proba(table.texts), model.predict_proba(table.X), atol=1e-12
        )
    hashed = sx.read(path, hashing=16)
    model = sx.LogisticRegression().fit(hashed.X, hashed.y)
    with pytest.raises(ValueError, match="hashed otherwise"):
        sx.to_sklearn(model, hashed.encoding)
    table = tmp_path / "table.csv"
    table.write_text("a,y\n1,0\n2,1\n")
    read = sx.read(table, target="y")
    with pytest.raises(ValueError, match="no plain form"):
        sx.to_sklearn(sx.LinearSVM().fit(read.X, read.y), read.encoding)


# ---- the command and the spreadsheet


def test_weights_as_csv_hold_no_formula(tmp_path):
    path = tmp_path / "w.csv"
    names = ["=1+1", "@SUM(A1)", "age", "-x"]
    sx.exchange.write_coefficients(sx.LinearSVM(multi_class="ovo").fit(X, CODES), path, names)
    rows = list(csv.reader(path.read_text().splitlines()))
    assert rows[0][1] == "weight for 1 against 0"
    assert [row[0] for row in rows[1:]] == ["(intercept)", "'=1+1", "'@SUM(A1)", "age", "'-x"]
    assert all(float(cell) or True for row in rows[1:] for cell in row[1:])
    with pytest.raises(ValueError, match="but 2 names"):
        sx.exchange.write_coefficients(sx.LinearSVM().fit(X, CODES), path, ["a", "b"])


@pytest.fixture
def numbers(tmp_path):
    path, model = tmp_path / "data.csv", tmp_path / "model.sx"
    lines = ["a,b,c,d,kind"]
    lines += [",".join(map(str, [*row, code])) for row, code in zip(X, CODES, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    table = sx.read(path, target="kind")
    sx.save(sx.LinearSVM().fit(table.X, table.y), model, table=table)
    return model


def test_export_and_back(numbers, tmp_path):
    want = sx.load(numbers).predict(X)
    for to in ("liblinear", "csv", "sx", "onnx"):
        out = tmp_path / f"out.{to}"
        done = run("export", numbers, "-o", out, "--to", to)
        assert done.returncode == 0, done.stderr
        assert "4 features" in done.stdout
    assert liblinear_predictions(tmp_path / "out.liblinear", X.tolist()) == want.tolist()
    assert (tmp_path / "out.sx").read_bytes() == numbers.read_bytes()
    back = run("export", tmp_path / "out.liblinear", "-o", tmp_path / "back.sx", "--json")
    assert json.loads(back.stdout)["to"] == "sx"
    assert (sx.load(tmp_path / "back.sx").predict(X) == want).all()
    assert run("export", numbers, "-o", tmp_path / "x.odd").returncode == 2
    assert run("export", numbers, "-o", tmp_path / "x.m", "--to", "libsvm").returncode == 2
    odd = tmp_path / "odd.model"
    odd.write_text("nothing\n")
    assert run("export", odd, "-o", tmp_path / "x.sx").returncode == 3


def test_models_of_texts_are_exported_for_features_only(tmp_path):
    data, model = tmp_path / "texts.txt", tmp_path / "model.sx"
    data.write_text(
        "a good film\tgood\nnot a good film\tbad\nthe best of all\tgood\ndull now\tbad\n"
    )
    assert run("fit", data, "-o", model, "--loss", "logistic").returncode == 0
    refused = run("export", model, "-o", tmp_path / "m.onnx")
    assert refused.returncode == 2
    assert "makes its features from texts" in refused.stderr
    assert run("export", model, "-o", tmp_path / "m.onnx", "--features").returncode == 0
    told = run("export", model, "-o", tmp_path / "m.ll", "--to", "liblinear", "--features",
               "--number-classes")  # fmt: skip
    assert told.stdout.splitlines()[1:] == ["class 0: bad", "class 1: good"]


def test_scaling_is_folded_into_the_weights():
    halves = (StandardScaler(with_mean=False), StandardScaler(with_std=False))
    for scaler in (StandardScaler(), *halves, MinMaxScaler((-1, 2)), MaxAbsScaler()):
        model = make_pipeline(scaler, sx.LogisticRegression()).fit(X, CODES)
        form = linear_form(model)
        np.testing.assert_allclose(
            X @ form.weights.T + form.intercepts, model.decision_function(X), atol=1e-10
        )
