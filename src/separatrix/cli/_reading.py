"""The options that every command which reads data has in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from separatrix.data.table import Table

Data = Annotated[
    list[str],
    typer.Argument(help="A file, '-' for standard input, a folder, or one file per class."),
]
Target = Annotated[
    str | None, typer.Option("--target", "-t", help="The column of labels: its name or number.")
]
Kind = Annotated[
    str | None, typer.Option(help="What the file is: libsvm, csv, text, parquet, arrow or idx.")
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line of the table holds values, not names.")
]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out (repeatable).")]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="How characters are encoded, for example latin-1.")
]
MaxBytes = Annotated[
    int | None, typer.Option("--max-bytes", help="The most bytes to accept, decompressed.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the same as JSON.")]


def read_data(
    data: list[str],
    target: str | None,
    kind: str | None,
    no_header: bool,
    drop: list[str] | None,
    encoding: str | None,
    max_bytes: int | None,
) -> Table:
    """Read what the command line names."""
    from separatrix.data.table import read

    options: dict[str, Any] = {
        "kind": kind,
        "header": False if no_header else None,
        "drop": tuple(drop or ()),
        "encoding": encoding,
        "max_bytes": max_bytes,
    }
    return read(data[0] if len(data) == 1 else [Path(each) for each in data], target, **options)
