"""The one way in which commands print a line."""

from __future__ import annotations

import sys
from typing import Any

import typer

from separatrix._terminal import cleansed, is_terminal

__all__ = ["say"]


def say(text: Any = "", err: bool = False) -> None:
    """Print a line; on a terminal nothing in it steers the terminal."""
    stream = sys.stderr if err else sys.stdout
    typer.echo(cleansed(str(text)) if is_terminal(stream) else text, err=err)
