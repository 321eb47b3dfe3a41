"""What the commands that read data have in common: one bundle of options, read as one table.

`--column-groups`: columns whose weights are zero together.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from separatrix.cli._output import say

if TYPE_CHECKING:
    from separatrix.data.table import Table


Data = Annotated[
    list[str],
    typer.Argument(help="A file, '-' for standard input, a folder, or one file per class."),
]
Target = Annotated[
    str | None, typer.Option("--target", "-t", help="The column of labels: its name or number.")
]
Positive = Annotated[
    str | None, typer.Option(help="This class against all others, where there are several.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the same as JSON.")]
Quiet = Annotated[bool, typer.Option("-q", help="Print nothing but errors.")]

PICTURES = (".svg", ".png", ".pdf")
# The options of most commands, and of those that also take a limit, in the order of their help.
READ_LIMITED = (
    "data", "target", "kind", "no_header", "drop", "encoding", "max_bytes", "option", "labels",
    "sheet",
)  # fmt: skip
READ = tuple(name for name in READ_LIMITED if name != "max_bytes")


@dataclass(frozen=True)
class Source:
    """The data that the command line names, and how to read them."""

    data: Data
    target: Target = None
    kind: Annotated[
        str | None,
        typer.Option(
            help="What the file is: libsvm, csv, text, json, arff, excel, parquet, arrow, idx, "
            "npy, npz or safetensors."
        ),
    ] = None
    no_header: Annotated[
        bool,
        typer.Option("--no-header", help="The first line of the table holds values, not names."),
    ] = False
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Columns to leave out, commas between them (repeatable)."),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", help="How characters are encoded, for example latin-1."),
    ] = None
    max_bytes: Annotated[
        int | None, typer.Option("--max-bytes", help="The most bytes to accept, decompressed.")
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-O",
            help="Any other option of sx.read as name=value, for example ngrams=1,2 or "
            "weighting=tfidf (repeatable).",
        ),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="The file of labels of an array of rows: .npy, or a label on each line.",
        ),
    ] = None

    sheet: Annotated[
        str | None,
        typer.Option("--sheet", help="The sheet of an Excel file; without it the first with rows."),
    ] = None

    @property
    def place(self) -> Any:
        """The file or folder, or the files of the classes."""
        return self.data[0] if len(self.data) == 1 else [Path(each) for each in self.data]

    @property
    def header(self) -> bool | None:
        """False where there is none; None where the reader must see for itself."""
        return False if self.no_header else None

    @property
    def as_trained(self) -> dict[str, Any]:
        """How to read the bytes, where an encoding says what the columns become."""
        return {
            "kind": self.kind,
            "header": self.header,
            "encoding": self.encoding,
            "labels": self.labels,
            "sheet": self.sheet,
        }

    def read(self, aside: Sequence[str] = ()) -> Table:
        """Read the data; columns set aside are kept beside the features."""
        from separatrix.data.table import read

        options: dict[str, Any] = {
            **self.as_trained,
            "drop": tuple(self.drop or ()),
            "max_bytes": self.max_bytes,
            "aside": tuple(aside),
            **dict(_parsed(each) for each in self.option or ()),
        }
        return read(self.place, self.target, **options)

    def read_to_train(self, quiet: bool = False, aside: Sequence[str] = ()) -> Table:
        """Read data with labels of classes, and say what the reader had to decide."""
        table = self.read(aside)
        check_labels(table)
        if not quiet:
            tell_notes(table)
        return table


def with_source(*names: str, after: str = "") -> Callable[[Callable[..., None]], Any]:
    """Give a command its `source`: these options of `Source`, in this order in its help.

    They stand first, or after another option. One that the command declares itself is its own,
    and goes into the source too.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = dict(inspect.signature(command, eval_str=True).parameters)
        del own["source"]
        hints = get_type_hints(Source, include_extras=True)
        defaults = {part.name: part.default for part in fields(Source) if part.name != "data"}
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=defaults.get(name, inspect.Parameter.empty),
                annotation=hints[name],
            )
            for name in names
        ]
        place = 1 + list(own).index(after) if after else 0
        parameters = list(own.values())
        signature = inspect.Signature([*parameters[:place], *options, *parameters[place:]])

        @wraps(command)
        def run(*given: Any, **named: Any) -> None:
            bound = signature.bind(*given, **named)
            bound.apply_defaults()
            known = {key: value for key, value in bound.arguments.items() if key in hints}
            kept = {key: value for key, value in bound.arguments.items() if key in own}
            command(Source(**{"data": [], **known}), **kept)

        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {key: part.annotation for key, part in signature.parameters.items()}
        return run

    return decorated


def _parsed(option: str) -> tuple[str, Any]:
    """Return the name and the value of ``name=value``, in the type that the option has."""
    from separatrix.data.options import ReadOptions
    from separatrix.errors import DataError

    name, equals, written = option.partition("=")
    if not equals or name not in ReadOptions.__dataclass_fields__:
        known = ", ".join(ReadOptions.__dataclass_fields__)
        raise DataError(f"expected name=value with one of the names {known}; got {option!r}")
    if name in ("drop", "categorical", "missing", "stop_words", "aside"):
        return name, tuple(written.split(","))
    if name in ("header", "zero_based", "allow_missing"):
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


def check_ending(out: Path | None, *endings: str) -> None:
    """Refuse, before any work is done, a file that could not be written by its name."""
    if out is not None and (out.suffix.lower() not in endings or out.is_dir()):
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


# ---- `--column-groups`: columns whose weights are zero together


ColumnGroups = Annotated[
    str | None,
    typer.Option(
        "--column-groups",
        help="Columns that are zero together, with --l1: encoded, for those that one column of "
        "the file became; or names, as height,weight;job.",
    ),
]


def require_l1(written: str | None, l1: float | None) -> None:
    """Refuse groups of weights that are never zero."""
    if written is not None and not l1:
        raise typer.BadParameter("--column-groups needs --l1: other weights are never zero.")


def column_groups_of(written: str, table: Table) -> list[list[int]]:
    """Return lists of column numbers: of encoded columns, or of those that are named."""
    encoded = table.column_groups
    if written == "encoded":
        if not encoded:
            raise typer.BadParameter("--column-groups encoded: every feature is a column here.")
        return encoded
    places = {str(name): [at] for at, name in enumerate(table.feature_names)}
    for code in getattr(table.encoding, "codes", ()):
        members = [places[name] for name in code.feature_names if name in places]
        places.setdefault(code.name, [at for each in members for at in each])
    groups = []
    for part in written.split(";"):
        names = [name.strip() for name in part.split(",")]
        if unknown := [name for name in names if name not in places]:
            raise typer.BadParameter(f"--column-groups names {unknown[0]!r}, which is no column.")
        groups.append([at for name in names for at in places[name]])
    return groups
