"""Fewest errors of any hyperplane, in fractions, from the extreme rays of the cells.

A cell of hyperplanes is a cone. Its extreme rays are normals that are fixed, up to length, by the
points they are orthogonal to. So try every normal that some points fix, and let the points it is
orthogonal to be divided by any hyperplane of theirs: the same question with fewer dimensions.
"""

from fractions import Fraction
from itertools import combinations


def fewest_errors(X, signs, weights=None):
    """Return the least weight of rows that a hyperplane does not put strictly on their side."""
    weights = [1] * len(signs) if weights is None else weights
    costs = {}
    for x, sign, weight in zip(X, signs, weights, strict=True):
        point = (Fraction(1), *(Fraction(float(v)) for v in x))
        cost = costs.setdefault(point, [0, 0])
        cost[0 if sign < 0 else 1] += int(weight)  # up: paid on the positive side; down: otherwise
    return _least([(list(v), up, down) for v, (up, down) in costs.items()])


def _least(vectors):
    independent = _basis([v for v, _, _ in vectors])
    if len(independent) == len(vectors):
        return sum(min(up, down) for _, up, down in vectors)
    if len(independent) == 1:
        direction = vectors[0][0]
        along = [_dot(v, direction) > 0 for v, _, _ in vectors]
        costs = [(up, down) for _, up, down in vectors]
        return min(
            sum(c[0] if a == side else c[1] for a, c in zip(along, costs, strict=True))
            for side in (True, False)
        )
    span = [vectors[i][0] for i in independent]
    best, seen = None, set()
    for chosen in combinations(range(len(vectors)), len(independent) - 1):
        if any(set(chosen) <= on for on in seen):
            continue
        normal = _normal([vectors[i][0] for i in chosen], span)
        if normal is None:
            continue
        scores = [_dot(v, normal) for v, _, _ in vectors]
        on = [i for i, score in enumerate(scores) if score == 0]
        seen.add(frozenset(on))
        held = _least([vectors[i] for i in on])
        for side in (1, -1):
            cost = held + sum(
                up if side * score > 0 else down
                for score, (_, up, down) in zip(scores, vectors, strict=True)
                if score
            )
            best = cost if best is None else min(best, cost)
    return best


def _dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def _basis(vectors):
    """Return the numbers of vectors that are independent of those before them."""
    found, rows = [], []
    for i, vector in enumerate(vectors):
        rest = list(vector)
        for row, at in rows:
            if rest[at]:
                factor = rest[at] / row[at]
                rest = [a - factor * b for a, b in zip(rest, row, strict=True)]
        at = next((j for j, v in enumerate(rest) if v), None)
        if at is not None:
            found.append(i)
            rows.append((rest, at))
    return found


def _normal(chosen, span):
    """Return the combination of `span` orthogonal to the chosen vectors, unless they are dependent.

    There is one fewer of them than of `span`, so it is unique up to its length.
    """
    if len(_basis(chosen)) < len(chosen):
        return None
    table = [[_dot(c, s) for s in span] for c in chosen]
    width, pivots = len(span), []
    for row in range(len(table)):
        at = next(j for j in range(width) if table[row][j] != 0)
        pivots.append(at)
        table[row] = [v / table[row][at] for v in table[row]]
        for other in range(len(table)):
            if other != row and table[other][at]:
                factor = table[other][at]
                table[other] = [
                    a - factor * b for a, b in zip(table[other], table[row], strict=True)
                ]
    free = next(j for j in range(width) if j not in pivots)
    weights = [Fraction(0)] * width
    weights[free] = Fraction(1)
    for row, at in zip(table, pivots, strict=True):
        weights[at] = -row[free]
    return [_dot(weights, column) for column in zip(*span, strict=True)]
