"""The player's modules in one script: for a page that is a replay, or for a place within a page.

Modules are joined in the order of their imports. They are written so that they can be: imports are
one line each, and no two modules of the player use one name for different things.

A replay as one page that plays by itself: no server, no request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import __version__
from separatrix._write_aside import write_whole
from separatrix.plots.player.columns import columns_of, rule_of

__all__ = [
    "HOLE",
    "STATIC",
    "joined_modules",
    "placed_script",
    "player_page",
    "save_replay_page",
    "theme",
]


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


# ---- a replay as one page that plays by itself: no server, no request


def save_replay_page(
    frames: Sequence[Any],
    model: Any,
    X: np.ndarray,
    codes: np.ndarray,
    class_names: Sequence[str],
    feature_names: Sequence[str],
    method: str,
    label: str,
    verdict: str,
    path: Path,
) -> None:
    """Write the page that plays the frames of two classes over two features."""
    if X.shape[1] != 2 or len(class_names) != 2:
        raise ValueError(
            f"a page that plays needs two features and two classes. Got {X.shape[1]} features and "
            f"{len(class_names)} classes; choose two with --features."
        )
    names = [str(name) for name in class_names]
    result = {
        "method": method,
        "rule": rule_of(model, 2, "direct"),
        "class_names": names,
        "facts": {"errors": int(frames[-1].errors), "points": len(X)},
        "support": [],
        "hard": False,
        "replay": columns_of(frames, len(X)),
    }
    given = {
        "version": __version__,
        "points": X.tolist(),
        "classes": codes.tolist(),
        "names": [str(name) for name in feature_names],
        "class_names": names,
        "panes": [{"label": label, "result": result}],
        "step": 0,
        "verdict": verdict,
    }
    # No text of the data can end the element that holds it.
    text = json.dumps(given, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    write_whole(path, player_page().replace(HOLE, text).encode())
