"""``separatrix lab``: draw points in the browser, watch every update, see the proof."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli._output import say
from separatrix.cli._reading import Target

if TYPE_CHECKING:
    from separatrix.data.table import Table

_MOST_COLUMNS = 40


def lab(
    data: Annotated[
        Path | None, typer.Argument(help="A table to begin with; two of its columns are drawn.")
    ] = None,
    target: Target = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any free one.")
    ] = 8757,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Open the lab in the browser; it can be reached from this machine alone."""
    from separatrix.lab.server import Lab, serve

    table = None if data is None else table_for_page(_read(data, target))
    listening = _listening(port)
    here = Lab(port=listening.getsockname()[1], table=table)
    say(f"The lab is at {here.address}\nPress Ctrl-C to end it.")
    if browser:
        import webbrowser

        webbrowser.open(here.address)
    serve(here, listening)


def _listening(port: int) -> socket.socket:
    """Return a socket on this machine's own address; the next free port if one is taken."""
    for candidate in dict.fromkeys((port, 0)):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", candidate))
        except OSError:
            listening.close()
            continue
        return listening
    raise OSError("no port of this computer is free")


def _read(data: Path, target: str | None) -> Table:
    from separatrix.data.table import read

    return read(str(data), target=target)


def table_for_page(table: Table) -> dict[str, Any]:
    """Return the first columns and rows of a table for the page, which asks for two of them."""
    from scipy.sparse import issparse

    from separatrix.lab.building import MOST_POINTS

    X = table.X[:MOST_POINTS, :_MOST_COLUMNS]
    rows = X.toarray() if issparse(X) else X
    names = [str(name) for name in table.feature_names[:_MOST_COLUMNS]]
    return {
        "columns": names,
        "rows": [[float(value) for value in row] for row in rows],
        "labels": [str(label) for label in table.y[:MOST_POINTS]],
        "source": Path(table.source).name,
    }
