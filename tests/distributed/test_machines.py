"""Machines on a cluster: the local optimum, its proof, and what happens when workers die."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import separatrix as sx
from separatrix import distributed
from separatrix._compiled import is_interpreted
from separatrix.core.partitioned import local_rows
from separatrix.data.readers.libsvm import write_libsvm
from separatrix.selection.partitioned_path import fit_path_on_rows

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        is_interpreted(),
        reason="workers are processes of their own: coverage does not see into them",
    ),
]


def problem(seed=0, n=300, d=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-1, 2, d)
    y = (X / X.std(axis=0) @ rng.standard_normal(d) + rng.standard_normal(n) > 0.5).astype(int)
    return X, y


def folder_of(path, X, y, parts=4):
    path.mkdir()
    for number, own in enumerate(np.array_split(np.arange(len(y)), parts)):
        write_libsvm(path / f"part-{number}.libsvm", sp.csr_matrix(X[own]), y[own])
    return path


PAIRS = [
    (distributed.LinearSVM, sx.LinearSVM, {}),
    (distributed.LinearSVM, sx.LinearSVM, {"loss": "squared_hinge", "C": 10.0}),
    (distributed.LogisticRegression, sx.LogisticRegression, {"class_weight": "balanced"}),
]


@pytest.mark.parametrize(("there", "here", "settings"), PAIRS)
def test_the_optimum_is_the_local_one_and_proved(client, there, here, settings):
    import dask.array as da

    X, y = problem()
    machine = there(tol=1e-8, client=client, **settings).fit(
        da.from_array(X, chunks=(70, -1)), da.from_array(y, chunks=70)
    )
    local = here(tol=1e-8, **settings).fit(X, y)
    assert type(machine) is here
    np.testing.assert_allclose(machine.objective_, local.objective_, rtol=2e-8)
    assert machine.certificate_.check(X, y)
    assert (pickle.loads(pickle.dumps(machine)).coef_ == machine.coef_).all()


@pytest.mark.parametrize(
    ("there", "settings"),
    [
        (distributed.LogisticRegression, {"l1_ratio": 1.0}),
        (distributed.LogisticRegressionCV, {"l1_ratios": [1.0], "cv": 2}),
    ],
)
def test_sparse_weights_are_refused_in_words(client, tmp_path, there, settings):
    with pytest.raises(ValueError, match="on a cluster, because its working set needs whole"):
        there(client=client, **settings).fit(folder_of(tmp_path / "data", *problem()))


def test_files_and_frames_and_the_current_client(client, tmp_path):
    import dask.dataframe as dd
    import pandas as pd

    X, y = problem(1)
    local = sx.LinearSVM(tol=1e-8, loss="squared_hinge").fit(X, y)
    folder = folder_of(tmp_path / "data", X, y)
    with client.as_current():
        files = distributed.LinearSVM(tol=1e-8, loss="squared_hinge").fit(
            sorted(map(str, folder.glob("*.libsvm")))
        )
        frame = dd.from_pandas(pd.DataFrame(X).rename(columns=str).assign(y=y), npartitions=3)
        table = distributed.LinearSVM(tol=1e-8, loss="squared_hinge").fit(frame, target="y")
    for machine in (files, table):
        np.testing.assert_allclose(machine.objective_, local.objective_, rtol=2e-8)
        assert machine.certificate_.check(X, y)


def test_the_bits_are_those_of_one_machine_with_the_same_blocks(client, tmp_path):
    X, y = problem(2)
    folder = folder_of(tmp_path / "data", X, y, parts=2)
    here = sx.LinearSVM().fit(sx.open_partitions(folder))
    there = distributed.LinearSVM(client=client).fit(folder)
    assert (here.coef_ == there.coef_).all()


class Killer:
    """Kills a worker with SIGKILL at each of the moments given, in a thread."""

    def __init__(self, client, moments):
        self.client, self.moments, self.killed = client, moments, 0

    def __enter__(self):
        self._thread = threading.Thread(target=self._work)
        self._thread.start()
        return self

    def _work(self):
        for moment in self.moments:
            time.sleep(moment)
            processes = [worker.process.pid for worker in self.client.cluster.workers.values()
                         if worker.process is not None]  # fmt: skip
            alive = [pid for pid in processes if pid is not None]
            if alive:
                os.kill(alive[self.killed % len(alive)], signal.SIGKILL)
                self.killed += 1

    def __exit__(self, *_):
        self._thread.join()


def test_workers_killed_on_the_way_change_nothing(client, tmp_path):
    X, y = problem(3)
    folder = folder_of(tmp_path / "data", X, y)
    plain = distributed.LinearSVM(client=client).fit(folder)
    with Killer(client, [0.2]) as killer:
        while True:
            machine = distributed.LinearSVM(client=client).fit(folder)
            assert (machine.coef_ == plain.coef_).all()
            assert machine.certificate_.check(X, y)
            if killer.killed:
                break
    client.wait_for_workers(2)


def test_a_missing_or_altered_partition_is_named(client, tmp_path):
    X, y = problem(4)
    handle = sx.open_partitions(folder_of(tmp_path / "data", X, y))
    folder, block = handle.stored[2]
    octets = (folder / block.file).read_bytes()
    (folder / block.file).write_bytes(octets[:100] + b"\x7f" + octets[101:])
    with pytest.raises(sx.DataError, match="altered") as error:
        distributed.LinearSVM(client=client).fit(handle)
    assert folder.name in str(error.value)
    with pytest.raises(sx.DataError, match="altered"):
        sx.LinearSVM().fit(handle)
    (folder / block.file).unlink()
    with pytest.raises(sx.DataError, match="missing"):
        distributed.LinearSVM(client=client).fit(handle)
    with pytest.raises(sx.DataError, match="missing"):
        distributed.LinearSVM(client=client).fit([tmp_path / "data" / "nowhere.libsvm"])


def test_a_fit_goes_on_from_its_checkpoint(client, tmp_path):
    X, y = problem(5)
    folder, path = folder_of(tmp_path / "data", X, y), str(tmp_path / "run.npz")
    told = {"loss": "squared_hinge", "C": 100.0, "tol": 1e-9, "client": client}
    plain = distributed.LinearSVM(**told).fit(folder)
    first = distributed.LinearSVM(checkpoint=path, max_passes=5, **told).fit(folder)
    assert first.status_ == "budget"
    second = distributed.LinearSVM(checkpoint=path, **told).fit(folder)
    assert (second.coef_ == plain.coef_).all()


def test_without_a_client_the_way_out_is_said():
    with pytest.raises(ValueError, match="client = Client"):
        distributed.LinearSVM().fit("nowhere")


def test_arrays_in_memory_are_sent_home(client):
    X, y = problem()
    with pytest.raises(TypeError, match=r"separatrix\.LinearSVM"):
        distributed.LinearSVM(client=client).fit(X, y)


def test_the_path_and_the_verdict_are_the_local_ones(client, tmp_path):
    X, y = problem(6)
    handle = sx.open_partitions(folder_of(tmp_path / "data", X, y))
    rows = local_rows(handle)
    here = fit_path_on_rows(sx.LogisticRegressionCV([0.1, 1.0], cv=2), rows, "logistic")
    there = distributed.LogisticRegressionCV([0.1, 1.0], cv=2, client=client).fit(handle)
    assert type(there) is sx.LogisticRegressionCV
    assert (here.path_.fold_errors == there.path_.fold_errors).all()
    assert there.certificate_.check(X, y)
    verdict = distributed.separability(handle, client=client)
    assert verdict.kind == sx.separability(X, y).kind
    assert verdict.check(X, y)
