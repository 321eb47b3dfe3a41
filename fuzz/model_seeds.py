"""Small models of every kind, as whole files: what the fuzzers start from."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import separatrix as sx
from separatrix.storage.model_file import to_bytes

__all__ = ["model_files"]

ROWS = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 2.0], [4.0, 3.5], [0.5, 4.0], [1.5, 5.0]])
TWO = np.array(["low", "low", "high", "high", "low", "high"])
THREE = np.array([0, 0, 1, 1, 2, 2])
CSV = "age,job,label\n39,cook,yes\n50,clerk,no\n?,cook,yes\n28,none,no\n"
TEXT = "a very good film\t1\nnot a good film at all\t0\nthe best of all\t1\ndull and long\t0\n"
LIBSVM = "+1 1:0.5 3:2\n-1 2:1\n+1 1:1 2:0.5\n-1 3:-1\n"


def _with_table(contents: str, suffix: str, model: Any, **options: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        path.write_text(contents)
        table = sx.read(path, **options)
    return to_bytes(model.fit(table.X, table.y), table=table, rows=np.arange(len(table.y)))


def _libsvm_machine() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "svm.model"
        sx.exchange.write_libsvm_model(sx.KernelSVM().fit(ROWS, THREE), path)
        return sx.exchange.read_libsvm_model(path)


def _streamed(contents: str, kind: str, *options: str) -> bytes:
    """Return what `separatrix stream` writes."""
    from typer.testing import CliRunner

    from separatrix.cli.main import app

    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "data", Path(folder) / "model.sx"
        data.write_text(contents)
        words = ["stream", "-m", str(model), str(data), "--kind", kind, "-q", *options]
        told = CliRunner().invoke(app, words)
        assert told.exit_code == 0, told.output
        return model.read_bytes()


def model_files() -> dict[str, bytes]:
    """Return a file of every kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays = {
            "svm": sx.LinearSVM().fit(ROWS, TWO),
            "probable": sx.LinearSVM(probability=True).fit(ROWS, TWO),
            "direct": sx.LinearSVM(multi_class="direct").fit(ROWS, THREE),
            "pairs": sx.LogisticRegression(multi_class="ovo").fit(ROWS, THREE),
            "path": sx.LogisticRegressionCV([0.1, 1.0], cv=2).fit(ROWS, TWO),
            "kernel": sx.KernelSVM().fit(ROWS, THREE),
            "sparse kernel": sx.KernelSVM(kernel="poly").fit(sp.csr_array(ROWS), THREE),
            "lifted": make_pipeline(
                StandardScaler(), sx.lift.Polynomial(2), sx.LinearSVM()
            ).fit(ROWS, TWO),
            "basis": make_pipeline(sx.lift.RadialBasis(3, random_state=0), sx.Fisher()).fit(
                ROWS, THREE
            ),
            "wrapper": sx.OneVsRest(sx.Kozinec()).fit(ROWS[:4], THREE[:4]),
            "errors": sx.ZeroOne().fit(ROWS, TWO),
            "plug-in": sx.GaussianPlugIn(covariance="full").fit(ROWS, THREE),
            "perceptron": sx.Perceptron(max_updates=50).fit(ROWS, TWO),
            "squares": sx.LeastSquares().fit(ROWS, THREE),
            "halfspace": sx.LinearProgramHalfspace().fit(ROWS, TWO),
            "delta": sx.DeltaRule(max_passes=9).fit(ROWS, TWO),
            "kernel perceptron": sx.KernelPerceptron().fit(ROWS, TWO),
            "kernel kozinec": sx.KernelKozinec(epsilon=0.5).fit(ROWS, TWO),
            "svm path": sx.LinearSVMCV([0.1, 1.0], cv=2).fit(ROWS, TWO),
            "kernel path": sx.KernelSVMCV([0.1, 1.0], gammas=[0.1], cv=2).fit(ROWS, TWO),
            "against one": sx.OneVsOne(sx.Fisher()).fit(ROWS, THREE),
            "cosines": make_pipeline(
                MaxAbsScaler(), sx.lift.RandomFourier(3, random_state=0), sx.LinearSVM()
            ).fit(ROWS, TWO),
            "rows as basis": make_pipeline(
                MinMaxScaler(), sx.lift.Nystrom(3, random_state=0), sx.LinearSVM()
            ).fit(ROWS, TWO),
            "sigmoids": make_pipeline(sx.lift.Sigmoid(3, random_state=0), sx.LinearSVM()).fit(
                ROWS, TWO
            ),
            "gradient steps": sx.SGD(max_passes=2).fit(ROWS, THREE),
            "libsvm": _libsvm_machine(),
        }  # fmt: skip
        files = {name: to_bytes(model) for name, model in arrays.items()}
        files["table"] = _with_table(CSV, ".csv", sx.LinearSVM(), target="label")
        files["words"] = _with_table(TEXT, ".txt", sx.LogisticRegression(), weighting="tfidf")
        files["hashed"] = _with_table(TEXT, ".txt", sx.LogisticRegression(), hashing=32)
        files["stream"] = _streamed(LIBSVM, "libsvm")
        files["stream of a table"] = _streamed(CSV, "csv", "-t", "label")
        files["stream of texts"] = _streamed(TEXT, "text", "--bits", "7", "--average")
        files["numbered"] = _with_table(LIBSVM, ".libsvm", sx.LinearSVM())
    return files
