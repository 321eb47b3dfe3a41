"""What commands print and write: lines, the progress bar, certificates."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from separatrix._terminal import cleansed, is_terminal

if TYPE_CHECKING:
    from warnings import WarningMessage

    from separatrix.data.table import Table

__all__ = ["progress_bar", "say", "tell_warnings", "tell_written", "write_certificate"]

_SHOWN_AFTER_SECONDS = 1.0
Tick = Callable[..., None]  # (done, total=None, what=None)


def say(text: Any = "", err: bool = False) -> None:
    """Print a line; on a terminal nothing in it steers the terminal."""
    stream = sys.stderr if err else sys.stdout
    typer.echo(cleansed(str(text)) if is_terminal(stream) else text, err=err)


def tell_written(out: Path | None) -> None:
    """Say where the model or the picture is."""
    if out is not None:
        say(f"{'Model' if out.suffix == '.sx' else 'Picture'}: {out}")


def tell_warnings(caught: list[WarningMessage]) -> None:
    """Say what a fit warned of, a line each."""
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            say(f"separatrix: {warning.message}", err=True)


@contextmanager
def progress_bar(what: str, total: float = 1.0) -> Iterator[Tick]:
    """Give a function that takes what is done, and if they change the total and the words.

    The bar is on the error stream of a terminal, once the work takes a while; elsewhere nothing is
    shown.
    """
    if not is_terminal(sys.stderr):
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    begun, started = time.monotonic(), False
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=total)

    def tick(done: float, total: float | None = None, what: str | None = None) -> None:
        nonlocal started
        if not started and time.monotonic() - begun > _SHOWN_AFTER_SECONDS:
            bar.start()
            started = True
        bar.update(task, completed=done, total=total, description=what)

    try:
        yield tick
    finally:
        if started:
            bar.stop()


def certificate_of_file(proof: Any, table: Table, data: Sequence[str]) -> dict[str, Any]:
    """Return a certificate that says how its data file is to be read, where that is plain.

    Tables have their target and the columns used named. `separatrix verify` reads them so. The
    stand-alone checker compares them with what its own command line says. It reads CSV of numbers:
    other tables were encoded on the way in, and `separatrix convert` writes the numbers out.
    """
    whole: dict[str, Any] = json.loads(proof.to_json())
    names = [str(name) for name in table.feature_names]
    if table.kind == "libsvm" and names[:1] == ["0"]:
        whole["data"]["zero_based"] = True
    columns = table.columns_used
    is_whole = names == [str(name) for name in getattr(table.encoding, "feature_names", ())]
    if len(data) == 1 and is_whole and columns is not None and table.target is not None:
        whole["data"] |= {"columns": columns, "target": table.target}
    return whole


def write_certificate(path: Path, proof: Any, table: Table, data: Sequence[str]) -> None:
    """Write a certificate beside its name and rename it, so that no half of it carries the name."""
    from separatrix._write_aside import write_whole

    whole = certificate_of_file(proof, table, data)
    write_whole(path, (json.dumps(whole, indent=1) + "\n").encode())
