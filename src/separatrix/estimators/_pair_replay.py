"""The replay of one machine for every pair of classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix.core.pairs import machine_of_a_pair
from separatrix.core.votes import pairs_of
from separatrix.estimators._frames import numbered

__all__ = ["replay_each_pair"]


def replay_each_pair(machine: Any, X: Any, y: Any, loss: str) -> Iterator[Any]:
    """Return the frames of the machine of every pair, one pair after another."""
    X, codes, weights = machine._prepared(X, y, None, loss)

    def frames() -> Iterator[Any]:
        for number, pair in enumerate(pairs_of(len(machine.classes_))):
            rows = np.flatnonzero(np.isin(codes, pair))
            run = machine_of_a_pair(machine)._replay(X[rows], codes[rows], weights[rows])
            yield from numbered(run, number, rows, len(codes))

    return frames()
