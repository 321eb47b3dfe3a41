"""Encodings as ONNX: raw columns in, the features of training out.

A table of numbers is one input ``X``, a column of it for each column of the table, NaN where a
cell is missing. A table with categories has one input for each column: float64 with NaN where
missing, or texts, where an empty one is missing. Texts are compared as they are, so blanks around
them must be gone. Standardised columns, ranks, splines, products and random cosines follow,
operation by operation as here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.encodings.column_codes import CategoryCode, NumberCode
from separatrix.data.encodings.column_features import ColumnFeatures, FeatureEncoding
from separatrix.data.encodings.column_functions import (
    FARTHEST,
    PER_UNIT,
    TERMS,
    Cosines,
    PiecewiseLinear,
)
from separatrix.data.encodings.encoding import IndexEncoding, TableEncoding

if TYPE_CHECKING:
    from separatrix.storage.onnx_model import Graph

__all__ = ["features_of", "has_onnx_form"]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME_OF_A_NODE = re.compile(r"[a-z]+_[0-9]+")
_OUTPUTS = ("label", "scores", "probabilities")


def has_onnx_form(encoding: Any) -> bool:
    """Whether ONNX can make the same features; words it would cut otherwise than training did."""
    inner = encoding.inner if isinstance(encoding, FeatureEncoding) else encoding
    if isinstance(inner, TableEncoding):
        return all(isinstance(code, NumberCode | CategoryCode) for code in inner.codes)
    return isinstance(inner, IndexEncoding)


def features_of(graph: Graph, encoding: Any) -> tuple[str, dict[str, str]]:
    """Add inputs and what makes features of them; return those and what the file says of it."""
    if isinstance(encoding, FeatureEncoding):
        X, about = features_of(graph, encoding.inner)
        return _columns(graph, X, encoding.columns), about
    if isinstance(encoding, IndexEncoding):
        return graph.table(encoding.n_features), {}
    names = [code.name for code in encoding.codes]
    if all(isinstance(code, NumberCode) for code in encoding.codes):
        about = {"columns": json.dumps(names)}
        return _numbers(graph, graph.table(len(names)), encoding), about
    inputs = [_input_name(name, number) for number, name in enumerate(names)]
    parts: list[str] = []
    for name, code in zip(inputs, encoding.codes, strict=True):
        if isinstance(code, CategoryCode):
            parts.append(_category(graph, graph.column(name, "string"), code, encoding.missing))
        else:
            parts += _number(graph, graph.column(name, "double"), code)
    about = {"columns": json.dumps(dict(zip(inputs, names, strict=True)))}
    return graph.add("Concat", parts, axis=1), about


def _input_name(column: str, number: int) -> str:
    """Return the name of an input: the column's own, where no node or output can have it."""
    taken = column in _OUTPUTS or _NAME_OF_A_NODE.fullmatch(column)
    return column if _PLAIN_NAME.fullmatch(column) and not taken else f"column_{number + 1}"


# ---- columns


def _numbers(graph: Graph, X: str, encoding: TableEncoding) -> str:
    """Add medians where cells are missing, and the marks of those."""
    codes: Any = encoding.codes
    medians = np.array([[code.median for code in codes]])
    gaps = graph.add("IsNaN", [X])
    X = graph.add("Where", [gaps, graph.constant(medians), X])
    marked = [number for number, code in enumerate(codes) if code.indicator]
    if marked:
        marks = graph.add("Gather", [gaps, graph.constant(np.array(marked))], axis=1)
        X = graph.add("Concat", [X, graph.cast(marks, "double")], axis=1)
        order: list[int] = []
        for number in range(len(codes)):
            order.append(number)
            if number in marked:
                order.append(len(codes) + marked.index(number))
        X = graph.add("Gather", [X, graph.constant(np.array(order))], axis=1)
    return graph.cast(graph.cast(X, "float"), "double") if encoding.single else X


def _number(graph: Graph, x: str, code: NumberCode) -> list[str]:
    gaps = graph.add("IsNaN", [x])
    filled = graph.add("Where", [gaps, graph.constant(np.array([[code.median]])), x])
    return [filled, graph.cast(gaps, "double")] if code.indicator else [filled]


def _category(graph: Graph, x: str, code: CategoryCode, missing: frozenset[str]) -> str:
    """Add a row of zeros and a one: the place of the value, of others, or of missing ones."""
    width = len(code.feature_names)
    nowhere = width  # a last row, of zeros
    places = {value: place for place, value in enumerate(code.values)}
    absent = len(code.values) + code.other if code.missing else nowhere
    places |= dict.fromkeys(sorted(missing), absent)
    place = graph.add_ml(
        "LabelEncoder",
        [x],
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=len(code.values) if code.other else nowhere,
    )
    flat = graph.add("Squeeze", [place, graph.constant(np.array([1]))])
    rows = np.vstack([np.eye(width), np.zeros((1, width))])
    return graph.add("Gather", [graph.constant(rows), flat], axis=0)


# ---- standardised columns, ranks, splines and products


def _columns(graph: Graph, X: str, columns: ColumnFeatures) -> str:
    added = [_rank(graph, X, rank) for rank in columns.ranks]
    added += [_splines(graph, X, columns.splines)] if columns.splines else []
    if columns.shift.any():
        X = graph.add("Sub", [X, graph.constant(columns.shift)])
    X = graph.add("Div", [X, graph.constant(columns.scale)])
    X = graph.add("Concat", [X, *added], axis=1) if added else X
    if columns.cosines is not None:
        return graph.add("Concat", [X, _cosines(graph, X, columns.cosines)], axis=1)
    if not columns.pairs:
        return X
    left, right = (
        graph.add("Gather", [X, graph.constant(places)], axis=1)
        for places in np.array(columns.pairs).T
    )
    return graph.add("Concat", [X, graph.add("Mul", [left, right])], axis=1)


def _cosines(graph: Graph, X: str, cosines: Cosines) -> str:
    """Add random cosines, as `Cosines` finds them; arrays, since runtimes fuse single numbers."""
    width, count = len(cosines.columns), cosines.count

    def of_columns(value: float) -> str:
        return graph.constant(np.full(width, value))

    def of_cosines(value: float) -> str:
        return graph.constant(np.full(count, value))

    X = graph.add("Gather", [X, graph.constant(np.array(cosines.columns))], axis=1)
    X = graph.add("Min", [graph.add("Max", [X, of_columns(-FARTHEST)]), of_columns(FARTHEST)])
    whole = graph.add("Round", [graph.add("Mul", [X, of_columns(PER_UNIT)])])
    turns = graph.affine(graph.add("Div", [whole, of_columns(PER_UNIT)]), *cosines.drawn)
    turns = graph.add("Abs", [graph.add("Sub", [turns, graph.add("Round", [turns])])])
    quarter = graph.add("Sub", [of_cosines(0.25), turns])
    square = graph.add("Mul", [quarter, quarter])
    sine = of_cosines(TERMS[-1])
    for term in TERMS[-2::-1]:
        sine = graph.add("Add", [graph.add("Mul", [sine, square]), of_cosines(term)])
    return graph.add("Mul", [graph.add("Mul", [sine, quarter]), of_cosines(cosines.size)])


def _splines(graph: Graph, X: str, parts: Sequence[PiecewiseLinear]) -> str:
    """Add the parts of splines, all at once: each has two knots."""
    quarters = 0.25 * np.array([part.knots for part in parts]).T
    low, high = np.array([part.heights for part in parts]).T
    x = graph.add("Gather", [X, graph.constant(np.array([part.column for part in parts]))], axis=1)
    x = graph.add("Mul", [x, graph.constant(np.full(len(parts), 0.25))])
    away = graph.add("Sub", [x, graph.constant(quarters[0])])
    share = graph.add("Div", [away, graph.constant(quarters[1] - quarters[0])])
    zero, one = (graph.constant(np.full(len(parts), end)) for end in (0.0, 1.0))
    share = graph.add("Min", [graph.add("Max", [share, zero]), one])
    risen = graph.add("Mul", [share, graph.constant(high - low)])
    return graph.add("Add", [graph.constant(low), risen])


def _rank(graph: Graph, X: str, rank: PiecewiseLinear) -> str:
    """Add the heights of a rank, as `PiecewiseLinear` finds them."""
    x = graph.add("Gather", [X, graph.constant(np.array([rank.column]))], axis=1)
    below = graph.add("LessOrEqual", [graph.constant(rank.knots[None, :]), x])
    axis = graph.constant(np.array([1]))
    count = graph.add("ReduceSum", [graph.cast(below, "int64"), axis], keepdims=1)
    last = graph.constant(np.array(len(rank.knots) - 2))
    at = graph.add("Sub", [count, graph.constant(np.array(1))])
    at = graph.add("Min", [graph.add("Max", [at, graph.constant(np.array(0))]), last])
    after = graph.add("Add", [at, graph.constant(np.array(1))])
    quarter = graph.constant(0.25 * rank.knots)
    left, right = (graph.add("Gather", [quarter, place], axis=0) for place in (at, after))
    away = graph.add("Sub", [graph.add("Mul", [x, graph.constant(np.array([0.25]))]), left])
    share = graph.add("Div", [away, graph.add("Sub", [right, left])])
    zero, one = graph.constant(np.array([0.0])), graph.constant(np.array([1.0]))
    share = graph.add("Min", [graph.add("Max", [share, zero]), one])
    heights = graph.constant(rank.heights)
    low, high = (graph.add("Gather", [heights, place], axis=0) for place in (at, after))
    return graph.add("Add", [low, graph.add("Mul", [share, graph.add("Sub", [high, low])])])
