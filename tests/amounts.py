"""How many cases a test does: all of them compiled, a sample where loops are interpreted."""

from separatrix._compiled import is_interpreted


def cases(count: int) -> range:
    return range(max(1, count // 40) if is_interpreted() else count)
