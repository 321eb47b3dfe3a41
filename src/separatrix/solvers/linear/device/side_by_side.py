"""Machines on the same rows, each class against the rest, solved side by side.

    min over w_k, b_k   1/2 |w_k|^2 + sum_i c_i loss(y_ik (w_k.x_i + b_k))      for every class k

The margins of many machines are one product of the rows with a matrix, and so are their gradients:
each pass over the rows serves as many machines as the device has memory for. What is found here is
where `newton` starts, machine by machine, and mostly where it ends.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from separatrix._device import free_bytes
from separatrix.problem.losses import HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.device.newton import Begun, update
from separatrix.solvers.linear.device.point import placed

__all__ = ["side_by_side"]

# A machine keeps about so many numbers a row while it is solved.
_VECTORS = 24
_SHARE = 0.3
_MOST_ON_CPU = 16
_MOST_UPDATES = 100


def side_by_side(
    problems: list[MachineProblem], tol: float, firsts: list[Any], deadline: float = np.inf
) -> list[Any]:
    """Return where each machine may start: (weights, alpha) near its optimum.

    The hinge is left as it is: its interior point makes a matrix of its own for every machine.
    """
    if problems[0].loss == HINGE:
        return firsts
    rows = problems[0].X
    room = _SHARE * free_bytes(rows.device) / (8.0 * _VECTORS * max(1, rows.shape[0]))
    height = max(1, int(min(room, len(problems)))) if np.isfinite(room) else _MOST_ON_CPU
    found: list[Any] = []
    for begin in range(0, len(problems), height):
        part = problems[begin : begin + height]
        if time.perf_counter() >= deadline:
            return [*found, *firsts[begin:]]
        found += _solved(part, tol, firsts[begin : begin + height], deadline)
    return found


def _solved(
    problems: list[MachineProblem], tol: float, firsts: list[Any], deadline: float
) -> list[Any]:
    weights = None
    if all(first is not None and first[0] is not None for first in firsts):
        weights = np.column_stack([first[0] for first in firsts])
    point = placed(problems, tol, weights)
    while not bool(point.is_done.all()) and point.updates < _MOST_UPDATES:
        if time.perf_counter() >= deadline:
            break
        update(point)
    w, b = point.scaled.plain(point.v, point.bias)
    alphas, w, b = (values.cpu().numpy() for values in (point.claimed, w, b))
    return [
        Begun(np.append(b[k], w[:, k]), alphas[:, k].copy(), point.updates, point.passes)
        for k in range(len(problems))
    ]
