"""Mutation tests of the trusted checker: every small change to it must be noticed.

    python -m benchmarks.mutants

Each mutant of ``certificates/checker.py`` (a comparison turned, a constant moved, a condition
negated, a refusal left out, arithmetic exchanged) is put in the place of the checker in its own
tests (``tests/certificates/test_checker.py``), and checks a battery of genuine and forged
certificates. A mutant that passes all of it survives. Each survivor must be explained in
``EQUIVALENT``: it accepts and refuses the same certificates as the checker. Exits with 1 if one
is not.
"""

import ast
import copy
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.certificates import test_checker
from tests.degenerate import degenerate
from tests.forgeries import WAYS, hand_made

import separatrix as sx
from separatrix import checker
from separatrix.certificates.canonical import as_checker_data
from separatrix.certificates.separation import problem_from

PROBLEMS = 60
TURNED = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
CLOSE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.Mult}


# (how the line begins, what was changed, why no certificate can tell)
EQUIVALENT = [
    (
        "for number, multiplier in zip(numbers, multipliers",
        "not True",
        "the lengths were compared three lines above",
    ),
    (
        "left.append(dict(zip([-1, *columns]",
        "not True",
        "a partition takes the margins of all rows first, which refuses such rows",
    ),
    (
        "left.append(dict(zip([-1, *columns]",
        "1 + 1",
        "the key of the intercept's column: -2 is no column either",
    ),
    (
        "rivals, length = max(1, data.n_classes - 1), 1 + data.n_features",
        "1 + 1",
        "a longer stride with a gap that stays zero",
    ),
    (
        "if not 0 <= number < len(data.rows) * rivals",
        "Lt turned",
        "the row after the last has no class number: refused two lines below",
    ),
    (
        "blocks = [(0, multiplier if code == 1 else -multiplier)]",
        "Eq turned",
        "turns the sign of the whole sum: zero stays zero, a length stays the same",
    ),
    (
        'flat, exponent = [int(text, 16) for text in claim["integers"]], 0',
        "0 + 1",
        "doubles the weights: signs and margins in proportion to |w| stay the same",
    ),
    (
        "row = {j: x % prime for j, x in left.pop().items() if x % prime}",
        "Mod swapped",
        "differs for multiples of the prime other than 0; 53 bits hold none, and later are reduced",
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


def _boolean(place):
    def apply(tree):
        node = _at(tree, place)
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()

    return apply


def battery():
    """Return (certificate, data rows, must it be accepted)."""
    rng = np.random.default_rng(0)
    cases = []
    for seed in range(PROBLEMS):
        X, signs, fit_intercept = degenerate(seed)
        verdict = sx.separability(X, signs, fit_intercept=fit_intercept)
        data = as_checker_data(problem_from(X, signs, fit_intercept))
        whole = json.loads(verdict.certificate.to_json())
        cases.append((whole, data, True))
        if verdict.witness is not None:
            claim = {
                "rows": list(verdict.witness.rows),
                "multipliers": [hex(m) for m in verdict.witness.multipliers],
            }
            cases.append((whole | {"kind": "gordan", "claim": claim}, data, True))
        for way in WAYS:
            forged = copy.deepcopy(whole)
            if way(forged, rng):
                cases.append((forged, data, False))
    cases += special_cases()
    return cases


def special_cases():
    """Claims that only one line of the checker refuses."""
    cases = hand_made()
    machine = sx.Kozinec(epsilon=0.1).fit([[0.0, 1.0], [3.0, 1.0], [4.0, 2.0]], [0, 1, 1])
    proof = json.loads(machine.certificate_.to_json())
    X = np.array([[0.0, 1.0], [3.0, 1.0], [4.0, 2.0]])
    rows = as_checker_data(problem_from(X, [0, 1, 1], True))
    cases.append((proof, rows, True))
    for key, value in (("lower", (1e9).hex()), ("upper", (0.0).hex())):
        cases.append((proof | {"claim": proof["claim"] | {key: value}}, rows, False))
    zeros = [(0.0).hex()] * len(proof["claim"]["multipliers"])
    cases.append((proof | {"claim": proof["claim"] | {"multipliers": zeros}}, rows, False))
    return cases


def passes_its_tests(module):
    """Run the quick tests of the checker on a mutant; the slow ones are the battery."""
    kept = test_checker.checker, test_checker.check, test_checker.Refused
    test_checker.checker, test_checker.check = module, module.check
    test_checker.Refused = module.Refused
    try:
        for test in QUICK_TESTS:
            for arguments in _parameters(test):
                test(*arguments)
    except (Exception, pytest.fail.Exception):
        return False
    finally:
        test_checker.checker, test_checker.check, test_checker.Refused = kept
    return True


def _parameters(test):
    marks = getattr(test, "pytestmark", [])
    if not marks:
        return [()]
    names, values = marks[0].args
    return [(value,) if isinstance(names, str) else value for value in values]


QUICK_TESTS = [
    test_checker.test_exact_integers,
    test_checker.test_many_classes,
    test_checker.test_bounds_that_are_attained_hold_and_no_tighter_ones,
    test_checker.test_bounds_of_many_classes,
    test_checker.test_data_that_do_not_fit_together_prove_nothing,
    test_checker.test_values_without_columns_are_not_left_out_of_a_sum,
    test_checker.test_a_damaged_certificate_is_refused_and_nothing_else_is_raised,
]


def survives(module, cases):
    """Whether a mutant accepts all that is genuine and refuses all that is forged."""
    for whole, data, genuine in cases:
        mine = module.Data(data.rows, data.codes, data.n_features, data.n_classes)
        try:
            accepted = bool(module.check(copy.deepcopy(whole), mine))
        except module.Refused:
            accepted = False
        except Exception:
            return False
        if accepted != genuine:
            return False
    return True


def why_equivalent(what, text):
    """Return why a survivor does not matter, or an empty string."""
    known = [why for begin, change, why in EQUIVALENT if text.startswith(begin) and what == change]
    return known[0] if known else ""


def main():
    source = Path(checker.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source)
    first = next(n.lineno for n in tree.body if getattr(n, "name", "") == "integers")
    last = next(n.lineno for n in tree.body if getattr(n, "name", "") == "same_label")
    cases = battery()
    print(f"{len(cases)} certificates, {sum(c[2] for c in cases)} of them genuine")
    killed, left = 0, []
    for line, what, apply in mutations(tree):
        if not first <= line < last:
            continue
        mutant = copy.deepcopy(tree)
        apply(mutant)
        module = types.ModuleType("mutant")
        sys.modules["mutant"] = module
        try:
            code = compile(ast.fix_missing_locations(mutant), "mutant", "exec")
            exec(code, module.__dict__)
            alive = passes_its_tests(module) and survives(module, cases)
        except Exception:
            alive = False
        if alive:
            left.append((line, what, source.splitlines()[line - 1].strip()))
        else:
            killed += 1
    left = [(line, what, text, why_equivalent(what, text)) for line, what, text in left]
    unexplained = sum(not why for *_, why in left)
    print(f"{killed} mutants killed, {len(left)} survive, {unexplained} of them unexplained:")
    for line, what, text, why in left:
        print(f"  line {line}: {what}: {text}\n    {why or 'UNEXPLAINED'}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
