"""A matplotlib figure that a notebook shows by itself."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from separatrix.plots._drawing import RC

__all__ = ["Drawing", "drawing"]


class Drawing(Figure):
    """A figure; notebooks show it without pyplot, and ``savefig`` writes it to a file."""

    def _repr_png_(self) -> bytes:
        held = io.BytesIO()
        self.savefig(held, format="png", dpi=110)
        return held.getvalue()


@contextmanager
def drawing(width: float, height: float) -> Iterator[Drawing]:
    """Give an empty figure, and the style of all pictures while it is drawn on."""
    with matplotlib.rc_context(RC):
        figure = Drawing(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
