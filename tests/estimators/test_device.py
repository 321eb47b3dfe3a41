"""The machines on tensors: the answers, proofs and refusals of the processor's solvers."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import ALL, cases
from tests.optional import shared_file
from tests.problems import KINDS, problem
from tests.torch_problems import CPU, torch

import separatrix as sx
import separatrix._device as device
import separatrix.estimators._validate as placing
from separatrix._compiled import is_interpreted
from separatrix.errors import DataError, DeviceError
from separatrix.problem import device_rows
from separatrix.solvers.linear.device.device_point import Scaled

LOSSES = ["hinge", "squared_hinge", "logistic"]


def made(loss, **settings):
    if loss == "logistic":
        return sx.LogisticRegression(multi_class="ovr", **settings)
    return sx.LinearSVM(loss=loss, **settings)


def clouds(n=200, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, classes)) + 0.7 * rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1)


def agrees(loss, X, y, rtol=1e-6, **settings):
    """Fit both ways; the same objective, the same predictions off ties, and proofs of both."""
    here = made(loss, **settings).fit(X, y)
    there = made(loss, **settings).fit(torch.as_tensor(X), y)
    assert there.status_ == "optimal"
    assert_allclose(there.objective_, here.objective_, rtol=rtol)
    assert there.certificate_.check(X, y)
    scores, others = here.decision_function(X), there.decision_function(X)
    sizes = np.abs(scores).max() + 1.0
    if scores.ndim == 1:
        clear = np.abs(scores) > 1e-3 * sizes
    else:
        top = np.sort(scores, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-3 * sizes
    assert clear.mean() > 0.5
    assert np.array_equal(here.predict(X)[clear], there.predict(X)[clear])
    assert_allclose(others, scores, atol=1e-2 * sizes)
    return here, there


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_small_sets_of_scikit_learn(loss, load):
    X, y = load(return_X_y=True)
    agrees(loss, X, y, tol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_shared_dense_sets(loss):
    step = 100 if is_interpreted() else 8
    spam = pd.read_csv(shared_file("spambase.csv"))
    agrees(loss, spam.drop(columns="type").to_numpy(float)[::step], spam["type"][::step], tol=1e-6)
    heart = sx.read(shared_file("heart_scale.libsvm"))
    agrees(loss, heart.X.toarray(), heart.y, tol=1e-7)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"] if ALL else ["logistic"])
def test_images_of_many_classes_in_float32(loss):
    table = sx.read(shared_file("fashion-mnist/t10k-images-idx3-ubyte.gz"))
    n = 40 if is_interpreted() else 300
    X = (np.asarray(table.X[:n], dtype=np.float32) / 255.0).astype(np.float32)
    agrees(loss, X, table.y[:n], C=0.1, tol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_kind_of_problem_gives_the_same_or_the_same_refusal(loss):
    for seed in cases(2 * len(KINDS)):
        case = problem(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                here = made(loss).fit(case.X, case.y_signs)
            except DataError as error:
                with pytest.raises(DataError, match=re.escape(str(error)[:30])):
                    made(loss).fit(torch.as_tensor(case.X), case.y_signs)
                continue
            there = made(loss).fit(torch.as_tensor(case.X), case.y_signs)
        assert there.certificate_.check(case.X, case.y_signs), case.name
        if here.status_ == "optimal":
            assert there.status_ == "optimal", case.name
        # Each is proved to lie within its gap of the same optimum.
        assert there.dual_objective_ <= here.objective_ * (1 + 1e-9) + 1e-12
        assert here.dual_objective_ <= there.objective_ * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_penalties_and_no_intercept(loss):
    X, y = clouds()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    for settings in (
        {"class_weight": "balanced"},
        {"class_weight": {0: 2.0, 1: 0.5}},
        {"intercept_penalty": 1.0},
        {"fit_intercept": False},
    ):
        here = made(loss, tol=1e-9, **settings).fit(X, y, weights)
        there = made(loss, tol=1e-9, **settings).fit(
            torch.as_tensor(X), torch.as_tensor(y), torch.as_tensor(weights)
        )
        assert_allclose(there.objective_, here.objective_, rtol=1e-8)
        assert_allclose(there.coef_, here.coef_, atol=1e-3)
        assert there.certificate_.check(X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_support_vectors_and_what_else_a_fit_leaves(loss):
    X, y = clouds()
    here, there = agrees(loss, X, y, tol=1e-8)
    assert there.solver_ == ("interior_point" if loss == "hinge" else "newton")
    assert_allclose(there.slack_, here.slack_, atol=1e-3)
    if loss == "hinge":
        assert np.array_equal(there.support_, here.support_)
        assert np.array_equal(there.n_support_, here.n_support_)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.int64])
def test_other_types_are_the_numbers_they_hold(kind):
    X, y = clouds()
    X = (4.0 * torch.as_tensor(X)).to(kind)
    there = sx.LogisticRegression(tol=1e-8).fit(X, y)
    here = sx.LogisticRegression(tol=1e-8).fit(X.double().numpy(), y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-8)
    assert there.certificate_.check(X.double().numpy(), y)
    assert there.certificate_.check(X, torch.as_tensor(y))


def test_labels_may_be_words():
    X, y = clouds(classes=3)
    names = np.array(["a", "b", "c"])[y]
    machine = sx.LogisticRegression().fit(torch.as_tensor(X), names)
    assert set(machine.predict(torch.as_tensor(X))) <= {"a", "b", "c"}
    assert machine.predict_proba(torch.as_tensor(X)).shape == (200, 3)


@pytest.mark.parametrize("loss", LOSSES)
def test_memory_maps_are_streamed_where_they_do_not_fit(loss, monkeypatch, tmp_path):
    X, y = clouds(300, 5)
    np.save(tmp_path / "rows.npy", X)
    stored = np.load(tmp_path / "rows.npy", mmap_mode="r")
    monkeypatch.setattr(device, "_gpu", lambda name: CPU)
    whole = made(loss, device="cuda", tol=1e-8).fit(X, y)
    monkeypatch.setattr(device, "free_bytes", lambda _: 3000.0)
    monkeypatch.setattr(device_rows, "_FEW_ENTRIES", 0)
    parts = made(loss, device="cuda", tol=1e-8).fit(stored, y)
    assert_allclose(parts.objective_, whole.objective_, rtol=1e-8)
    assert_allclose(parts.coef_, whole.coef_, atol=1e-4)
    assert parts.certificate_.check(stored, y)


def test_one_machine_a_pair_and_probabilities(monkeypatch):
    X, y = clouds(classes=3)
    rows = torch.as_tensor(X)
    pairs = sx.LogisticRegression(multi_class="ovo", tol=1e-8).fit(rows, torch.as_tensor(y))
    here = sx.LogisticRegression(multi_class="ovo", tol=1e-8).fit(X, y)
    assert_allclose(pairs.objective_, here.objective_, rtol=1e-7)
    assert pairs.certificate_.check(rows, torch.as_tensor(y))
    machine = sx.LinearSVM(probability=True).fit(rows, torch.as_tensor(y))
    assert_allclose(machine.predict_proba(rows).sum(axis=1), 1.0)
    monkeypatch.setattr(device, "_gpu", lambda name: CPU)
    moved = sx.LinearSVM(probability=True, device="cuda").fit(X, y)
    assert_allclose(moved.predict_proba(X), machine.predict_proba(X), atol=1e-3)


# ---- cross-validation


@pytest.mark.parametrize("loss", LOSSES)
def test_the_path_is_the_processors(loss):
    X, y = clouds(150, 3)
    weights = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    kind = sx.LogisticRegressionCV if loss == "logistic" else sx.LinearSVMCV
    more = {} if loss == "logistic" else {"loss": loss}
    here = kind([0.01, 0.1, 1.0], cv=3, tol=1e-6, **more).fit(X, y, weights)
    there = kind([0.01, 0.1, 1.0], cv=3, tol=1e-6, **more).fit(
        torch.as_tensor(X), torch.as_tensor(y), torch.as_tensor(weights)
    )
    assert there.C_ == here.C_
    assert_allclose(there.path_["validation_error"], here.path_["validation_error"])
    assert_allclose(there.path_["margin"], here.path_["margin"], rtol=1e-2)
    assert_allclose(there.objective_, here.objective_, rtol=1e-5)
    assert (there.path_["gap"] <= 1e-6).all()
    assert there.certificate_.check(X, y)


def test_the_rows_are_brought_once_for_all_folds_and_values(monkeypatch):
    X, y = clouds(120, 3, classes=3)
    brought = []
    before = device_rows.Chunks.__init__

    def counted(self, *given, **settings):
        brought.append(1)
        before(self, *given, **settings)

    monkeypatch.setattr(device_rows.Chunks, "__init__", counted)
    machine = sx.LogisticRegressionCV(3, cv=3, scoring="neg_log_loss").fit(torch.as_tensor(X), y)
    assert len(brought) == 1
    assert machine.certificate_.check(X, y)


# ---- refusals


def test_what_the_device_does_not_do_is_said():
    X, y = clouds()
    rows = torch.as_tensor(X)
    for machine in (sx.LinearSVM(C=np.inf), sx.LogisticRegression(C=np.inf)):
        with pytest.raises(DeviceError, match="C=inf is worked out on the processor"):
            machine.fit(rows, y)
    with pytest.raises(DeviceError, match="works on the processor"):
        sx.LinearSVM(solver="gram").fit(rows, y)
    with pytest.raises(DeviceError, match="multi_class='ovr'"):
        sx.LinearSVM(multi_class="direct").fit(rows, clouds(classes=3)[1])
    with pytest.raises(DeviceError, match="A replay is made on the processor"):
        list(sx.replay(sx.LinearSVM(), rows, y))
    with pytest.raises(ValueError, match="device must be"):
        sx.LinearSVM(device="gpu").fit(X, y)


def test_bad_rows_and_labels_are_refused_as_elsewhere():
    X, y = clouds()
    rows = torch.as_tensor(X)
    broken = rows.clone()
    broken[3, 1] = torch.nan
    with pytest.raises(DataError, match="X contains NaN in row 3, column 1"):
        sx.LogisticRegression().fit(broken, y)
    with pytest.raises(DataError, match="X contains NaN in row 3, column 1"):
        sx.LogisticRegression().fit(rows, y).predict(broken)
    with pytest.raises(DataError, match="one class"):
        sx.LogisticRegression().fit(rows, np.zeros(len(y)))
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        sx.LogisticRegression().fit(rows, y[1:])
    with pytest.raises(DataError, match="2D array"):
        sx.LogisticRegression().fit(rows[:, 0], y)
    with pytest.raises(DataError, match="minimum of 1 row"):
        sx.LogisticRegression().fit(rows[:0], y[:0])
    with pytest.raises(ValueError, match="expecting 4 features"):
        sx.LogisticRegression().fit(rows, y).predict(rows[:, :2])
    with pytest.raises(DeviceError, match="y is on meta"):
        sx.LogisticRegression().fit(rows, torch.empty(len(y), device="meta"))
    with pytest.raises(ValueError, match=r"regression|continuous|Unknown label"):
        sx.LogisticRegression().fit(rows, X[:, 0])


def test_columns_of_every_size():
    X, y = clouds(100, 4)
    X = X * [1e-300, 1e-5, 1e5, 1.0]
    X[:, 3] = 7e5
    for loss in LOSSES:
        here, there = made(loss).fit(X, y), made(loss).fit(torch.as_tensor(X), y)
        assert there.status_ == "optimal"
        assert_allclose(there.objective_, here.objective_, rtol=2e-4)
        with pytest.raises(DataError, match="Divide that column first"):
            made(loss).fit(torch.as_tensor(X * 1e300), y)


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_beyond_the_range_of_float32_and_other_defaults(loss):
    X, y = clouds(100, 3)
    before = torch.get_default_dtype()
    for size in (1.0, 1e-60, 1e60):
        here, there = made(loss, tol=1e-6), made(loss, tol=1e-6)
        rows = X * [size, 1.0, 1.0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # 1e60 hides what can be proved
            here.fit(rows, y)
            try:
                torch.set_default_dtype(torch.float16)
                there.fit(torch.as_tensor(rows), y)
            finally:
                torch.set_default_dtype(before)
        assert there.status_ == here.status_
        assert there.gap_ <= 1.001
        assert_allclose(there.objective_, here.objective_, rtol=1e-5)


class Broken:
    """A device that fails when the matrix of the second step is made."""

    def __init__(self, error):
        self.error, self.calls = error, 0

    def __call__(self, *given, **settings):
        self.calls += 1
        raise self.error


FAILURES = [
    (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 8.00 GiB."), "ran out of"),
    (RuntimeError("CUDA error: an illegal memory access was encountered"), "failed in the middle"),
]


@pytest.mark.parametrize(("error", "words"), FAILURES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_device_that_fails_leaves_everything_as_it_was(error, words, loss, monkeypatch):
    X, y = clouds()
    other, labels = clouds(50, 3, classes=3, seed=1)
    fitted, fresh = made(loss).fit(torch.as_tensor(X), y), made(loss)
    before = dict(vars(fitted))
    monkeypatch.setattr(Scaled, "squares", Broken(error))
    for machine in (fitted, fresh, clone(fresh).set_params(warm_start=True)):
        with pytest.raises(DeviceError, match=words):
            machine.fit(torch.as_tensor(other), labels)
    assert vars(fitted) == before
    assert not [name for name in vars(fresh) if name.endswith("_")]
    cv = sx.LogisticRegressionCV([1.0], cv=2)
    if loss == "logistic":
        with pytest.raises(DeviceError, match=words):
            cv.fit(torch.as_tensor(X), y)
        assert not [name for name in vars(cv) if name.endswith("_")]


def test_budgets_end_with_an_honest_answer():
    X, y = load_digits(return_X_y=True)
    rows = torch.as_tensor(X)
    with pytest.warns(ConvergenceWarning, match="The gap reached is"):
        machine = sx.LogisticRegression(tol=1e-12, max_passes=4).fit(rows, y == 8)
    assert machine.status_ == "budget"
    assert machine.certificate_.check(X, y == 8)


def test_models_are_kept_and_come_back(monkeypatch, tmp_path):
    X, y = clouds()
    monkeypatch.setattr(placing, "_NAMED_AT_ONCE", 0)
    rows = torch.as_tensor(X)
    machine = sx.LinearSVM(device="auto").fit(rows, y)
    sx.save(machine, tmp_path / "model.sx")
    back = sx.load(tmp_path / "model.sx")
    assert back.device == "auto"
    assert back.certificate_.check(X, y)
    assert np.array_equal(back.predict(X), machine.predict(X))


def test_a_warm_start_ends_where_it_began():
    X, y = clouds()
    rows = torch.as_tensor(X)
    machine = sx.LogisticRegression(warm_start=True).fit(rows, y)
    assert machine.n_iter_ > 0
    assert machine.fit(rows, y).n_iter_ == 0
