"""The page of commands from the command line itself: what ``separatrix COMMAND --help`` says."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import man_page

from separatrix.cli.main import app, options


def page() -> str:
    """Return the page as Markdown."""
    parts = [
        "# Commands",
        "What `separatrix COMMAND --help` says, for every command. `man separatrix` says the same.",
        "## Options of every command",
        _table(options),
    ]
    for each in app.registered_commands:
        assert each.callback is not None
        name = each.name or each.callback.__name__
        parts += [
            f"## separatrix {name}",
            f"```text\nseparatrix {name} {man_page.arguments(each.callback)}\n```",
            *_paragraphs(inspect.getdoc(each.callback) or ""),
            _table(each.callback),
        ]
    codes = [f"| {code} | {meaning} |" for code, meaning in man_page.EXIT_CODES]
    parts += ["## Exit codes", "\n".join(["| code | meaning |", "|---|---|", *codes])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(command: Callable[..., Any]) -> str:
    rows = [
        f"| {', '.join(f'`{word}`' for word in words)}{_value(kind)} | {_plain(said)} |"
        for words, kind, said in man_page.options_of(command)
    ]
    return "\n".join(["| option | what |", "|---|---|", *rows]) if rows else ""


def _value(kind: str) -> str:
    return f" {kind}".replace("|", r" \| ") if kind else ""


def _paragraphs(text: str) -> list[str]:
    """Return paragraphs; lines that typer keeps as they are (after its mark) become a block."""
    found = []
    for block in inspect.cleandoc(text).split("\n\n"):
        kept = block.startswith(("\b\n", "    "))
        words = block.removeprefix("\b\n")
        found.append(f"```text\n{inspect.cleandoc(words)}\n```" if kept else _plain(words))
    return found


def _plain(text: str) -> str:
    """Drop the colours of the terminal, and keep what Markdown would take for markup."""
    text = re.sub(r"\[/?(?:bold|dim|cyan|green)[^\]]*\]", "", text)
    return re.sub(r"([|<*_\[])", r"\\\1", text).replace("\n", " ")
