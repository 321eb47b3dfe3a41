"""Freeze what the library answers, and compare it with an earlier commit, byte for byte.

    python -m benchmarks.golden --against REV     # both in one run, on one computer
    python -m benchmarks.golden --write FILE      # the answers alone

A case is a fit through public names, or a command. Kept are all fitted values, the certificate as
JSON, the words, the predictions and the bytes of the model file; of a command, all it prints and
writes. Only times are left out. The script exits with 1 where an answer changed, and prints where.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["answers", "compared", "main"]

ROOT = Path(__file__).resolve().parents[1]
_TIMES = re.compile(r"(?<![\w.])\d[\d,.]*(e-?\d+)? ?(ms|s|seconds|minutes|s of [\w ]+)\b")
_RATES = re.compile(r"\d[\d,.]* (million |thousand )?(rows|entries|values|lines) a second")
_LONG = 200  # a longer text is kept as its digest


# ---- data


def data_sets() -> dict[str, tuple[Any, np.ndarray]]:
    """Return small sets: dense and sparse, apart and overlapping, two classes and three."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(60, 3))
    side = X @ [1.0, -2.0, 0.5] + 0.2
    overlap = np.where(side + 0.8 * rng.normal(size=60) > 0, "yes", "no")
    apart = np.where(side > 0, 1, -1)
    gap = X + 0.3 * apart[:, None] * np.array([1.0, -2.0, 0.5]) / 2.3
    three = np.argmax(X @ rng.normal(size=(3, 3)) + 0.3 * rng.normal(size=(60, 3)), axis=1)
    words = sp.random_array((50, 400), density=0.03, rng=rng, format="csr")
    wide = rng.normal(size=(12, 30))
    return {
        "apart": (gap, apart),
        "overlap": (X, overlap),
        "three": (X, three),
        "words": (words, np.where(np.arange(50) % 2, "b", "a")),
        "wide": (wide, np.arange(12) % 2 == 0),
        "single precision": (X.astype(np.float32), overlap),
        "copies": (np.round(X[:, :2]), np.where(side > 0, 2.0, 1.0)),
        "scales": (X * [1e-9, 1.0, 1e9], overlap),
    }


# ---- fits


def models(sx: Any) -> dict[str, Callable[[], Any]]:
    """Return the estimators with the settings that take other ways through the code."""
    made: dict[str, Callable[[], Any]] = {}

    def add(kind: str, **settings: Any) -> None:
        said = ", ".join(f"{name}={value}" for name, value in settings.items())
        made[f"{kind}({said})"] = lambda: getattr(sx, kind)(**settings)

    for loss in ("hinge", "squared_hinge"):
        add("LinearSVM", loss=loss)
        add("LinearSVM", loss=loss, C=100.0, fit_intercept=False)
        add("LinearSVM", loss=loss, solver="dual_coordinate")
    add("LinearSVM", multi_class="direct")
    add("LinearSVM", multi_class="ovo")
    add("LinearSVM", probability=True)
    add("LinearSVM", class_weight="balanced")
    add("LogisticRegression")
    add("LogisticRegression", C=100.0)
    add("LogisticRegression", multi_class="multinomial")
    for kernel in ("rbf", "poly", "linear"):
        add("KernelSVM", kernel=kernel)
    add("KernelSVM", multi_class="direct")
    for kind in ("KernelPerceptron", "KernelKozinec"):
        add(kind, kernel="rbf", max_updates=500)
    for order in ("cyclic", "random", "worst"):
        add("Perceptron", order=order, max_updates=2_000, random_state=1)
        add("Kozinec", order=order, max_updates=2_000, random_state=1)
    add("Perceptron", update="batch", max_updates=500)
    add("DeltaRule", max_updates=500)
    add("SGD", max_passes=5, random_state=1)
    add("LeastSquares")
    add("LeastSquares", ridge=1.0)
    add("Fisher")
    add("Fisher", threshold="gaussian")
    add("Fisher", direction="means")
    for covariance in ("shared", "full", "diagonal"):
        add("GaussianPlugIn", covariance=covariance)
    add("LinearProgramHalfspace")
    add("ZeroOne", max_seconds=600)
    add("LinearSVMCV", Cs=[0.1, 1.0, 10.0], cv=3, random_state=1)
    add("LogisticRegressionCV", Cs=[0.1, 1.0], cv=3, random_state=1)
    multinomial = {"multi_class": "multinomial"}
    add("LogisticRegressionCV", Cs=[0.1, 1.0], cv=3, random_state=1, **multinomial)
    add("KernelSVMCV", Cs=[0.1, 1.0], cv=3, random_state=1)
    made["OneVsRest(Kozinec)"] = lambda: sx.OneVsRest(sx.Kozinec(max_updates=2_000))
    made["OneVsOne(LinearSVM)"] = lambda: sx.OneVsOne(sx.LinearSVM())
    return made


def fit_answers(sx: Any, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every model on every data set."""
    for data, (X, y) in data_sets().items():
        for name, make in models(sx).items():
            if takes_minutes(name, data):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield f"{name} on {data}", _fit_answer(sx, make, X, y, folder / "model.sx")
        yield f"separability on {data}", _verdict(sx, X, y)


def takes_minutes(name: str, data: str) -> bool:
    """Return whether this fit is left out: a long search, or coordinates 1e18 apart in scale."""
    if name.startswith("ZeroOne"):
        return data not in ("apart", "copies")
    return "dual_coordinate" in name and data == "scales"


def _verdict(sx: Any, X: Any, y: Any) -> dict[str, str]:
    try:
        found = sx.separability(X, y)
    except ValueError as error:
        return {"refused": str(error)}
    return {"words": str(found), **_values(found)}


def _fit_answer(sx: Any, make: Callable[[], Any], X: Any, y: Any, file: Path) -> dict[str, str]:
    try:
        model = make().fit(X, y)
    except Exception as error:  # what is refused, and how, is an answer too
        return {"refused": f"{type(error).__name__}: {error}"}
    if hasattr(model, "path_"):
        model.path_["seconds"][:] = 0.0
    found = {"words": without_times(str(model)), **_values(model)}
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, name):
            found[name] = written(getattr(model, name)(X))
    try:
        sx.save(model, file)
        found["model file"] = hashlib.sha256(file.read_bytes()).hexdigest()
    except Exception as error:
        found["model file"] = f"{type(error).__name__}: {error}"
    return found


def _values(model: Any) -> dict[str, str]:
    names = [name for name in sorted(vars(model)) if not name.startswith("_")]
    kept = [name for name in names if name.endswith("_") or not hasattr(model, "get_params")]
    return {name: written(getattr(model, name)) for name in kept if "seconds" not in name}


def written(value: Any) -> str:
    """Return a value as text: floats in hexadecimal, long ones as a digest."""
    if isinstance(value, np.ndarray):
        numbers = value.ravel().tolist()
        text = f"{value.dtype} {value.shape} " + ",".join(map(written, numbers))
    elif isinstance(value, float):
        text = value.hex()
    elif isinstance(value, dict):
        text = ";".join(f"{key}: {written(each)}" for key, each in value.items())
    elif isinstance(value, list | tuple):
        text = ",".join(map(written, value))
    elif hasattr(value, "to_json"):
        text = value.to_json() or ""
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        text = ";".join(f"{key}: {written(each)}" for key, each in sorted(vars(value).items()))
    else:
        text = str(value)
    return short(without_times(text))


def short(text: str) -> str:
    return text if len(text) <= _LONG else "sha256 " + hashlib.sha256(text.encode()).hexdigest()


def without_times(text: str) -> str:
    return _RATES.sub("RATE", _TIMES.sub("TIME", text))


# ---- commands


def command_answers(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what commands print, return and write."""
    tables(folder)
    for line in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "separatrix", *line.split()],
            cwd=folder, capture_output=True, text=True, check=False,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        )  # fmt: skip
        found = {
            "exit": str(done.returncode),
            "out": short(without_times(done.stdout)),
            "err": short(without_times(done.stderr)),
        }
        if line.startswith("path "):  # its table has a column of seconds
            found["out"] = f"{len(done.stdout.splitlines())} lines"
        yield f"separatrix {line}", found
    for file in sorted(folder.rglob("*")):
        kept = file.suffix in (".sx", ".json", ".html", ".csv", ".svg")
        if (
            file.is_file() and kept and "seals" not in file.parts
        ):  # a seal has an identity of its own
            text = without_times(file.read_bytes().decode("latin-1"))
            yield f"file {file.relative_to(folder)}", {"bytes": short(text + " " * _LONG)}


def tables(folder: Path) -> None:
    for name, (X, y) in data_sets().items():
        if sp.issparse(X):
            continue
        lines = [",".join([*(f"x{j}" for j in range(X.shape[1])), "class"])]
        lines += [
            ",".join([*(repr(float(v)) for v in row), str(label)])
            for row, label in zip(X, y, strict=True)
        ]
        (folder / f"{name.replace(' ', '_')}.csv").write_text("\n".join(lines) + "\n")


COMMANDS = [
    "--help",
    "info apart.csv",
    "info apart.csv --json",
    "separable apart.csv -o apart.json",
    "separable overlap.csv -o overlap.json",
    "separable overlap.csv --json",
    "verify apart.json apart.csv",
    "verify overlap.json overlap.csv",
    "verify apart.json overlap.csv",
    "fit overlap.csv -o overlap.sx",
    "fit three.csv -o three.sx",
    "fit overlap.csv --loss logistic -o logistic.sx",
    "fit overlap.csv --json",
    "fit absent.csv",
    "info overlap.sx",
    "info three.sx --json",
    "predict overlap.sx overlap.csv",
    "predict three.sx three.csv",
    "predict logistic.sx overlap.csv",
    "predict three.sx overlap.csv",
    "verify overlap.sx overlap.csv",
    "verify three.sx three.csv",
    "verify three.sx overlap.csv",
    "path overlap.csv --folds 3",
    "path three.csv --folds 3 --json",
    "trace apart.csv --method perceptron",
    "trace apart.csv --method kozinec --json",
    "trace overlap.csv --method perceptron --max-updates 50 --json",
    "trace apart.csv --method kozinec -o trace.svg",
    "export overlap.sx -o overlap_weights.csv",
    "study apart.csv -o study_apart --no-times --seed 1",
    "study three.csv -o study_three --no-times --seed 1",
    "study scales.csv -o study_scales --no-times --seed 1 --json",
]


# ---- both


def answers() -> dict[str, dict[str, str]]:
    """Return every answer of the library that Python finds."""
    import separatrix as sx

    found: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, answer in fit_answers(sx, Path(place)):
            found[name] = answer
    with tempfile.TemporaryDirectory() as place:
        for name, answer in command_answers(Path(place)):
            found[name] = {key: text.replace(place, "FOLDER") for key, text in answer.items()}
    return found


def compared(old: dict[str, dict[str, str]], new: dict[str, dict[str, str]]) -> list[str]:
    """Return a line for every field that differs."""
    lines = []
    for name in [*old, *(name for name in new if name not in old)]:
        before, after = old.get(name, {}), new.get(name, {})
        for field in [*before, *(field for field in after if field not in before)]:
            if before.get(field) != after.get(field):
                lines.append(f"{name}: {field}: {before.get(field)} -> {after.get(field)}")
    return lines


def answers_of(revision: str) -> dict[str, dict[str, str]]:
    """Return the answers of an earlier commit, by this script."""
    with tempfile.TemporaryDirectory() as place:
        tree, file = Path(place) / "tree", Path(place) / "answers.json"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "-q", str(tree), revision], check=True
        )
        try:
            subprocess.run(
                [sys.executable, "-m", "benchmarks.golden", "--write", str(file)],
                cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(tree / "src")},
            )  # fmt: skip
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True)
        return dict(json.loads(file.read_text()))


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--write", type=Path, help="write the answers to this file")
    ask.add_argument("--with", dest="file", type=Path, help="compare with answers written before")
    ask.add_argument("--against", help="compare with the answers of this commit")
    given = ask.parse_args()
    new = answers()
    if given.write:
        given.write.write_text(json.dumps(new, indent=1) + "\n")
    old = json.loads(given.file.read_text()) if given.file else None
    old = answers_of(given.against) if given.against else old
    if old is None:
        print(f"{len(new)} answers")
        return 0
    lines = compared(old, new)
    print("\n".join(lines))
    print(f"{len(new)} answers, {len(lines)} fields differ")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
