"""How many cases a test does: few, many or all (make test, make test-all, make harden)."""

import os

from separatrix._compiled import is_interpreted

AMOUNT = os.environ.get("SEPARATRIX_CASES", "few")
assert AMOUNT in ("few", "many", "all"), f"SEPARATRIX_CASES is few, many or all, not {AMOUNT!r}"
ALL = AMOUNT == "all"
MANY = 1_000  # from so many on, `make test-all` does a sixteenth
FEW = 60  # from so many on, `make test` does a thirtieth, but not fewer than this


def cases(count: int) -> range:
    if is_interpreted():
        return range(max(1, count // 80))
    if AMOUNT == "few":
        return range(min(count, max(FEW, count // 30)))
    return range(count if ALL or count < MANY else count // 16)
