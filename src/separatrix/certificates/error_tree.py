"""A tree of cases that proves how many errors cannot be avoided.

Every Gordan witness holds a row that is wrong. A leaf puts weights on witnesses that load no row
beyond its own weight: then their sum is forced. Where that falls short, a row is taken to be wrong
in one case and right in the other, and both are bounded. `checker.errors` checks a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Leaf", "Split", "Tree", "tree_json", "tree_of"]


@dataclass(frozen=True)
class Leaf:
    """Weights ``numerator / denominator`` on witnesses, that load no row beyond its own weight."""

    loads: tuple[tuple[int, int], ...]
    denominator: int


@dataclass(frozen=True)
class Split:
    """Two cases: the row is wrong, or it is right."""

    row: int
    wrong: Tree | None
    right: Tree | None


Tree = Leaf | Split


def tree_json(tree: Tree | None) -> Any:
    """Write a tree as JSON."""
    if tree is None:
        return None
    if isinstance(tree, Leaf):
        loads = [[k, hex(v)] for k, v in tree.loads]
        return {"loads": loads, "denominator": hex(tree.denominator)}
    return {"row": tree.row, "wrong": tree_json(tree.wrong), "right": tree_json(tree.right)}


def tree_of(case: Any) -> Tree | None:
    """Return a tree as the checker reads it, or None, as one of ours."""
    if hasattr(case, "row"):
        return Split(case.row, tree_of(case.wrong), tree_of(case.right))
    return None if case is None else Leaf(tuple(case.loads), case.denominator)
