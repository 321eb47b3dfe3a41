"""``separatrix separable``: can a hyperplane separate the classes? With proof."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli import _reading as reading
from separatrix.cli._say import say

if TYPE_CHECKING:
    from separatrix.data.table import Table

_NAMES_SHOWN = 12


class Answer(StrEnum):
    """What may be required."""

    SEPARABLE = "separable"
    QUASI = "quasi-separable"
    OVERLAPPING = "overlapping"


def separable(
    data: reading.Data,
    target: reading.Target = None,
    kind: reading.Kind = None,
    no_header: reading.NoHeader = False,
    drop: reading.Drop = None,
    encoding: reading.Encoding = None,
    option: reading.Option = None,
    labels: reading.Labels = None,
    positive: Annotated[
        str | None, typer.Option(help="This class against all others, where there are several.")
    ] = None,
    no_intercept: Annotated[
        bool, typer.Option("--no-intercept", help="The hyperplane must pass through 0.")
    ] = False,
    decimal: Annotated[
        bool, typer.Option("--decimal", help="Decide on the decimals as written, not as floats.")
    ] = False,
    require: Annotated[
        Answer | None, typer.Option(help="Exit with 1 unless this is the answer.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the proof here, for `separatrix verify`.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw two features: .svg, .png or .pdf.")
    ] = None,
    as_json: reading.AsJson = False,
) -> None:
    """Say whether a hyperplane separates two classes, and prove it."""
    from separatrix.cli._certificate import certificate_of_file, write_aside
    from separatrix.core.verdict import separability_of

    if out is not None:
        reading.check_ending(out, *reading.PICTURES)
    options = (kind, no_header, drop, encoding, None, option, labels)
    table = reading.read_data(data, target, *options)
    reading.tell_notes(table)
    y = two_labels(table, positive)
    if len(table.classes) > 2 and positive is None:
        known = ", ".join(str(name) for name in list(table.classes)[:8])
        raise typer.BadParameter(
            f"there are {len(table.classes)} classes ({known}): say which of them is to be "
            "separated from all others, with --positive NAME."
        )
    verdict = separability_of(table.X, y, fit_intercept=not no_intercept, decimal=decimal)
    if certificate is not None:
        if verdict.certificate is None:
            say("There is no certificate to write: the verdict is undecided.", err=True)
            raise typer.Exit(4)
        proof = certificate_of_file(verdict.certificate, table, data)
        write_aside(certificate, json.dumps(proof, indent=1))
    if out is not None:
        from separatrix.plots.separability import save_verdict

        save_verdict(verdict, table.X, y, out, list(table.feature_names))
    if as_json:
        say(verdict.to_json())
    else:
        say(str(verdict))
        for line in _coefficients(verdict, list(table.feature_names)):
            say(line)
        if certificate is not None:
            say(f"Certificate: {certificate}")
    if verdict.kind == "undecided":
        raise typer.Exit(4)
    if require is not None and verdict.kind != require.value:
        raise typer.Exit(1)


def two_labels(table: Table, positive: str | None) -> Any:
    """Return the labels; with a positive class named, 1 for it and 0 for all others."""
    import numpy as np

    if positive is None:
        return table.y
    chosen = np.array([str(label) == positive for label in table.y.tolist()])
    if not chosen.any():
        known = ", ".join(str(name) for name in list(table.classes)[:12])
        raise typer.BadParameter(f"no class {positive!r}; the classes are {known}.")
    return np.where(chosen, 1, 0)


def _coefficients(verdict: Any, names: list[str]) -> list[str]:
    """Say in words where the logistic coefficients run."""
    import numpy as np

    if verdict.kind in ("overlapping", "undecided") or verdict.infinite is None:
        return []
    labels = ["intercept", *names]
    lines = []
    for value, word in ((np.inf, "+infinite"), (-np.inf, "-infinite")):
        found = [labels[j] for j in np.flatnonzero(verdict.infinite == value)]
        if found:
            more = f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else ""
            lines.append(f"Logistic coefficients {word}: {', '.join(found[:_NAMES_SHOWN])}{more}.")
    return lines
