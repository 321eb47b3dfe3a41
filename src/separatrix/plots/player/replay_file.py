"""A replay as one page that plays by itself: no server, no request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import __version__
from separatrix._write_aside import write_whole
from separatrix.plots.player.columns import columns_of
from separatrix.plots.player.page import HOLE, player_page
from separatrix.plots.player.rules import rule_of

__all__ = ["save_replay_page"]


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
