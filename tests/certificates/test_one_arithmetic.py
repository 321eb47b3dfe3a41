"""Rounding errors are analysed in one place: a walk over the syntax trees of `certificates`.

An error analysis by hand needs the rounding unit, or a factor a little above 1 that stands for it.
Neither may be written outside the two modules of enclosures, except where this list says why.
"""

import ast
from pathlib import Path

import separatrix.certificates

FOLDER = Path(separatrix.certificates.__file__).parent
HOME = {"enclosure.py", "enclosed_sums.py"}
# What is still bounded by hand, and why it may be.
BY_HAND = {
    "data_pass.py": "sums of blocks that carry their errors along, for softmax_pass",
    "softmax_pass.py": "runs in torch as well: powers and logarithms of a block of scores",
    "kernel_values.py": "the trust in NumPy's exp and tanh, eight units in the last place",
    "kernel_scores.py": "float32 rules out rows whose margins are far above 1",
    "least_squares_bounds.py": "gradients and an eigenvalue by Cholesky (Rump 2006)",
    "fisher.py": "targets rounded once, as a share of the residual",
    "separation.py": "a filter of margins: what it leaves open is settled by integers",
    "margin_bounds.py": "sums of rows in homogeneous coordinates, rounded up by fractions",
    "partition.py": "weights below 2^-900 are settled by integers at once",
    "cells.py": "a filter of signs: what it leaves open is settled by integers",
}
NAMES = {"UNIT", "_UNIT", "_ROUNDING", "_UNIT_32", "finfo", "_TINY"}
CALLS = {"gamma", "_gamma", "_gamma_32"}  # Higham's gamma; a kernel's is never called


def signs_of_an_analysis(tree):
    """Yield the rounding units, and factors near 1 made by hand, that a module writes down."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in NAMES:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS:
            yield node.func.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, float):
            if node.value != 1.0 and abs(node.value - 1.0) < 0.05:
                yield repr(node.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            text = ast.unparse(node).replace("(", "").replace(")", "")
            if text.startswith("2.0 ** -") and "1074" not in text:
                yield text


def found_in(path):
    return sorted(set(signs_of_an_analysis(ast.parse(path.read_text()))))


def test_rounding_is_analysed_in_one_place():
    outside = {
        path.name: found
        for path in sorted(FOLDER.glob("*.py"))
        if path.name not in HOME | set(BY_HAND) and (found := found_in(path))
    }
    assert outside == {}


def test_the_list_of_exceptions_has_no_entry_too_many():
    without = {name for name in BY_HAND if not (FOLDER / name).exists()}
    without |= {name for name in BY_HAND if name not in without and not found_in(FOLDER / name)}
    assert without == set()


def test_a_hand_made_analysis_is_noticed():
    for text in ("x = y * (1.0 + 4.0 * UNIT)", "x = 1.01 * y", "e = 2.0**-53", "np.finfo(float)"):
        assert list(signs_of_an_analysis(ast.parse(text)))
    assert not list(signs_of_an_analysis(ast.parse("z = a + b * 0.5 - kernel.gamma")))
