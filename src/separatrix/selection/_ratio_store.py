"""Finished cells of one l1_ratio in a store that holds those of several."""

from __future__ import annotations

from typing import Any

from separatrix.selection.path import Store

__all__ = ["of_a_ratio"]


class _OfARatio:
    """A store whose cells are those of one l1_ratio."""

    def __init__(self, store: Store, ratio: float) -> None:
        self._store, self._ratio = store, f"l1 {ratio.hex()} "

    def get(self, key: tuple[str, int]) -> Any:
        """Return what was put under this key, or None."""
        return self._store.get((self._ratio + key[0], key[1]))

    def put(self, key: tuple[str, int], facts: Any, arrays: Any) -> None:
        """Keep a finished cell."""
        self._store.put((self._ratio + key[0], key[1]), facts, arrays)


def of_a_ratio(store: Store, ratio: float) -> Store:
    """Return the part of a store that is of one ratio; the whole of it for the ridge, ratio 0."""
    return _OfARatio(store, ratio) if ratio else store
