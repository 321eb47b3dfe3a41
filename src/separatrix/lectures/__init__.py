"""Five lectures: their data as (X, y), and fifty exercises that are checked: ``sx.lectures``.

Where a lecture does not print its points, the set here was made to give the lecture's own numbers;
the docstring says so. The lectures are numbered:

    000   Federico Chiariotti, "Linear classification"
    001   lecture notes, "Linear predictors"
    002   V. Hlaváč, J. Matas, O. Drbohlav, "Learning and Linear Classifiers"
    003   Luca Iocchi, "Linear models for classification"
    004   lecture notes, "Module 6: Linear Classification"

See Also
--------
plot : the lectures' pictures.
FiniteTable : the strategies of lecture 002.

Examples
--------
>>> import separatrix as sx
>>> X, y = sx.lectures.five_points()
>>> sx.separability(X, y).kind
'separable'
>>> sx.lectures.check("000.4", 16)
Some labelings are impossible.
"""

from __future__ import annotations

from separatrix.data.lectures import (
    eighty_five_points,
    exclusive_or,
    five_points,
    iris_pair,
    parabola,
    sentences,
    twenty_points,
    two_hundred_points,
    two_points,
)
from separatrix.lectures.checking import check, exercises

__all__ = [
    "check",
    "eighty_five_points",
    "exclusive_or",
    "exercises",
    "five_points",
    "iris_pair",
    "parabola",
    "sentences",
    "twenty_points",
    "two_hundred_points",
    "two_points",
]
