"""Boxes, lines and words as an SVG that is legible on light and on dark ground.

The colours are the report's. Words stay text, in the reader's own font, so boxes leave room for a
wide one.
"""

from __future__ import annotations

from html import escape

STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #22262b }
.code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: 13px }
.soft { fill: #5b646e; font-size: 12.5px }
.bold { font-weight: 650 }
.middle { text-anchor: middle }
.box { fill: #f3f4f5; stroke: #9aa3ad }
.answer { fill: #e6f0f9; stroke: #1f6fb4 }
.line { stroke: #5b646e; fill: none; stroke-width: 1.4 }
.rule { stroke: #e1e4e8 }
.dot { fill: #1f6fb4 }
.head { fill: #5b646e }
@media (prefers-color-scheme: dark) {
  text { fill: #e9ebee } .soft { fill: #a8b1bb }
  .box { fill: #1d2125; stroke: #6b747e } .answer { fill: #16283a; stroke: #6cb0ee }
  .line { stroke: #a8b1bb } .rule { stroke: #2e343a } .dot { fill: #6cb0ee } .head { fill: #a8b1bb }
}
"""


class Drawing:
    """An SVG that grows element by element."""

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img">'
            f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
            f"<style>{STYLE}</style>"
        )
        self._parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box") -> None:
        """Draw a rounded box."""
        self._parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            'rx="7"/>'
        )

    def words(self, x: float, y: float, text: str, kind: str = "", turn: float = 0.0) -> None:
        """Write one line; y is its baseline, `turn` its angle in degrees."""
        of = f' class="{kind}"' if kind else ""
        of += f' transform="rotate({turn:g} {x:g} {y:g})"' if turn else ""
        self._parts.append(f'<text{of} x="{x:g}" y="{y:g}">{escape(text)}</text>')

    def line(self, *points: tuple[float, float], arrow: bool = False, kind: str = "line") -> None:
        """Draw a line through the points, with a head at its end if `arrow` is set."""
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        self._parts.append(f'<path class="{kind}" d="{path}"/>')
        if arrow:
            (x0, y0), (x, y) = points[-2:]
            dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
            corners = (
                (x, y),
                (x - 8 * dx - 4 * dy, y - 8 * dy - 4 * dx),
                (x - 8 * dx + 4 * dy, y - 8 * dy + 4 * dx),
            )
            shape = " ".join(f"{a:g},{b:g}" for a, b in corners)
            self._parts.append(f'<polygon class="head" points="{shape}"/>')

    def dot(self, x: float, y: float, radius: float) -> None:
        """Draw a filled circle."""
        self._parts.append(f'<circle class="dot" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def text(self) -> str:
        """Return the file's text."""
        return self._head + "\n" + "\n".join(self._parts) + "\n</svg>\n"
