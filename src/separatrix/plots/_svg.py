"""A matplotlib figure as a piece of an HTML page: no outside reference, light and dark by CSS.

Every colour must be one of the palette's, for each becomes a CSS variable that the page sets for
light and for dark; text stays text in the page's own font; every id carries the figure's name, so
that two figures on a page never share one; the same figure gives the same bytes.
"""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from separatrix.plots._style import ACCENT, CLASS_COLOURS, FAINT, INK, SOFT

__all__ = ["PAPER", "RULE", "THEME", "as_svg", "class_colour", "drawable", "panel"]

# Stand-ins for the page's ground and its hairlines; like all others they are never seen as such.
PAPER, RULE = "#fdfdfe", "#dfe3e8"

# Colour in a figure -> the page's CSS variable.
THEME = {
    INK: "--ink",
    SOFT: "--soft",
    FAINT: "--faint",
    ACCENT: "--accent",
    PAPER: "--paper",
    RULE: "--rule",
    **{colour: f"--class-{number}" for number, colour in enumerate(CLASS_COLOURS)},
}

_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 12.5,
    "axes.labelsize": 12.5,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.unicode_minus": True,
    "grid.color": RULE,
    "grid.linewidth": 1.0,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "ytick.major.size": 0.0,
    "text.color": INK,
    # A name with two dollar signs is a name, not a formula.
    "text.parse_math": False,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "separatrix",
    "path.simplify": False,
}


class panel:
    """A figure of one pair of axes, `width` by `height` CSS pixels, in the page's manner.

    >>> with panel(460, 300) as (figure, axes):
    ...     lines = axes.plot([0, 1], [0, 1], color=INK)
    """

    def __init__(self, width: float, height: float) -> None:
        self._context = matplotlib.rc_context(_RC)
        self._size = width / 72.0, height / 72.0

    def __enter__(self) -> tuple[Figure, Any]:
        self._context.__enter__()
        figure = Figure(figsize=self._size)
        figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.03))
        return figure, figure.add_subplot()

    def __exit__(self, *raised: Any) -> None:
        self._context.__exit__(*raised)


def class_colour(number: int) -> str:
    """Return the colour of class number `number`; they come round again."""
    return CLASS_COLOURS[number % len(CLASS_COLOURS)]


def drawable(text: str) -> str:
    """Return text in letters that the measuring font has; others become question marks.

    >>> drawable("w·x, ж")
    'w·x, ?'
    """
    return "".join(letter if letter.isprintable() and letter < "\u0180" else "?" for letter in text)


def as_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """Return the figure as an ``<svg>`` element whose ids begin with `name`."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ValueError(f"a figure's name must be small letters, digits and '-'. Got {name!r}.")
    written = StringIO()
    with matplotlib.rc_context(_RC):
        FigureCanvasSVG(figure).print_svg(
            written, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
    text = written.getvalue()
    box = re.search(r'viewBox="([^"]*)"', text)
    assert box is not None, "matplotlib writes a viewBox"
    body = _themed(_renamed(_stripped(text), name))
    return (
        f'<svg viewBox="{box[1]}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{body}</svg>'
    )


def _stripped(text: str) -> str:
    """Return what stands inside the outer element, without metadata, fonts and needless digits."""
    body = text[text.index(">", text.index("<svg")) + 1 : text.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"<style type=\"text/css\">(.*?)</style>", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href")
    body = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font-size: \1", body)
    body = re.sub(r"font-family: [^;\"]*;? ?", "", body)
    body = re.sub(r"-?\d+\.\d+", _two_digits, body)
    return re.sub(r"\s*\n\s*", " ", body).replace("> <", "><").strip()


def _two_digits(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _renamed(body: str, name: str) -> str:
    """Put the figure's name before every id, and drop the ids nothing refers to."""
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', body))

    def rename(found: re.Match[str]) -> str:
        return f' id="{name}-{found[1]}"' if found[1] in used else ""

    body = re.sub(r' id="([^"]*)"', rename, body)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)


def _themed(body: str) -> str:
    """Turn every colour into the page's variable for it."""

    def replace(found: re.Match[str]) -> str:
        if found[0] not in THEME:
            raise ValueError(f"{found[0]} is none of the page's colours: it could not be darkened")
        return f"var({THEME[found[0]]})"

    # Only within style attributes: "#..." elsewhere is a reference.
    return re.sub(
        r'style="[^"]*"', lambda s: re.sub(r"(?<!url\()#[0-9a-f]{6}\b", replace, s[0]), body
    )
