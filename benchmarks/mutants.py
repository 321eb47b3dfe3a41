"""Mutation tests of the stand-alone checker: small changes to it must be noticed.

    python -m benchmarks.mutants [--every 1] [--files gaps.py exact.py]

Each mutant of a file of ``separatrix/checker`` (a comparison turned, a constant moved, a condition
negated, a refusal left out, arithmetic exchanged) takes that file's place in a copy of the folder,
which then checks a battery of genuine, altered and forged certificates of every kind. A mutant that
says of each what the checker says survives. ``EQUIVALENT`` explains some survivors: they accept and
refuse the same. A survivor without an explanation makes the exit code 1. The tests of
``tests/checker`` are not run: what they notice beyond the battery is not counted.
"""

import argparse
import ast
import copy
import importlib
import json
import shutil
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.checker_agreement import MAKERS, altered
from tests.degenerate import degenerate
from tests.forgeries import WAYS, hand_made

import separatrix as sx
from separatrix import checker
from separatrix.problem.canonical import as_checker_data, problem_from

PROBLEMS, ALTERATIONS = 20, 25
FOLDER = Path(checker.__file__).parent
FILES = ["codec", "exact", "separation", "errors", "gaps", "kernels", "squares", "kinds"]
TURNED = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
CLOSE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.Mult}


# (how the line begins, what was changed, why no certificate can tell)
EQUIVALENT = [
    (
        "row = {j: x % prime for j, x in left.pop().items() if x % prime}",
        "Mod swapped",
        "differs for multiples of the prime other than 0; 53 bits hold none, and later are reduced",
    ),
    (
        "blocks[0].append((sample, multiplier if code == 1 else -multiplier))",
        "Eq turned",
        "turns the sign of the whole sum: zero stays zero, a length stays the same",
    ),
]


def mutations(tree):
    """Yield (line, what, function that applies it to a fresh copy)."""
    for place, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Compare):
            for i, op in enumerate(node.ops):
                for table in (TURNED, CLOSE):
                    if type(op) in table:
                        yield (
                            line,
                            f"{type(op).__name__} turned",
                            _set_op(place, i, table[type(op)]),
                        )
        if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
            yield line, f"{type(node.op).__name__} swapped", _swap(place, SWAPPED[type(node.op)])
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield line, f"{node.value} + 1", _constant(place, node.value + 1)
        if isinstance(node, ast.Constant) and type(node.value) is bool:
            yield line, f"not {node.value}", _constant(place, not node.value)
        if isinstance(node, ast.If):
            yield line, "condition negated", _negate(place)
            if any(isinstance(child, ast.Raise) for child in node.body):
                yield line, "refusal left out", _pass(place)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
            yield line, "refusal left out", _require(place, ast.Constant(True))
            yield line, "condition negated", _require(place, ast.UnaryOp(ast.Not(), node.args[0]))
        if isinstance(node, ast.BoolOp):
            yield line, "and/or", _boolean(place)


def _at(tree, place):
    return list(ast.walk(tree))[place]


def _set_op(place, i, op):
    def apply(tree):
        _at(tree, place).ops[i] = op()

    return apply


def _swap(place, op):
    def apply(tree):
        _at(tree, place).op = op()

    return apply


def _constant(place, value):
    def apply(tree):
        _at(tree, place).value = value

    return apply


def _negate(place):
    def apply(tree):
        node = _at(tree, place)
        node.test = ast.UnaryOp(ast.Not(), node.test)

    return apply


def _pass(place):
    def apply(tree):
        _at(tree, place).body = [ast.Pass()]

    return apply


def _require(place, holds):
    def apply(tree):
        _at(tree, place).args[0] = copy.deepcopy(holds)

    return apply


def _boolean(place):
    def apply(tree):
        node = _at(tree, place)
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()

    return apply


def battery():
    """Return (certificate, data, whether it is accepted), the quickest ways to notice first."""
    rng = np.random.default_rng(0)
    cases = hand_made()
    for seed in range(PROBLEMS):
        X, signs, fit_intercept = degenerate(seed)
        verdict = sx.separability(X, signs, fit_intercept=fit_intercept)
        data = as_checker_data(problem_from(X, signs, fit_intercept))
        whole = json.loads(verdict.certificate.to_json())
        cases.append((whole, data, True))
        for way in WAYS:
            forged = copy.deepcopy(whole)
            if way(forged, rng):
                cases.append((forged, data, False))
    for make in MAKERS.values():
        for _ in range(8):
            genuine = make(rng)
            for case in [genuine] + [altered(rng, genuine)[1] for _ in range(ALTERATIONS)]:
                data = as_checker_data(problem_from(case[1], case[2], True))
                cases.append((case[0], data, accepts(checker, case[0], data)))
            cases += sharp(genuine[0], as_checker_data(problem_from(*genuine[1:], True)))
    return cases


def sharp(whole, data):
    """Return the claim with each bound at the last float that is accepted, and one beyond it."""
    cases = []
    for name, side in (("primal", 1), ("dual", -1), ("lower", -1), ("upper", 1), ("violation", 1)):
        if name not in whole["claim"]:
            continue
        wide = {"primal": 1e300, "dual": -1e300, "lower": -1e300, "upper": 1e300, "violation": 1e9}

        def claimed(bound, name=name, wide=wide):
            loose = {n: v.hex() for n, v in wide.items() if n in whole["claim"]}
            return whole | {"claim": whole["claim"] | loose | {name: float(bound).hex()}}

        good, bad = in_order(wide[name]), in_order(-side * 1e300)
        while abs(good - bad) > 1:
            middle = (good + bad) // 2
            fits = accepts(checker, claimed(number_at(middle)), data)
            good, bad = (middle, bad) if fits else (good, middle)
        for forged in (claimed(number_at(good)), claimed(number_at(bad))):
            cases.append((forged, data, accepts(checker, forged, data)))
    return cases


def in_order(value):
    """Return the place of a float among all floats."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def number_at(place):
    (value,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return value if place >= 0 else -value


def accepts(module, whole, data):
    mine = module.Data(data.rows, data.codes, data.n_features, data.n_classes)
    try:
        return bool(module.check(copy.deepcopy(whole), mine))
    except module.Refused:
        return False


def survives(folder, cases):
    """Whether the folder's checker says of every certificate what the checker says."""
    for name in [name for name in sys.modules if name.split(".")[0] == "mutant"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    try:
        module = importlib.import_module("mutant")
        return all(accepts(module, whole, data) == wanted for whole, data, wanted in cases)
    except Exception:
        return False


def why_equivalent(what, text):
    """Return why a survivor does not matter, or an empty string."""
    known = [why for begin, change, why in EQUIVALENT if text.startswith(begin) and what == change]
    return known[0] if known else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take one mutant in so many")
    parser.add_argument("--files", nargs="*", default=[f"{name}.py" for name in FILES])
    told = parser.parse_args()
    cases = battery()
    print(f"{len(cases)} certificates, {sum(c[2] for c in cases)} of them accepted", flush=True)
    sys.dont_write_bytecode = True
    tried = noticed = explained = 0
    with tempfile.TemporaryDirectory() as place:
        sys.path.insert(0, place)
        folder = Path(place) / "mutant"
        shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
        assert survives(folder, cases), "the copy itself"
        for name in told.files:
            source = (FOLDER / name).read_text(encoding="utf-8")
            tree = ast.parse(source)
            for number, (line, what, apply) in enumerate(mutations(tree)):
                if number % told.every:
                    continue
                mutant = copy.deepcopy(tree)
                apply(mutant)
                (folder / name).write_text(ast.unparse(ast.fix_missing_locations(mutant)))
                tried += 1
                if not survives(folder, cases):
                    noticed += 1
                    continue
                text = source.splitlines()[line - 1].strip()
                explained += bool(why_equivalent(what, text))
                said = why_equivalent(what, text) or "not noticed"
                print(f"  {name}, line {line}: {what}: {text}\n    {said}", flush=True)
            (folder / name).write_text(source)
    left = tried - noticed - explained
    print(
        f"{tried} mutants: {noticed} noticed, {explained} more accept and refuse the same, "
        f"{left} not noticed"
    )
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
