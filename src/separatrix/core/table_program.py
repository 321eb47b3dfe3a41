"""The linear program of a strategy on a finite table, solved in floats and again in fractions.

Minimise t over q(d | x) >= 0 with sum 1 for every x, where R_k(q) - t <= offset_k for the classes
of the goal and R_k(q) <= limit_k for the others that are bounded. HiGHS finds a vertex: which q are
above zero and which bounds are tight. These equations are then solved exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

Numbers = tuple[Fraction, ...]
Bounds = Mapping[int, Fraction]
_TINY = 1e-9  # what is below it in floats is zero in the vertex
_DENOMINATOR = 10**9


def solve(
    given: Sequence[Numbers], loss: Sequence[Numbers], goal: Bounds, limits: Bounds
) -> tuple[tuple[Numbers, ...], Numbers]:
    """Return the strategy q(d | x) and a multiplier for each class.

    >>> half, zero, one = Fraction(1, 2), Fraction(0), Fraction(1)
    >>> errors = [(zero, one), (one, zero)]
    >>> q, m = solve([(half, zero), (half, one)], errors, {0: zero, 1: zero}, {})
    >>> [str(v) for v in q[1]], [str(v) for v in m]
    (['1/3', '2/3'], ['2/3', '1/3'])
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    classes = [*goal, *limits]
    n_rows, n_decisions = len(given), len(loss)
    n = n_rows * n_decisions
    risks = np.array([[v[k] * w[k] for v in given for w in loss] for k in classes], dtype=float)
    slack = np.array([-1.0] * len(goal) + [0.0] * len(limits))
    sums = coo_array((np.ones(n), (np.arange(n) // n_decisions, np.arange(n))), (n_rows, n + 1))
    found = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack([risks, slack]),
        b_ub=[float({**goal, **limits}[k]) for k in classes],
        A_eq=sums,
        b_eq=np.ones(n_rows),
        bounds=[(0, 1)] * n + [(None, None)],
    )
    if found.x is None:
        raise ArithmeticError(f"the linear program was not solved: {found.message}")
    q = np.maximum(found.x[:n].reshape(n_rows, n_decisions), 0.0)
    weights = np.maximum(-found.ineqlin.marginals, 0.0)
    tight = [k for k, weight in zip(classes, weights, strict=True) if weight > _TINY]
    strategy = _strategy_of_vertex(given, loss, q, tight, goal, limits)
    floats = dict(zip(classes, weights.tolist(), strict=True))
    return strategy, _multipliers_of_vertex(given, loss, q, floats, goal)


def _strategy_of_vertex(
    given: Sequence[Numbers],
    loss: Sequence[Numbers],
    q: np.ndarray,
    tight: Sequence[int],
    goal: Bounds,
    limits: Bounds,
) -> tuple[Numbers, ...]:
    """Solve sums of 1 and tight bounds for the entries above zero, and for t."""
    places = [(x, d) for x, row in enumerate(q) for d in np.flatnonzero(row > _TINY).tolist()]
    equations = [
        [Fraction(int(x == each)) for x, _ in places] + [Fraction(0), Fraction(1)]
        for each in range(len(given))
    ]
    for k in tight:
        values = [given[x][k] * loss[d][k] for x, d in places]
        equations.append([*values, Fraction(-int(k in goal)), {**goal, **limits}[k]])
    guess = [_near(q[place]) for place in places] + [Fraction(0)]
    exact = _solved(equations, guess)
    if exact is None or min(exact[:-1]) < 0:
        return tuple(_shares([Fraction(v) for v in row]) for row in q.tolist())
    entries = dict(zip(places, exact, strict=False))
    return tuple(
        tuple(entries.get((x, d), Fraction(0)) for d in range(len(loss))) for x in range(len(given))
    )


def _multipliers_of_vertex(
    given: Sequence[Numbers],
    loss: Sequence[Numbers],
    q: np.ndarray,
    weights: Mapping[int, float],
    goal: Bounds,
) -> Numbers:
    """Solve a sum of 1 over the goal, and equal scores of decisions that share an observation."""
    support = [k for k, weight in weights.items() if weight > _TINY]
    equations = [[Fraction(int(k in goal)) for k in support] + [Fraction(1)]]
    for x, row in enumerate(q):
        first, *others = np.flatnonzero(row > _TINY).tolist()
        for d in others:
            differences = [given[x][k] * (loss[d][k] - loss[first][k]) for k in support]
            equations.append([*differences, Fraction(0)])
    exact = _solved(equations, [_near(weights[k]) for k in support])
    if exact is None or min(exact) < 0:
        total = sum((Fraction(weights[k]) for k in support if k in goal), Fraction(0))
        exact = [Fraction(weights[k]) / total for k in support]
    found = dict(zip(support, exact, strict=True))
    return tuple(found.get(k, Fraction(0)) for k in range(len(given[0])))


def _near(value: float) -> Fraction:
    return Fraction(value).limit_denominator(_DENOMINATOR)


def _shares(row: Sequence[Fraction]) -> Numbers:
    total = sum(row, Fraction(0))
    return tuple(v / total for v in row)


def _solved(equations: list[list[Fraction]], guess: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve equations, the last entry of each its right side; free unknowns keep their guess."""
    rows, pivots = [list(row) for row in equations], list[int]()
    for column in range(len(guess)):
        at = len(pivots)
        found = next((i for i in range(at, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        scale = rows[at][column]
        rows[at] = [v / scale for v in rows[at]]
        for i, row in enumerate(rows):
            if i != at and (factor := row[column]):
                rows[i] = [v - factor * p for v, p in zip(row, rows[at], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = list(guess)
    free = [j for j in range(len(guess)) if j not in pivots]
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[-1] - sum((row[j] * guess[j] for j in free), Fraction(0))
    return solution
