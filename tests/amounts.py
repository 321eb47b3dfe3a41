"""How many cases a test does: few, many or all (make test, make test-all, make harden)."""

import os

import pytest

from separatrix._compiled import is_interpreted

AMOUNT = os.environ.get("SEPARATRIX_CASES", "few")
assert AMOUNT in ("few", "many", "all"), f"SEPARATRIX_CASES is few, many or all, not {AMOUNT!r}"
ALL = AMOUNT == "all"
# A share of the cases, but not fewer than so many: (1 in how many, at the least).
SHARES = {"few": (100, 20), "many": (40, 30), "all": (1, 0)}
MOST_INTERPRETED = 30


def cases(count: int) -> range:
    if is_interpreted():
        return range(max(1, min(count // 80, MOST_INTERPRETED)))
    one_in, least = SHARES[AMOUNT]
    return range(min(count, max(least, count // one_in)))


COMPILED_ONLY = pytest.mark.skipif(
    is_interpreted(), reason="as compiled, and a hundred times slower"
)
