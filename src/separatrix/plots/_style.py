"""Colours and shapes of every picture: distinct without colour, and to the colour-blind."""

from __future__ import annotations

from typing import Any

CLASS_COLOURS = ("#c4501b", "#1f6fb4", "#3c8d40", "#8e4fa8", "#8a6d1f", "#4a4a4a")
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P")
INK, SOFT, FAINT, ACCENT = "#22262b", "#5b646e", "#9aa3ad", "#c2185b"


def plain(text: str) -> str:
    """Return text that matplotlib does not take for a formula.

    >>> print(plain("cost in $"))
    cost in \\$
    """
    return text.replace("$", r"\$")


RC: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "separatrix",
}
