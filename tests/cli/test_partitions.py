"""``separatrix fit`` and ``verify`` within a memory limit."""

from __future__ import annotations

import json

import numpy as np
import scipy.sparse as sp
from typer.testing import CliRunner

from separatrix.cli.main import app
from separatrix.data.readers.libsvm import write_libsvm


def folder_of(path, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0, 1, -1)
    path.mkdir()
    write_libsvm(path / "one.libsvm", sp.csr_matrix(X[:30]), y[:30])
    write_libsvm(path / "two.libsvm", sp.csr_matrix(X[30:]), y[30:])
    return str(path)


def run(*told):
    return CliRunner().invoke(app, list(told))


def test_fit_proves_and_verify_proves_again(tmp_path):
    data, proof, model = folder_of(tmp_path / "data"), tmp_path / "p.json", tmp_path / "m.sx"
    told = run("fit", data, "--memory", "10MB", "--certificate", str(proof), "-o", str(model))
    assert told.exit_code == 0, told.output
    assert "2 blocks" in told.output
    assert run("verify", str(proof), data, "--memory", "10MB").exit_code == 0
    other = folder_of(tmp_path / "other", seed=1)
    assert run("verify", str(proof), other, "--memory", "10MB").exit_code == 1
    assert run("verify", str(model), data, "--memory", "10MB").exit_code == 0
    assert run("verify", str(model), other, "--memory", "10MB").exit_code == 1
    told = run("predict", str(tmp_path / "data" / "one.libsvm"), "-m", str(model))
    assert told.exit_code == 0, told.output


def test_the_same_as_json(tmp_path):
    told = run("fit", folder_of(tmp_path / "data"), "--memory", "10MB", "--json")
    facts = json.loads(told.stdout)
    assert facts["rows"] == 60
    assert facts["gap"] <= 1e-4


def test_what_is_no_partition_is_refused(tmp_path):
    for name, words in (("table.csv", "save so"), ("table.txt", "not one feature")):
        (tmp_path / name).write_text("a,b,kind\n1,2,x\n2,1,y\n")
        told = run("fit", str(tmp_path / name), "--memory", "10MB")
        assert told.exit_code != 0
        assert words in str(told.exception)
