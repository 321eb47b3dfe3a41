"""``separatrix infer``: a logistic regression as statisticians report it, enclosed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli import _reading as reading
from separatrix.cli._output import say, write_certificate

if TYPE_CHECKING:
    from separatrix.infer.result import Inference

_ENDINGS = (".csv", ".tex", ".html", ".json")


@reading.with_source(*reading.READ)
def infer(
    source: reading.Source,
    positive: reading.Positive = None,
    firth: Annotated[
        bool, typer.Option("--firth", help="Firth's penalised likelihood: always finite.")
    ] = False,
    ridge: Annotated[
        float | None, typer.Option(help="A ridge penalty |w|^2 / (2 C), with this C.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(help="The reference level of a category, as column=level (repeatable)."),
    ] = None,
    terms: Annotated[
        str | None, typer.Option(help="Columns of the model, commas between them; all by default.")
    ] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    wald: Annotated[
        bool, typer.Option("--wald", help="Wald intervals and tests instead of profiles.")
    ] = False,
    weights: Annotated[
        str | None, typer.Option(help="The column that counts how often a row was seen.")
    ] = None,
    offset: Annotated[
        str | None, typer.Option(help="The column of a known part of the linear predictor.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="The column of clusters, for cluster-robust errors.")
    ] = None,
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Fit no intercept.")] = False,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the proof here, for `separatrix verify`.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The table: .csv, .tex, .html or .json."),
    ] = None,
    as_json: reading.AsJson = False,
) -> None:
    """Estimate a logistic regression: errors, intervals, tests; separated classes included."""
    from separatrix.infer.inference import inference

    reading.check_ending(out, *_ENDINGS)
    if firth and ridge is not None:
        raise typer.BadParameter("--firth and --ridge are two methods: give one of them.")
    aside = [name for name in (weights, offset, groups) if name is not None]
    table = source.read_to_train(quiet=as_json, aside=aside)
    labels = reading.two_labels(table, positive)
    if len(table.classes) > 2 and positive is None:
        known = ", ".join(str(name) for name in list(table.classes)[:8])
        raise typer.BadParameter(
            f"there are {len(table.classes)} classes ({known}): say whose probability is "
            "modelled, with --positive NAME."
        )
    from dataclasses import replace

    method = "firth" if firth else "mle" if ridge is None else "ridge"
    result = inference(
        replace(table, y=labels, notes=[]),
        method=method,
        C=1.0 if ridge is None else ridge,
        reference=dict(_level(each) for each in reference or ()),
        terms=None if terms is None else [name.strip() for name in terms.split(",")],
        level=level,
        intervals="wald" if wald or groups is not None else "profile",
        sample_weight=_numbers(table, weights),
        offset=_numbers(table, offset),
        groups=None if groups is None else table.aside[groups],
        fit_intercept=not no_intercept,
    )
    if certificate is not None:
        _write_proof(certificate, result, table, source)
    if out is not None:
        _write(out, result)
    say(result.to_json() if as_json else result.summary())
    if certificate is not None and not as_json:
        say(f"Certificate: {certificate}")


def _level(option: str) -> tuple[str, str]:
    name, equals, level = option.partition("=")
    if not equals or not name or not level:
        raise typer.BadParameter(f"--reference must be column=level. Got {option!r}.")
    return name, level


def _numbers(table: Any, name: str | None) -> Any:
    """Return a column that was set aside, as numbers."""
    import numpy as np

    from separatrix.errors import DataError

    if name is None:
        return None
    try:
        return np.asarray(table.aside[name], dtype=np.float64)
    except ValueError:
        raise DataError(f"column {name!r} must hold numbers", table.source) from None


def _write_proof(path: Path, result: Inference, table: Any, source: reading.Source) -> None:
    if result.certificate is None or not result.certificate.data_sha256:
        say(
            "There is no certificate to write: weights, offsets and groups are in no claim, and "
            "not every number was proved."
            if result.certificate is None
            else "There is no certificate to write: the data have weights, an offset, or more than "
            "2,000,000 entries.",
            err=True,
        )
        raise typer.Exit(4)
    write_certificate(path, result.certificate, table, source.data)


def _write(out: Path, result: Inference) -> None:
    import csv
    import io

    from separatrix._write_aside import write_whole

    ending = out.suffix.lower()
    if ending == ".csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["term", *result.table])
        for at, name in enumerate(result.names):
            writer.writerow([name, *(repr(float(v[at])) for v in result.table.values())])
        whole = text.getvalue()
    elif ending == ".tex":
        whole = result.to_latex() + "\n"
    elif ending == ".html":
        whole = result.to_html() + "\n"
    else:
        whole = result.to_json() + "\n"
    write_whole(out, [whole.encode()])
