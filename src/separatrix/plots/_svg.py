"""Small SVG figures as parts of an HTML page: no outside reference, light and dark by CSS.

A colour is the name of a CSS variable that the page sets for light and for dark. Text stays text in
the page's own font, so room for labels is estimated by their length. Every id begins with the
figure's name: two figures on a page never share one. The same data give the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from separatrix.plots._drawing import CLASS_COLOURS

__all__ = ["COLOURS", "Axis", "Panel", "Words", "class_colour", "nice_ticks"]

COLOURS = ("ink", "soft", "faint", "accent", "paper", "rule") + tuple(
    f"class-{number}" for number in range(len(CLASS_COLOURS))
)
_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_TICK_SIZE, _TITLE_SIZE = 12.0, 12.5
_LETTER = 6.8  # the width of a letter of a tick's label
# In widths of the line, as in the other pictures.
_DASHES = {"-": (), "--": (3.7, 1.6), ":": (1.0, 1.65), "-.": (6.4, 1.6, 1.0, 1.6)}


class Words(NamedTuple):
    """What a figure is called on the page: its id, its title, and a description in words."""

    name: str
    title: str
    description: str


class Axis(NamedTuple):
    """The ends of an axis, its ticks, and what it measures."""

    low: float
    high: float
    ticks: Sequence[float] = ()
    labels: Sequence[str] = ()
    title: str = ""
    log: bool = False
    grid: bool = False
    first: str = "soft"  # the colour of the first label

    def share(self, values: Any) -> np.ndarray:
        """Return where values lie, from 0 at the low end to 1 at the high one."""
        at, low, high = np.asarray(values, dtype=float), self.low, self.high
        if self.log:
            at, low, high = np.log(at), math.log(low), math.log(high)
        return np.asarray((at - low) / (high - low))


def class_colour(number: int) -> str:
    """Return the colour of class number `number`; they come round again."""
    return f"class-{number % len(CLASS_COLOURS)}"


def nice_ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Return at most `most` + 1 round numbers from `low` to `high`, evenly spaced.

    >>> nice_ticks(0.0, 0.37, 5), nice_ticks(0.0, 3.0, 5, whole=True)
    ([0.0, 0.08, 0.16, 0.24, 0.32], [0.0, 1.0, 2.0, 3.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    fits = [step * power for step in _STEPS if step * power * most >= (high - low) * (1 - 1e-9)]
    step = max(1.0, math.ceil(fits[0])) if whole else fits[0]
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


class Panel:
    """A pair of axes of `width` by `height` CSS pixels; what is drawn is given in their units.

    >>> panel = Panel(200, 100, Axis(0, 1, (0, 1), ("0", "1")), Axis(0, 1))
    >>> panel.line([0, 1], [0, 1], "ink")
    >>> panel.svg(Words("one", "A line", "It rises."))[:26]
    '<svg viewBox="0 0 200 100"'
    """

    def __init__(self, width: float, height: float, x: Axis, y: Axis, right: float = 12.0) -> None:
        self.width, self.height, self.x, self.y = width, height, x, y
        labels = max((len(label) for label in y.labels), default=0)
        self.left = 8.0 + _LETTER * labels + (20.0 if y.title else 0.0)
        self.right, self.top = width - right, 4.0
        self.bottom = height - 22.0 - (20.0 if x.title else 0.0)
        self._parts: list[str] = []

    # ---- what is drawn

    def line(
        self, x: Any, y: Any, colour: str, width: float = 1.0, style: str = "-", **more: Any
    ) -> None:
        """Draw a line through points; with `clip` no further than the axes go."""
        across, up = self._placed(x, y)
        path = f"M{' L'.join(f'{_short(a)} {_short(b)}' for a, b in zip(across, up, strict=True))}"
        dash = " ".join(f"{part * width:.3g}" for part in _DASHES[style])
        self._add([path], stroke=colour, stroke_width=width, dash=dash, **more)

    def steps(self, x: Any, y: Any, colour: str, width: float = 1.0, style: str = "-") -> None:
        """Draw a line that goes up or down at the beginning of each step."""
        self.line(np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:], colour, width, style)

    def area(self, x: Any, low: Any, high: Any, colour: str, opacity: float) -> None:
        """Fill the room between two lines."""
        across, up = self._placed([*x, *reversed(x)], [*low, *reversed(high)])
        points = " L".join(f"{_short(a)} {_short(b)}" for a, b in zip(across, up, strict=True))
        self._add([f"M{points}z"], fill=colour, opacity=opacity)

    def bars(self, edges: Any, low: Any, high: Any, colour: str) -> None:
        """Draw a bar between each edge and the next."""
        ends, floors = self._placed(edges, np.append(low, 0.0))
        tops = self._placed(edges, np.append(high, 0.0))[1]
        bars = "".join(
            f"M{_short(a)} {_short(f)}V{_short(t)}H{_short(b)}V{_short(f)}z"
            for a, b, f, t in zip(ends[:-1], ends[1:], floors, tops, strict=False)
            if f != t
        )
        self._add([bars], fill=colour, stroke="paper", stroke_width=0.7)

    def marks(
        self, x: Any, y: Any, shape: str, size: Any, fill: str, edge: str, width: float
    ) -> None:
        """Draw a mark at each point; `size` is its width, one for all or one for each."""
        across, up = self._placed(x, y)
        sizes = np.broadcast_to(size, across.shape)
        marks = [_mark(shape, *each) for each in zip(across, up, sizes / 2, strict=True)]
        self._add(marks, fill=fill, stroke=edge, stroke_width=width)

    def text(self, x: float, y: float, words: str, colour: str, right_by: float = 0.0) -> None:
        """Write words beside a point, in the middle of its height."""
        (across,), (up,) = self._placed([x], [y])
        self._write(across + right_by, up + 4.0, words, colour)

    # ---- how it becomes an element

    def svg(self, words: Words) -> str:
        """Return the figure as an ``<svg>`` element."""
        name = words.name
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise ValueError(
                f"a figure's name must be small letters, digits and '-'. Got {name!r}."
            )
        drawn, self._parts = self._parts, []
        self._draw_axes()
        body = "".join([*self._parts, *drawn])
        clip = ""
        if "url(#clip)" in body:
            body = body.replace("url(#clip)", f"url(#{name}-clip)")
            size = f'width="{self.right - self.left:g}" height="{self.bottom - self.top:g}"'
            rect = f'<rect x="{self.left:g}" y="{self.top:g}" {size}/>'
            clip = f'<defs><clipPath id="{name}-clip">{rect}</clipPath></defs>'
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc">'
            f'<title id="{name}-title">{escape(words.title)}</title>'
            f'<desc id="{name}-desc">{escape(words.description)}</desc>{clip}{body}</svg>'
        )

    def _draw_axes(self) -> None:
        left, right, top, bottom = (
            _short(side) for side in (self.left, self.right, self.top, self.bottom)
        )
        across, up = self._placed(self.x.ticks, ())[0], self._placed((), self.y.ticks)[1]
        if self.x.grid:
            self._add(["".join(f"M{_short(a)} {bottom}V{top}" for a in across)], stroke="rule")
        if self.y.grid:
            self._add(["".join(f"M{left} {_short(b)}H{right}" for b in up)], stroke="rule")
        if not (self.x.grid and self.y.grid):
            ticks = "".join(f"M{_short(a)} {bottom}v3.5" for a in across)
            self._add([f"M{left} {bottom}H{right}{ticks}"], stroke="faint", stroke_width=0.8)
        for at, label in zip(across, self.x.labels, strict=True):
            self._write(at, self.bottom + 16.0, label, "soft", "middle", _TICK_SIZE)
        for at, label in zip(up, self.y.labels, strict=True):
            colour = self.y.first if label is self.y.labels[0] else "soft"
            self._write(self.left - 6.0, at + 4.2, label, colour, "end", _TICK_SIZE)
        middle = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        if self.x.title:
            self._write(middle[0], self.height - 5.0, self.x.title, "soft", "middle")
        if self.y.title:
            turn = f' transform="rotate(-90 13 {_short(middle[1])})"'
            self._write(13.0, middle[1], self.y.title, "soft", "middle", more=turn)

    def _placed(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return pixels from the left and from the top."""
        across = self.left + self.x.share(x) * (self.right - self.left)
        return across, self.bottom - self.y.share(y) * (self.bottom - self.top)

    def _add(
        self,
        paths: Sequence[str],
        *,
        fill: str = "",
        stroke: str = "",
        stroke_width: float = 1.0,
        dash: str = "",
        opacity: float = 1.0,
        clip: bool = False,
    ) -> None:
        style = [f"fill: var(--{fill})" if fill else "fill: none"]
        if stroke:
            style += [f"stroke: var(--{stroke})", f"stroke-width: {stroke_width:g}"]
        style += [f"stroke-dasharray: {dash}"] if dash else []
        style += [f"opacity: {opacity:g}"] if opacity < 1.0 else []
        within = ' clip-path="url(#clip)"' if clip else ""
        shared = f'{within} style="{"; ".join(style)}"'
        if len(paths) == 1:
            self._parts.append(f'<path d="{paths[0]}"{shared}/>')
        elif paths:
            drawn = "".join(f'<path d="{path}"/>' for path in paths)
            self._parts.append(f"<g{shared}>{drawn}</g>")

    def _write(
        self,
        x: float,
        y: float,
        words: str,
        colour: str,
        anchor: str = "start",
        size: float = _TITLE_SIZE,
        more: str = "",
    ) -> None:
        style = f"font-size: {size:g}px; text-anchor: {anchor}; fill: var(--{colour})"
        place = f'x="{_short(x)}" y="{_short(y)}"{more}'
        self._parts.append(f'<text {place} style="{style}">{escape(words)}</text>')


def _short(number: float) -> str:
    """Write a length to a hundredth of a pixel.

    >>> _short(12.0), _short(-0.001), _short(7.126)
    ('12', '0', '7.13')
    """
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _mark(shape: str, x: float, y: float, r: float) -> str:
    """Return the outline of a mark: the shapes by matplotlib's letters, as other pictures have."""
    if shape == "o":
        arc = f"a{_short(r)} {_short(r)} 0 1 0"
        return f"M{_short(x - r)} {_short(y)}{arc} {_short(2 * r)} 0{arc} {_short(-2 * r)} 0z"
    points = [f"{_short(x + r * a)} {_short(y + r * b)}" for a, b in _SHAPES[shape]]
    return f"M{'L'.join(points)}z"


_SHAPES = {
    "s": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "^": ((0, -1), (1, 1), (-1, 1)),
    "v": ((0, 1), (1, -1), (-1, -1)),
    "D": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "|": ((0, -1), (0, 1)),
    "P": (
        (-1, -0.4), (-0.4, -0.4), (-0.4, -1), (0.4, -1), (0.4, -0.4), (1, -0.4),
        (1, 0.4), (0.4, 0.4), (0.4, 1), (-0.4, 1), (-0.4, 0.4), (-1, 0.4),
    ),
}  # fmt: skip
