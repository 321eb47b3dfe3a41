"""Probabilities of LIBSVM's files (``svm-train -b 1``), and files of a single class."""

import warnings
from itertools import permutations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from tests.naive.peer_models import libsvm_coupled

import separatrix as sx
from separatrix.storage.libsvm_model import coupled
from separatrix.storage.model_file import from_bytes, to_bytes

X, CODES = load_iris(return_X_y=True)
PATH = "svm.model"


def written_by_svc(path, rows, codes, labels):
    """Write the model inside scikit-learn's SVC as LIBSVM would, with these labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svc = SVC(gamma=0.3, probability=True, random_state=0).fit(rows, codes)
    texts = ["svm_type c_svc", "kernel_type rbf", "gamma 0.3", f"nr_class {len(labels)}"]
    texts.append(f"total_sv {len(svc.support_)}")
    for word, values in {
        "rho": -svc._intercept_,
        "label": labels,
        "probA": svc._probA,
        "probB": svc._probB,
        "nr_sv": svc.n_support_,
    }.items():
        texts.append(f"{word} {' '.join(repr(value) for value in np.asarray(values).tolist())}")
    texts.append("SV")
    for shares, row in zip(svc._dual_coef_.T, svc.support_vectors_, strict=True):
        pairs = [f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist())]
        texts.append(" ".join([*map(repr, shares.tolist()), *pairs]))
    path.write_text("\n".join(texts) + "\n")
    return svc


@pytest.mark.parametrize("labels", [(0, 1), (1, 0)])
def test_two_classes_are_as_in_libsvm(labels, tmp_path):
    rows, codes = X[CODES > 0], CODES[CODES > 0] - 1
    svc = written_by_svc(tmp_path / PATH, rows, codes, labels)
    model = sx.exchange.read_libsvm_model(tmp_path / PATH, 4)
    # scikit-learn's older LIBSVM couples two classes too, to within its tolerance of 0.005 / 2.
    near = svc.predict_proba(rows)[:, np.argsort(labels)]
    found = model.predict_proba(rows)
    np.testing.assert_allclose(found, near, atol=0.005)
    scores = -svc.decision_function(rows)  # scikit-learn turns the sign of two classes
    first = 1.0 / (1.0 + np.exp(svc._probA[0] * scores + svc._probB[0]))
    np.testing.assert_allclose(found[:, labels[0]], np.clip(first, 1e-7, 1 - 1e-7), atol=1e-9)
    np.testing.assert_array_equal(model.predict_log_proba(rows), np.log(found))


@pytest.mark.parametrize("labels", list(permutations(range(3))))
def test_several_classes_are_coupled_as_in_libsvm(labels, tmp_path):
    svc = written_by_svc(tmp_path / PATH, X, CODES, labels)
    model = sx.exchange.read_libsvm_model(tmp_path / PATH, 4)
    want = svc.predict_proba(X)[:, np.argsort(labels)]
    np.testing.assert_allclose(model.predict_proba(X), want, atol=1e-9)
    again = from_bytes(to_bytes(model)).model
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    sx.exchange.write_libsvm_model(model, tmp_path / "again")
    twice = sx.exchange.read_libsvm_model(tmp_path / "again", 4)
    np.testing.assert_allclose(twice.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_two_classes_are_written_with_their_sigmoid(tmp_path):
    rows, codes = X[CODES > 0], CODES[CODES > 0] - 1
    for labels in ((0, 1), (1, 0)):
        written_by_svc(tmp_path / PATH, rows, codes, labels)
        model = sx.exchange.read_libsvm_model(tmp_path / PATH, 4)
        sx.exchange.write_libsvm_model(model, tmp_path / "again")
        twice = sx.exchange.read_libsvm_model(tmp_path / "again", 4)
        np.testing.assert_allclose(twice.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize("k", [3, 5])
def test_coupling_is_that_of_libsvm_line_by_line(k):
    shares = np.random.default_rng(k).uniform(1e-7, 1.0 - 1e-7, (20, k * (k - 1) // 2))
    for row, found in zip(shares, coupled(shares, k), strict=True):
        r = [[0.0] * k for _ in range(k)]
        pair = 0
        for i in range(k):
            for j in range(i + 1, k):
                r[i][j], r[j][i] = row[pair], 1.0 - row[pair]
                pair += 1
        np.testing.assert_allclose(found, libsvm_coupled(r), atol=1e-12)


def test_without_sigmoids_there_are_no_probabilities(tmp_path):
    sx.exchange.write_libsvm_model(sx.KernelSVM().fit(X, CODES), tmp_path / PATH)
    model = sx.exchange.read_libsvm_model(tmp_path / PATH, 4)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="-b 1"):
        model.predict_proba(X)


def test_one_sigmoid_of_two_is_refused(tmp_path):
    written_by_svc(tmp_path / PATH, X, CODES, (0, 1, 2))
    text = (tmp_path / PATH).read_text()
    lines = [line for line in text.splitlines() if not line.startswith("probB")]
    (tmp_path / PATH).write_text("\n".join(lines) + "\n")
    with pytest.raises(sx.ModelFileError, match="3 values of probB"):
        sx.exchange.read_libsvm_model(tmp_path / PATH, 4)


LIBLINEAR = "solver_type L2R_LR\nnr_class 1\nlabel 7\nnr_feature 2\nbias -1\nw\n0.5 \n-1 \n"
LIBSVM = "svm_type c_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nrho\nlabel 7\nnr_sv 0\nSV\n"


@pytest.mark.parametrize("text", [LIBLINEAR, LIBSVM], ids=["liblinear", "libsvm"])
def test_a_file_of_one_class_is_refused_in_words(text, tmp_path):
    path = tmp_path / PATH
    path.write_text(text)
    with pytest.raises(sx.ModelFileError, match="trained on one class"):
        sx.exchange.read(path)
