"""Machines on partitions: the same optimum as in memory, proved block by block."""

from __future__ import annotations

import errno
import json
import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import cases

import separatrix as sx
from separatrix.core.partitioned import fingerprint_of
from separatrix.data.readers.libsvm import write_libsvm
from separatrix.problem.canonical import data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.solvers.linear.blocks import block_newton


def rows_of(seed, n=120, d=6, classes=2, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d)
    if sparse:
        X = X * (rng.random((n, d)) < 0.4)
    scores = (X / X.std(axis=0)) @ rng.standard_normal((d, classes))
    y = np.argmax(scores + rng.standard_normal((n, classes)) * 2.0, axis=1)
    return X, y


def written(folder, X, y, parts=3, kind="libsvm"):
    folder.mkdir(exist_ok=True)
    for number, own in enumerate(np.array_split(np.arange(len(y)), parts)):
        path = folder / f"part-{number}.{kind}"
        if kind == "libsvm":
            write_libsvm(path, sp.csr_matrix(X[own]), y[own])
        elif kind == "npz":
            np.savez(path, X=X[own], y=y[own])
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            columns = {f"x{j}": X[own, j] for j in range(X.shape[1])}
            pq.write_table(pa.table({**columns, "label": y[own]}), path)
    return folder


def machines(C=1.0, tol=1e-8):
    yield sx.LinearSVM(C=C, tol=tol)
    yield sx.LinearSVM(C=C, loss="squared_hinge", tol=tol)
    yield sx.LogisticRegression(C=C, tol=tol)


@pytest.mark.parametrize("seed", cases(6))
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_the_rows_in_memory(tmp_path, seed, C):
    X, y = rows_of(seed, sparse=seed % 2 == 1)
    handle = sx.open_partitions(written(tmp_path / "data", X, y))
    for machine in machines(C):
        there = type(machine)(**machine.get_params()).fit(X, y)
        here = machine.fit(handle)
        assert here.status_ == "optimal"
        np.testing.assert_allclose(here.objective_, there.objective_, rtol=2e-8)
        assert here.gap_ <= 1e-8
        # The proof stands on the blocks, on the rows in one piece, and not on other rows.
        assert here.certificate_.check(handle)
        assert here.certificate_.check(X, y)
        assert not here.certificate_.check(X * 2.0, y)


@pytest.mark.parametrize("few", [1, 2, 10])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_a_class_of_few_rows_is_solved_to_the_tolerance(tmp_path, few, C):
    X, _ = rows_of(few, n=60)
    y = (np.arange(60) < few).astype(int)
    handle = sx.open_partitions(written(tmp_path / "data", X, y))
    for machine in machines(C, tol=1e-6):
        here = machine.fit(handle)
        assert here.status_ == "optimal"
        assert here.gap_ <= 1e-6
        assert here.certificate_.check(X, y)


def test_what_is_not_proved_is_not_called_optimal(tmp_path, monkeypatch):
    X, y = rows_of(0)
    handle = sx.open_partitions(written(tmp_path / "data", X, y))
    monkeypatch.setattr(block_newton.Run, "gap", property(lambda run: 0.0))
    with pytest.warns(ConvergenceWarning, match="gap"):
        here = sx.LogisticRegression().fit(handle)
    assert here.status_ == "unproved"
    assert here.gap_ > here.tol


@pytest.mark.parametrize("kind", ["libsvm", "npz", "parquet"])
def test_every_kind_of_file_has_the_fingerprint_of_its_rows(tmp_path, kind):
    X, y = rows_of(3, sparse=True)
    folder = written(tmp_path / kind, X, y, kind=kind)
    handle = sx.open_partitions(folder, target="label" if kind == "parquet" else None)
    assert handle.shape == X.shape
    assert fingerprint_of(handle) == fingerprint(data_of(X, y, 2, True))
    again = sx.open_partitions(folder, target="label" if kind == "parquet" else None)
    assert fingerprint_of(again) == fingerprint_of(handle)


def test_three_classes_each_against_the_rest(tmp_path):
    X, y = rows_of(5, classes=3)
    names = np.array(["a", "b", "c"])[y]
    handle = sx.open_partitions(written(tmp_path / "data", X, names))
    here = sx.LinearSVM(tol=1e-7).fit(handle)
    there = sx.LinearSVM(tol=1e-7).fit(X, names)
    np.testing.assert_allclose(here.objective_, there.objective_, rtol=2e-7)
    assert (here.predict(X) == there.predict(X)).mean() > 0.99
    assert here.certificate_.check(handle)
    assert here.certificate_.check(X, names)


@pytest.mark.long
@pytest.mark.parametrize("setting", [{"fit_intercept": False}, {"intercept_penalty": 1.0},
                                     {"class_weight": "balanced"}])  # fmt: skip
def test_settings_mean_the_same(tmp_path, setting):
    X, y = rows_of(7)
    handle = sx.open_partitions(written(tmp_path / "data", X, y))
    for machine in machines():
        machine.set_params(**setting)
        there = type(machine)(**machine.get_params()).fit(X, y)
        here = machine.fit(handle)
        np.testing.assert_allclose(here.objective_, there.objective_, rtol=2e-8)
        assert here.certificate_.check(X, y)


def test_wide_rows_are_solved_by_rounds(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(400, 300, 0.02, format="csr", random_state=1)
    y = (X @ rng.standard_normal(300) + 0.2 * rng.standard_normal(400) > 0).astype(int)
    handle = sx.open_partitions(written(tmp_path / "data", X.toarray(), y))
    for machine in machines(tol=1e-6):
        here = machine.fit(handle)
        there = type(machine)(**machine.get_params()).fit(X, y)
        np.testing.assert_allclose(here.objective_, there.objective_, rtol=2e-6)
        assert here.certificate_.check(X, y)


def test_the_number_of_threads_and_blocks_kept_change_no_bit(tmp_path):
    X, y = rows_of(9, n=400)
    folder = written(tmp_path / "data", X, y, parts=5)
    found = [
        sx.LinearSVM(n_jobs=jobs).fit(sx.open_partitions(folder, memory=memory)).coef_
        for jobs, memory in [(1, "1GB"), (2, "1GB"), (2, 1000)]
    ]
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_support_vectors_and_what_is_not_kept(tmp_path):
    X, y = rows_of(2)
    handle = sx.open_partitions(written(tmp_path / "data", X, y))
    machine = sx.LinearSVM(tol=1e-6).fit(handle)
    total = machine.dual_coef_[0] @ X[machine.support_]
    np.testing.assert_allclose(total, machine.coef_[0], atol=1e-2 * abs(machine.coef_).max())
    assert machine.n_support_.sum() == len(machine.support_)
    with pytest.raises(AttributeError, match="partitions"):
        machine.slack_


def test_a_budget_ends_with_an_honest_gap(tmp_path):
    X, y = rows_of(4)
    handle = sx.open_partitions(written(tmp_path / "data", X, y))
    with pytest.warns(UserWarning, match="gap reached"):
        machine = sx.LinearSVM(tol=1e-10, max_passes=4).fit(handle)
    assert machine.status_ == "budget"
    assert machine.certificate_.check(X, y)


@pytest.mark.parametrize(
    "machine",
    [
        sx.LinearSVM(C=float("inf")),
        sx.LinearSVM(solver="dual_coordinate"),
    ],
)
def test_what_partitions_cannot_do_is_said(tmp_path, machine):
    X, y = rows_of(1)
    handle = sx.open_partitions(written(tmp_path / "data", X, y))
    with pytest.raises(ValueError, match="Use"):
        machine.fit(handle)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path):
    X, y = rows_of(6)
    folder, path = written(tmp_path / "data", X, y), tmp_path / "run.npz"
    plain = sx.LinearSVM(tol=1e-9).fit(sx.open_partitions(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = sx.LinearSVM(tol=1e-9, max_passes=20).fit(
            sx.open_partitions(folder, checkpoint=path)
        )
    assert first.status_ == "budget"
    assert path.exists()
    second = sx.LinearSVM(tol=1e-9).fit(sx.open_partitions(folder, checkpoint=path))
    assert (second.coef_ == plain.coef_).all()
    assert second.n_passes_ < plain.n_passes_
    assert not path.exists()


def test_a_checkpoint_of_another_problem_is_not_gone_on_with(tmp_path):
    X, y = rows_of(6)
    folder, path = written(tmp_path / "data", X, y), tmp_path / "run.npz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sx.LinearSVM(tol=1e-9, max_passes=20).fit(sx.open_partitions(folder, checkpoint=path))
    plain = sx.LinearSVM(C=3.0).fit(sx.open_partitions(folder))
    other = sx.LinearSVM(C=3.0).fit(sx.open_partitions(folder, checkpoint=path))
    assert (other.coef_ == plain.coef_).all()


@pytest.mark.long
@pytest.mark.parametrize("call", ["os.fsync", "os.replace", "os.fdopen"])
def test_a_full_disk_leaves_the_old_checkpoint(call, tmp_path, monkeypatch):
    X, y = rows_of(6)
    folder, path = written(tmp_path / "data", X, y), tmp_path / "run.npz"
    plain = sx.LinearSVM(tol=1e-9).fit(sx.open_partitions(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sx.LinearSVM(tol=1e-9, max_passes=20).fit(sx.open_partitions(folder, checkpoint=path))
        before = path.read_bytes()

        def fail(*_, **__):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(call, fail)
        with pytest.warns(RuntimeWarning, match="No space left.*the one before stands"):
            sx.LinearSVM(tol=1e-9, max_passes=30).fit(sx.open_partitions(folder, checkpoint=path))
        monkeypatch.undo()
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", "run.npz"]
    second = sx.LinearSVM(tol=1e-9).fit(sx.open_partitions(folder, checkpoint=path))
    assert (second.coef_ == plain.coef_).all()


def test_the_certificate_is_the_same_file_as_ever(tmp_path):
    X, y = rows_of(8)
    handle = sx.open_partitions(written(tmp_path / "data", X, y))
    claim = json.loads(sx.LinearSVM().fit(handle).certificate_.to_json())
    assert claim["kind"] == "duality-gap"
    assert claim["data"]["sha256"] == fingerprint(data_of(X, y, 2, True))


def test_equal_rows_in_two_partitions_cancel_when_checked(tmp_path):
    """Summed block by block, a row of 1e32 and its opposite would leave rounding of 1e16."""
    row = np.array([[-4.4e-54, -2.59614843e32, -2.36118324e22, 7.0e-98, 2.6e-68]])
    for k in (0, 1):
        np.savez(tmp_path / f"{k}.npz", X=row, y=[k])
    rows = sx.open_partitions(tmp_path)
    machine = sx.LinearSVM(loss="squared_hinge").fit(rows)
    assert machine.certificate_.holds
    assert machine.certificate_.check(rows)
