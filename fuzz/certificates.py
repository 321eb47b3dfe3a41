"""Forged certificates of every kind: none may be accepted.

    python -m fuzz.certificates --forgeries 100000       in all, the kinds taking turns

Genuine certificates of small made-up problems are altered so that they are false, or prove nothing,
by construction: bounds that cross, multipliers that are negative or out of balance, rows that are
not there or named twice, other data, parts missing, numbers that are none. Every genuine one must
be accepted, every forgery refused (with `Refused`, or False), and nothing else may be raised.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import error_forgeries, forgeries
from tests.kernel_direct import claimed, of_linear_machine

import separatrix as sx
from fuzz.machine_forgeries import MACHINE_WAYS, SOFTMAX_WAYS, number_of, row_left_out
from separatrix.certificates.duality_gap import ScaledGap
from separatrix.checker import Refused
from separatrix.problem.kernels import Kernel
from separatrix.storage.certificate_files import prove_again

__all__ = ["KINDS", "run"]

Forged = tuple[str, Callable[[], bool]]  # the way, and whether the forgery is accepted


def clouds(rng: np.random.Generator, classes: int = 2, apart: float = 1.5) -> tuple[Any, Any]:
    n, d = int(rng.integers(6 * classes, 12 * classes)), int(rng.integers(1, 4))
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + apart * y[:, None]
    return (np.round(X, 2) if rng.random() < 0.3 else X), y


def quiet(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def forged_json(whole: Any, X: Any, y: Any, rng: Any, ways: list[Any]) -> Forged:
    for at in rng.permutation(len(ways)):
        copied = copy.deepcopy(whole)
        if ways[at](copied, rng):
            return ways[at].__name__, partial(accepted, copied, X, y)
    raise AssertionError("no way applies")


def accepted(whole: Any, X: Any, y: Any) -> bool:
    try:
        with np.errstate(all="ignore"):
            prove_again(whole, X, y)
    except Refused:
        return False
    return True


# ---- genuine ones


def machine(model: Callable[[], Any], classes: int = 2) -> Callable[[Any], Any]:
    def make(rng: Any) -> tuple[Any, Any, Any]:
        X, y = clouds(rng, classes)
        return json.loads(quiet(model(), X, y).certificate_.to_json()), X, y

    return make


def verdict(apart: float, same: bool = False) -> Callable[[Any], Any]:
    def make(rng: Any) -> tuple[Any, Any, Any]:
        while True:
            X, y = clouds(rng, 2, apart)
            X = np.round(X) if same else X
            found = sx.separability(X, y)
            if found.certificate is not None:
                return json.loads(found.certificate.to_json()), X, y

    return make


def kernel_direct(rng: Any) -> tuple[Any, Any, Any]:
    """A direct machine with a kernel: the multipliers of any balanced machine make one."""
    X, y = clouds(rng, 3)
    kernel = [Kernel("rbf", 0.5), Kernel("poly", 0.5, 2, 1.0)][int(rng.integers(2))]
    costs = np.ones(len(X))
    multipliers, biases = of_linear_machine(X, y, costs)
    proof = claimed(kernel, X, y, 3, costs, multipliers, biases)
    return json.loads(proof.to_json()), X, y


def margin_bounds(rng: Any) -> tuple[Any, Any, Any]:
    X, y = clouds(rng, 2, 9.0)
    return json.loads(sx.Kozinec(epsilon=0.1).fit(X, y).certificate_.to_json()), X, y


def crossed_margins(whole: Any, rng: Any) -> bool:
    """The largest margin is at least what is attained, and at most what is proved."""
    claim = whole["claim"]
    lower, upper = number_of(claim, "lower"), number_of(claim, "upper")
    if rng.random() < 0.5:
        claim["lower"] = (upper * (1.001 + rng.random())).hex()
    else:
        claim["upper"] = (lower * (0.999 - 0.9 * rng.random())).hex()
    return True


def negative_share(whole: Any, rng: Any) -> bool:
    values = whole["claim"]["multipliers"]
    values[0] = (-1.0 - float.fromhex(values[0])).hex()
    return True


MARGIN_WAYS = [
    forgeries.another_fingerprint,
    forgeries.another_format,
    forgeries.unknown_kind,
    forgeries.negated_weights,
    forgeries.zero_weights,
    forgeries.weights_cut_short,
    crossed_margins,
    negative_share,
    forgeries.row_named_twice,
    row_left_out,
]


def errors_forged(rng: Any) -> tuple[Any, Any, Any, Any]:
    seed = int(rng.integers(10**6))
    X, signs, weights = error_forgeries.small_problem(seed)
    model = sx.ZeroOne(max_seconds=5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, signs, sample_weight=weights)
    return json.loads(model.certificate_.to_json()), X, signs, weights


def forge_errors(rng: Any, genuine: Any) -> Forged:
    whole, X, signs, weights = genuine
    ways = error_forgeries.WAYS
    for at in rng.permutation(len(ways)):
        copied = copy.deepcopy(whole)
        if ways[at](copied, rng):
            name = ways[at].__name__
            return name, partial(error_forgeries.accepted, copied, X, signs, weights)
    raise AssertionError("no way applies")


def forge_squares(rng: Any, genuine: Any) -> Forged:
    """Forge the certificate of least squares, which is checked from Python alone."""
    proof, X, y = genuine
    weights = np.array(proof.weights)
    ways = {
        "objective below the least": {"objective": 0.5 * proof.least - 1e-3},
        "least above the objective": {"least": 2.0 * proof.objective + 1e-3},
        "other weights": {"weights": tuple(map(tuple, (2.0 * weights + 1.0).tolist()))},
        "weights cut short": {"weights": tuple(map(tuple, weights[:, :-1].tolist()))},
        "another fingerprint": {"data_sha256": "0" * 64},
        "not a number": {"weights": tuple(map(tuple, (weights * np.nan).tolist()))},
    }
    name = sorted(ways)[int(rng.integers(len(ways)))]
    forged = replace(proof, **ways[name])
    return name, lambda: _checked(forged, X, y)


def forge_fisher(rng: Any, genuine: Any) -> Forged:
    proof, X, y = genuine
    ways = {
        "ratio above the bound": {"ratio": proof.bound * (1.0 + 1e-6 + rng.random())},
        "bound below the ratio": {"bound": proof.ratio * (1.0 - 1e-6 - 0.9 * rng.random())},
        "another fingerprint": {"squares": replace(proof.squares, data_sha256="0" * 64)},
        "no direction": {"weights": (0.0,) * len(proof.weights)},
    }
    name = sorted(ways)[int(rng.integers(len(ways)))]
    forged = replace(proof, **ways[name])
    return name, lambda: _checked(forged, X, y)


def forge_novikoff(rng: Any, genuine: Any) -> Forged:
    """A count of mistakes above the bound holds for no data."""
    proof, _, _ = genuine
    more = replace(proof, mistakes=int(proof.bound) + 1 + int(rng.integers(9)))
    return "more mistakes than the bound", lambda: bool(more.holds)


# ---- several machines in one certificate, and divided columns


def _one_forged(machine: Any, rng: Any) -> tuple[str, Any]:
    """Forge one machine's bounds or multipliers."""
    primal, dual = machine.primal, machine.dual
    alpha = np.array(machine.multipliers)
    held = np.flatnonzero(alpha)
    far = np.where(np.arange(len(alpha)) == held[0], -alpha, alpha)
    ways: dict[str, dict[str, Any]] = {
        "dual above the primal": {"dual": primal + (1e-6 + rng.random()) * max(1e-3, abs(primal))},
        "another fingerprint": {"data_sha256": "0" * 64},
        "negative multiplier": {"multipliers": far},
        "multipliers cut short": {"multipliers": alpha[:-1]},
        "not a number": {"multipliers": alpha * np.nan},
        "other costs": {"costs": machine.costs * -1.0},
        "another number of rows": {"n_rows": machine.n_rows + 1},
    }
    if dual > 0.0:
        ways["primal below the dual"] = {"primal": dual * (1.0 - 1e-6 - 0.9 * rng.random())}
    name = sorted(ways)[int(rng.integers(len(ways)))]
    return name, replace(machine, **ways[name])


def forge_one_of_many(rng: Any, genuine: Any) -> Forged:
    """Forge one of the machines, leave one out, or let one stand for two."""
    proof, X, y = genuine
    machines = list(proof.machines)
    choice, at = rng.random(), int(rng.integers(len(machines)))
    if choice < 0.1:
        way, changed = "a machine left out", machines[:-1]
    elif choice < 0.2:
        way, changed = "one machine for two", [machines[1], *machines[1:]]
    else:
        way, machines[at] = _one_forged(machines[at], rng)
        changed = machines
    forged = replace(proof, machines=tuple(changed))
    return way, lambda: _checked(forged, X, y)


def forge_scaled(rng: Any, genuine: Any) -> Forged:
    """Forge the bounds of divided columns, or by what they were divided."""
    proof, X, y = genuine
    exponents = np.array(proof.exponents)
    used = np.flatnonzero(np.any(np.asarray(X) != 0.0, axis=0))
    other = exponents.copy()
    other[used[int(rng.integers(len(used)))]] += 1
    choice = rng.random()
    if choice < 0.2:
        way, forged = "divided by more", replace(proof, exponents=other)
    elif choice < 0.3:
        way, forged = "exponents cut short", replace(proof, exponents=exponents[:-1])
    else:
        way, inner = _one_forged(proof.inner, rng)
        forged = replace(proof, inner=inner)
    return way, lambda: _checked(forged, X, y)


def _many_machines(model: Callable[[], Any]) -> Callable[[Any], Any]:
    def make(rng: Any) -> tuple[Any, Any, Any]:
        X, y = clouds(rng, 3)
        return quiet(model(), X, y).certificate_, X, y

    return make


def _divided(rng: Any) -> tuple[Any, Any, Any]:
    while True:
        X, y = clouds(rng)
        X = X * 2.0 ** rng.integers(-20, 20, size=X.shape[1])
        proof = quiet(sx.SGD(max_passes=20), X, y).certificate_
        if isinstance(proof, ScaledGap) and proof.holds:
            return proof, X, y


def by_proof(make: Callable[[Any], Any], forge: Any) -> tuple[Any, Any, Any]:
    return make, forge, lambda genuine: _checked(*genuine)


def _checked(proof: Any, X: Any, y: Any) -> bool:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(proof.check(X, y))
    except (Refused, ValueError):
        return False


def _closed_form(model: Callable[[], Any], name: str = "certificate_") -> Callable[[Any], Any]:
    def make(rng: Any) -> tuple[Any, Any, Any]:
        X, y = clouds(rng, 2, 9.0 if name == "novikoff_" else 1.0)
        return getattr(quiet(model(), X, y), name), X, y

    return make


def by_json(make: Callable[[Any], Any], ways: list[Any]) -> tuple[Any, Any, Any]:
    def forge(rng: Any, genuine: Any) -> Forged:
        return forged_json(*genuine, rng, ways)

    return make, forge, lambda genuine: accepted(*genuine)


# kind -> (make a genuine one, forge it, is it accepted)
KINDS: dict[str, tuple[Any, Any, Any]] = {
    "separation": by_json(verdict(9.0), forgeries.WAYS),
    "quasi or overlap": by_json(verdict(0.5, same=True), forgeries.WAYS),
    "margin-bounds": by_json(margin_bounds, MARGIN_WAYS),
    "duality-gap, hinge": by_json(machine(sx.LinearSVM), MACHINE_WAYS),
    "duality-gap, squared hinge": by_json(
        machine(lambda: sx.LinearSVM(loss="squared_hinge")), MACHINE_WAYS
    ),
    "duality-gap, logistic": by_json(machine(sx.LogisticRegression), MACHINE_WAYS),
    "multiclass-gap": by_json(machine(lambda: sx.LinearSVM(multi_class="direct"), 3), MACHINE_WAYS),
    "softmax-gap": by_json(
        machine(lambda: sx.LogisticRegression(multi_class="multinomial"), 3), SOFTMAX_WAYS
    ),
    "sparse-softmax-gap": by_json(
        machine(lambda: sx.LogisticRegression(0.1, l1_ratio=1.0), 3), SOFTMAX_WAYS
    ),
    "kernel-gap": by_json(machine(sx.KernelSVM), MACHINE_WAYS),
    "kernel-multiclass-gap": by_json(kernel_direct, MACHINE_WAYS),
    "errors": (
        errors_forged, forge_errors, lambda genuine: error_forgeries.accepted(*genuine)
    ),
    "least squares": (
        _closed_form(sx.LeastSquares), forge_squares, lambda genuine: _checked(*genuine)
    ),
    "fisher": (_closed_form(sx.Fisher), forge_fisher, lambda genuine: _checked(*genuine)),
    "several machines": by_proof(_many_machines(sx.LinearSVM), forge_one_of_many),
    "several kernel machines": by_proof(
        _many_machines(lambda: sx.KernelSVM(multi_class="ovr")), forge_one_of_many
    ),
    "pairs of classes": by_proof(
        _many_machines(lambda: sx.LogisticRegression(multi_class="ovo")), forge_one_of_many
    ),
    "divided columns": by_proof(_divided, forge_scaled),
    "novikoff": (
        _closed_form(sx.Perceptron, "novikoff_"), forge_novikoff, lambda genuine: genuine[0].holds
    ),
}  # fmt: skip


def run(forgeries_in_all: int, seed: int = 0, each: int = 25, say: Any = print) -> Counter[str]:
    """Forge so many, `each` of one genuine certificate; return how many of each kind."""
    rng = np.random.default_rng(seed)
    made: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    while sum(made.values()) < forgeries_in_all:
        for kind, (make, forge, is_accepted) in KINDS.items():
            genuine = make(rng)
            assert is_accepted(genuine), f"{kind}: a genuine certificate is refused"
            for _ in range(each):
                way, attempt = forge(rng, genuine)
                if attempt():
                    raise AssertionError(f"{kind}: accepted, though forged: {way}")
                made[kind] += 1
                ways[f"{kind}: {way}"] += 1
    for kind, count in made.items():
        say(f"{kind}: {count:,} forgeries, none accepted", flush=True)
    say(f"{sum(made.values()):,} in all, by {len(ways)} ways")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--forgeries", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=100, help="forgeries of one certificate")
    told = parser.parse_args()
    print(f"separatrix {sx.__version__}, {time.strftime('%Y-%m-%d')}, seed {told.seed}")
    run(told.forgeries, told.seed, told.each)


if __name__ == "__main__":
    main()
