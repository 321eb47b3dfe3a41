"""Signs of infinite logistic coefficients beside the recession cone, ours and by linear programs.

    python -m benchmarks.infinite_signs [--problems 186]

Small separable and quasi-separable sets of whole numbers. For every coefficient that runs to
infinity the exact simplex says whether directions of both signs exist (then no sign is right), or
one alone. R's detectseparation states signs by a linear program (Konis 2007), with the rows
z_i = y_i [1, x_i]:

    max over b    sum_i z_i.b    subject to    z_i.b >= 0 for all i,   -1 <= b_j <= 1 for all j

A coefficient is infinite, with the sign of b_j, where |b_j| is not 0 to rounding. That program is
solved here as it is published: by SciPy's HiGHS, by lp_solve where its command is installed (the
solver that the package uses by default), and by the package itself where R has it.

Wrong is a sign that no direction of the cone has, a finite coefficient called infinite, or a fixed
sign called finite. Coefficients that run away with either sign are counted apart: the
vertex that the solver ends at decides what is said of them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from flint import fmpq
from fuzz.exact_halfspaces import infinite_is_possible
from scipy.optimize import linprog

import separatrix as sx

R_CODE = """
library(detectseparation); library(jsonlite)
sets <- fromJSON(commandArgs(TRUE)[1], simplifyVector = FALSE)
verdicts <- lapply(sets, function(s) {
  X <- do.call(rbind, lapply(s$X, unlist)); y <- unlist(s$y)
  unname(coef(glm(y ~ X, family = binomial, method = "detect_separation")))
})
cat(toJSON(lapply(verdicts, as.character)))
"""


# What counts as 0 in a solution of the linear program.
ROUNDING = np.sqrt(np.finfo(float).eps)


def signed_rows(X, y):
    """Return y_i [1, x_i] for y in {0, 1}."""
    return np.column_stack([np.ones(len(X)), X]) * (2 * np.asarray(y) - 1)[:, None]


def by_highs(z):
    """Solve the program by HiGHS."""
    found = linprog(-z.sum(axis=0), A_ub=-z, b_ub=np.zeros(len(z)), bounds=(-1.0, 1.0))
    return found.x


def by_lp_solve(z):
    """Solve the program by the command lp_solve."""
    names = [f"b{j}" for j in range(z.shape[1])]

    def combined(values):
        terms = [f"{v:+.17g} {name}" for v, name in zip(values, names, strict=True) if v]
        return " ".join(terms) or "0 b0"

    lines = [
        f"max: {combined(z.sum(axis=0))};",
        *(f"R{i}: {combined(row)} >= 0;" for i, row in enumerate(z)),
    ]
    lines += [f"{name} >= -1;\n{name} <= 1;" for name in names]
    words = [shutil.which("lp_solve"), "-S3"]
    done = subprocess.run(words, input="\n".join(lines), capture_output=True, text=True, check=True)
    values = dict(line.split() for line in done.stdout.splitlines() if line[:1] == "b")
    return np.array([float(values[name]) for name in names])


def stated(solution):
    """Return what the program says of each coefficient: -inf, 0 or inf."""
    return np.where(abs(solution) >= ROUNDING, np.copysign(np.inf, solution), 0.0).tolist()


def counted(name, sets, said):
    """Print on how many sets statements are wrong, or speak of coefficients that are open."""
    wrong = forced = passed_over = 0
    for (_, _, verdict), theirs in zip(sets, said, strict=True):
        pairs = list(zip(verdict.infinite.tolist(), theirs, strict=True))
        wrong += any(a not in ("open", b) for a, b in pairs)
        forced += any(a == "open" and b != 0.0 for a, b in pairs)
        passed_over += any(a == "open" and b == 0.0 for a, b in pairs)
    print(
        f"{name}: of {len(sets)} sets wrong on {wrong}; where both signs are possible, one stated "
        f"on {forced} and the coefficient called finite on {passed_over}"
    )


def problems(count):
    """Yield sets of full rank that are separable or quasi-separable, with their verdicts."""
    seed = 0
    while count:
        rng = np.random.default_rng(seed)
        seed += 1
        n, d = int(rng.integers(4, 12)), int(rng.integers(1, 4))
        X = rng.integers(-3, 4, size=(n, d)).astype(float)
        y = rng.integers(0, 2, size=n)
        full = np.column_stack([np.ones(n), X])
        if len(set(y.tolist())) < 2 or np.linalg.matrix_rank(full) <= d:
            continue
        verdict = sx.separability(X, y)
        if verdict.kind in ("separable", "quasi-separable"):
            count -= 1
            yield X, y, verdict


def told_by_r(sets):
    """Return what detectseparation says of every set; None without R and the package."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sets.json"
        path.write_text(json.dumps([{"X": X.tolist(), "y": y.tolist()} for X, y, _ in sets]))
        words = ["Rscript", "-e", R_CODE, str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def main():
    """Count the sets on which each is right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=186)
    sets = list(problems(parser.parse_args().problems))
    right, words = 0, {"inf": 0, "-inf": 0, "open": 0, "0.0": 0}
    for X, y, verdict in sets:
        z = [[fmpq(int(s) * int(v)) for v in (1, *x)] for x, s in zip(X, 2 * y - 1, strict=True)]
        infinite = verdict.infinite.tolist()
        right += infinite_is_possible(z, verdict.boundary.tolist(), infinite)
        for value in infinite:
            words[str(value)] += 1
    print(f"separatrix: right on {right} of {len(sets)} sets; coefficients {words}")
    rows = [signed_rows(X, y) for X, y, _ in sets]
    counted("its linear program by HiGHS", sets, [stated(by_highs(z)) for z in rows])
    if shutil.which("lp_solve") is None:
        print("its linear program by lp_solve: the command is not installed here")
    else:
        counted("its linear program by lp_solve", sets, [stated(by_lp_solve(z)) for z in rows])
    said = told_by_r(sets)
    if said is None:
        print("detectseparation: R or the package is not installed here")
        return
    words = {"Inf": np.inf, "-Inf": -np.inf}
    counted("detectseparation", sets, [[words.get(v, 0.0) for v in theirs] for theirs in said])


if __name__ == "__main__":
    main()
