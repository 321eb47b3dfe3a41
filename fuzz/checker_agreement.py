"""The stand-alone checker and the library say the same of genuine and of altered certificates.

    python -m fuzz.checker_agreement --genuine 20000 --altered 200000

The library makes certificates of every kind from small made-up problems; each is altered in one
field (a bit, a digit, a sign, a row, a name), in its data, or in both. Both then check it. The
checker computes without rounding and the library within bounds on it, so a bound may be true and
too tight for the library: such a claim must be one that the library accepts once it is loosened by
a thousandth, or that a third judge confirms without rounding. The other way round, the checker may
miss a true bound of a multinomial model, whose point it computes itself: the third judge must
confirm it, and the checker accept it once it is loosened. Whatever else they disagree on is
printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import error_forgeries
from tests.inference_problems import drawn, holds_at_300_bits, method_of
from tests.kernel_direct import balanced, claimed, of_linear_machine
from tests.naive import separation as naive

import separatrix as sx
from fuzz.agreement_squares import SQUARES, by_enclosures, is_true
from fuzz.certificates import clouds
from fuzz.exact_certificates import Book, Facts, softmax_gap
from fuzz.sparse_claims import sparse_softmax_gap, two_gap
from fuzz.workers import Followed, pool_of
from separatrix.certificates.duality_gap import ScaledGap
from separatrix.certificates.kernel_separation import KernelOverlap
from separatrix.certificates.reading import VERDICTS, from_json
from separatrix.checker import CLAIMS, Refused, check
from separatrix.problem.canonical import as_checker_data, data_of, problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.kernels import Kernel
from separatrix.storage.certificate_files import prove_again

__all__ = ["MAKERS", "altered", "by_checker", "by_library", "compared", "run"]

Genuine = tuple[dict[str, Any], Any, Any]
_CHUNK = 100


# ---- genuine ones


def of(proof: Any, X: Any, y: Any) -> Genuine:
    return json.loads(proof.to_json()), X, y


def fitted(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (model.fit(X, y) if weights is None else model.fit(X, y, weights)).certificate_


def sizes(rng: Any, X: Any) -> Any:
    """Bring some of the problems to columns of very different size."""
    return X * 2.0 ** rng.integers(-40, 40, size=X.shape[1]) if rng.random() < 0.2 else X


def verdict(rng: Any, apart: float, rounded: bool) -> Genuine:
    while True:
        X, y = clouds(rng, 2, apart)
        found = sx.separability(np.round(X) if rounded else X, y, bool(rng.integers(2)))
        if found.certificate is not None:
            return of(found.certificate, np.round(X) if rounded else X, y)


def gordan(rng: Any) -> Genuine:
    while True:
        whole, X, y = verdict(rng, 0.5, True)
        if whole["kind"] == "overlap" and whole["claim"]["others"] == "0x0":
            del whole["claim"]["others"]
            return whole | {"kind": "gordan"}, X, y


def quasi(rng: Any) -> Genuine:
    """Two rows at one place, the others apart, and directions that cannot matter."""
    while True:
        X, y = clouds(rng, 2, 9.0)
        X = np.round(X)
        X[0] = X[1]
        whole, X, y = of(sx.separability(X, y).certificate, X, y)
        if whole["kind"] == "quasi":
            return whole, X, y


def separated(rng: Any) -> Genuine:
    while True:
        X, y = clouds(rng, int(rng.integers(2, 4)), 30.0)
        proof = fitted(sx.Perceptron(max_updates=10_000), X, y)
        if proof.holds:
            return of(getattr(proof, "separation", proof), X, y)


def margin_bounds(rng: Any) -> Genuine:
    X, y = clouds(rng, 2, 9.0)
    return of(fitted(sx.Kozinec(epsilon=0.1), X, y), X, y)


def errors(rng: Any) -> Genuine:
    seed, dimensions = int(rng.integers(10**6)), [None, 4, 5][int(rng.integers(3))]
    X, signs, _ = error_forgeries.small_problem(seed, dimensions)
    return of(fitted(sx.ZeroOne(max_seconds=5.0), X, signs), X, signs)


def linear(rng: Any) -> Genuine:
    X, y = clouds(rng, int(rng.integers(2, 4)))
    C = float(10.0 ** rng.integers(-3, 4))
    weights = rng.integers(1, 4, size=len(y)) / 3.0 if rng.random() < 0.3 else None
    if rng.random() < 0.15:
        X, C, weights = X + 40.0 * y[:, None], np.inf, None
    bias = bool(rng.integers(2))
    loss = ["hinge", "squared_hinge", "logistic"][int(rng.integers(3))]
    if loss == "logistic":
        C = C if np.isfinite(C) else 1.0
        C = np.inf if rng.random() < 0.2 else C
        model: Any = sx.LogisticRegression(C, fit_intercept=bias, multi_class="ovr")
    else:
        model = sx.LinearSVM(C, loss=loss, fit_intercept=bias)
    X = sizes(rng, X)
    try:
        proof = fitted(model, X, y, weights)
    except ValueError:
        return linear(rng)  # not separable without an intercept
    one = proof.machines[int(rng.integers(len(proof.machines)))] if len(set(y)) > 2 else proof
    return of(one, X, y) if one.holds else linear(rng)


def scaled(rng: Any) -> Genuine:
    while True:
        X, y = clouds(rng, int(rng.integers(2, 4)))
        X = X * 2.0 ** rng.integers(-20, 20, size=X.shape[1])
        proof = fitted(sx.SGD(max_passes=20), X, y)
        if isinstance(proof, ScaledGap) and proof.holds:
            return of(proof, X, y)


def sparse(rng: Any) -> Genuine:
    X, y = clouds(rng, int(rng.integers(2, 4)))
    X = sizes(rng, np.column_stack([X, rng.normal(size=(len(X), int(rng.integers(1, 5))))]))
    settings: Any = {"l1_ratio": float(rng.choice([1.0, 0.5, 0.1]))}
    settings["fit_intercept"] = bool(rng.integers(2))
    if rng.random() < 0.3:
        settings["groups"] = rng.integers(0, 2, size=X.shape[1])
    C = float(10.0 ** rng.integers(-3, 3))
    weights = rng.integers(1, 4, size=len(y)) / 3.0 if rng.random() < 0.3 else None
    if rng.random() < 0.5:
        model: Any = sx.LogisticRegression(C, multi_class="ovr", **settings)
    else:
        model = sx.LinearSVM(C, loss="squared_hinge", **settings)
    proof = fitted(model, X, y, weights)
    one = proof.machines[int(rng.integers(len(proof.machines)))] if len(set(y)) > 2 else proof
    return of(one, X, y) if one.holds else sparse(rng)


def multiclass(rng: Any) -> Genuine:
    X, y = clouds(rng, 3)
    X = sizes(rng, X)
    bias = bool(rng.integers(2))
    model = sx.LinearSVM(
        float(10.0 ** rng.integers(-2, 3)), multi_class="direct", fit_intercept=bias
    )
    return of(fitted(model, X, y), X, y)


def softmax(rng: Any) -> Genuine:
    X, y = clouds(rng, 3)
    C = np.inf if rng.random() < 0.3 else float(10.0 ** rng.integers(-2, 3))
    model = sx.LogisticRegression(
        C,
        multi_class="multinomial",
        fit_intercept=bool(rng.integers(2)),
    )
    return of(fitted(model, X, y), X, y)


def sparse_softmax(rng: Any) -> Genuine:
    X, y = clouds(rng, int(rng.integers(2, 4)))
    X = sizes(rng, np.column_stack([X, rng.normal(size=(len(X), int(rng.integers(1, 5))))]))
    settings: Any = {"l1_ratio": float(rng.choice([1.0, 0.5, 0.1])), "multi_class": "multinomial"}
    settings["fit_intercept"] = bool(rng.integers(2))
    if rng.random() < 0.3:
        settings["groups"] = rng.integers(0, 2, size=X.shape[1])
    weights = rng.integers(1, 4, size=len(y)) / 3.0 if rng.random() < 0.3 else None
    model = sx.LogisticRegression(float(10.0 ** rng.integers(-3, 3)), **settings)
    proof = fitted(model, X, y, weights)
    return of(proof, X, y) if proof.holds else sparse_softmax(rng)


def a_kernel(rng: Any) -> dict[str, Any]:
    names = ["linear", "rbf", "poly", "sigmoid"]
    name = names[int(rng.choice(4, p=[0.2, 0.4, 0.3, 0.1]))]
    coef0 = float(rng.choice([0.0, 0.5, 1.0, -0.5], p=[0.3, 0.3, 0.3, 0.1]))
    return {"kernel": name, "gamma": 0.5, "degree": int(rng.integers(1, 4)), "coef0": coef0}


def kernel(rng: Any) -> Genuine:
    X, y = clouds(rng, int(rng.integers(2, 4)))
    settings = a_kernel(rng)
    C = float(10.0 ** rng.integers(-2, 3))
    if settings["kernel"] in ("rbf", "linear") and rng.random() < 0.2:
        X, C = X + 40.0 * y[:, None], np.inf
    way = ["ovr", "ovo"][int(rng.integers(2))]
    try:
        proof = fitted(sx.KernelSVM(C, **settings, multi_class=way), X, y)
    except ValueError:
        return kernel(rng)  # no machine of a hard margin
    one = proof.machines[int(rng.integers(len(proof.machines)))] if len(set(y)) > 2 else proof
    return of(one, X, y) if one.holds else kernel(rng)


def kernel_direct(rng: Any) -> Genuine:
    X, y = clouds(rng, 3)
    given = a_kernel(rng)
    made = Kernel(given["kernel"], given["gamma"], given["degree"], given["coef0"])
    costs = np.ones(len(X)) * 2.0 ** rng.integers(-3, 4)
    if rng.random() < 0.5:
        multipliers, biases = of_linear_machine(X, y, costs)
    else:
        multipliers, biases = balanced(rng, y, 3, costs), rng.normal(size=3)
    proof = claimed(made, X, y, 3, costs, multipliers, biases)
    return of(proof, X, y) if proof.holds else kernel_direct(rng)


def kernel_separation(rng: Any) -> Genuine:
    X, y = clouds(rng, 2)
    names = ["linear", "rbf", "poly"]
    rule = [sx.KernelPerceptron, sx.KernelKozinec][int(rng.integers(2))]
    model = rule(kernel=str(rng.choice(names)), gamma=0.5, max_updates=2000)
    return of(fitted(model, X, y), X, y)


def kernel_overlap(rng: Any) -> Genuine:
    X, y = clouds(rng, 2)
    if rng.random() < 0.3:
        X[int(np.flatnonzero(y == 1)[0])] = X[int(np.flatnonzero(y == 0)[0])]
    given, alpha = a_kernel(rng), np.zeros(len(y))
    made = Kernel(given["kernel"], given["gamma"], given["degree"], given["coef0"])
    for k in (0, 1):
        alpha[np.flatnonzero(y == k)[:2]] = [0.75, 0.25] if rng.random() < 0.7 else [1.0, 0.0]
    name = fingerprint(data_of(X, y, 2, True))
    proof = KernelOverlap.proved(X, y, alpha, kernel=made, data_sha256=name)
    return of(proof, X, y) if proof.holds else kernel_overlap(rng)


def least_squares(rng: Any) -> Genuine:
    X, y = clouds(rng, int(rng.integers(2, 4)))
    X, bias = sizes(rng, X), bool(rng.integers(2))
    model = sx.LeastSquares(float(rng.choice([0.0, 0.0, 0.5, 8.0])), fit_intercept=bias)
    return of(fitted(model, X, y), X, y)


def fisher(rng: Any) -> Genuine:
    X, y = clouds(rng, int(rng.integers(2, 4)))
    X = sizes(rng, X)
    proof = fitted(sx.Fisher(), X, y) if len(X) > 8 else None
    return of(proof, X, y) if proof is not None and proof.holds else fisher(rng)


def inference(rng: Any) -> Genuine:
    number = int(rng.integers(10**6))
    X, y = drawn(number)
    proof = sx.inference(X, y, method_of(number)).certificate
    return inference(rng) if proof is None else of(proof, X, y)


MAKERS: dict[str, Callable[[Any], Genuine]] = {
    "separation": separated,
    "separation of a verdict": lambda rng: verdict(rng, 9.0, False),
    "quasi and overlap": lambda rng: verdict(rng, 0.5, True),
    "quasi": quasi,
    "gordan": gordan,
    "margin-bounds": margin_bounds,
    "errors": errors,
    "duality-gap": linear,
    "scaled-gap": scaled,
    "sparse-gap": sparse,
    "multiclass-gap": multiclass,
    "softmax-gap": softmax,
    "sparse-softmax-gap": sparse_softmax,
    "kernel-gap": kernel,
    "kernel-multiclass-gap": kernel_direct,
    "kernel-separation": kernel_separation,
    "kernel-overlap": kernel_overlap,
    "least-squares": least_squares,
    "fisher and fisher-directions": fisher,
    "inference": inference,
}


# ---- altered ones


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to everything in a certificate."""
    if not isinstance(value, dict | list):
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [path] * bool(path) + [p for key, each in inner for p in leaves(each, (*path, key))]


def other_float(rng: Any, text: str) -> Any:
    value = float.fromhex(text)
    ways: list[Callable[[], Any]] = [
        lambda: float(np.nextafter(value, np.inf)),
        lambda: float(np.nextafter(value, -np.inf)),
        lambda: value * float(1.0 + rng.choice([-1, 1]) * 10.0 ** -rng.integers(2, 15)),
        lambda: value * float(rng.choice([0.0, -1.0, 0.5, 2.0, 1e3])),
        lambda: value + float(rng.normal()),
        lambda: float((np.array(value).view(np.int64) ^ (1 << int(rng.integers(63)))).view(float)),
    ]
    with np.errstate(all="ignore"):
        made = ways[int(rng.integers(len(ways)))]()
    return made.hex() if np.isfinite(made) else str(made)


def other_leaf(rng: Any, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1, 2, -1000]))
    if isinstance(value, str) and "p" in value and value.lstrip("-").startswith("0x"):
        return other_float(rng, value)
    if isinstance(value, str) and value.lstrip("-").startswith("0x"):
        return hex(int(value, 16) + int(rng.choice([-1, 1, 16])))
    if isinstance(value, str):
        return [value[:-1] + "0", value + "x", "", "hinge", "linear", "1"][int(rng.integers(6))]
    return rng.choice([0, 1]).item()


def alter_field(rng: Any, whole: Any) -> str:
    paths = leaves(whole)
    # Bounds and weights carry the claim: they get half of all attempts.
    heavy = [p for p in paths if p[0] == "claim"]
    chosen = heavy if rng.random() < 0.8 and heavy else paths
    path = chosen[int(rng.integers(len(chosen)))]
    if rng.random() < 0.25:
        bounds = [p for p in heavy if p[-1] in ("primal", "dual", "lower", "upper", "violation")]
        path = bounds[int(rng.integers(len(bounds)))] if bounds else path
    holder = whole
    for key in path[:-1]:
        holder = holder[key]
    value = holder[path[-1]]
    if isinstance(value, list) and len(value) > 1:
        i, j = (int(k) for k in rng.choice(len(value), size=2, replace=False))
        ways = [
            lambda: value.__setitem__(slice(None), [*value[:i], *value[i + 1 :]]),
            lambda: value.append(copy.deepcopy(value[i])),
            lambda: value.__setitem__(i, copy.deepcopy(value[j])),
            lambda: value.insert(0, value.pop()),
        ]
        ways[int(rng.integers(len(ways)))]()
    elif isinstance(value, dict | list):
        del holder[path[-1]]
    else:
        holder[path[-1]] = other_leaf(rng, value)
    return ".".join(str(key) for key in path if isinstance(key, str))


def altered(rng: Any, genuine: Genuine) -> tuple[str, Genuine]:
    """Return what was altered, and the certificate with the data it is shown with."""
    whole, X, y = copy.deepcopy(genuine[0]), np.array(genuine[1]), np.array(genuine[2])
    if rng.random() < 0.85:
        return alter_field(rng, whole), (whole, X, y)
    i, j = (int(k) for k in rng.choice(len(X), size=2, replace=False))
    how = int(rng.integers(3))
    if how == 0:
        X[[i, j]] = X[[j, i]]
    elif how == 1:
        y[i] = y[j]
    else:
        X[i, 0] = np.nextafter(X[i, 0], np.inf) if rng.random() < 0.5 else -X[i, 0]
    if rng.random() < 0.7 and whole["kind"] != "scaled-gap":
        K = len(np.unique(y))
        whole["data"]["sha256"] = fingerprint(
            data_of(X, np.unique(y, return_inverse=True)[1], K, True)
        )
    return "data", (whole, X, y)


# ---- what both say


def by_checker(whole: Any, X: Any, y: Any) -> str:
    """Return an empty text where the claim is accepted, else the reason."""
    try:
        data = as_checker_data(problem_from(X, y, True))
        check(whole, replace(data, classes=tuple(str(name) for name in np.unique(y))))
    except Refused as reason:
        return str(reason)
    return ""


def by_library(whole: Any, X: Any, y: Any) -> bool:
    """Return whether the library accepts the claim, by code that the checker does not share."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind = whole["kind"]
            if kind in ("separation", "quasi", "overlap"):
                return bool(from_json(whole, *VERDICTS).check(X, y))
            if kind in ("gordan", "margin-bounds"):
                return by_fractions(whole, X, y)
            if kind in SQUARES:
                return by_enclosures(whole, X, y)
            prove_again(whole, X, y)
    except Refused:
        return False
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError):
        return False  # no certificate at all
    return True


def by_fractions(whole: Any, X: Any, y: Any) -> bool:
    """Decide the kinds that the library leaves to the checker, row by row in fractions."""
    about, claim = whole["data"], whole["claim"]
    problem = problem_from(X, y, about["intercept"])
    if about["sha256"] != fingerprint(problem) or whole["format"] != "separatrix-certificate-1":
        return False
    if (about["rows"], about["features"]) != X.shape:
        return False
    rows = claim["rows"]
    if len(set(rows)) != len(rows) or not all(type(r) is int and 0 <= r < len(X) for r in rows):
        return False
    signs = problem.signs.tolist()
    if whole["kind"] == "gordan":
        multipliers = [int(m, 16) for m in claim["multipliers"]]
        if len(multipliers) != len(rows) or not rows or min(multipliers) <= 0:
            return False
        Z = naive.signed_rows(X[rows], [signs[r] for r in rows], about["intercept"])
        return not any(naive.dot(map(Fraction, multipliers), list(z)) for z in zip(*Z, strict=True))
    (w,) = [[float.fromhex(v) for v in vector] for vector in claim["weights"]]
    alpha, multipliers = np.zeros(len(X)), [float.fromhex(v) for v in claim["multipliers"]]
    lower, upper = float.fromhex(claim["lower"]), float.fromhex(claim["upper"])
    if len(multipliers) != len(rows) or not np.isfinite([*w, *multipliers, lower, upper]).all():
        return False
    alpha[rows] = multipliers
    if len(w) != X.shape[1] + 1 or lower > upper:
        return False
    if not about["intercept"]:
        X = np.column_stack([np.zeros(len(X)), X])
    else:
        X = np.column_stack([np.ones(len(X)), X])
    return naive.margin_bounds_hold(X, signs, w, alpha, lower, upper, False)


# Which way the bounds of some kinds are made wider.
_LOOSER = {
    "least-squares": {"objective": 1.0, "least": -1.0, "gap": 1e6},
    "fisher": {"ratio": -1.0, "bound": 1.0},
    "fisher-directions": {"lower": -1.0, "upper": 1.0, "moved": 1e6},
    "kernel-separation": {"lower": -1.0, "upper": 1.0},
    "kernel-overlap": {"margin": 1.0},
}


def loosened(whole: Any) -> Any:
    """Return the claim with bounds that are a thousandth wider, and by what huge costs round."""
    whole = copy.deepcopy(whole)
    if whole["kind"] in _LOOSER:
        for name, share in _LOOSER[whole["kind"]].items():
            value = whole["claim"].get(name, [])
            ends = [value] if isinstance(value, str) else value
            wider = [(v + share * 1e-3 * max(abs(v), 1e-9)).hex() for v in map(float.fromhex, ends)]
            if wider:
                whole["claim"][name] = wider[0] if isinstance(value, str) else wider
        return whole
    for claim in whole["claim"].get("machines", [whole["claim"]]):
        try:
            primal, dual = float.fromhex(claim["primal"]), float.fromhex(claim["dual"])
        except (LookupError, TypeError, ValueError):
            return whole
        wider = 1e-3 * max(abs(primal), abs(dual))
        costs = [cost for cost in map(float.fromhex, claim["costs"]) if math.isfinite(cost)]
        above = primal + wider + 1e-9 * max(costs, default=0.0)
        claim |= {"primal": above.hex(), "dual": (dual - wider).hex()}
        if "violation" in claim:
            claim["violation"] = (abs(float.fromhex(claim["violation"])) + 1e-3).hex()
    return whole


# What the checker refuses by name and the library passes over.
STRICTER = (
    "the certificate speaks of",  # rows and features
    "the certificate names",  # classes
    "sample weights",  # a unit that is not 1/1
)


SPARSE = {"sparse-gap": two_gap, "sparse-softmax-gap": sparse_softmax_gap}


def columns_are_true(whole: Any, X: Any, y: Any) -> bool:
    """Judge sparse weights in rationals, by neither the checker's code nor the library's."""
    book, data = Book(), SimpleNamespace(dense=X, codes=np.unique(y, return_inverse=True)[1])
    SPARSE[whole["kind"]](book, from_json(whole), Facts(data))
    return not book.false


def softmax_is_true(whole: Any, X: Any, y: Any) -> bool:
    """Judge the bounds of a multinomial model in balls, from the least objective if need be."""
    if whole["kind"] != "softmax-gap":
        return False
    book, data = Book(), SimpleNamespace(dense=X, codes=np.unique(y, return_inverse=True)[1])
    softmax_gap(book, from_json(whole), Facts(data))
    return not book.false


def is_assumed(whole: Any) -> bool:
    """Whether the bounds rest on a kernel of which theory does not say that it is positive.

    The library refuses where sampled values show that it is not; the checker says the assumption.
    """
    kernel = whole["claim"].get("kernel", {"name": "linear"})
    known = kernel["name"] in ("linear", "rbf")
    return not (known or (kernel["name"] == "poly" and float.fromhex(kernel["coef0"]) >= 0.0))


def run(
    genuine: int,
    changes: int,
    seed: int = 0,
    say: Any = print,
    workers: int = 1,
    kinds: Any = tuple(MAKERS),
) -> Counter[str]:
    """Check so many certificates of these kinds, which take turns; return the counts."""
    counts: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    each = max(1, changes // max(genuine, 1))
    tasks = [
        (seed, begin, min(begin + _CHUNK, genuine), each, tuple(kinds))
        for begin in range(0, genuine, _CHUNK)
    ]
    with pool_of(workers) as pool, Followed(genuine) as followed:
        for some, kinds, words in pool.map(_some, tasks):
            counts += some
            followed.add("genuine", some["genuine"], some["disagreements"])
            seen += kinds
            for text in words:
                say(text)
    for name in sorted(seen):
        say(f"{name:45} {seen[name]:>9,}")
    seconds = counts.pop("milliseconds", 0) / 1000
    say(f"{dict(counts)}; {seconds:.0f} CPU s")
    missing = set(CLAIMS) - {name.split(":")[0] for name in seen}
    if missing and len(kinds) == len(MAKERS) and genuine >= 10 * len(MAKERS):
        say(f"MISSING kinds: {sorted(missing)}")
        counts["missing kinds"] = len(missing)
    return counts


def _some(task: tuple[int, int, int, int, Any]) -> tuple[Counter[str], Counter[str], list[str]]:
    """Check the certificates of some numbers; return counts, counts by kind, what to print."""
    seed, begin, end, each, kinds = task
    counts: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    words: list[str] = []
    began = time.process_time()
    for number in range(begin, end):
        name = kinds[number % len(kinds)]
        rng = np.random.default_rng([seed, number])
        case = MAKERS[name](rng)
        counts["genuine"] += 1
        seen[f"{case[0]['kind']}: genuine"] += 1
        reason = by_checker(*case)
        if reason or not by_library(*case):
            counts["genuine refused"] += 1
            words.append(f"REFUSED {name} {seed} {number}: {reason or 'by the library'}")
            continue
        for change in range(each):
            what, other = altered(rng, case)
            reason, library = by_checker(*other), by_library(*other)
            counts["altered"] += 1
            seen[f"{case[0]['kind']}: altered, {'refused' if reason else 'true'}"] += 1
            ended = compared(what, other, reason, library)
            counts[ended] += bool(ended)
            if ended == "disagreements":
                words.append(
                    f"DISAGREE {name} {seed} {number}.{change} {what}: the library says {library}, "
                    f"the checker: {reason or 'proved'}"
                )
    counts["milliseconds"] = round(1000 * (time.process_time() - began))
    return counts, seen, words


def compared(what: str, other: Genuine, reason: str, library: bool) -> str:
    """Return nothing where both say the same, else how they differ."""
    if (reason == "") == library:
        return ""
    if library and reason and any(word in reason for word in STRICTER):
        return "refused by name"
    if not reason and is_assumed(other[0]):
        return "under an assumption"
    if not reason and what == "data.classes":
        return "the same number, written otherwise"
    if not reason and other[0]["kind"] in SQUARES and is_true(*other):
        return "true, and more than enclosures prove"
    if not reason and other[0]["kind"] in SPARSE and columns_are_true(*other):
        return "true, and more than enclosures prove"
    if other[0]["kind"] == "inference":
        true = holds_at_300_bits(*other)
        return "true at 300 bits, from another point" if true else "disagreements"
    if not reason and by_library(loosened(other[0]), *other[1:]):
        return "too tight for floats"
    if library and softmax_is_true(*other) and not by_checker(loosened(other[0]), *other[1:]):
        return "true, and more than the checker's own softmax proves"
    return "disagreements"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--genuine", type=int, default=20_000)
    parser.add_argument("--altered", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=list(MAKERS), default=list(MAKERS))
    given = parser.parse_args()
    counts = run(given.genuine, given.altered, given.seed, workers=given.workers, kinds=given.kinds)
    wrong = ("genuine refused", "disagreements", "missing kinds")
    sys.exit(1 if any(counts[name] for name in wrong) else 0)


if __name__ == "__main__":
    main()
