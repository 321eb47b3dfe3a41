"""Small models of every kind, as whole files: what the fuzzers start from."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
        }  # fmt: skip
        files = {name: to_bytes(model) for name, model in arrays.items()}
        files["table"] = _with_table(CSV, ".csv", sx.LinearSVM(), target="label")
        files["words"] = _with_table(TEXT, ".txt", sx.LogisticRegression(), weighting="tfidf")
        files["hashed"] = _with_table(TEXT, ".txt", sx.LogisticRegression(), hashing=32)
        files["numbered"] = _with_table(LIBSVM, ".libsvm", sx.LinearSVM())
    return files
