"""`--column-groups`: columns whose weights are zero together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from separatrix.data.table import Table

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
