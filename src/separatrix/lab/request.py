"""A request of the page, read with care: points and classes of a bounded number, and a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.lab.methods import METHODS, Method
from separatrix.lab.parameters import MOST_CLASSES, BadRequest

__all__ = ["MOST_POINTS", "Request", "read_points", "read_request"]

MOST_POINTS = 10_000
_LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class Request:
    """Points, the class number of each, and what to do with them."""

    X: np.ndarray
    codes: np.ndarray
    method: Method
    settings: dict[str, Any]
    many: str
    lift: str
    lift_settings: dict[str, Any]

    @property
    def n_classes(self) -> int:
        """How many different classes the points have."""
        return len(np.unique(self.codes))


def read_points(message: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the points and their class numbers, or refuse."""
    if not isinstance(message, dict):
        raise BadRequest("Send a JSON object.")
    points, classes = message.get("points"), message.get("classes")
    if not isinstance(points, list) or not isinstance(classes, list):
        raise BadRequest("Send a list of points and a list of classes.")
    if len(points) != len(classes):
        raise BadRequest("Every point needs one class.")
    if len(points) > MOST_POINTS:
        raise BadRequest(f"The lab takes at most {MOST_POINTS:,} points; got {len(points):,}.")
    for point in points:
        if not (isinstance(point, list) and len(point) == 2 and all(map(_is_number, point))):
            raise BadRequest("A point is a list of two finite numbers below a billion.")
    if not all(type(code) is int and 0 <= code < MOST_CLASSES for code in classes):
        raise BadRequest(f"A class is a whole number from 0 to {MOST_CLASSES - 1}.")
    codes = np.array(classes, dtype=np.int64)
    if len(np.unique(codes)) < 2:
        raise BadRequest("Place points of at least two classes.")
    return np.array(points, dtype=np.float64).reshape(-1, 2), codes


def read_request(message: Any) -> Request:
    """Return what to run, or refuse in words."""
    X, codes = read_points(message)
    method = METHODS.get(_text(message.get("method")))
    if method is None:
        raise BadRequest("There is no such method.")
    parameters, lift = message.get("parameters", {}), message.get("lift") or {"name": "none"}
    if not isinstance(parameters, dict) or not isinstance(lift, dict):
        raise BadRequest("Parameters and lift are JSON objects.")
    lift_settings = lift.get("parameters", {})
    if not isinstance(lift_settings, dict):
        raise BadRequest("The parameters of a lift are a JSON object.")
    many = _text(message.get("many") or method.many[0])
    if many not in method.many:
        raise BadRequest(f"{method.label} does not take many classes by {many[:40]!r}.")
    name = _text(lift.get("name", "none"))
    if not method.lifts:
        name, lift_settings = "none", {}
    return Request(X, codes, method, method.settings(parameters), many, name, lift_settings)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST  # NaN is not
