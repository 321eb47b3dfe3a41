"""The certificate of a great many rows, written piece by piece, so that little is in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

_AT_A_TIME = 10_000


def json_pieces(proof: Any, about: dict[str, Any] | None = None) -> Iterator[bytes]:
    """Yield a duality gap as its `to_json` writes it, a stretch of rows at a time.

    `about` adds to what is said of the data.
    """
    rows = np.flatnonzero(proof.multipliers)
    # With no row at all, everything else is short: its lists are then filled in.
    short = replace(proof, multipliers=np.zeros(len(proof.multipliers)))
    whole = json.loads(short.to_json())
    whole["data"] |= about or {}
    text = json.dumps(whole, indent=1)
    before, between, after = re.split(r'(?<="rows": \[)\]|(?<="multipliers": \[)\]', text)
    yield before.encode()
    yield from _listed(map(str, rows.tolist()))
    yield ("]" + between).encode()
    yield from _listed(f'"{float(proof.multipliers[row]).hex()}"' for row in rows)
    yield ("]" + after + "\n").encode()


def _listed(words: Iterable[str]) -> Iterator[bytes]:
    """Yield words with commas between them, many at a time."""
    words, comma = iter(words), ""
    while some := list(islice(words, _AT_A_TIME)):
        yield (comma + ", ".join(some)).encode()
        comma = ",\n "
