"""Is it separable? By the simplex method in fractions, straight from the definitions."""

from fractions import Fraction


def feasible(rows, bounds):
    """Whether some free w has ``row.w >= bound`` for all rows: phase one, Bland's rule.

    w = u - v with u, v >= 0; one surplus and one artificial variable a row.
    """
    height, width = len(rows), len(rows[0])
    table = []
    for i, (row, bound) in enumerate(zip(rows, bounds, strict=True)):
        surplus = [Fraction(-(i == k)) for k in range(height)]
        line = [*row, *(-v for v in row), *surplus, bound]
        if bound < 0 or (bound == 0):
            line = [-v for v in line]  # the right side must not be negative
        table.append(line)
    # With bound <= 0 the surplus itself is a starting basis; otherwise an artificial variable is.
    basis = [2 * width + i if bounds[i] <= 0 else None for i in range(height)]
    while True:
        missing = [i for i in range(height) if basis[i] is None]
        costs = [-sum((table[i][j] for i in missing), Fraction(0)) for j in range(len(table[0]))]
        if costs[-1] == 0:
            return True
        entering = next((j for j, c in enumerate(costs[:-1]) if c < 0 and j not in basis), None)
        if entering is None:
            return False
        ratios = [
            (table[i][-1] / table[i][entering], -1 if basis[i] is None else basis[i], i)
            for i in range(height)
            if table[i][entering] > 0
        ]
        leaving = min(ratios)[2]
        pivot = table[leaving][entering]
        table[leaving] = [v / pivot for v in table[leaving]]
        for i in range(height):
            factor = table[i][entering]
            if i != leaving and factor:
                table[i] = [a - factor * b for a, b in zip(table[i], table[leaving], strict=True)]
        basis[leaving] = entering


def kind(X, signs, fit_intercept=True):
    """Return "separable", "quasi-separable" or "overlapping" for the stored numbers."""
    rows = [
        [Fraction(int(s)) * Fraction(v) for v in ([1, *x] if fit_intercept else x)]
        for x, s in zip(X, signs, strict=True)
    ]
    rows = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    if feasible(rows, [Fraction(1)] * len(rows)):
        return "separable"
    total = [sum(column) for column in zip(*rows, strict=True)]
    if feasible([*rows, total], [Fraction(0)] * len(rows) + [Fraction(1)]):
        return "quasi-separable"
    return "overlapping"
