"""Draw the architecture from the source: layers, and who imports whom.

    python docs/pictures/layers.py

The layers are those that ``make check`` enforces (pyproject.toml); a dot stands where modules of
the package on the left import the package above, the larger the more of them. That all dots lie
on one side of the diagonal shows the rule "imports go one way".
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _boxes import Drawing

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "separatrix"
_ROW, _CELL, _LEFT, _NAMES = 44.0, 44.0, 16.0, 420.0


def layers() -> list[list[str]]:
    """Return the packages layer by layer, the highest first, as the import contract has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    lines = next(each["layers"] for each in contracts if each["type"] == "layers")
    return [re.findall(r"separatrix\.(\w+)", line) for line in lines]


def imports(packages: list[str]) -> Counter[tuple[str, str]]:
    """Count, for every pair of packages, the modules of the first that import the second."""
    found: Counter[tuple[str, str]] = Counter()
    for package in packages:
        for module in sorted((SOURCE / package).rglob("*.py")):
            names = set()
            for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    names.add(node.module)
                    names |= {f"{node.module}.{alias.name}" for alias in node.names}
                elif isinstance(node, ast.Import):
                    names |= {alias.name for alias in node.names}
            to = {re.match(r"separatrix\.(\w+)", name) for name in names} - {None}
            targets = {match[1] for match in to if match} & set(packages) - {package}
            found.update((package, target) for target in targets)
    return found


def purpose(package: str) -> str:
    """Return the first sentence of the package's docstring, shortened to fit."""
    text = (SOURCE / package / "__init__.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0].rstrip(".")
    return first if len(first) <= 52 else first[:50].rsplit(" ", 1)[0] + " ..."


def in_words(pairs: Counter[tuple[str, str]]) -> str:
    """Return who imports whom, in words: what must be so for the picture to be current."""
    return " ".join(f"{a} imports {b}." for a, b in sorted(pairs))


def drawn() -> str:
    """Return the picture."""
    stack = layers()
    order = [package for layer in stack for package in layer]
    pairs = imports(order)
    across = _LEFT + _NAMES + _CELL * len(order)
    tall = 100.0 + _ROW * len(order) + 12 * len(stack)
    picture = Drawing(
        across + 20,
        tall,
        "The layers of the architecture and their imports, drawn from the source",
        in_words(pairs),
    )
    place, y = {}, 96.0
    for layer in stack:
        picture.line((_LEFT, y - 4), (across, y - 4), kind="rule")
        for package in layer:
            place[package] = y + _ROW / 2
            picture.box(_LEFT, y + 2, _NAMES - 24, _ROW - 6)
            picture.words(_LEFT + 12, y + 18, package, "code bold")
            picture.words(_LEFT + 12, y + 33, purpose(package), "soft")
            y += _ROW
        y += 12.0
    for number, package in enumerate(order):
        x = _LEFT + _NAMES + _CELL * (number + 0.5)
        picture.words(x - 4, 88.0, package, "soft", turn=-42)
        picture.line((x, 96), (x, tall - 8), kind="rule")
        for other in order:
            count = pairs[other, package]
            if count:
                picture.dot(x, place[other], min(17.0, 3.5 + 1.6 * count**0.5))
    return picture.text()


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(drawn(), encoding="utf-8")
