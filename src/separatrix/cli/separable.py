"""``separatrix separable``: can a hyperplane separate the classes? With proof."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli import _reading as reading
from separatrix.cli._output import say, write_certificate

if TYPE_CHECKING:
    from separatrix.data.table import Table

_NAMES_SHOWN = 12


class Answer(StrEnum):
    """What may be required."""

    SEPARABLE = "separable"
    QUASI = "quasi-separable"
    OVERLAPPING = "overlapping"


@reading.with_source(*reading.READ)
def separable(
    source: reading.Source,
    positive: reading.Positive = None,
    no_intercept: Annotated[
        bool, typer.Option("--no-intercept", help="The hyperplane must pass through 0.")
    ] = False,
    decimal: Annotated[
        bool, typer.Option("--decimal", help="Decide on the shortest decimals of stored numbers.")
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
    from separatrix.core.verdict import separability_of

    reading.check_ending(out, *reading.PICTURES)
    table = source.read()
    reading.tell_notes(table)
    y = _two_classes(table, positive)
    verdict = separability_of(table.X, y, fit_intercept=not no_intercept, decimal=decimal)
    if certificate is not None:
        if verdict.certificate is None:
            say("There is no certificate to write: the verdict is undecided.", err=True)
            raise typer.Exit(4)
        write_certificate(certificate, verdict.certificate, table, source.data)
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
        if not as_json:
            say(f"A fit needs no verdict, and proves its optimum: {_next(source)}")
        raise typer.Exit(4)
    if require is not None and verdict.kind != require.value:
        raise typer.Exit(1)


def _next(source: reading.Source) -> str:
    """Return the command that helps where no verdict was reached."""
    words = ["separatrix", "fit", *map(str, source.data), "-o", "model.sx"]
    words += ["--target", source.target] if source.target else []
    return shlex.join([*words, *(["--no-header"] if source.no_header else [])])


def _two_classes(table: Table, positive: str | None) -> Any:
    y = reading.two_labels(table, positive)
    if len(table.classes) > 2 and positive is None:
        known = ", ".join(str(name) for name in list(table.classes)[:8])
        raise typer.BadParameter(
            f"there are {len(table.classes)} classes ({known}): say which of them is to be "
            "separated from all others, with --positive NAME."
        )
    return y


def _coefficients(verdict: Any, names: list[str]) -> list[str]:
    """Say in words where the logistic coefficients run."""
    if verdict.kind in ("overlapping", "undecided") or verdict.infinite is None:
        return []
    labels, values = ["intercept", *names], [str(v) for v in verdict.infinite]
    words = {
        "inf": "+infinite",
        "-inf": "-infinite",
        "open": "that run away, in a direction the data leave open",
        "unknown": "that run away, with a sign that was not worked out",
    }
    lines = []
    for value, word in words.items():
        found = [labels[j] for j, v in enumerate(values) if v == value]
        if found:
            more = f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else ""
            lines.append(f"Logistic coefficients {word}: {', '.join(found[:_NAMES_SHOWN])}{more}.")
    return lines
