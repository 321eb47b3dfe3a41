"""The options that every command which reads data has in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli._say import say

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
    str | None,
    typer.Option(
        help="What the file is: libsvm, csv, text, parquet, arrow, idx, npy, npz or safetensors."
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels", help="The file of labels of an array of rows: .npy, or a label on each line."
    ),
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
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        help="Any other option of sx.read as name=value, for example ngrams=1,2 or "
        "weighting=tfidf (repeatable).",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the same as JSON.")]


PICTURES = (".svg", ".png", ".pdf")


def check_ending(out: Path, *endings: str) -> None:
    """Refuse, before any work is done, a file that could not be written by its name."""
    if out.suffix.lower() not in endings or out.is_dir():
        *most, last = endings
        known = f"{', '.join(most)} or {last}"
        raise typer.BadParameter(f"--out must be a file that ends in {known}. Got {out}.")


def check_labels(table: Table) -> None:
    """Refuse to train on LIBSVM files of regression, which can be read and converted."""
    if table.kind == "libsvm":
        from separatrix.data.encodings.labels import check_codes

        check_codes(table.y, table.source)


def tell_notes(table: Table) -> None:
    """Say what the reader had to decide, apart from what was found."""
    for note in table.notes:
        say(f"note: {note}", err=True)


def tell_written(out: Path | None) -> None:
    """Say where the model or the picture is."""
    if out is not None:
        say(f"{'Model' if out.suffix == '.sx' else 'Picture'}: {out}")


def _parsed(option: str) -> tuple[str, Any]:
    """Return the name and the value of ``name=value``, in the type that the option has."""
    from separatrix.data.options import ReadOptions
    from separatrix.errors import DataError

    name, equals, written = option.partition("=")
    if not equals or name not in ReadOptions.__dataclass_fields__:
        known = ", ".join(ReadOptions.__dataclass_fields__)
        raise DataError(f"expected name=value with one of the names {known}; got {option!r}")
    if name in ("drop", "categorical", "missing", "stop_words"):
        return name, tuple(written.split(","))
    if name in ("header", "zero_based"):
        return name, written.lower() in ("1", "true", "yes")
    try:
        if name == "ngrams":
            low, _, high = written.partition(",")
            return name, (int(low), int(high or low))
        if name in ("max_categories", "n_features", "max_features", "hashing"):
            return name, int(written)
    except ValueError:
        raise DataError(f"{name} must be a whole number (ngrams: two); got {written!r}") from None
    return name, written


def read_data(
    data: list[str],
    target: str | None,
    kind: str | None,
    no_header: bool,
    drop: list[str] | None,
    encoding: str | None,
    max_bytes: int | None,
    option: list[str] | None,
    labels: str | None = None,
) -> Table:
    """Read what the command line names."""
    from separatrix.data.table import read

    options: dict[str, Any] = {
        "kind": kind,
        "header": False if no_header else None,
        "drop": tuple(drop or ()),
        "encoding": encoding,
        "max_bytes": max_bytes,
        "labels": labels,
        **dict(_parsed(each) for each in option or ()),
    }
    return read(data[0] if len(data) == 1 else [Path(each) for each in data], target, **options)
