"""What is printed: on a terminal no text from data or a model file may steer it.

A class can be called anything, an escape code too, which moves the cursor, hides lines or sets the
title. On a terminal such characters are shown as they are written in Python. In files and pipes
texts stay what they are: there they are data.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["cleansed", "is_terminal", "on_one_line", "print_pieces"]

# Control characters other than tab and newline, and those that turn the direction of writing.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def cleansed(text: str) -> str:
    r"""Return the text with every character that steers a terminal written out.

    >>> print(cleansed("red \x1b[31m"))
    red \x1b[31m
    """
    return _STEERING.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def on_one_line(text: str) -> str:
    r"""Return the text cleansed, its line breaks and tabs written out too: no line can be forged.

    >>> print(on_one_line("a\nproved: all"))
    a\nproved: all
    """
    return cleansed(text).replace("\n", "\\n").replace("\t", "\\t")


def print_pieces(pieces: Iterable[bytes]) -> None:
    """Write pieces of UTF-8 to standard output as they come."""
    sink, shown = getattr(sys.stdout, "buffer", None), is_terminal(sys.stdout)
    for piece in pieces:
        if sink is None or shown:  # a terminal, or a stand-in that takes text only
            text = piece.decode("utf-8", "replace")
            sys.stdout.write(cleansed(text) if shown else text)
            sys.stdout.flush()
        else:
            sink.write(piece)
            sink.flush()


def is_terminal(stream: Any) -> bool:
    """Whether someone looks at what is written there."""
    return bool(getattr(stream, "isatty", lambda: False)())
