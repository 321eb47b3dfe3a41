"""The page that plays a replay by itself: the lab's own drawing modules in one file.

The modules are joined in the order of their imports. They are written so that they can be: imports
are one line each, and no two modules use one name for different things.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["HOLE", "joined_modules", "player_page"]

HOLE = "/*THE-REPLAY*/null"
_STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import .*? from "\./(\w+)\.js";\n', re.MULTILINE)


def joined_modules(first: str) -> str:
    """Return a module and all that it imports, as one script."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        for other in _IMPORT.findall((_STATIC / f"{name}.js").read_text("utf-8")):
            visit(other)
        order.append(name)

    visit(first)
    parts = []
    for name in order:
        source = _IMPORT.sub("", (_STATIC / f"{name}.js").read_text("utf-8"))
        parts.append(re.sub(r"^export ", "", source, flags=re.MULTILINE))
    return "\n".join(parts).replace("</script", "<\\/script")


def player_page() -> str:
    """Return the page with a hole for the replay, which the lab's page fills in."""
    template = (_STATIC / "player.html").read_text("utf-8")
    style = (_STATIC / "lab.css").read_text("utf-8")
    script = f"const REPLAY = {HOLE};\n{joined_modules('player')}"
    return template.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)
