"""What is given, as a design: columns with names, labels 0 and 1, weights, offset, groups.

A category of k levels gives k - 1 columns, each against a reference level: the first in order, or
the one that is chosen. That is R's treatment coding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.core.checks import refuse_huge, two_classes
from separatrix.data.encodings.column_codes import CategoryCode
from separatrix.data.readers.typed_tables import frame_to_arrow, is_frame
from separatrix.data.table import Table, read
from separatrix.errors import DataError, not_finite
from separatrix.infer.model import Design
from separatrix.problem.signed import refuse_rounded

_MOST_ENTRIES = 200_000_000


class Inference:
    """Gives messages about X and y a name to speak of."""


@dataclass(frozen=True, eq=False)
class Given:
    """Numbers of all columns, and which of them the model has."""

    X: np.ndarray
    labels: np.ndarray
    names: list[str]  # of all columns of X
    used: np.ndarray  # numbers of the columns in the model
    classes: np.ndarray
    signs: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    groups: np.ndarray | None
    intercept: bool
    counted: np.ndarray  # which of the rows given have a weight above zero
    notes: list[str] = field(default_factory=list)

    @property
    def model_names(self) -> list[str]:
        """The names of the coefficients."""
        return ["intercept"] * self.intercept + [self.names[j] for j in self.used]

    def design(self) -> Design:
        """Return the columns of the model, the intercept first."""
        X = self.X if len(self.used) == self.X.shape[1] else self.X[:, self.used]
        if self.intercept:
            X = np.column_stack([np.ones(len(X)), X])
        y = (self.signs > 0.0).astype(np.float64)
        return Design(np.ascontiguousarray(X), y, self.weights, self.offset, self.intercept)


def given(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    terms: Any = None,
    reference: Mapping[str, str] | None = None,
    feature_names: Sequence[str] | None = None,
    offset: Any = None,
    groups: Any = None,
    fit_intercept: bool = True,
) -> Given:
    """Read what `sx.inference` is given; refuse what it cannot use."""
    if X is not None and not isinstance(X, Table):
        refuse_rounded(X)
    table = _as_table(X, y, terms if isinstance(terms, str) else None)
    notes: list[str] = []
    dropped: set[int] = set()
    if table is not None:
        columns, labels, names = table.X, np.asarray(table.y), [str(n) for n in table.feature_names]
        notes += table.notes
        dropped = _reference_columns(table, reference or {}, fit_intercept)
    elif isinstance(terms, str):
        columns, names, labels = _by_formula(X, y, terms)
        fit_intercept = fit_intercept and "Intercept" in names
        chosen = [j for j, name in enumerate(names) if name != "Intercept"]
        columns, names, terms = columns[:, chosen], [names[j] for j in chosen], None
    else:
        columns, labels = X, np.asarray(y)
        if columns is None or y is None:
            raise ValueError("y must hold the labels. Got None instead.")
        names = []
    if reference and not (table is not None and hasattr(table.encoding, "codes")):
        raise ValueError("reference is for categories of a frame or a table. X holds numbers.")
    columns = _dense(columns)
    names = list(map(str, feature_names)) if feature_names is not None else names
    names = names or [f"x{j}" for j in range(columns.shape[1])]
    if len(names) != columns.shape[1]:
        raise ValueError(
            f"feature_names must name each column of X: {columns.shape[1]}. Got {len(names)}."
        )
    _refuse_not_finite(columns, names)
    if labels.ndim != 1 or len(labels) != len(columns):
        raise ValueError(
            f"y must hold one label for each of the {len(columns)} rows. Got shape {labels.shape}."
        )
    _refuse_labels(labels)
    used = _used(names, terms, dropped)
    n = len(columns)
    weights = _row_numbers("sample_weight", sample_weight, n, 1.0)
    if (weights < 0.0).any():
        raise ValueError("sample_weight must not be negative.")
    off = _row_numbers("offset", offset, n, 0.0)
    members = None if groups is None else np.asarray(groups)
    if members is not None and members.shape != (n,):
        raise ValueError(f"groups must hold one name for each of the {n} rows.")
    counted = weights > 0.0
    if not counted.all():
        columns, labels, weights, off = (p[counted] for p in (columns, labels, weights, off))
        members = None if members is None else members[counted]
    classes, signs = two_classes(
        Inference(), labels, "Set one class against all others: y == {0!r}."
    )
    if members is not None and len(np.unique(members)) < 2:
        raise ValueError("groups must name two groups or more.")
    return Given(
        columns,
        labels,
        names,
        used,
        classes,
        signs,
        weights,
        off,
        members,
        fit_intercept,
        counted,
        notes,
    )


def _as_table(X: Any, y: Any, formula: str | None) -> Table | None:
    """Return a table where X is one, or a frame; None where X holds numbers or a formula does."""
    if isinstance(X, Table):
        return X
    if formula is not None or not is_frame(X):
        return None
    if isinstance(y, str):
        return read(X, target=y)
    import pyarrow as pa

    arrow, name = frame_to_arrow(X), "y"
    while name in arrow.column_names:
        name += "_"
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != arrow.num_rows:
        raise ValueError(
            f"y must hold one label for each of the {arrow.num_rows} rows. "
            f"Got shape {labels.shape}."
        )
    return read(arrow.append_column(name, pa.array(labels.tolist())), target=name)


def _by_formula(X: Any, y: Any, formula: str) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Return the columns that a formula makes of a frame; ``y ~`` may stand before it."""
    try:
        from formulaic import model_matrix
    except ImportError:
        raise ValueError(
            "terms as a formula needs the package formulaic: pip install formulaic. "
            "Without it, terms may list names of columns."
        ) from None
    import narwhals as nw

    if not is_frame(X):
        raise ValueError("terms as a formula needs a frame, whose columns have names.")
    frame = nw.from_native(frame_to_arrow(X)).to_pandas()
    left, tilde, right = formula.rpartition("~")
    if tilde and left.strip():
        y = left.strip()
    labels = np.asarray(frame[y] if isinstance(y, str) else y)
    made = model_matrix(right, frame, na_action="raise")
    return np.asarray(made, dtype=np.float64), [str(name) for name in made.columns], labels


def _reference_columns(table: Table, reference: Mapping[str, str], intercept: bool) -> set[int]:
    """Return the numbers of the columns of reference levels, which the model leaves out."""
    codes = getattr(table.encoding, "codes", ())
    known = {code.name: code for code in codes if isinstance(code, CategoryCode)}
    for name, level in reference.items():
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise ValueError(f"reference: {name!r} is no category; the categories are {listed}.")
        if level not in known[name].values:
            listed = ", ".join(map(repr, known[name].values[:12]))
            raise ValueError(f"reference: {name!r} has no level {level!r}; it has {listed}.")
    if not intercept:
        return {list(table.feature_names).index(f"{n}={level}") for n, level in reference.items()}
    dropped, first = set(), 0
    for code in codes:
        if isinstance(code, CategoryCode) and code.values:
            chosen = reference.get(code.name, code.values[0])
            dropped.add(first + code.values.index(chosen))
        first += len(code.feature_names)
    return dropped


def _used(names: list[str], terms: Any, dropped: set[int]) -> np.ndarray:
    """Return the numbers of the columns that `terms` names, less the reference levels."""
    places = [j for j in range(len(names)) if j not in dropped]
    if terms is None:
        return np.array(places, dtype=np.int64)
    chosen_terms = list(terms)
    for name in chosen_terms:
        found = isinstance(name, int | np.integer) and 0 <= name < len(names)
        if not found and not any(_belongs(each, name) for each in names):
            raise ValueError(f"terms: there is no column {name!r}; there are {_few(names)}.")
    chosen = [
        j for j in places if any(j == t if not isinstance(t, str) else _belongs(names[j], t)
                                 for t in chosen_terms)
    ]  # fmt: skip
    return np.array(chosen, dtype=np.int64)


def _belongs(name: str, term: Any) -> bool:
    """Whether a feature is a column of this name, or one of its levels."""
    return name == term or (isinstance(term, str) and name.startswith(f"{term}="))


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(map(repr, names[:8])) + more


def _dense(X: Any) -> np.ndarray:
    entries = int(np.prod(X.shape)) if hasattr(X, "shape") else 0
    if entries > _MOST_ENTRIES:
        raise DataError(f"{X.shape[0]:,} rows x {X.shape[1]:,} columns are too many for inference.")
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    if dense.ndim != 2 or dense.dtype.kind not in "biuf":
        raise ValueError(
            f"X must be a table of numbers, rows by columns. Got shape {dense.shape} of "
            f"{dense.dtype}; a frame may hold categories too."
        )
    if dense.shape[0] == 0:
        raise DataError("X holds no rows.")
    return np.asarray(dense, dtype=np.float64)


def _refuse_not_finite(X: np.ndarray, names: list[str]) -> None:
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = (int(k) for k in np.argwhere(bad)[0])
        raise not_finite(float(X[row, column]), row, f"column {names[column]!r}")
    refuse_huge(Inference(), X)


def _refuse_labels(labels: np.ndarray) -> None:
    """Refuse labels that are missing, or of different kinds."""
    listed = labels.tolist() if labels.dtype.kind in "fO" else []
    for row, label in enumerate(listed):
        if label is None or (isinstance(label, float) and not np.isfinite(label)):
            raise DataError(f"y has {label} in row {row}, which is no label. Leave the row out.")
    if len({isinstance(label, str) for label in listed}) > 1:
        raise DataError("y mixes labels of different kinds. Make all of them text.")


def _row_numbers(name: str, values: Any, n: int, default: float) -> np.ndarray:
    if values is None:
        return np.full(n, default)
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"{name} must hold one finite number for each of the {n} rows.")
    return found
