"""What `fit` does to the features before the machine meets them, and where the work is done."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from separatrix.data.table import Table

__all__ = ["Device", "Lift", "Scale", "ScaleOption", "prepared", "saved_as"]


class Scale(StrEnum):
    """How columns are scaled."""

    STANDARD = "standard"
    MIN_MAX = "min-max"


ScaleOption = Annotated[
    Scale | None,
    typer.Option("--scale", help="Scale the columns first; the model file does so too."),
]
Lift = Annotated[
    str | None,
    typer.Option(
        "--lift",
        help="Lift the rows first: polynomial:2, radial:50, sigmoid:50, fourier:300 or "
        "nystrom:300 (a degree, or how many features).",
    ),
]
Device = Annotated[
    str,
    typer.Option(
        "--device", help="Where dense rows are worked on: cpu, cuda, cuda:N, or auto (extra gpu)."
    ),
]

_LIFTS = {
    "polynomial": ("Polynomial", "degree", 2),
    "radial": ("RadialBasis", "centres", 50),
    "sigmoid": ("Sigmoid", "centres", 50),
    "fourier": ("RandomFourier", "n_components", 300),
    "nystrom": ("Nystrom", "n_components", 300),
}


def prepared(table: Table, scale: Scale | None, lift: str | None) -> tuple[list[Any], Table]:
    """Return the steps, fitted, and the table as they make it; the one given stays as it is."""
    steps = [*_scaling(scale, table.X), *_lifting(lift)]
    X: Any = table.X
    names: Any = table.feature_names
    for _, step in steps:
        X = step.fit_transform(X)
        names = _names_after(step, names)
    return steps, replace(table, X=X, feature_names=names) if steps else table


def saved_as(machine: Any, steps: list[Any]) -> Any:
    """Return the machine with its steps before it, as a model file keeps them."""
    if not steps:
        return machine
    from sklearn.pipeline import Pipeline

    return Pipeline([*steps, ("machine", machine)])


def _scaling(scale: Scale | None, X: Any) -> list[tuple[str, Any]]:
    if scale is None:
        return []
    import scipy.sparse as sp
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    sparse = sp.issparse(X)  # zeros stay zeros: nothing is subtracted
    if scale is Scale.STANDARD:
        return [("scale", StandardScaler(with_mean=not sparse))]
    return [("scale", MaxAbsScaler() if sparse else MinMaxScaler())]


def _lifting(lift: str | None) -> list[tuple[str, Any]]:
    if lift is None:
        return []
    from separatrix.estimators import lift as lifts

    name, _, written = lift.partition(":")
    if name not in _LIFTS or (written and not written.isdigit()):
        known = ", ".join(f"{each}:{count}" for each, (_, _, count) in _LIFTS.items())
        raise typer.BadParameter(f"--lift takes a lift and a number, as {known}. Got {lift!r}.")
    kind, parameter, usual = _LIFTS[name]
    settings = {parameter: int(written) if written else usual}
    if name != "polynomial":
        settings["random_state"] = 0
    return [("lift", getattr(lifts, kind)(**settings))]


def _names_after(step: Any, names: Any) -> Any:
    import numpy as np

    return step.get_feature_names_out(np.array([str(name) for name in names], dtype=object))
