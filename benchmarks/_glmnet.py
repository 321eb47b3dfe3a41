"""glmnet in R, as a peer: the data go over in files, and R says how long glmnet itself took."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

__all__ = ["glmnet", "glmnet_grouped", "is_here"]

_SCRIPT = """
suppressMessages(library(glmnet))
suppressMessages(library(Matrix))
a <- commandArgs(TRUE)
y <- scan(file.path(a[1], "y"), quiet = TRUE)
shape <- scan(file.path(a[1], "shape"), quiet = TRUE)
if (file.exists(file.path(a[1], "X.mtx"))) {
  X <- as(readMM(file.path(a[1], "X.mtx")), "CsparseMatrix")
} else {
  X <- matrix(readBin(file.path(a[1], "X"), "double", shape[1] * shape[2]), shape[1], shape[2])
}
lambda <- scan(file.path(a[1], "lambda"), quiet = TRUE)
t <- system.time(fit <- glmnet(X, factor(y), family = a[4], alpha = 1, lambda = lambda,
  standardize = FALSE, intercept = a[2] == "1", thresh = as.numeric(a[3]), maxit = 1e6,
  type.multinomial = "grouped"))
cat(format(t[1] + t[2], digits = 15), file = file.path(a[1], "seconds"))
each <- if (a[4] == "multinomial") fit$beta else list(fit$beta)
writeBin(unlist(lapply(each, function(b) as.numeric(as.matrix(b)))), file.path(a[1], "w"))
writeBin(as.numeric(fit$a0), file.path(a[1], "b"))
"""


def is_here():
    """Whether R has glmnet."""
    if shutil.which("Rscript") is None:
        return False
    asked = ["Rscript", "-e", "library(glmnet)"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def glmnet(X, y, lambdas, bias, tol):
    """Return weights, a row a lambda, biases, and the CPU seconds of the whole path."""
    w, b, seconds = _run(X, y, lambdas, bias, tol, "binomial")
    return w.reshape(len(b), X.shape[1]), b, seconds


def glmnet_grouped(X, codes, lambdas, bias, tol):
    """Return the same of all classes at once: weights and biases have a row a lambda and class."""
    w, b, seconds = _run(X, codes, lambdas, bias, tol, "multinomial")
    K = int(codes.max()) + 1
    count = len(b) // K
    return w.reshape(K, count, X.shape[1]).swapaxes(0, 1), b.reshape(count, K), seconds


def _run(X, y, lambdas, bias, tol, family):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savetxt(folder / "y", np.asarray(y, dtype=float))
        np.savetxt(folder / "shape", X.shape, fmt="%d")
        np.savetxt(folder / "lambda", lambdas, fmt="%.17g")
        if sp.issparse(X):
            scipy.io.mmwrite(folder / "X.mtx", sp.coo_array(X), precision=17)
        else:
            np.asfortranarray(X, dtype=np.float64).T.tofile(folder / "X")
        script = folder / "glmnet.R"
        script.write_text(_SCRIPT)
        command = ["Rscript", str(script), name, str(int(bias)), repr(tol), family]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        w, b = np.fromfile(folder / "w"), np.fromfile(folder / "b")
        return w, b, float((folder / "seconds").read_text())
