"""What the page shows as tables and bars: shares, shades and the few rows that are worth a look."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from separatrix.plots._style import CLASS_COLOURS
from separatrix.report.conclusions import strength
from separatrix.report.facts import Facts, Feature, Features

__all__ = ["Bar", "BarTable", "Cell", "tables_of"]

CASES_SHOWN = 10
_COLOURS = len(CLASS_COLOURS)
_TWO_SIDED, _FEW_CLASSES, _MANY_CLASSES = 12, 10, 5
_GROUPS_SHOWN = 20
_PAIRS_SHOWN = 8
_MATRIX_SHOWN = 26


class Bar(NamedTuple):
    """One feature: its share of the longest bar, and whether it speaks against."""

    feature: Feature
    share: float
    against: bool


class BarTable(NamedTuple):
    """The features that speak for one class, in the class's colour."""

    name: str
    colour: int
    bars: list[Bar]


class Cell(NamedTuple):
    """One cell of the confusion matrix: its rows, their share of the true class, its shade."""

    rows: int
    share: float
    right: bool
    shade: float


def tables_of(facts: Facts) -> dict[str, Any]:
    """Return all tables of a page."""
    names = [part.name for part in facts.data.classes] if facts.data else []
    return {
        "bars": _bars(facts, names),
        "standardised": any(
            part.standardised is not None for group in facts.features for part in group.features
        ),
        "places": _places(facts),
        "path_places": _path_places(facts),
        "confusion": _confusion(facts),
        "pairs": _pairs(facts, names),
        "support": facts.support[:CASES_SHOWN],
        "most_alpha": max((row.alpha for row in facts.support), default=0.0),
        "mistakes": facts.mistakes[:CASES_SHOWN],
        "colours": {name: k for k, name in enumerate(names)} if len(names) <= _COLOURS else {},
    }


def _bars(facts: Facts, names: list[str]) -> list[BarTable]:
    """Return the loudest features of each class on one scale."""
    every = [part for group in facts.features for part in group.features]
    longest = max((abs(strength(f.weight, f.standardised)) for f in every), default=0.0) or 1.0
    if len(facts.features) == 1:
        group = facts.features[0]
        sides = [(group.towards, 1.0), (group.against, -1.0)]
        made = [_side(group, name, sign, names, longest) for name, sign in sides]
        return [table for table in made if table.bars]
    most = _FEW_CLASSES if len(facts.features) <= _COLOURS else _MANY_CLASSES
    found = []
    for group in facts.features[:_GROUPS_SHOWN]:
        loudest = _sorted(group.features)[:most]
        bars = [_bar(part, longest, part.weight < 0) for part in loudest]
        found.append(BarTable(group.towards, _colour(group.towards, names), bars))
    return found


def _side(group: Features, name: str, sign: float, names: list[str], longest: float) -> BarTable:
    chosen = [part for part in _sorted(group.features) if sign * part.weight > 0][:_TWO_SIDED]
    bars = [_bar(part, longest, against=False) for part in chosen]
    return BarTable(name, _colour(name, names), bars)


def _sorted(features: tuple[Feature, ...]) -> list[Feature]:
    return sorted(features, key=lambda part: -abs(strength(part.weight, part.standardised)))


def _bar(part: Feature, longest: float, against: bool) -> Bar:
    share = abs(strength(part.weight, part.standardised)) / longest
    return Bar(part, round(100.0 * share, 1), against)


def _colour(name: str, names: list[str]) -> int:
    # More classes than colours: one tone for all says less, but nothing wrong.
    return names.index(name) if name in names and len(names) <= _COLOURS else _COLOURS


def _places(facts: Facts) -> int:
    """Return how many places show three digits of the longest bar."""
    every = [part for group in facts.features for part in group.features]
    longest = max((abs(strength(f.weight, f.standardised)) for f in every), default=0.0)
    if not 0.0 < longest < math.inf:
        return 3
    return min(9, max(0, 2 - math.floor(math.log10(longest))))


def _path_places(facts: Facts) -> int:
    """Return how many places tell the errors of the path apart."""
    rows = facts.path.rows if facts.path else ()
    return 2 if any(0.0 < row.validation_error < 0.01 for row in rows) else 1


def _confusion(facts: Facts) -> list[list[Cell]]:
    """Return the matrix with each row as shares of its class; too large a one is not shown."""
    counts = facts.test.confusion if facts.test else ()
    if not counts or len(counts) > _MATRIX_SHOWN:
        return []
    return [
        [_cell(count, count / max(1, sum(row)), i == j) for j, count in enumerate(row)]
        for i, row in enumerate(counts)
    ]


def _cell(count: int, share: float, right: bool) -> Cell:
    # Few mistakes must be seen too: they are shaded by the root of their share.
    return Cell(count, share, right, round(100.0 * (share if right else math.sqrt(share)), 1))


def _pairs(facts: Facts, names: list[str]) -> list[tuple[int, str, str]]:
    """Return the pairs most often confused, where the classes are too many to see at a glance."""
    counts = facts.test.confusion if facts.test else ()
    if len(counts) < 5 or len(names) != len(counts):
        return []
    pairs = [
        (count, names[i], names[j])
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    return sorted(pairs, key=lambda pair: -pair[0])[:_PAIRS_SHOWN]
