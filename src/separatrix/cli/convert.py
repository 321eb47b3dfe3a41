"""``separatrix convert DATA OUT``: read any format, write the encoded features in another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from separatrix.cli import _reading as reading
from separatrix.cli._output import say


@reading.with_source(
    "target", "kind", "no_header", "drop", "encoding", "max_bytes", "option", "sheet", after="to"
)
def convert(
    source: reading.Source,
    data: reading.Data,
    out: Annotated[str, typer.Option("--out", "-o", help="Where to write; '-' with --to.")],
    to: Annotated[
        str | None, typer.Option(help="libsvm, csv, tsv or parquet; by the ending of OUT if absent")
    ] = None,
    as_json: reading.AsJson = False,
) -> None:
    """Read data of any kind and write features and labels as LIBSVM, CSV, TSV or Parquet."""
    from separatrix.data.table import write_table

    table = source.read()
    file_format = to or Path(out).suffix.lstrip(".").lower()
    write_table(table, out, file_format)
    reading.tell_notes(table)
    rows, features = table.X.shape
    if as_json and out != "-":
        say(json.dumps({"out": out, "to": file_format, "rows": rows, "features": features}))
    elif out != "-":
        say(f"{out}: {rows:,} rows, {features:,} features")
