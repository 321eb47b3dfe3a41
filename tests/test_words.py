"""The words of the field stay in use: retired words are absent from the source and the pages."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = {".py", ".js", ".css", ".html"}
RETIRED = {
    "told": "options, arguments, given, reported",
    "asked": "requested, given, needed",
    "wanted": "tol, target, expected, requested",
    "road": "solver, method, way",
    "roads": "solvers, methods, ways",
    "house": "architecture, package, library",
    "loudest": "of the largest weight",
    "foretells": "predicts",
    "misjudged": "misclassified",
}


def words(line):
    """The words of a line of code or prose; told_apart and ToldApart are two words each."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+", line)


def retired(text):
    for number, line in enumerate(text.splitlines(), 1):
        for word in words(line):
            if word.lower() in RETIRED:
                yield number, word


def test_names_and_prose_are_split_into_words():
    assert list(retired("wantedStep = ROADS\nforetold # is_told")) == [
        (1, "wanted"),
        (1, "ROADS"),
        (2, "told"),
    ]


def test_retired_words_stay_out():
    source = [p for p in (ROOT / "src" / "separatrix").rglob("*") if p.suffix in TEXT]
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word!r}, say one of: {RETIRED[word.lower()]}"
        for path in sorted(source + pages)
        for number, word in retired(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)
