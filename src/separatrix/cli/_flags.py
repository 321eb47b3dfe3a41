"""Flags without a value in the help: Typer 0.29 shows ``--json <bool>``, where ``--json`` is meant.

A type is shown unless a metavar is given, and Typer makes some flags itself (``--help``, those of
the shell's completion), so that no declaration of ours could give it them.
"""

from __future__ import annotations

from typing import Any

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from separatrix._terminal import cleansed
from separatrix.cli._light_imports import light_imports

__all__ = ["PlainCommand", "PlainGroup"]


class _PlainFlags:
    """Gives every flag an empty metavar before anyone looks."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in parameters:
            if getattr(each, "is_flag", False) and each.metavar is None:
                each.metavar = ""
        return parameters


class PlainCommand(_PlainFlags, TyperCommand):
    """A command whose flags take no value, and show none; its errors steer no terminal."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; names from data may stand in what it refuses."""
        try:
            with light_imports():
                return super().invoke(ctx)
        except BadParameter as error:
            vars(error)["message"] = cleansed(error.message)
            raise


class PlainGroup(_PlainFlags, TyperGroup):
    """The commands together, likewise."""
