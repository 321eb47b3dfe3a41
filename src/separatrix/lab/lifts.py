"""Lifts: basis functions before a linear method, and the formulas that the page draws with."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix as sx
from separatrix.lab.parameters import BadRequest, Parameter

__all__ = ["LIFTS", "lift_catalogue", "lift_of", "lift_formula"]

_CENTRES = Parameter("centres", "Centres", "whole", 8, low=1, high=60)
_COUNT = Parameter("n_components", "Columns", "whole", 40, low=1, high=200)
_GAMMA = Parameter("gamma", "Gamma", "log", None, low=1e-3, high=1e3, absent="by the data's spread")

# Name -> (label, class of sx.lift, parameters)
LIFTS: dict[str, tuple[str, str, tuple[Parameter, ...]]] = {
    "none": ("none: straight lines", "", ()),
    "polynomial": (
        "polynomial",
        "Polynomial",
        (Parameter("degree", "Degree", "whole", 2, low=1, high=8),),
    ),
    "radial": (
        "radial basis functions",
        "RadialBasis",
        (
            _CENTRES,
            Parameter(
                "width", "Width", "log", None, low=1e-2, high=1e2, absent="by the data's spread"
            ),
        ),
    ),
    "sigmoid": (
        "sigmoids",
        "Sigmoid",
        (
            _CENTRES,
            Parameter(
                "slope", "Slope", "log", None, low=1e-3, high=1e3, absent="by the data's spread"
            ),
        ),
    ),
    "fourier": ("random cosines", "RandomFourier", (_COUNT, _GAMMA)),
    "nystrom": ("Nystrom", "Nystrom", (_COUNT, _GAMMA)),
}
_RANDOM = ("fourier", "nystrom", "radial", "sigmoid")


def lift_catalogue() -> list[dict[str, Any]]:
    """Return all lifts for the page."""
    return [
        {"name": name, "label": label, "parameters": [p.as_plain() for p in parameters]}
        for name, (label, _, parameters) in LIFTS.items()
    ]


def lift_of(name: Any, given: dict[str, Any], n_rows: int) -> tuple[Any, dict[str, Any]]:
    """Return the transformer of this name, None for none, and its arguments."""
    if name not in LIFTS:
        raise BadRequest(f"There is no lift {str(name)[:40]!r}.")
    label, kind, parameters = LIFTS[name]
    if not kind:
        return None, {}
    known = {parameter.name for parameter in parameters}
    if not known.issuperset(given):
        raise BadRequest(f"The lift {label!r} has no such parameter.")
    settings = {p.name: p.read(given.get(p.name, p.default)) for p in parameters}
    settings = {key: value for key, value in settings.items() if value is not None}
    for count in ("centres", "n_components"):
        if count in settings and name != "fourier":
            settings[count] = min(settings[count], n_rows)
    if name in _RANDOM:
        settings["random_state"] = 0
    return getattr(sx.lift, kind)(**settings), settings


def lift_formula(name: str, lift: Any) -> dict[str, Any] | None:
    """Return the numbers of a fitted lift that its formula needs."""
    if lift is None:
        return None
    if name == "polynomial":
        names = lift.get_feature_names_out(["x", "y"])
        return {"kind": name, "powers": [_powers(str(word)) for word in names]}
    if name == "radial":
        return {"kind": name, "centres": lift.centres_.tolist(), "width": lift.width_}
    if name == "sigmoid":
        return {
            "kind": name,
            "centres": lift.centres_.tolist(),
            "slope": lift.slope_,
            "offset": float(lift.offset),
        }
    if name == "fourier":
        return {
            "kind": name,
            "directions": lift.directions_.T.tolist(),
            "offsets": lift.offsets_.tolist(),
        }
    return {
        "kind": name,
        "centres": np.asarray(lift.components_).tolist(),
        "gamma": lift.gamma_,
        "columns": lift.normalization_.T.tolist(),
    }


def _powers(word: str) -> list[int]:
    """Return the powers of x and y in a name such as ``x^2 y``."""
    powers = [0, 0]
    for part in word.split():
        base, _, power = part.partition("^")
        powers["xy".index(base)] = int(power or 1)
    return powers
