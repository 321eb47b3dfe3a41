"""One parameter of a method as a form can show it: its control, and what it accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["BadRequest", "Parameter", "choice", "switch"]

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
        return {
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "default": self.default,
            "choices": [list(pair) for pair in self.choices],
            "low": self.low,
            "high": self.high,
            "absent": self.absent,
            "when": None if self.when is None else [self.when[0], list(self.when[1])],
            "more": self.more,
        }


def choice(
    name: str, label: str, *choices: tuple[str, str], when: Any = None, more: bool = False
) -> Parameter:
    """Return a parameter that is one of a few words; the first is the default."""
    return Parameter(name, label, "choice", choices[0][0], choices, when=when, more=more)


def switch(name: str, label: str, default: bool, *, more: bool = False) -> Parameter:
    """Return a parameter that is on or off."""
    return Parameter(name, label, "switch", default, more=more)
