"""What a file cannot hold, or holds wrongly: every refusal of the formats, in plain words."""

import json
import struct
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from fuzz.model_files import joined, parts, sealed
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import separatrix as sx
from separatrix.data.encodings.encoding import IndexEncoding, TableEncoding
from separatrix.storage import liblinear_model
from separatrix.storage.model_checks import require_spreads
from separatrix.storage.model_file import MAGIC, ModelFile, from_bytes, to_bytes, unseal
from separatrix.storage.model_proof import prove_model
from separatrix.storage.model_summary import defused, describe, lines
from separatrix.storage.sklearn_model import to_sklearn

X = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 2.0], [4.0, 3.5], [0.5, 4.0], [1.5, 5.0]])
TWO, THREE = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])


def dot(rows, others):
    return rows @ others.T


@pytest.fixture(scope="module")
def linear():
    return sx.LinearSVM().fit(X, TWO)


@pytest.fixture(scope="module")
def kernel():
    return sx.KernelSVM().fit(X, TWO)


# ---- model.sx


def test_a_file_of_another_kind():
    with pytest.raises(sx.ModelFileError, match="not a file of the kind"):
        unseal(MAGIC, b"something else")


def test_a_header_longer_than_the_file():
    with pytest.raises(sx.ModelFileError, match="longer than the file"):
        from_bytes(sealed(struct.pack("<Q", 2**60)))


def test_a_header_that_is_no_table(linear):
    _, arrays = parts(to_bytes(linear))
    with pytest.raises(sx.ModelFileError, match="no table of names"):
        from_bytes(joined([1, 2], arrays))


def test_spreads_that_are_no_numbers():
    require_spreads(None, 2)
    require_spreads(np.ones(2), 2)
    with pytest.raises(sx.ModelFileError, match="one standard deviation a feature"):
        require_spreads(np.ones(3), 2)
    with pytest.raises(sx.ModelFileError, match="no numbers"):
        require_spreads(np.ones(2, dtype=np.int64), 2)


def test_a_wide_lift_of_few_products_is_no_claim_without_arrays():
    wide = sx.lift.Polynomial(1).fit(sp.csr_array((2, (1 << 20) + 5)))
    assert from_bytes(to_bytes(wide)).model.n_features_in_ == (1 << 20) + 5


def test_a_model_that_gives_too_few_rows_or_nothing(linear, monkeypatch):
    contents = to_bytes(linear)
    monkeypatch.setattr(sx.LinearSVM, "predict", lambda self, X: np.zeros(3))
    with pytest.raises(sx.ModelFileError, match="do not fit together"):
        from_bytes(contents)

    def fail(self, X):
        raise RuntimeError("no row for me")

    monkeypatch.setattr(sx.LinearSVM, "predict", fail)
    with pytest.raises(sx.ModelFileError, match="fit together: no row for me"):
        from_bytes(contents)
    monkeypatch.setattr("separatrix.storage.model_checks._METHODS", ())
    with pytest.raises(sx.ModelFileError, match="neither predicts nor lifts"):
        from_bytes(contents)


def test_values_of_a_type_that_is_not_held(linear):
    odd = sx.LinearSVM().fit(X, TWO)
    odd.extra_ = np.ones(2, dtype=np.complex128)
    with pytest.raises(sx.ModelFileError, match="complex128"):
        to_bytes(odd)
    header, arrays = parts(to_bytes(linear))
    (length,) = struct.unpack_from("<Q", arrays)
    table = json.loads(arrays[8 : 8 + length])
    name = header["fitted"]["coef_"]["number"]
    table[name]["dtype"], table[name]["shape"] = "U64", [1, 2]
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    with pytest.raises(sx.ModelFileError, match="array of type uint64"):
        from_bytes(joined(header, struct.pack("<Q", len(text)) + text + arrays[8 + length :]))


def test_a_path_without_its_choice():
    path = sx.LinearSVMCV([0.1, 1.0], cv=2).fit(X, TWO)
    header, arrays = parts(to_bytes(path))
    found = [key for key, value in header["fitted"].items() if _is_path(value)]
    header["fitted"][found[0]]["rest"][0] = 7
    with pytest.raises(sx.ModelFileError, match="path without its choice"):
        from_bytes(joined(header, arrays))


def _is_path(value):
    return isinstance(value, dict) and value.get("is") == "path"


def test_shares_that_are_not_those_proved(kernel):
    assert prove_model(kernel, X, TWO)[0]
    more = from_bytes(to_bytes(kernel)).model
    more.dual_coef_ = np.vstack([more.dual_coef_, more.dual_coef_])
    assert not prove_model(more, X, TWO)[0]
    given = sx.KernelSVM(kernel="precomputed").fit(X @ X.T, TWO)
    assert prove_model(given, X @ X.T, TWO)[0]


# ---- what is told of a file


def test_what_is_told_of_a_lift_and_of_many_classes(tmp_path):
    path = tmp_path / "model.sx"
    lift = sx.lift.Polynomial(2).fit(X)
    sx.save(lift, path)
    told = describe(ModelFile(lift), str(path))
    assert told["classes"] is None
    assert told["heaviest"] == {}
    assert "no proof" in lines(told)
    many = sx.LeastSquares().fit(np.eye(13), np.arange(13))
    sx.save(many, path)
    assert any("and 3 more" in line for line in lines(describe(ModelFile(many), str(path))))


def test_what_is_told_of_pairs_rows_and_odds(tmp_path, kernel):
    path = tmp_path / "model.sx"
    each = sx.OneVsRest(sx.LogisticRegression()).fit(X, THREE)
    sx.save(each, path)
    said = "\n".join(lines(describe(ModelFile(each), str(path))))
    assert "3 certificates, one a model" in said
    odds = sx.LogisticRegression().fit(X, TWO)
    whole = ModelFile(odds, spreads=np.array([1.0, 2.0]))
    said = "\n".join(lines(describe(whole, str(path))))
    assert "a standard deviation, odds times" in said
    sx.save(kernel, path)
    about = {"source": "rows.csv", "data_sha256": "ab" * 32}
    whole = ModelFile(kernel, rows=np.arange(6), about=about)
    said = "\n".join(lines(describe(whole, str(path))))
    assert "support vectors" in said
    assert "trained on rows.csv (SHA-256 abababababab...), 6 of its rows" in said


def test_a_column_of_words_counts_where_it_is_so(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("job,age,y\ncook,1,a\nclerk,2,b\ncook,3,a\nclerk,4,b\n")
    read = sx.read(table)
    assert isinstance(read.encoding, TableEncoding)
    model = sx.LinearSVM().fit(read.X, read.y)
    path = tmp_path / "model.sx"
    sx.save(model, path, table=read)
    said = "\n".join(lines(describe(ModelFile(model, read.encoding), str(path))))
    assert "where it is so" in said
    assert "next: separatrix predict" in said


# ---- other formats


def test_a_format_that_is_none(linear, tmp_path):
    with pytest.raises(ValueError, match="The format must be one of sx, liblinear"):
        sx.exchange.write(ModelFile(linear), tmp_path / "m", "pmml")
    sx.exchange.write(ModelFile(linear, feature_names=("a", "b")), tmp_path / "w.csv", "csv")
    assert "a" in (tmp_path / "w.csv").read_text()


def test_weights_that_are_not_finite_are_not_liblinears(tmp_path):
    odd = sx.LinearSVM().fit(X, TWO)
    odd.coef_ = odd.coef_ * np.inf
    with pytest.raises(ValueError, match="finite weights only"):
        sx.exchange.write_liblinear(odd, tmp_path / "m")


def test_names_of_features_in_a_csv(linear, tmp_path):
    path = tmp_path / "w.csv"
    sx.exchange.write_coefficients(linear, path)
    assert [line.split(",")[0] for line in path.read_text().splitlines()[1:]] != []
    with pytest.raises(ValueError, match="2"):
        sx.exchange.write_coefficients(linear, path, ["only one"])


def test_a_support_vector_with_too_few_coefficients(tmp_path):
    path = tmp_path / "m"
    sx.exchange.write_libsvm_model(sx.KernelSVM().fit(X, THREE), path)
    text = path.read_text()
    path.write_text(text + "0.5\n")
    cut = path.read_text().replace("total_sv 6", "total_sv 7").replace("nr_sv 2 2 2", "nr_sv 2 2 3")
    path.write_text(cut)
    with pytest.raises(sx.ModelFileError, match="too few coefficients"):
        sx.exchange.read_libsvm_model(path)


def test_a_head_that_does_not_end(tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_text("solver_type L2R_LR\n" + "nr_class 2\n" * 90)
    with pytest.raises(sx.ModelFileError, match="head"):
        sx.exchange.read_liblinear(path)
    path.write_text("\n".join(f"word{k} 2" for k in range(90)))
    with pytest.raises(sx.ModelFileError, match="does not end"):
        liblinear_model.read_head(path, "w")
    monkeypatch.setattr(liblinear_model, "_MOST_BYTES", 10)
    with pytest.raises(sx.ModelFileError, match="larger than any model"):
        liblinear_model.read_head(path, "w")


@pytest.mark.parametrize("text", ["--2", "2.5", "", "99999999999", "٣", "-1", "3000000000"])
def test_whole_numbers_that_are_none(text):
    with pytest.raises(sx.ModelFileError, match="whole number"):
        liblinear_model._whole(text, "nr_class", 0)


def test_a_kernel_that_is_a_function_has_no_other_form(tmp_path):
    own = sx.KernelSVM(kernel=dot).fit(X, TWO)
    with pytest.raises(ValueError, match=r"sklearn\.svm\.SVC"):
        to_sklearn(own)
    rows = make_pipeline(sx.lift.Nystrom(3, kernel=dot, random_state=0), sx.LinearSVM())
    rows.fit(X, TWO)
    with pytest.raises(ValueError, match="Nystroem itself"):
        to_sklearn(rows)
    with pytest.raises(ValueError, match="holds no code"):
        sx.exchange.to_onnx(rows)


def test_machines_of_libsvm_elsewhere(tmp_path):
    path = tmp_path / "m"
    sx.exchange.write_libsvm_model(sx.KernelSVM().fit(X, THREE), path)
    machine = sx.exchange.read_libsvm_model(path)
    with pytest.raises(ValueError, match="another order"):
        to_sklearn(machine)


def test_lifts_alone_and_steps_without_a_counterpart():
    lift = sx.lift.Polynomial(2).fit(X)
    np.testing.assert_allclose(to_sklearn(lift).transform(X), lift.transform(X))
    stranger = type("Stranger", (), {"transform": lambda self, X: X, "n_features_in_": 2})()
    with pytest.raises(ValueError, match="no counterpart"):
        to_sklearn(stranger)
    linear_rows = make_pipeline(
        sx.lift.Nystrom(3, kernel="linear", random_state=0), sx.LinearSVM()
    ).fit(X, TWO)
    assert (to_sklearn(linear_rows).predict(X) == linear_rows.predict(X)).all()


def test_texts_that_no_spreadsheet_runs():
    assert [defused(text) for text in ("=1", " +x", "-2", "name")] == ["'=1", "' +x", "-2", "name"]


# ---- ONNX


def test_steps_that_have_no_form_in_onnx(monkeypatch, linear):
    with pytest.raises(ValueError, match="PCA has no form"):
        sx.exchange.to_onnx(make_pipeline(PCA(1), sx.LinearSVM()).fit(X, TWO))
    products = make_pipeline(sx.lift.Polynomial(2), sx.LinearSVM()).fit(X, TWO)
    monkeypatch.setattr("separatrix.storage.onnx_model._MOST_PRODUCTS", 3)
    with pytest.raises(ValueError, match="too many for an ONNX graph"):
        sx.exchange.to_onnx(products)


def test_onnx_that_is_not_there(monkeypatch, linear):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ValueError, match="ONNX is not installed"):
        sx.exchange.to_onnx(linear)


def test_forms_of_onnx_that_are_rare():
    from tests.storage.test_onnx_model import require_the_same

    few = make_pipeline(sx.lift.Polynomial(5, interaction_only=True), sx.LinearSVM()).fit(X, TWO)
    rows = make_pipeline(sx.lift.Nystrom(3, kernel="linear", random_state=0), sx.LinearSVM()).fit(
        X, TWO
    )
    against = sx.OneVsRest(sx.LogisticRegression()).fit(X, THREE)
    pairs = sx.LogisticRegression(multi_class="ovo").fit(X, THREE)
    plug_in = sx.GaussianPlugIn().fit(X, THREE)
    two = sx.OneVsRest(sx.LogisticRegression()).fit(X, TWO)
    for model in (
        two,
        few,
        rows,
        against,
        pairs,
        plug_in,
        sx.KernelSVM(kernel="linear").fit(X, THREE),
    ):
        require_the_same(model, X)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_machines_of_libsvm_in_onnx(kernel, tmp_path):
    from tests.storage.test_onnx_model import require_the_same

    path = tmp_path / "m"
    for labels in (TWO, THREE):
        sx.exchange.write_libsvm_model(sx.KernelSVM(kernel=kernel).fit(X, labels), path)
        require_the_same(sx.exchange.read_libsvm_model(path), X)
    assert sx.exchange.to_onnx(sx.LinearSVM().fit(X, TWO)).metadata_props[0].key == "made_by"


def test_products_of_kernels_and_numbered_features_in_scikit_learn(linear):
    rows = make_pipeline(
        sx.lift.Nystrom(3, kernel="poly", degree=2, random_state=0), sx.LinearSVM()
    ).fit(X, TWO)
    assert (to_sklearn(rows).predict(X) == rows.predict(X)).all()
    assert (to_sklearn(linear, IndexEncoding(2, 1)).predict(X) == linear.predict(X)).all()


def test_an_encoding_that_scikit_learn_has_not(linear):
    strange = types.SimpleNamespace(feature_names=("a", "b"))
    with pytest.raises(ValueError, match="scikit-learn"):
        to_sklearn(linear, encoding=strange)
