"""One-hot encoding of a table of written cells, the slow and obvious way."""

from __future__ import annotations

from statistics import median

MISSING = {"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "<NA>", "#N/A"}


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def encode(names: list[str], rows: list[list[str]], cap: int) -> list[dict[str, float]]:
    """Return each row as a dictionary of the features that are not zero."""
    encoded: list[dict[str, float]] = [{} for _ in rows]
    for at, name in enumerate(names):
        cells = [row[at].strip(" \t") for row in rows]
        present = [cell for cell in cells if cell not in MISSING]
        if not present:
            continue
        if all(_number(cell) is not None for cell in present):
            middle = median(float(cell) for cell in present)
            for row, cell in zip(encoded, cells, strict=True):
                row[name] = middle if cell in MISSING else float(cell)
                if cell in MISSING:
                    row[f"{name}=(missing)"] = 1.0
            continue
        frequent = sorted(set(present), key=lambda value: (-present.count(value), value))[:cap]
        for row, cell in zip(encoded, cells, strict=True):
            value = cell if cell in frequent else "(missing)" if cell in MISSING else "(other)"
            row[f"{name}={value}"] = 1.0
    return [{name: value for name, value in row.items() if value} for row in encoded]
