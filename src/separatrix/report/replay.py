"""The replay of a study: a machine like its own in the plane of two features, and how it is shown.

Two features are chosen that weigh most and that are worth a picture; rows are drawn from the
training rows by a seed. Where the data have two columns and few rows, it is the machine itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.core.checks import ratio_of
from separatrix.core.machine import LinearSVM, LogisticRegression
from separatrix.core.models import settings_of
from separatrix.core.proving import first_tolerance
from separatrix.data.encodings.column_features import fit_scaling
from separatrix.errors import SeparationWarning, UnfinishedWarning
from separatrix.plots._drawing import CLASS_COLOURS
from separatrix.plots._svg import Words
from separatrix.plots.panels import draw_plane_panel
from separatrix.plots.player.columns import finite, sides_of, support_of
from separatrix.report import facts as f
from separatrix.report.facts import Facts, Replay, ReplayRun
from separatrix.report.words import clean, cut, number, plural, spelled
from separatrix.solvers.linear.choose import choose
from separatrix.solvers.linear.model_run import replay_machine

__all__ = [
    "fingerprint_of",
    "draw_still",
    "replay_facts",
    "replay_json",
    "replay_sentence",
    "still_note",
]

_NAME = 60
MOST_POINTS = 300
_MOST_CLASSES = len(CLASS_COLOURS)
_LOOKED_AT = 40  # columns, those of most weight first
_LEAST_VALUES, _MOST_ALIKE = 8, 0.5
_LEAST_SPREAD = 0.05  # of the range, by the middle half of the rows: else most stand on one spot
_SAME_COLUMN = 0.999


# ---- the run


def replay_facts(
    machine: Any, X: Any, codes: np.ndarray, names: Sequence[str], seed: int
) -> f.Replay | None:
    """Return the run of a machine like this one in two features, or None where none is shown."""
    n_classes = len(machine.classes_)
    if n_classes > _MOST_CLASSES or ratio_of(machine):
        return None  # sparse weights have no replay
    rows = _sample(codes, seed)
    columns = _columns(machine, X, rows)
    if columns is None:
        return None
    plane = _dense(X[rows][:, columns])
    loss = getattr(machine, "loss", "logistic")
    settings = settings_of(machine) | {"n_jobs": 1, "random_state": seed, "device": "cpu"}
    own: Any
    if loss == "logistic":
        own = LogisticRegression(**settings)
    else:
        own = LinearSVM(**settings | {"probability": False})
    with warnings.catch_warnings():
        # Of the study's machine it was said; this one is a picture.
        warnings.simplefilter("ignore", UnfinishedWarning)
        warnings.simplefilter("ignore", SeparationWarning)
        runs = _runs(own, plane, codes[rows], loss)
        own.fit(plane, codes[rows])
    return f.Replay(
        features=tuple(str(names[j]) for j in columns),
        points=tuple(tuple(point) for point in plane.tolist()),
        classes=tuple(codes[rows].tolist()),
        runs=tuple(_run_facts(run, support_of(own, k)) for k, run in enumerate(runs)),
        weights=tuple(tuple(row) for row in np.column_stack([own.intercept_, own.coef_]).tolist()),
        errors=int(np.count_nonzero(own.predict(plane) != codes[rows])),
        loss=loss,
        C=float(own.C),
        n_rows=len(codes),
        n_features=X.shape[1],
        seed=seed,
    )


def _runs(machine: Any, X: np.ndarray, codes: np.ndarray, loss: str) -> list[list[Any]]:
    """Return every iteration that the fit of each machine makes until it looks for a proof."""
    _, _, problems = machine._pose(X, codes, None, loss)
    effort = machine._effort()
    settings = {"tol": effort.tol, "seed": effort.seed, "max_passes": effort.max_passes}
    return [
        list(
            replay_machine(
                problem, choose(problem), aim=first_tolerance(problem, effort), **settings
            )
        )
        for problem in problems
    ]


def _sample(codes: np.ndarray, seed: int) -> np.ndarray:
    """Return at most so many rows, of every class its share and at least two."""
    if len(codes) <= MOST_POINTS:
        return np.arange(len(codes))
    dice, drawn = np.random.default_rng(seed), []
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        count = max(min(2, len(own)), MOST_POINTS * len(own) // len(codes))
        drawn.append(dice.choice(own, count, replace=False))
    return np.sort(np.concatenate(drawn))


def _columns(machine: Any, X: Any, rows: np.ndarray) -> list[int] | None:
    """Return the two columns of most weight whose values spread over a plane."""
    effect = (abs(machine.coef_) * fit_scaling(X).scale).max(axis=0)
    kept: list[int] = []
    shown: list[np.ndarray] = []
    for j in np.argsort(-effect, kind="stable")[:_LOOKED_AT].tolist():
        values = _dense(X[rows][:, [j]])[:, 0]
        if not _spreads(values):
            continue
        if shown and abs(np.corrcoef(shown[0], values)[0, 1]) > _SAME_COLUMN:
            continue
        kept.append(j)
        shown.append(values)
        if len(kept) == 2:
            return sorted(kept)
    return None


def _spreads(values: np.ndarray) -> bool:
    _, counts = np.unique(values, return_counts=True)
    if len(counts) < _LEAST_VALUES or counts.max() > _MOST_ALIKE * len(values):
        return False
    low, high = np.quantile(values, [0.25, 0.75])
    return bool(high - low >= _LEAST_SPREAD * np.ptp(values))


def _dense(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def _run_facts(frames: list[Any], support: list[int]) -> f.ReplayRun:
    figures = ("update", "errors", "margin", "primal", "dual", "gap")
    columns = {name: tuple(getattr(frame, name) for frame in frames) for name in figures}
    weights = tuple(tuple(frame.weights.tolist()) for frame in frames)
    return f.ReplayRun(weights=weights, support=tuple(support), **columns)


# ---- the page


@cache
def fingerprint_of(script: str) -> str:
    """Return the fingerprint by which the page's policy knows a script from any other."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


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
        return "The model of this study, iteration by iteration, on all its training rows."
    sample = f"all {rows}" if all_rows else f"{points:,} of {rows}, drawn with seed {replay.seed}"
    if replay.n_features == 2:
        return f"The same method and C, iteration by iteration, on {sample}."
    return (
        f"The same method and C, iteration by iteration, in two features of large weight, on "
        f"{sample}. It shows how the method works. The model of this study uses all "
        f"{plural(replay.n_features, 'feature')}."
    )


def draw_still(facts: Facts, replay: Replay) -> str:
    """Draw the last step, for paper and for readers without scripts."""
    title = f"{_label(replay)}: the end of its run"
    return draw_plane_panel(
        replay.points,
        replay.classes,
        replay.weights,
        [clean(cut(name, _NAME)) for name in replay.features],
        Words("replay-still", title, _description(replay)),
        street=replay.loss != "logistic",
    )


def still_note(replay: Replay) -> str:
    """Say what the picture on paper shows, and that there is more on the screen."""
    several = "Each line separates the class of its colour from the rest. "
    return f"{several if len(replay.runs) > 1 else ''}The whole run can be played on the screen."


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
