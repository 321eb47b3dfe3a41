"""The replay of a study as the player takes it, and the one script that the page may run."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from typing import Any

from separatrix.plots.plane_panel import draw_plane_panel
from separatrix.plots.player.columns import finite
from separatrix.plots.player.page import placed_script
from separatrix.plots.player.rules import sides_of
from separatrix.report.facts import Facts, Replay, ReplayRun
from separatrix.report.words import clean, cut, number, plural, spelled

__all__ = ["draw_still", "replay_json", "replay_sentence", "script_and_hash", "still_note"]

_NAME = 60


@cache
def script_and_hash() -> tuple[str, str]:
    """Return the player and its fingerprint, by which the page's policy knows it from any other."""
    script = placed_script()
    digest = hashlib.sha256(script.encode()).digest()
    return script, f"sha256-{base64.b64encode(digest).decode()}"


def replay_json(facts: Facts, replay: Replay) -> str:
    """Return the replay as JSON that may stand within a page."""
    names = _class_names(facts, replay)
    several = len(replay.runs) > 1
    result: dict[str, Any] = {
        "method": "logistic" if replay.loss == "logistic" else "soft_margin",
        "rule": {
            "decide": "argmax" if several else "sign",
            "weights": [list(row) for row in replay.weights],
        },
        "class_names": names,
        "facts": {"errors": replay.errors, "points": len(replay.points)},
        "support": sorted({row for run in replay.runs for row in run.support}),
        "hard": False,
    }
    if several:
        sides = sides_of(list(range(len(replay.runs))), "ovr")
        parts = zip(replay.runs, sides, strict=True)
        result["replay"] = {
            "parts": [{**_run(run), "sides": side, "support": run.support} for run, side in parts]
        }
    else:
        result["replay"] = _run(replay.runs[0])
    given = {
        "points": replay.points,
        "classes": replay.classes,
        "names": [clean(cut(name, _NAME)) for name in replay.features],
        "class_names": names,
        "panes": [{"label": _label(replay), "result": result}],
        "step": 0,
        "description": _description(replay),
    }
    # No text of the data can end the element that holds it.
    return json.dumps(given, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def replay_sentence(replay: Replay) -> str:
    """Say what is played, and how it differs from the machine of the study."""
    rows, points = plural(replay.n_rows, "training row"), len(replay.points)
    all_rows = points == replay.n_rows
    if replay.n_features == 2 and all_rows:
        return "The machine of this study, iteration by iteration, on all its training rows."
    sample = f"all {rows}" if all_rows else f"{points:,} of {rows}, drawn with seed {replay.seed}"
    if replay.n_features == 2:
        return f"The same method and C, iteration by iteration, on {sample}."
    return (
        f"The same method and C, iteration by iteration, in the two features of most weight that "
        f"spread over a plane, on {sample}. The machine of this study weighs all "
        f"{plural(replay.n_features, 'feature')}: here the method is seen at work."
    )


def draw_still(facts: Facts, replay: Replay) -> str:
    """Draw the last step, for paper and for readers without scripts."""
    title = f"{_label(replay)}: the end of its run"
    return draw_plane_panel(
        replay.points,
        replay.classes,
        replay.weights,
        [clean(cut(name, _NAME)) for name in replay.features],
        "replay-still",
        title,
        _description(replay),
        street=replay.loss != "logistic",
    )


def still_note(replay: Replay) -> str:
    """Say what the picture on paper shows, and that there is more on the screen."""
    several = "Each line sets the class of its colour apart from the rest. "
    return f"{several if len(replay.runs) > 1 else ''}On the screen the whole run can be played."


def _run(run: ReplayRun) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: [finite(value) for value in getattr(run, name)]
        for name in ("margin", "primal", "dual", "gap")
    }
    weights = [[finite(value) for value in row] for row in run.weights]
    columns |= {"update": list(run.update), "errors": list(run.errors), "weights": weights}
    return {"columns": columns, "is_cut": False, "status": None}


def _label(replay: Replay) -> str:
    kind = "Logistic regression" if replay.loss == "logistic" else "Soft margin"
    return f"{kind}, C = {number(replay.C)}"


def _description(replay: Replay) -> str:
    lines = "one line" if len(replay.runs) == 1 else f"{spelled(len(replay.runs))} lines"
    wrong = f"{replay.errors} of {len(replay.points)} points on the wrong side at the end"
    return f"Points in the plane of two features and {lines} between the classes; {wrong}."


def _class_names(facts: Facts, replay: Replay) -> list[str]:
    known = [part.name for part in facts.data.classes] if facts.data else []
    count = max(replay.classes, default=1) + 1
    names = known if len(known) >= count else [f"class {k}" for k in range(count)]
    return [clean(cut(name, _NAME)) for name in names]
