"""Separated and nearly separated problems: who solves them to 1e-6, and who is wrong in silence.

    python -m benchmarks.inference_hard [--problems 1000]

Labels are those of a hyperplane with a little noise; a third of the problems have heavy tails.

- Firth: solved is a penalised log-likelihood within 1e-6 of the highest that anyone found.
- Maximum likelihood: solved is a log-likelihood within 1e-6 of the supremum, where the maximum
  exists. Where the classes are separated there is none: then an answer must say so.

Who has not solved a problem and has neither warned nor raised an error is wrong in silence. R runs
all problems in one process.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np

import separatrix as sx
from benchmarks._report import header
from benchmarks.inference import peers

CLOSE = 1e-6
R_SCRIPT = """
suppressMessages(library(brglm2))
options(digits = 17)
d <- read.csv(commandArgs(TRUE)[1], header = FALSE)
for (part in split(d, d[, 1])) {
  width <- part[1, 2]
  X <- as.matrix(part[, 3 + seq_len(width)]); y <- part[, 3]; told <- 0
  found <- tryCatch(withCallingHandlers(
    glm(y ~ X, binomial, method = "brglm_fit", type = "AS_mean",
        control = list(epsilon = 1e-10, maxit = 1000)),
    warning = function(w) { told <<- 1; invokeRestart("muffleWarning") }),
    error = function(e) NULL)
  if (is.null(found)) { cat(part[1, 1], 1, "\\n"); next }
  if (!found$converged) told <- 1
  cat(part[1, 1], told, coef(found), "\\n")
}
"""


def problem(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    n = int(rng.integers(d + 5, 40))
    X = rng.standard_cauchy(size=(n, d)) if seed % 3 == 0 else rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + 0.2 * rng.normal(size=n) > 0).astype(int)
    if y.min() == y.max():
        y[0] = 1 - y[0]
    return X, y


def values(X, y, beta):
    """Return the log-likelihood without and with Firth's penalty."""
    D = np.c_[np.ones(len(y)), X]
    eta = D @ beta
    p = 1.0 / (1.0 + np.exp(-np.clip(eta, -700, 700)))
    sign, log_det = np.linalg.slogdet((D * (p * (1.0 - p))[:, None]).T @ D)
    plain = -np.logaddexp(0.0, np.where(y == 1, -eta, eta)).sum()
    return plain, plain + 0.5 * log_det if sign > 0 else -np.inf


def answered(function):
    """Return the coefficients, None where there are none, and whether something was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return np.asarray(function(), dtype=float), bool(caught)
        except Exception:  # a peer may raise anything, and has then said so
            return None, True


def brglm2(problems):
    """Return the answers of one R process; {} without R."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        script, data = Path(folder, "fit.R"), Path(folder, "data.csv")
        script.write_text(R_SCRIPT)
        lines = []
        for k, (X, y) in enumerate(problems):
            for x, label in zip(X, y, strict=True):
                entries = [*(f"{v:.17g}" for v in x), *["0"] * (3 - len(x))]
                lines.append(",".join([str(k), str(len(x)), str(label), *entries]))
        data.write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            ["Rscript", "--vanilla", script, data], capture_output=True, text=True, check=False
        )
    found = {}
    for line in done.stdout.splitlines():
        number, told, *rest = line.split()
        beta = None if not rest or "NA" in rest else np.array(rest, dtype=float)
        found[int(number)] = (beta, told == "1")
    return found


def run(count, say=print):
    others, problems = peers(), [problem(seed) for seed in range(count)]
    tables = {"firth": {}, "mle": {}}
    in_r = brglm2(problems)
    for k, (X, y) in enumerate(problems):
        firth = sx.inference(X, y, "firth")
        answers = {"separatrix": (firth.estimate, firth.proof == "none")}
        if "firthmodels" in others:

            def fitted(X=X, y=y):
                model = others["firthmodels"]().fit(X, y)
                return np.r_[model.intercept_, model.coef_]

            answers["firthmodels"] = answered(fitted)
        if k in in_r:
            answers["brglm2"] = in_r[k]
        own = {
            name: -np.inf if beta is None else values(X, y, beta)[1]
            for name, (beta, _) in answers.items()
        }
        for name, (_, told) in answers.items():
            solved = own[name] > max(own.values()) - CLOSE
            _count(tables["firth"], name, solved, told)
        _maximum_likelihood(tables["mle"], X, y, others)
    for method, rows in tables.items():
        for name, (solved, told, silent) in rows.items():
            say(f"| {method} | {name} | {solved:,} | {told:,} | {silent:,} |")
    return tables


def _maximum_likelihood(rows, X, y, others):
    found = sx.inference(X, y)
    exists = found.separation == "overlapping"
    _count(rows, "separatrix", found.proof != "none", False)
    if "statsmodels" not in others:
        return
    beta, told = answered(lambda: others["statsmodels"](X, y).params)
    close = beta is not None and values(X, y, beta)[0] > found.log_likelihood - CLOSE
    _count(rows, "statsmodels", exists and close, told)


def _count(rows, name, solved, told):
    row = rows.setdefault(name, [0, 0, 0])
    row[0 if solved else 1 if told else 2] += 1


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--problems", type=int, default=1000)
    chosen = options.parse_args()
    header("Separated and nearly separated problems", ["numpy", "scipy"])
    print(f"{chosen.problems:,} problems")
    print("| method | by | solved to 1e-6 | not, and said so | not, in silence |")
    print("|---|---|---|---|---|")
    run(chosen.problems)


if __name__ == "__main__":
    main()
