"""Signs of infinite logistic coefficients beside the recession cone, and beside R if it is here.

    python -m benchmarks.infinite_signs [--problems 186]

Small separable and quasi-separable sets of whole numbers. For every coefficient that runs to
infinity the exact simplex says whether directions of both signs exist (then no sign is right), or
one alone. Where Rscript and the package detectseparation are installed, its signs are counted too:
wrong is a sign that no direction of the cone has, a finite coefficient called infinite, or the
reverse; a sign where both exist is counted apart.
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
    said = told_by_r(sets)
    if said is None:
        print("detectseparation: R or the package is not installed here")
        return
    wrong = open_signs = 0
    for (_, _, verdict), theirs in zip(sets, said, strict=True):
        ours = [str(value) for value in verdict.infinite]
        theirs = [{"Inf": "inf", "-Inf": "-inf"}.get(value, "0.0") for value in theirs]
        wrong += any(a != b for a, b in zip(ours, theirs, strict=True) if a != "open")
        open_signs += any(a == "open" for a in ours)
    print(f"detectseparation: wrong on {wrong}; a sign where both are possible on {open_signs}")


if __name__ == "__main__":
    main()
