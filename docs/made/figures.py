"""The tables of figures in the pages, pulled from what the benchmarks left in ``benchmarks/kept``.

    python docs/made/figures.py                        write the tables between the marks
    python docs/made/figures.py --take stream < OUT    first keep what ``benchmarks.stream`` printed

A page says ``<!-- figures: stream -->`` (a file of one table), ``<!-- figures: gpu probe -->``,
``<!-- figures: stream quoted -->`` (only the rows that the file lists for the README) or
``<!-- figures: dates -->`` (when and where everything was measured). A table ends at the end mark.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "benchmarks" / "kept"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
END = "<!-- end of figures -->"
MARK = re.compile(rf"<!-- figures: ([\w ]+) -->\n\n?([\s\S]*?){END}")
FACTS = ("measured", "machine", "versions", "commit")
RULES = {"left": "---", "right": "---:"}


def kept() -> dict[str, dict[str, Any]]:
    """Return every kept output, by the name of its benchmark."""
    found = sorted(KEPT.glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in found}


def table(columns: list[str], align: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown."""
    lines = [columns, *rows]
    shown = [f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines]
    shown.insert(1, "|" + "|".join(RULES[side] for side in align) + "|")
    return "\n".join(shown)


def of(request: str) -> str:
    """Return the table that a mark asks for."""
    if request == "dates":
        return _dates()
    name, *words = request.split()
    tables = kept()[name]["tables"]
    quoted = "quoted" in words
    key = next((word for word in words if word != "quoted"), next(iter(tables)))
    one = tables[key]
    rows = one["rows"]
    if quoted:
        rows = [_row(one, start) for start in one["quoted"]]
    return table(one["columns"], one["align"], rows)


def _row(one: dict[str, Any], start: str) -> list[str]:
    """Return the one row that begins so."""
    (found,) = [row for row in one["rows"] if " | ".join(row).startswith(start)]
    return list(found)


def _dates() -> str:
    rows = [
        [f"`python -m benchmarks.{name}`", *(one[fact] or "" for fact in FACTS)]
        for name, one in kept().items()
    ]
    return table(["command", *FACTS], ["left"] * (1 + len(FACTS)), rows)


def current(page: str) -> str:
    """Return a page with its tables as they are kept."""
    return MARK.sub(lambda found: f"<!-- figures: {found[1]} -->\n\n{of(found[1])}\n\n{END}", page)


def take(name: str, printed: str) -> None:
    """Keep the tables that a benchmark printed, where the columns are those kept."""
    path = KEPT / f"{name}.json"
    one = json.loads(path.read_text(encoding="utf-8"))
    blocks = re.findall(r"(?:^\|.*\n?)+", printed, flags=re.MULTILINE)
    cells = [
        [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in block.splitlines()
        ]
        for block in blocks
    ]
    for key, kept_table in one["tables"].items():
        rows = [row for block in cells if block[0] == kept_table["columns"] for row in block[2:]]
        if not rows:
            sys.exit(f"no table {kept_table['columns']} was printed: write {path} for {key!r}")
        kept_table["rows"] = rows
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    one |= {"measured": time.strftime("%Y-%m-%d"), "commit": commit}
    path.write_text(written(one), encoding="utf-8")


def written(one: dict[str, Any]) -> str:
    """Return a kept output as its file has it: a row in a line."""
    text = json.dumps(one, indent=1, ensure_ascii=False)
    return re.sub(r"\[\n\s+((?:\"[^\n]*\",?\n\s*)+)\]", _joined, text) + "\n"


def _joined(found: re.Match[str]) -> str:
    return "[" + re.sub(r"\n\s*", " ", found[1]).strip() + "]"


def main() -> None:
    """Write the tables into the pages."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--take", metavar="BENCHMARK", help="keep what it printed, on standard input")
    given = ask.parse_args()
    if given.take:
        take(given.take, sys.stdin.read())
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if text != (made := current(text)):
            page.write_text(made, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
