"""``separatrix export MODEL -o OUT``: a model for other programs, or theirs for this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import _reading as reading
from separatrix.cli._output import say

_ENDINGS = {".sx": "sx", ".onnx": "onnx", ".csv": "csv"}


def export(
    model: Annotated[
        Path, typer.Argument(help="A model file: .sx, or one of LIBLINEAR or LIBSVM.")
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="Where to write; '-' with --to.")],
    to: Annotated[
        str | None,
        typer.Option(help="sx, onnx, liblinear, libsvm or csv; by the ending of OUT if absent."),
    ] = None,
    features: Annotated[
        bool,
        typer.Option(
            "--features", help="For features made here; without what makes them of raw data."
        ),
    ] = False,
    number_classes: Annotated[
        bool,
        typer.Option(
            "--number-classes", help="Write classes as 0, 1, 2, ... where they are texts."
        ),
    ] = False,
    n_features: Annotated[
        int | None, typer.Option(help="Of LIBSVM's models: the width of the data.")
    ] = None,
    as_json: reading.AsJson = False,
) -> None:
    """Write a model for ONNX (with what makes features of raw columns), LIBLINEAR, LIBSVM or a
    spreadsheet, or read one of theirs.
    """
    from separatrix.storage.exchange import FORMATS, read, write

    file_format = to or _ENDINGS.get(Path(out).suffix.lower())
    if file_format not in FORMATS:
        raise typer.BadParameter(f"say what to write: --to with one of {', '.join(FORMATS)}.")
    whole = read(model, n_features)
    write(whole, out, file_format, number_classes=number_classes, features=features)
    if out == "-":
        return
    facts: dict[str, Any] = {
        "out": out,
        "to": file_format,
        "features": int(whole.model.n_features_in_),
    }
    if number_classes and file_format in ("liblinear", "libsvm"):
        facts["classes"] = [str(name) for name in whole.model.classes_.tolist()]
    if as_json:
        say(json.dumps(facts, ensure_ascii=False))
        return
    say(f"{out}: {file_format}, {facts['features']:,} features")
    for number, name in enumerate(facts.get("classes", [])):
        say(f"class {number}: {name}")
