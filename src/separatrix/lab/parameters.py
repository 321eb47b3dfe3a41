"""Parameters of methods and lifts as a form can show them: the control, and what it accepts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import separatrix as sx

__all__ = [
    "BadRequest",
    "LIFTS",
    "Parameter",
    "choice",
    "lift_catalogue",
    "lift_formula",
    "lift_of",
    "switch",
]

MOST_CLASSES = 6


class BadRequest(ValueError):
    """A request that cannot be met; the message says why, in plain words."""


@dataclass(frozen=True)
class Parameter:
    """One control.

    `kind` is "choice", "switch", "whole" (a whole number), "log" (a number on a logarithmic scale)
    or "losses" (a number for every decision and class). `choices` are pairs of a value and its
    label. With `absent` the number may be left out, and the label says what happens then. `when`
    names another parameter and the values that make this one matter. `more` puts it among the
    settings that are seldom touched.
    """

    name: str
    label: str
    kind: str
    default: Any
    choices: tuple[tuple[str, str], ...] = ()
    low: float = 0.0
    high: float = 1.0
    absent: str = ""
    when: tuple[str, tuple[Any, ...]] | None = None
    more: bool = False

    def read(self, value: Any) -> Any:
        """Return the value if it is one that the control can have."""
        if self.kind == "choice":
            if value in [name for name, _ in self.choices]:
                return value
        elif self.kind == "switch":
            if isinstance(value, bool):
                return value
        elif value is None:
            if self.absent:
                return None
        elif self.kind == "losses":
            if self._are_losses(value):
                return [[float(loss) for loss in row] for row in value]
        elif self._is_within(value):
            if self.kind == "log":
                return float(value)
            if value == int(value):
                return int(value)
        raise BadRequest(f"{self.label}: {str(value)[:40]!r} is not one of its values.")

    def _is_within(self, value: Any) -> bool:
        return type(value) in (int, float) and self.low <= value <= self.high

    def _are_losses(self, value: Any) -> bool:
        """Whether there is a number for each decision (row) of each class (column)."""
        return (
            isinstance(value, list)
            and len(value) == MOST_CLASSES
            and all(isinstance(row, list) and len(row) == MOST_CLASSES for row in value)
            and all(self._is_within(loss) for row in value for loss in row)
        )

    def as_plain(self) -> dict[str, Any]:
        """Return what the page needs to draw the control."""
        return asdict(self)


def choice(
    name: str, label: str, *choices: tuple[str, str], when: Any = None, more: bool = False
) -> Parameter:
    """Return a parameter that is one of a few words; the first is the default."""
    return Parameter(name, label, "choice", choices[0][0], choices, when=when, more=more)


def switch(name: str, label: str, default: bool, *, more: bool = False) -> Parameter:
    """Return a parameter that is on or off."""
    return Parameter(name, label, "switch", default, more=more)


# ---- lifts: basis functions before a linear method


def _by_spread(name: str, label: str, low: float, high: float) -> Parameter:
    return Parameter(name, label, "log", None, low=low, high=high, absent="by the data's spread")


_CENTRES = Parameter("centres", "Centres", "whole", 8, low=1, high=60)
_COUNT = Parameter("n_components", "Columns", "whole", 40, low=1, high=200)
_GAMMA = _by_spread("gamma", "Gamma", 1e-3, 1e3)

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
        (_CENTRES, _by_spread("width", "Width", 1e-2, 1e2)),
    ),
    "sigmoid": (
        "sigmoids",
        "Sigmoid",
        (_CENTRES, _by_spread("slope", "Slope", 1e-3, 1e3)),
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
