"""The settings of a study, and what it chooses itself where none is given."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from separatrix.data.table import Table
from separatrix.errors import DataError
from separatrix.selection.refinement import fitting_loss

__all__ = ["Settings", "labels_of", "with_loss"]


@dataclass(frozen=True)
class Settings:
    """The settings of a study."""

    loss: str = "auto"
    Cs: tuple[float, ...] | int | None = None
    folds: int = 5
    test_share: float = 0.2
    seed: int = 0
    rule: str = "best"
    tol: float = 1e-4
    balanced: bool = False
    by_time: bool = False
    positive: str | None = None
    max_seconds: float | None = None
    verdict_seconds: float = 60.0
    device: str = "cpu"
    title: str = ""
    times: bool = True


def with_loss(settings: Settings, table: Table) -> tuple[Settings, tuple[str, ...]]:
    """Settle the loss: the hinge, or on large narrow data the one that is ten times faster."""
    if settings.loss != "auto":
        return settings, ()
    loss, remark = fitting_loss(table.X)
    return dataclasses.replace(settings, loss=loss), (remark,) if remark else ()


def labels_of(y: np.ndarray, positive: str | None) -> np.ndarray:
    """Return the labels; with a positive class, that against all others."""
    if positive is None:
        return y
    chosen = np.array([str(label) == positive for label in y.tolist()])
    if not chosen.any():
        known = ", ".join(str(name) for name in np.unique(y)[:12])
        raise DataError(f"there is no class {positive!r}; the classes are {known}.")
    return np.where(chosen, positive, f"not {positive}")
