"""The player's modules in one script: for a page that is a replay, or for a place within a page.

Modules are joined in the order of their imports. They are written so that they can be: imports are
one line each, and no two modules of the player use one name for different things.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

__all__ = ["HOLE", "STATIC", "joined_modules", "placed_script", "player_page", "theme"]

HOLE = "/*THE-REPLAY*/null"
STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import .*? from "\./(\w+)\.js";\n', re.MULTILINE)
_COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)


def joined_modules(first: str, folder: Path = STATIC) -> str:
    """Return a module of a folder and all that it imports, as one script."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        for other in _IMPORT.findall((folder / f"{name}.js").read_text("utf-8")):
            visit(other)
        order.append(name)

    visit(first)
    parts = []
    for name in order:
        source = _IMPORT.sub("", (folder / f"{name}.js").read_text("utf-8"))
        source = re.sub(r"^export ", "", source, flags=re.MULTILINE)
        parts.append(_COMMENT.sub("", source).strip())
    return "\n".join(parts).replace("</script", "<\\/script")


def theme() -> str:
    """Return the colours and fonts of all pages, as a style sheet."""
    return _read("theme.css")


def player_page() -> str:
    """Return the page with a hole for the replay, which the lab's page fills in."""
    script = f"const REPLAY = {HOLE};\n{joined_modules('player')}"
    page = _read("player.html").replace("/*STYLE*/", theme() + _read("player.css"))
    return page.replace("/*SCRIPT*/", script)


def placed_script() -> str:
    """Return the script that plays replays in their places within a page.

    A place is an element with ``data-replay``, which names the element that holds the replay as
    JSON; what the place holds is seen where there are no scripts, and on paper.
    """
    style = json.dumps(_read("player.css")).replace("</", "<\\/")
    return f"const PLAYER_STYLE = {style};\n{joined_modules('placed')}"


def _read(name: str) -> str:
    return (STATIC / name).read_text("utf-8")
