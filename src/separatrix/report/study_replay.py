"""The machine of a study in the plane of two features, so that its iterations can be watched.

Two features are chosen that weigh most and that are worth a picture; rows are drawn from the
training rows by a seed. Where the data have two columns and few rows, it is the machine itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix.data.scaling import fit_scaling
from separatrix.errors import SeparationWarning
from separatrix.estimators.replay import replay
from separatrix.plots._style import CLASS_COLOURS
from separatrix.plots.player.rules import support_of
from separatrix.report import facts as f

__all__ = ["replay_facts"]

MOST_POINTS = 300
_MOST_CLASSES = len(CLASS_COLOURS)
_LOOKED_AT = 40  # columns, those of most weight first
_LEAST_VALUES, _MOST_ALIKE = 8, 0.5
_LEAST_SPREAD = 0.05  # of the range, by the middle half of the rows: else most stand on one spot
_SAME_COLUMN = 0.999


def replay_facts(
    machine: Any, X: Any, codes: np.ndarray, names: Sequence[str], seed: int
) -> f.Replay | None:
    """Return the run of a machine like this one in two features, or None where none is shown."""
    n_classes = len(machine.classes_)
    if n_classes > _MOST_CLASSES:
        return None
    rows = _sample(codes, seed)
    columns = _columns(machine, X, rows)
    if columns is None:
        return None
    plane = _dense(X[rows][:, columns])
    own = clone(machine).set_params(n_jobs=1, random_state=seed)
    if "probability" in own.get_params():
        own.set_params(probability=False)
    with warnings.catch_warnings():
        # Of the study's machine it was said; this one is a picture.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SeparationWarning)
        frames = list(replay(own, plane, codes[rows]))
        own.fit(plane, codes[rows])
    return f.Replay(
        features=tuple(str(names[j]) for j in columns),
        points=tuple(tuple(point) for point in plane.tolist()),
        classes=tuple(codes[rows].tolist()),
        runs=tuple(
            _run(list(part), support_of(own, number))
            for number, part in groupby(frames, attrgetter("machine"))
        ),
        weights=tuple(tuple(row) for row in np.column_stack([own.intercept_, own.coef_]).tolist()),
        errors=int(np.count_nonzero(own.predict(plane) != codes[rows])),
        loss=getattr(own, "loss", "logistic"),
        C=float(own.C),
        n_rows=len(codes),
        n_features=X.shape[1],
        seed=seed,
    )


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


def _run(frames: list[Any], support: list[int]) -> f.ReplayRun:
    return f.ReplayRun(
        update=tuple(frame.update for frame in frames),
        weights=tuple(tuple(frame.weights.tolist()) for frame in frames),
        errors=tuple(frame.errors for frame in frames),
        margin=tuple(frame.margin for frame in frames),
        primal=tuple(frame.primal for frame in frames),
        dual=tuple(frame.dual for frame in frames),
        gap=tuple(frame.gap for frame in frames),
        support=tuple(support),
    )
