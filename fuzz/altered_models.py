"""Model files with one value altered and sealed again: refused, or nothing that is claimed changes.

    python -m fuzz.altered_models                    every value of every kind of model
    python -m fuzz.altered_models --kinds svm kernel

Every value of a file is altered in turn: numbers nudged, doubled, negated, set to zero; texts and
entries exchanged; lists shortened. The file is sealed again, so its hash is right. Then it must not
load, or `examine` must refuse it, or it predicts the same bits and says the same: apart from values
that `examine` names as not proved, settings of the run, and bounds that are merely wider.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load, save
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from fuzz.model_files import copied, joined, parts, places
from separatrix.storage.claims_of_gaps import ROW_WEIGHTS, THRESHOLD
from separatrix.storage.model_file import from_bytes, to_bytes
from separatrix.storage.model_proof import examine

ROWS = np.array(
    [[0.0, 1.0], [1.0, 0.5], [3.0, 2.0], [4.0, 3.5], [0.5, 4.0], [1.5, 5.0], [2.5, 0.5], [0.3, 2.2]]
)
TWO = np.array(["low", "low", "high", "high", "low", "high", "high", "low"])
MIXED = np.array(["low", "high", "low", "high", "low", "high", "high", "low"])
THREE = np.array([0, 0, 1, 1, 2, 2, 1, 0])
NEAR = 1e-8  # and what is nearer is rounding
ELSEWHERE = np.random.default_rng(0).normal(1.5, 3.0, size=(40, 2))
SHAPE = "decision_function_shape"  # how scores of several classes are laid out
# What says how a run was made, and nothing of what came of it.
SETTINGS = {
    "solver", "max_seconds", "max_passes", "max_updates", "random_state", "warm_start", "n_jobs",
    "device", "verbose", "cache_size", "order", "patience", "pocket", "batch_size", "cv", "Cs",
    "gammas", "scoring", "rule", "refine", "memory", "tol", "init", "learning_rate", "scale",
    "average", "update", "decay", "copy", "clip", "epsilon", "transform_input", "thresholded",
    "multi_class", "degree", "coef0", "reject_label", "refit", "store_cv_results", "early_stopping",
    "n_iter_no_change", "validation_fraction", "power_t", "eta0", SHAPE,
    "tolerance",  # of a certificate: it must be the model's tol
}  # fmt: skip
# Fields of certificates that may be wider than need be, and are then still true.
WIDER = {
    "violations", "objective", "least", "perturbation", "gap", "lower", "upper", "margin",
    "margins", "bound", "ratio", "smallest", "violation", "worst_row", "worst_margin", "curved",
    "slack", "radius", "dense", "widest", "moved",
}  # fmt: skip
ERRORS = re.compile(r"certificate_\.(means|covariances|offsets|threshold)$")  # of Gaussians


def models() -> dict[str, tuple[Any, np.ndarray]]:
    """Return a small model of every kind that has a proof, with the labels it was fitted to."""
    two: dict[str, Any] = {
        "svm": sx.LinearSVM(C=0.7, class_weight={"low": 2.0}),
        "probable": sx.LinearSVM(probability=True),
        "squared": sx.LinearSVM(loss="squared_hinge", intercept_penalty=0.5),
        "hard": sx.LinearSVM(C=np.inf),
        "logistic": sx.LogisticRegression(class_weight="balanced"),
        "svm path": sx.LinearSVMCV([0.1, 1.0], cv=2),
        "logistic path": sx.LogisticRegressionCV([0.1, 1.0], cv=2),
        "kernel of two": sx.KernelSVM(kernel="poly", degree=2, coef0=1.0),
        "kernel path": sx.KernelSVMCV([0.1, 1.0], gammas=[0.1], cv=2),
        "fisher": sx.Fisher(),
        "fisher, gaussian": sx.Fisher("gaussian", priors=[0.3, 0.7]),
        "fisher, losses": sx.Fisher([[0.0, 5.0], [1.0, 0.0]]),
        "kozinec": sx.Kozinec(epsilon=0.3),
        "perceptron": sx.Perceptron(),
        "delta": sx.DeltaRule(max_passes=3000),
        "halfspace": sx.LinearProgramHalfspace(),
        "scaled": make_pipeline(StandardScaler(), sx.LinearSVM()),
        "lifted": make_pipeline(sx.lift.Polynomial(2), sx.LogisticRegression()),
        "basis": make_pipeline(sx.lift.RadialBasis(3, random_state=0), sx.LinearSVM()),
        "squares of two": sx.LeastSquares(ridge=[0.1, 1.0]),
        "gradient steps": sx.SGD(max_passes=64),
        "sparse": sx.LogisticRegression(C=5.0, l1_ratio=1.0),
        "one covariance": sx.GaussianPlugIn(covariance="shared"),
        "one covariance, false alarms": sx.GaussianPlugIn(
            covariance="shared", task="neyman-pearson", bound=0.1
        ),
        "covariances, minimax": sx.GaussianPlugIn(task="minimax"),
        "variances": sx.GaussianPlugIn(covariance="diagonal"),
        "kernel perceptron": sx.KernelPerceptron(max_updates=200),
        "kernel kozinec": sx.KernelKozinec(epsilon=0.1, max_updates=500),
        "not below zero": sx.LeastSquares(positive=True),
        "fourier": make_pipeline(sx.lift.RandomFourier(3, random_state=0), sx.LinearSVM()),
        "nystrom": make_pipeline(sx.lift.Nystrom(3, random_state=0), sx.LinearSVM()),
    }
    mixed = {
        "errors": sx.ZeroOne(),
        "no halfspace": sx.LinearProgramHalfspace(),
        "likelihood": sx.LogisticRegression(C=np.inf),
    }
    three: dict[str, Any] = {
        "each against the rest": sx.LinearSVM(),
        "pairs": sx.LinearSVM(multi_class="ovo"),
        "logistic pairs": sx.LogisticRegression(multi_class="ovo"),
        "direct": sx.LinearSVM(multi_class="direct"),
        "multinomial": sx.LogisticRegression(multi_class="multinomial"),
        "kernel": sx.KernelSVM(),
        "kernel, rest": sx.KernelSVM(multi_class="ovr"),
        "kernel, direct": sx.KernelSVM(multi_class="direct"),
        "squares": sx.LeastSquares(),
        "sparse, all classes": sx.LogisticRegression(C=5.0, l1_ratio=1.0),
        "fisher of three": sx.Fisher(),
        "covariances of three": sx.GaussianPlugIn(covariance="shared"),
        "likelihood of three": sx.LogisticRegression(C=np.inf),
        "wrapped": sx.OneVsRest(sx.LinearSVM()),
        "wrapped pairs": sx.OneVsOne(sx.LogisticRegression()),
    }
    found: dict[str, tuple[Any, np.ndarray]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for some, labels in ((two, TWO), (mixed, MIXED), (three, THREE)):
            found |= {name: (model.fit(ROWS, labels), labels) for name, model in some.items()}
        found["threshold"] = (sx.LinearSVM().fit(ROWS, MIXED), MIXED)
        found["threshold"][0].threshold_ = 0.4
        found["sparse kernel"] = (sx.KernelSVM().fit(sp.csr_array(ROWS), THREE), THREE)
    return found


# ---- one value altered


def altered_files(contents: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield every altered file, with what was altered."""
    header, tail = parts(contents)
    arrays = load(tail)
    for path in places(header):
        node = header
        for key in path[:-1]:
            node = node[key]
        for number, value in enumerate(others_of(node[path[-1]], path)):
            again = copied(header)
            holder = again
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = value
            yield f"{'/'.join(map(str, path))} #{number}", joined(again, tail)
    for name, array in arrays.items():
        for number, other in enumerate(other_arrays(array)):
            yield f"array {name} #{number}", joined(header, save({**arrays, name: other}))


def others_of(value: Any, path: tuple[Any, ...]) -> list[Any]:
    if path[-1] in ("is", "format", "number"):
        return []
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, 0] if value else [1]
    if isinstance(value, str):
        return _other_texts(value)
    if isinstance(value, list) and value:
        changed = [value[:-1], [*value, copied(value[-1])]]
        return [*changed, value[::-1]] if value[::-1] != value else changed
    return []


def _other_texts(text: str) -> list[Any]:
    try:
        number = float.fromhex(text) if text.lower() not in ("inf", "nan", "-inf") else math.nan
    except ValueError:
        named = {"OPTIMAL": "BUDGET", "SEPARATED": "BUDGET", "ovr": "ovo", "ovo": "ovr"}
        swapped = {"low": "high", "high": "low", "hinge": "squared_hinge", "mean": "gaussian"}
        return [{**named, **swapped}.get(text, text + "x"), ""]
    if text.startswith(("0x", "-0x")) and "p" not in text:
        return [hex(int(text, 16) + 1), hex(-int(text, 16))]
    if not math.isfinite(number):
        return ["0x1.0p+0"]
    return [value.hex() for value in _other_numbers(number)]


def _other_numbers(value: float) -> list[float]:
    others = (np.nextafter(value, math.inf), value * (1.0 + 1e-9), 2.0 * value, -value, 0.0, 1.0)
    return [float(other) for other in others if other != value]


def other_arrays(array: np.ndarray) -> list[np.ndarray]:
    flat, changed = array.ravel(), []
    for place in range(min(len(flat), 6)):
        if array.dtype.kind == "f":
            others: list[Any] = _other_numbers(float(flat[place]))
        else:
            others = [flat[place] + 1, 0] if array.dtype.kind == "i" else [not flat[place]]
        for other in others:
            again = flat.copy()
            again[place] = other
            changed.append(again.reshape(array.shape))
    if len(flat) > 1:
        changed += [array[::-1].copy(), np.roll(flat, 1).reshape(array.shape)]
    return changed


# ---- what is claimed


def claims_of(model: Any) -> dict[str, Any]:
    """Return what a model says, by the names that lead to it; arrays and numbers as they are."""
    told: dict[str, Any] = {}
    _tell(model, "", told)
    return told


def _tell(value: Any, name: str, told: dict[str, Any]) -> None:
    if hasattr(value, "get_params"):
        items: Any = vars(value).items()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    elif isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    elif hasattr(value, "to_json"):
        items = json.loads(value.to_json()).items()
    else:
        told[name] = value.toarray() if sp.issparse(value) else value
        return
    for key, inner in items:
        if key not in ("_tree", "fold_errors"):
            _tell(inner, f"{name}.{key}", told)


def are_near(one: Any, other: Any) -> bool:
    """Whether two values are the same, numbers up to rounding."""
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind == b.dtype.kind == "f" and a.shape == b.shape:
        with np.errstate(all="ignore"):
            near = abs(a - b) <= NEAR * (abs(a).max(initial=0.0) + 1e-300)
            return bool((near | (a == b) | ((a != a) & (b != b))).all())
    return type(one) is type(other) and a.shape == b.shape and bool(np.all(a == b))


def scores_of(model: Any, rows: Any) -> dict[str, Any]:
    """Return all that a model predicts."""
    told = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in ("predict", "decision_function", "predict_proba", "transform"):
            if hasattr(model, method):
                told[method] = getattr(model, method)(rows.copy())
    return told


def fault_of(kind: str, original: Any, contents: bytes, labels: np.ndarray) -> str | None:
    """Return what is wrong where an altered file is proved though it says something else."""
    try:
        model = from_bytes(contents).model
    except sx.ModelFileError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = examine(model, rows_of(kind), labels)
    if not found.proved:
        return None
    unproved = any("probabilities" in each for each in found.not_proved)
    free_threshold = THRESHOLD in found.not_proved
    laid_out = getattr(model, SHAPE, None) == getattr(original, SHAPE, None)
    for place in (ROWS, ELSEWHERE):
        now, before = scores_of(model, place), scores_of(original, place)
        for method in set(now) & set(before):
            free = unproved and method == "predict_proba"
            free = free or (free_threshold and method == "predict")
            free = free or (method == "decision_function" and not laid_out)
            if not are_near(now[method], before[method]) and not free:
                return f"proved, and {method} changed"
    before, now = claims_of(original), claims_of(model)
    for name in sorted(set(before) | set(now)):
        words = set(name.split("."))
        named = {each.removeprefix("certificate_.") for each in found.not_proved}
        free = words & (SETTINGS | WIDER | named) or ("_calibration" in words and unproved)
        free = free or ("costs" in words and ROW_WEIGHTS in named)
        free = free or ("threshold_" in words and free_threshold)
        free = free or ERRORS.search(name)
        free = free or re.search(r"steps\.\d+\.0$", name)  # what a step is called
        if not free and not (name in before and name in now and are_near(before[name], now[name])):
            return f"proved, and {name} changed"
    return None


def rows_of(kind: str) -> Any:
    """Return the rows of training, as they were given."""
    return sp.csr_array(ROWS) if kind == "sparse kernel" else ROWS.copy()


def run(kinds: list[str] | None = None, share: int = 1, seed: int = 0) -> tuple[int, list[str]]:
    """Try one altered file in `share` of every kind; return how many, and what went wrong."""
    draw, count, faults = np.random.default_rng(seed), 0, []
    for kind, (model, labels) in models().items():
        if kinds and kind not in kinds:
            continue
        contents = to_bytes(model)
        original = from_bytes(contents).model
        honest = examine(original, rows_of(kind), labels)
        if not honest.proved:
            faults.append(f"{kind}: not proved as it is: {honest.sentence}")
        for where, altered in altered_files(contents):
            if draw.integers(share):
                continue
            count += 1
            fault = fault_of(kind, original, altered, labels)
            if fault is not None:
                faults.append(f"{kind}: {where}: {fault}")
                print(faults[-1], flush=True)
        print(f"{kind}: {count} files so far, {len(faults)} faults", file=sys.stderr, flush=True)
    return count, faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="*")
    parser.add_argument("--share", type=int, default=1, help="one file in so many")
    told = parser.parse_args()
    begun = time.process_time()
    count, faults = run(told.kinds, told.share)
    seconds = time.process_time() - begun
    print(f"separatrix {sx.__version__}: {count} altered files, {seconds:.0f} s of processor time")
    for words, number in Counter(fault.split(": ")[-1] for fault in faults).most_common(20):
        print(f"  {number} x {words}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
