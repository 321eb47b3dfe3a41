"""Words and n-grams of texts, the slow and obvious way."""

from __future__ import annotations

import re
from collections import Counter


def words(text: str) -> list[str]:
    return re.findall(r"(?u)\b\w\w+\b", text.lower())


def bag(text: str, low: int, high: int, stop: frozenset[str] = frozenset()) -> Counter[str]:
    kept = [word for word in words(text) if word not in stop]
    return Counter(
        " ".join(kept[at : at + length])
        for length in range(low, high + 1)
        for at in range(len(kept) - length + 1)
    )
