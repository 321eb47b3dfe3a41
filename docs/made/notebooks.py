"""The pages of the lectures: their exercises, and each as a notebook.

``python docs/made/notebooks.py`` writes both: the part of a page under "Exercises" from
`sx.lectures`, and the notebook from the page. Prose becomes cells of text, a session cells of code
that end where the session shows something. Outputs are left out.
"""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any

from separatrix.lectures.checking import sheet_of

FOLDER = Path(__file__).resolve().parents[1] / "lectures"
_SESSION = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_TO_NOTEBOOK = re.compile(r"The page\s+is also a\s+\[notebook\]\([\w.]+\)\.")
_OPENING = (
    "\nPut your answer in place of the dots. Numbers may be fractions, and three digits are "
    "enough. The reply says whether the answer is\nright, or what is wrong with it.\n"
)


def pages() -> list[Path]:
    """Return the pages of the five lectures."""
    return sorted(FOLDER.glob("*.md"))


def with_exercises(page: Path) -> str:
    """Return the page with the exercises as `sx.lectures` has them."""
    written = page.read_text(encoding="utf-8").split("## Exercises\n")[0]
    lecture = page.name[:3]
    parts = [written + "## Exercises\n", _OPENING]
    for k, exercise in enumerate(sheet_of(lecture), 1):
        text = exercise.text.replace("*", r"\*")
        parts.append(f"\n### {lecture}.{k}: {exercise.section}\n\n{text}\n\n```python\n")
        parts.append(f'>>> sx.lectures.check("{lecture}.{k}", ...)\n')
        parts.append("Put your answer in place of the dots.\n\n```\n")
    return "".join(parts)


def notebook(page: Path, text: str) -> str:
    """Return the notebook of a page: its prose and its code, without outputs."""
    cells: list[dict[str, Any]] = []
    text = _TO_NOTEBOOK.sub(f"The [page]({page.name}) shows what it prints.", text)
    pieces = _SESSION.split(text)
    for prose, session in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        if prose.strip():
            cells.append({"cell_type": "markdown", "metadata": {}, "source": prose.strip()})
        code: list[str] = []
        for example in doctest.DocTestParser().get_examples(session):
            code.append(example.source.rstrip())
            if example.want:
                cells.append(_code("\n".join(code)))
                code = []
        if code:
            cells.append(_code("\n".join(code)))
    for number, cell in enumerate(cells):
        cell["id"] = f"{page.stem[:3]}-{number}"
        cell["source"] = cell["source"].splitlines(keepends=True)
    whole = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _code(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


if __name__ == "__main__":
    for path in pages():
        made = with_exercises(path)
        path.write_text(made, encoding="utf-8")
        path.with_suffix(".ipynb").write_text(notebook(path, made), encoding="utf-8")
