"""Let the pictures follow the reader's light or dark: ``python docs/pictures/dark_mode.py``.

A picture shown by a page is a document of its own, and knows whether the reader prefers dark. A
style sheet in it gives every colour of the library's pictures its counterpart on a dark ground.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
DARK = {
    "#ffffff": "#1d2125",
    "#22262b": "#e1e4e8",
    "#5b646e": "#a8b1bb",
    "#9aa3ad": "#6b747e",
    "#c2185b": "#f06a9b",
    "#c4501b": "#f0945e",
    "#1f6fb4": "#6cb0ee",
    "#3c8d40": "#7cc47f",
    "#8e4fa8": "#c58fdc",
    "#8a6d1f": "#d0b25a",
    "#4a4a4a": "#b8b8b8",
    "#666666": "#a8a8a8",
    "#999999": "#7c7c7c",
    "#e7f0f8": "#16283a",
    "#fbeef3": "#3a1726",
}
_OURS = re.compile(r'<style id="dark">.*?</style>\n', re.DOTALL)


def sheet() -> str:
    """Return the style sheet."""
    rules = [
        f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    ]
    body = "\n".join(rules)
    return f'<style id="dark">@media (prefers-color-scheme: dark) {{\n{body}\n}}</style>\n'


def followed(text: str) -> str:
    """Return a picture with the style sheet, first in the document."""
    text = _OURS.sub("", text)
    begin = re.search(r"<svg[^>]*>\n", text)
    if begin is None or "Matplotlib" not in text:
        return text
    return text[: begin.end()] + sheet() + text[begin.end() :]


def colours(text: str) -> set[str]:
    """Return the colours that a picture draws in."""
    return set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", _OURS.sub("", text)))


if __name__ == "__main__":
    for picture in sorted(HERE.rglob("*.svg")):
        written = picture.read_text(encoding="utf-8")
        if written != followed(written):
            picture.write_text(followed(written), encoding="utf-8")
