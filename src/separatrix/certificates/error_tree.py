"""A tree of cases that proves how many errors cannot be avoided.

Every Gordan witness holds a row that is wrong. A leaf puts weights on witnesses that load no row
beyond its own weight: then their sum is forced. Where that falls short, a row is taken to be wrong
in one case and right in the other, and both are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix import checker

__all__ = ["Book", "Leaf", "Split", "Tree", "integer", "tree_from", "tree_json"]


@dataclass(frozen=True)
class Leaf:
    """Weights ``numerator / denominator`` on witnesses, that load no row beyond its own weight."""

    loads: tuple[tuple[int, int], ...]
    denominator: int


@dataclass(frozen=True)
class Split:
    """Two cases: the row is wrong, or it is right."""

    row: int
    wrong: Tree
    right: Tree


Tree = Leaf | Split


def integer(value: Any) -> int:
    """Accept whole numbers alone."""
    if type(value) is not int:
        raise checker.Refused(f"expected a whole number, got {value!r}")
    return value


def tree_json(tree: Tree) -> Any:
    """Write a tree as JSON."""
    if isinstance(tree, Leaf):
        loads = [[k, hex(v)] for k, v in tree.loads]
        return {"loads": loads, "denominator": hex(tree.denominator)}
    return {"row": tree.row, "wrong": tree_json(tree.wrong), "right": tree_json(tree.right)}


def tree_from(whole: Any) -> Tree:
    """Read a tree."""
    if "row" in whole:
        wrong, right = tree_from(whole["wrong"]), tree_from(whole["right"])
        return Split(integer(whole["row"]), wrong, right)
    loads = tuple((integer(k), int(v, 16)) for k, v in whole["loads"])
    return Leaf(loads, int(whole["denominator"], 16))


@dataclass(frozen=True)
class Book:
    """What a tree is checked against: the weight of every row, and the rows of every witness."""

    room: list[int]
    sets: list[frozenset[int]]
    numbers: list[int]
    lower: int

    def bounds(self, tree: Tree, wrong: frozenset[int], right: frozenset[int]) -> bool:
        """Whether every leaf forces the claimed weight of errors."""
        if isinstance(tree, Leaf):
            return self._leaf_bounds(tree, wrong, right)
        if not 0 <= tree.row < len(self.numbers):
            return False
        row = self.numbers[tree.row]
        return self.bounds(tree.wrong, wrong | {row}, right) and self.bounds(
            tree.right, wrong, right | {row}
        )

    def _leaf_bounds(self, leaf: Leaf, wrong: frozenset[int], right: frozenset[int]) -> bool:
        """Rows taken to be right take no load; witnesses that hold a wrong row force no more."""
        load: dict[int, int] = {}
        total = 0
        if leaf.denominator <= 0 or len({k for k, _ in leaf.loads}) != len(leaf.loads):
            return False
        for k, amount in leaf.loads:
            if not 0 <= k < len(self.sets) or amount < 0 or self.sets[k] & wrong:
                return False
            total += amount
            for row in self.sets[k] - right:
                load[row] = load.get(row, 0) + amount
        if any(amount > self.room[row] * leaf.denominator for row, amount in load.items()):
            return False
        forced = sum(self.room[row] for row in wrong)
        # Errors are whole: more than lower - 1 of them are lower or more.
        return total > (self.lower - 1 - forced) * leaf.denominator
