"""The manual page from the command line itself: ``python docs/made/man_page.py`` writes it.

``man separatrix`` then says what ``separatrix --help`` says, command by command.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from separatrix import __version__
from separatrix.cli.main import app, options

PAGE = Path(__file__).resolve().parents[1] / "separatrix.1"
EXIT_CODES = (
    (0, "done"),
    (1, "the answer is no: verify refused, or separable --require not met"),
    (2, "the command line was not understood"),
    (3, "the data were refused, with file, line and column"),
    (4, "a budget ended before the tolerance was proved"),
    (70, "a fault of ours"),
    (130, "interrupted"),
)


def page() -> str:
    """Return the page in the language of man."""
    lines = [
        f'.TH SEPARATRIX 1 "" "separatrix {__version__}" "User Commands"',
        ".SH NAME",
        r"separatrix \- linear classification with proof",
        ".SH SYNOPSIS",
        r".B separatrix",
        r"[\fB\-\-version\fR] [\fB\-\-debug\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]",
        ".SH DESCRIPTION",
        *_paragraphs(app.info.help or ""),
        ".SH OPTIONS",
        *_options(options),
        ".SH COMMANDS",
    ]
    for each in app.registered_commands:
        assert each.callback is not None
        name = each.name or each.callback.__name__
        words = arguments(each.callback)
        lines += [f".SS separatrix {_safe(name)} {_safe(words)}"]
        lines += _paragraphs(inspect.getdoc(each.callback) or "")
        lines += _options(each.callback)
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES:
        lines += [".TP", rf"\fB{code}\fR", _safe(meaning)]
    return "\n".join(lines) + "\n"


def _declared(command: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """Give name, type and description of every parameter, as the function declares them."""
    for name, hint in get_type_hints(command, include_extras=True).items():
        if name != "return":
            kind, *said = get_args(hint)
            yield name, kind, said[0]


def arguments(command: Callable[..., Any]) -> str:
    """Return what follows a command's name."""
    declared = _declared(command)
    named = [name.upper() for name, _, said in declared if isinstance(said, ArgumentInfo)]
    return " ".join([*named, "[OPTIONS]"])


def options_of(command: Callable[..., Any]) -> Iterator[tuple[list[str], str, str]]:
    """Give the names of every option, what is to be given (nothing for a switch), and its help."""
    for name, kind, said in _declared(command):
        if isinstance(said, OptionInfo) and not said.hidden:
            # The first word given to typer.Option stands where a default would.
            first = [said.default] if isinstance(said.default, str) else []
            words = [*first, *(said.param_decls or ())] or [f"--{name.replace('_', '-')}"]
            yield words, "" if kind is bool else _kind(kind), said.help or ""


def _options(command: Callable[..., Any]) -> list[str]:
    lines = []
    for words, kind, said in options_of(command):
        names = ", ".join(rf"\fB{_safe(word)}\fR" for word in words)
        if kind:
            names += rf" \fI{_safe(kind)}\fR"
        lines += [".TP", names, _safe(said)]
    return lines


def _kind(kind: Any) -> str:
    """Return what is to be given: a word for a type, or the values to choose from."""
    inner = [each for each in get_args(kind) if each is not type(None)]
    if inner:
        return _kind(inner[0])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(each.value) for each in kind)
    return {float: "NUMBER", int: "NUMBER", Path: "FILE"}.get(kind, "TEXT")


def _paragraphs(text: str) -> list[str]:
    found = []
    for block in inspect.cleandoc(text).replace("\b\n", "").split("\n\n"):
        found += [".PP", *[_safe(line) for line in block.split("\n")]]
    return found


def _safe(text: str) -> str:
    """Escape what troff would take for a command."""
    text = re.sub(r"\[/?(?:bold|dim|cyan|green)[^\]]*\]", "", text)
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
