"""Small problems that break float linear programs: ties, duplicates, dependencies, extreme scales.

``degenerate(seed)`` is deterministic; consecutive seeds cycle through the kinds.
"""

import numpy as np


def _size(rng, rows=14, columns=5):
    return int(rng.integers(2, rows + 1)), int(rng.integers(1, columns + 1))


def gaussian(rng):
    n, d = _size(rng)
    return rng.normal(size=(n, d))


def integer_grid(rng):
    n, d = _size(rng)
    return rng.integers(-2, 3, size=(n, d)).astype(float)


def binary_grid(rng):
    n, d = _size(rng, 20, 7)
    return rng.integers(0, 2, size=(n, d)).astype(float)


def decimal_grid(rng):
    n, d = _size(rng)
    return rng.integers(-5, 6, size=(n, d)) / 10.0


def duplicates(rng):
    n, d = _size(rng)
    few = rng.integers(-3, 4, size=(max(1, n // 3), d)).astype(float)
    return few[rng.integers(0, len(few), n)]


def collinear(rng):
    n, d = _size(rng)
    base = rng.integers(-3, 4, size=(n, d)).astype(float)
    return np.column_stack([base, base @ rng.integers(-2, 3, size=(d, 2)), np.ones(n)])


def extreme_scales(rng):
    n, d = _size(rng, 9, 4)
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-300, 300, size=(n, d))


def subnormal(rng):
    """Entries down to the least float there is."""
    n, d = _size(rng, 10, 3)
    return rng.integers(-3, 4, size=(n, d)) * 2.0 ** rng.integers(-1074, -1000, size=(n, 1))


def extreme_columns(rng):
    n, d = _size(rng, 12, 4)
    return rng.integers(-3, 4, size=(n, d)) * 10.0 ** rng.integers(-300, 300, size=d)


def more_columns_than_rows(rng):
    n = int(rng.integers(2, 9))
    return rng.integers(-2, 3, size=(n, int(rng.integers(n, 61)))).astype(float)


def empty_features(rng):
    X = integer_grid(rng)
    return np.column_stack([np.zeros(len(X)), X, np.zeros((len(X), 2))])


def on_a_plane(rng):
    """Rows whose labels follow a plane that passes exactly through some of them."""
    n, d = _size(rng, 16, 4)
    return rng.integers(-3, 4, size=(n, d)).astype(float)


def nearly_tied(rng):
    """A grid moved by the last bit here and there."""
    n, d = _size(rng, 12, 4)
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    moved = rng.random((n, d)) < 0.2
    X[moved] = np.nextafter(X[moved], rng.choice([-9.0, 9.0], size=int(moved.sum())))
    return X


KINDS = [
    gaussian,
    integer_grid,
    binary_grid,
    decimal_grid,
    duplicates,
    collinear,
    extreme_scales,
    extreme_columns,
    subnormal,
    more_columns_than_rows,
    empty_features,
    on_a_plane,
    nearly_tied,
]


def degenerate(seed):
    """Return X, signs (both classes present) and whether to fit an intercept."""
    rng = np.random.default_rng(seed)
    make = KINDS[seed % len(KINDS)]
    X = make(rng)
    n, d = X.shape
    style = rng.integers(3)
    if make is on_a_plane or style == 0:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = X @ rng.integers(-2, 3, size=d) + rng.integers(-1, 2)
        signs = np.where(scores > 0, 1.0, np.where(scores < 0, -1.0, rng.choice([-1.0, 1.0], n)))
        if style == 1:
            signs[rng.integers(n)] *= -1
    else:
        signs = rng.choice([-1.0, 1.0], size=n)
    signs[:2] = signs[0], -signs[0]
    return X, signs, bool(rng.integers(2))
