"""Least squares and Fisher's discriminant beside scikit-learn, proof included.

    python -m benchmarks.closed_forms

Seconds are processor time of this process, the least of three runs, BLAS on one thread. "fit" is
the whole fit with its certificate, "solve" the same without. "exact to" is the perturbation proved
(or, where smaller, the gap). Real data come from ../shared/data.
"""

import platform
import time
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from threadpoolctl import threadpool_limits

import separatrix as sx
from benchmarks.separability import libsvm, polarity, table
from separatrix.problem.canonical import targets_of
from separatrix.solvers.closed_forms.least_squares import solve_least_squares

REPEATS = 3


def seconds(call):
    best = np.inf
    for _ in range(REPEATS):
        begin = time.process_time()
        result = call()
        best = min(best, time.process_time() - begin)
    return best, result


def tall():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 50)) * np.geomspace(1e-3, 1e3, 50)
    return X, (X @ rng.normal(size=50) + 100.0 * rng.normal(size=200_000) > 0).astype(int)


def wide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5000))
    return X, rng.integers(0, 2, size=300)


def least_squares(name, X, y, ridge):
    fit, ours = seconds(lambda: sx.LeastSquares(ridge).fit(X, y))
    T, rows = targets_of(y, "classification"), X.astype(np.float64)
    rows = sp.csr_array(rows) if sp.issparse(rows) else rows
    solve, _ = seconds(lambda: solve_least_squares(rows, T, np.ones(len(T)), ridge))
    theirs, peer = seconds(lambda: RidgeClassifier(ridge).fit(X, y))
    proved = min(ours.certificate_.perturbation, ours.certificate_.gap)
    own, other = (objective(X, T, m, ridge) for m in (ours, peer))
    print(
        f"{name:<28} {ours.method_:<30} fit {fit:8.3f}  solve {solve:8.3f}  "
        f"RidgeClassifier {theirs:8.3f}  exact to {proved:.1e}  "
        f"objective {own:.10g} against {other:.10g}"
    )


def objective(X, T, machine, ridge):
    coef = np.atleast_2d(machine.coef_)
    residual = np.asarray(X @ coef.T) + machine.intercept_ - T
    return float((residual**2).sum() + ridge * (coef**2).sum())


def main():
    warnings.simplefilter("ignore")
    print(
        f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )
    a9a, cancer = libsvm("a9a.libsvm"), table("spambase.csv", "type")
    text = polarity()
    sets = [
        ("200,000 x 50, uneven columns", *tall(), 1.0),
        ("300 x 5,000", *wide(), 1.0),
        ("spambase 4,601 x 57", *cancer, 1.0),
        ("a9a sparse 32,561 x 123", *a9a, 1.0),
        ("polarity sparse, ridge 1", *text, 1.0),
        ("polarity sparse, ridge 0.01", *text, 0.01),
    ]
    for name, X, y, ridge in sets:
        least_squares(name, X, y, ridge)
    ridges = list(np.geomspace(1e-3, 1e3, 20))
    for name, (X, y) in {"spambase": cancer, "300 x 5,000": wide()}.items():
        own, ours = seconds(lambda X=X, y=y: sx.LeastSquares(ridges).fit(X, y))
        theirs, peer = seconds(lambda X=X, y=y: RidgeClassifierCV(ridges).fit(X, y))
        print(
            f"{name:<28} 20 ridges by leave-one-out: {own:.3f} against RidgeClassifierCV "
            f"{theirs:.3f}; chosen {ours.ridge_:.4g} and {peer.alpha_:.4g}"
        )
    for name, (X, y) in {"200,000 x 50": tall(), "spambase": cancer}.items():
        own, ours = seconds(lambda X=X, y=y: sx.Fisher("gaussian").fit(X, y))
        theirs, peer = seconds(lambda X=X, y=y: LinearDiscriminantAnalysis(solver="lsqr").fit(X, y))
        svd, _ = seconds(lambda X=X, y=y: LinearDiscriminantAnalysis().fit(X, y))
        print(
            f"{name:<28} Fisher {own:.3f} with proof, LDA lsqr {theirs:.3f}, svd {svd:.3f}; "
            f"agreeing on {(ours.predict(X) == peer.predict(X)).mean():.6f} of rows"
        )
    own, ours = seconds(lambda: sx.Fisher().fit(*text))
    print(f"{'polarity sparse':<28} Fisher {own:.3f}; {ours.method_}; LDA takes no sparse data")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
