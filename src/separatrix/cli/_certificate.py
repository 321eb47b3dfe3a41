"""Certificates as files, with how the data file was read: the stand-alone checker compares it."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix._write_aside import write_whole

if TYPE_CHECKING:
    from separatrix.data.table import Table


def certificate_of_file(proof: Any, table: Table, data: Sequence[str]) -> dict[str, Any]:
    """Return a certificate that says how its data file is to be read, where that is plain.

    A CSV of numbers has its columns and target named. Other tables were encoded on the way in:
    `separatrix verify` checks those, or `separatrix convert` writes the numbers out.
    """
    whole: dict[str, Any] = json.loads(proof.to_json())
    names = [str(name) for name in table.feature_names]
    if table.kind == "libsvm" and names[:1] == ["0"]:
        whole["data"]["zero_based"] = True
    if len(data) == 1 and Path(data[0]).suffix.lower() == ".csv":
        with open(data[0], encoding="utf-8", newline="", errors="replace") as file:
            header = next(csv.reader(file), [])
        labels = [name for name in header if name not in set(names)]
        if len(labels) == 1 and len(header) == len(names) + 1:
            whole["data"] |= {"columns": names, "target": labels[0]}
    return whole


def write_aside(path: Path, text: str) -> None:
    """Write beside the name and rename, so that no half-written file carries it."""
    write_whole(path, (text + "\n").encode())
