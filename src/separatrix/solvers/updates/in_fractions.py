"""The perceptron and Kozinec's algorithm in fractions: what the rules do without any rounding.

The rules of `perceptron.py` and `kozinec.py`, row by row in stored order, on the numbers as they
are stored. Fractions grow with every update of Kozinec's: this is for the small examples of the
lectures, where a product that is exactly 0 decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.solvers.running.drive import Frame, Status, after

__all__ = ["LONGEST", "kozinec_frames", "perceptron_frames"]

LONGEST = 1 << 16  # bits of a fraction

Vector = tuple[Fraction, ...]


def perceptron_frames(rows: list[Vector], first: Vector, rate: Fraction, budget: int) -> Any:
    """Yield the frames of the perceptron with single updates."""

    def move(w: Vector, z: Vector) -> Vector:
        return tuple(a + rate * b for a, b in zip(w, z, strict=True))

    return _frames(rows, first, move, budget, row=-1, is_hull=False)


def kozinec_frames(rows: list[Vector], budget: int) -> Any:
    """Yield the frames of Kozinec's algorithm, from the first row on."""

    def move(w: Vector, z: Vector) -> Vector:
        apart = tuple(a - b for a, b in zip(w, z, strict=True))
        length = dot(apart, apart)
        share = Fraction(1) if length == 0 else min(Fraction(1), dot(w, apart) / length)
        return tuple((1 - share) * a + share * b for a, b in zip(w, z, strict=True))

    return _frames(rows, rows[0], move, budget, row=0, is_hull=True)


def dot(a: Vector, b: Vector) -> Fraction:
    """Return the product of two vectors."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _frames(
    rows: list[Vector],
    w: Vector,
    move: Callable[[Vector, Vector], Vector],
    budget: int,
    row: int,
    is_hull: bool,
) -> Iterator[Frame]:
    visits = updates = clean = cursor = 0
    before: Frame | None = None
    while True:
        # Rows that are right are passed over first: a frame says how many were looked at.
        while clean < len(rows) and dot(w, rows[cursor]) > 0:
            clean, visits, cursor = clean + 1, visits + 1, (cursor + 1) % len(rows)
        status = None
        if clean >= len(rows):
            status = Status.SEPARATED
        elif is_hull and not any(w):
            status = Status.ORIGIN
        elif updates >= budget or max(v.denominator.bit_length() for v in w) > LONGEST:
            status = Status.BUDGET
        frame = _frame(rows, w, updates, row, visits, status, is_hull)
        before = frame if before is None else after(before, frame)
        yield before
        if status is not None:
            return
        w, row = move(w, rows[cursor]), cursor
        updates, clean, visits, cursor = updates + 1, 0, visits + 1, (cursor + 1) % len(rows)


def _frame(
    rows: list[Vector],
    w: Vector,
    updates: int,
    row: int,
    visits: int,
    status: Status | None,
    is_hull: bool,
) -> Frame:
    products = [dot(w, z) for z in rows]
    length = float(dot(w, w)) ** 0.5
    return Frame(
        update=updates,
        weights=np.array([float(v) for v in w]),
        row=row,
        errors=sum(product <= 0 for product in products),
        margin=float(min(products)) / length if length > 0.0 else 0.0,
        bound=length if is_hull else np.inf,
        status=status,
        visits=visits,
        radius=max(float(dot(z, z)) for z in rows) ** 0.5,
        exact=w,
    )
