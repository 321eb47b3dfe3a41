"""The gallery's page from its scripts: title and words from the docstring, picture, code."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "gallery"


def scripts() -> list[Path]:
    """Return the scripts of the gallery in order."""
    return sorted(FOLDER.glob("[0-9]*.py"))


def stem(script: Path) -> str:
    """Return the name of a script without its number."""
    return script.stem.partition("_")[2]


def page() -> str:
    """Return the page as Markdown."""
    parts = [
        "# Gallery",
        "Twenty small scripts, each one picture. They are in `docs/gallery`; the tests run all of "
        "them. `python docs/gallery/01_witness.py` writes `witness.svg` where you are, and "
        "`make pictures` draws all of them again for this page.",
    ]
    for script in scripts():
        text = script.read_text(encoding="utf-8")
        title, _, words = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")
        picture = f"pictures/gallery/{stem(script)}.svg"
        parts += [
            f"## {title.rstrip('.')}",
            words,
            f"![{title.rstrip('.')}]({picture})",
            f'??? note "docs/gallery/{script.name}"\n\n'
            f"    ```python\n{_indented(_code(text))}\n    ```",
        ]
    return "\n\n".join(parts) + "\n"


def _code(text: str) -> str:
    """Return the script without its docstring and its last lines, which only call it."""
    body = text.split('"""', 2)[2]
    return body.split("\nif __name__")[0].strip()


def _indented(code: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in code.split("\n"))
