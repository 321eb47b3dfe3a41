"""Draw the figures of the lectures again: ``python docs/pictures/lecture_figures.py``.

The code is that of docs/figures.md: each session there makes a `figure`, and the picture that
follows it is where it goes.
"""

from __future__ import annotations

import doctest
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib

from separatrix.plots._drawing import RC

PAGE = Path(__file__).parents[1] / "figures.md"
_PART = re.compile(r"```python\n(.*?)```|!\[[^]]*\]\(([^)]+\.svg)\)", re.DOTALL)


def figures() -> Iterator[tuple[str, Any]]:
    """Run the page from top to bottom; yield every picture's path on it and its figure."""
    names: dict[str, Any] = {}
    for session, picture in _PART.findall(PAGE.read_text(encoding="utf-8")):
        for example in doctest.DocTestParser().get_examples(session):
            exec(compile(example.source, str(PAGE), "single"), names)
        if picture:
            yield picture, names.pop("figure")


if __name__ == "__main__":
    made = mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0")  # the same picture, the same file
    with made, matplotlib.rc_context(RC):
        for path, figure in figures():
            (PAGE.parent / path).parent.mkdir(exist_ok=True)
            figure.savefig(PAGE.parent / path)
