"""How many cases a test does: all with SEPARATRIX_ALL_CASES=1, fewer by default and interpreted."""

import os

from separatrix._compiled import is_interpreted

ALL = os.environ.get("SEPARATRIX_ALL_CASES") == "1"
MANY = 1_000  # from so many on, `make test` does an eighth


def cases(count: int) -> range:
    if is_interpreted():
        return range(max(1, count // 80))
    return range(count if ALL or count < MANY else count // 8)
