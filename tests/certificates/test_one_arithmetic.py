"""Rounding errors are analysed in one place: a walk over the syntax trees of `certificates`.

An error analysis by hand needs the rounding unit, or a factor a little above 1 that stands for it.
Neither may be written outside the three modules of enclosures.
"""

import ast
from pathlib import Path

import separatrix.certificates

FOLDER = Path(separatrix.certificates.__file__).parent
HOME = {"enclosure.py", "enclosed_functions.py", "enclosed_sums.py"}
NAMES = {"UNIT", "_UNIT", "_ROUNDING", "_UNIT_32", "finfo", "_TINY"}
CALLS = {"gamma", "_gamma", "_gamma_32"}  # Higham's gamma; a kernel's is never called


def signs_of_an_analysis(tree):
    """Yield the rounding units, and factors near 1 made by hand, that a module writes down."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in NAMES:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.attr
        elif isinstance(node, ast.alias) and node.name in NAMES:
            yield node.name
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS:
            yield node.func.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, float):
            near_one = node.value != 1.0 and abs(node.value - 1.0) < 0.05
            if near_one or 0.0 < node.value < 1e-12:
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
        if path.name not in HOME and (found := found_in(path))
    }
    assert outside == {}


def test_a_hand_made_analysis_is_noticed():
    for text in ("x = y * (1.0 + 4.0 * UNIT)", "x = 1.01 * y", "e = 2.0**-53", "np.finfo(float)",
                 "e += 1e-290", "from separatrix.certificates.enclosure import UNIT"):  # fmt: skip
        assert list(signs_of_an_analysis(ast.parse(text)))
    assert not list(signs_of_an_analysis(ast.parse("z = a + b * 0.5 - kernel.gamma")))
