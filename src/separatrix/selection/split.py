"""Rows set apart for training, validation and test: seeded, and never without a class.

    minimise    over assignments   sum_k |rows of class k in a part - their fair share|
    subject to  parts of the sizes given, and a row of every class in each part

solved exactly by largest remainders where rows are free to go anywhere; where groups must stay
whole, or later rows must not be seen before earlier ones, as near as that allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.errors import DataError

__all__ = ["Parts", "split"]

_SHUFFLES = 200
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """Row numbers, ascending, of each part; `how` says in a sentence how they were chosen."""

    train: Rows
    validation: Rows
    test: Rows
    how: str


def split(
    y: Any,
    *,
    test: float | int = 0.2,
    validation: float | int = 0.0,
    groups: Any = None,
    times: Any = None,
    stratify: bool = True,
    seed: int = 0,
) -> Parts:
    """Set rows apart for validation and test; the rest is for training.

    Parameters
    ----------
    y : array
        The n labels.
    test : float or int, default=0.2
        The share of the rows (below 1), or their number.
    validation : float or int, default=0.0
        The same for validation.
    groups : array or None, default=None
        Rows of the same group go to the same part.
    times : array, "order" or None, default=None
        The latest rows are the test, those before them the validation; rows of one moment stay
        together. "order": the rows stand in the order of time.
    stratify : bool, default=True
        Whether each class is shared out in proportion (without groups and times).
    seed : int, default=0
        Same rows, same seed, same parts.

    Returns
    -------
    Parts
        Row numbers in `train`, `validation` and `test`, and in `how` the way they were chosen.

    See Also
    --------
    SealedTest : seals the test rows until one model is chosen.
    LinearSVMCV : folds over the training rows.

    Examples
    --------
    >>> parts = split(["no"] * 6 + ["yes"] * 4, test=0.5, seed=1)
    >>> len(parts.train), len(parts.test), parts.how
    (5, 5, '5 of 10 rows by a seeded draw (seed 1), each class in proportion')
    >>> split([0, 1, 0, 1, 0, 1], test=2, times="order").test.tolist()
    [4, 5]
    """
    labels, codes = _classes(y)
    n = len(codes)
    sizes = _sizes(n, test, validation)
    if groups is not None and times is not None:
        raise ValueError("groups and times cannot both decide: give one of them.")
    if times is not None:
        parts = _by_time(n, times, sizes)
        how = f": the {'last' if _is_order(times) else 'latest'} rows, in the order of time"
    elif groups is not None:
        parts = _by_groups(codes, _column("groups", groups, n), sizes, seed)
        how = f" by a seeded draw of whole groups (seed {seed})"
    else:
        parts = _drawn(codes, labels, sizes, stratify, seed)
        how = f" by a seeded draw (seed {seed}){', each class in proportion' * bool(stratify)}"
    _require_all_classes(parts, labels, codes)
    train, middle, last = (np.sort(part).astype(np.int64) for part in parts)
    return Parts(train, middle, last, f"{len(last):,} of {n:,} rows{how}")


def _classes(y: Any) -> tuple[NDArray[Any], Rows]:
    labels = np.asarray(y)
    if labels.ndim != 1 or not len(labels):
        raise DataError(f"y must be a column of labels. Got an array of shape {labels.shape}.")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"y holds one class, {classes[0]!r}: there is nothing to learn or test.")
    return classes, codes


def _column(name: str, values: Any, n: int) -> NDArray[Any]:
    column = np.asarray(values)
    if column.shape != (n,):
        raise DataError(f"{name} must have a value for each of {n} rows. Got {column.shape}.")
    if column.dtype.kind in "fmM" and (column != column).any():
        row = int(np.flatnonzero(column != column)[0])
        raise DataError(f"{name} has no value in row {row}. Fill it, or leave the row out.")
    return column


def _sizes(n: int, test: float | int, validation: float | int) -> tuple[int, int, int]:
    """Return how many rows each part gets: train, validation, test."""
    counts = []
    for name, size in (("validation", validation), ("test", test)):
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if whole and size >= 0:
            counts.append(int(size))
        elif isinstance(size, float | np.floating) and 0.0 <= size < 1.0:
            counts.append(round(size * n))
        else:
            raise ValueError(f"{name} must be a share from 0 to 1 or a count. Got {size!r}.")
        if size > 0 and counts[-1] == 0:
            raise DataError(f"a {name} share of {size!r} of {n} rows is no row. Ask for more.")
    if sum(counts) >= n:
        raise DataError(
            f"{counts[0]} rows for validation and {counts[1]} for the test leave none of {n} to "
            "train on. Ask for fewer."
        )
    return n - sum(counts), counts[0], counts[1]


# ---- drawn freely


def _drawn(
    codes: Rows, labels: NDArray[Any], sizes: tuple[int, int, int], stratify: bool, seed: int
) -> list[Rows]:
    rng = np.random.default_rng(seed)
    if not stratify:
        order = rng.permutation(len(codes))
        cuts = np.cumsum(sizes)
        return [order[a:b] for a, b in pairwise([0, *cuts])]
    counts = np.bincount(codes)
    used = sum(size > 0 for size in sizes)
    if counts.min() < used:
        k = int(counts.argmin())
        few = "1 row" if counts[k] == 1 else f"{counts[k]} rows"
        raise DataError(
            f"class {str(labels[k])!r} has {few}, too few to stand in each of {used} "
            "parts. Leave the class out, or merge it with another."
        )
    shares = _shared_out(counts, sizes)
    parts: list[list[Rows]] = [[], [], []]
    for k in range(len(counts)):
        rows = rng.permutation(np.flatnonzero(codes == k))
        for part, (a, b) in enumerate(pairwise([0, *np.cumsum(shares[:, k])])):
            parts[part].append(rows[a:b])
    return [np.concatenate(part) for part in parts]


def _shared_out(counts: Rows, sizes: tuple[int, int, int]) -> Rows:
    """Return rows per part and class: in proportion, none without a class where it can be."""
    left = counts.astype(np.int64)
    test = _served(counts, left, sizes[2], later=1 + (sizes[1] > 0))
    validation = _served(counts, left - test, sizes[1], later=1)
    return np.array([left - test - validation, validation, test])


def _served(counts: Rows, left: Rows, size: int, later: int) -> Rows:
    """Return how many rows of each class one part gets; `later` parts need one of each still."""
    most = np.maximum(left - later, 0)
    least = np.minimum(most, 1 if size >= len(counts) else 0)
    fair = size * counts / counts.sum()
    given = np.clip(np.floor(fair).astype(np.int64), least, most)
    while given.sum() < size and (given < most).any():
        given[int(np.argmax(np.where(given < most, fair - given, -np.inf)))] += 1
    while given.sum() > size:
        given[int(np.argmax(np.where(given > least, given - fair, -np.inf)))] -= 1
    if given.sum() < size:
        raise DataError(
            f"{size} rows cannot be set apart and leave a row of every class for the other parts. "
            "Ask for fewer."
        )
    return given


# ---- groups and times


def _by_groups(
    codes: Rows, groups: NDArray[Any], sizes: tuple[int, int, int], seed: int
) -> list[Rows]:
    """Draw whole groups until each part is as near its size as they allow."""
    names, members = np.unique(groups, return_inverse=True)
    used = sum(size > 0 for size in sizes)
    if len(names) < used:
        raise DataError(f"{len(names)} groups cannot fill {used} parts. Ask for fewer parts.")
    rng = np.random.default_rng(seed)
    weights = np.bincount(members)
    n_classes = int(codes.max()) + 1
    best: list[Rows] | None = None
    for _ in range(_SHUFFLES):
        part_of = _cut(rng.permutation(len(names)), weights, sizes)
        parts = [np.flatnonzero(part_of[members] == part) for part in range(3)]
        best = best or parts
        if all(
            not size or len(np.unique(codes[part])) == n_classes
            for size, part in zip(sizes, parts, strict=True)
        ):
            return parts
    assert best is not None, "there is at least one shuffle"
    return best


def _cut(order: Rows, weights: Rows, sizes: tuple[int, int, int]) -> Rows:
    """Give groups in this order to test and validation, then to training."""
    part_of = np.zeros(len(order), dtype=np.int64)
    at = 0
    for part in (2, 1):
        filled, keep = 0, 1 + (part == 2 and sizes[1] > 0)
        while at < len(order) - keep and filled < sizes[part]:
            weight = int(weights[order[at]])
            if filled and filled + weight - sizes[part] > sizes[part] - filled:
                break
            part_of[order[at]] = part
            filled, at = filled + weight, at + 1
    return part_of


def _is_order(times: Any) -> bool:
    return isinstance(times, str) and times == "order"


def _by_time(n: int, times: Any, sizes: tuple[int, int, int]) -> list[Rows]:
    """Cut at moments: the latest rows last, rows of one moment together in the later part."""
    if isinstance(times, str) and not _is_order(times):
        raise ValueError(f"times must be a column or 'order'. Got {times!r} instead.")
    moments = np.arange(n) if _is_order(times) else _column("times", times, n)
    order = np.argsort(moments, kind="stable")
    sorted_moments = moments[order]
    cuts = []
    for cut in (sizes[0], sizes[0] + sizes[1]):
        cuts.append(int(np.searchsorted(sorted_moments, sorted_moments[cut])) if cut < n else n)
    return [order[a:b] for a, b in pairwise([0, *cuts, n])]


def _require_all_classes(parts: list[Rows], labels: NDArray[Any], codes: Rows) -> None:
    for name, part, required in zip(
        ("training", "validation", "test"), parts, (True, len(parts[1]) > 0, True), strict=True
    ):
        if not required or (name == "test" and not len(part)):
            continue
        absent = np.setdiff1d(np.arange(len(labels)), codes[part])
        if len(absent):
            shown = ", ".join(repr(str(labels[k])) for k in absent[:5])
            raise DataError(
                f"the {name} part ({len(part)} rows) would hold no row of {shown}. Make it larger, "
                "choose another seed, or split in another way."
            )
