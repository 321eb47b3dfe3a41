"""Small binary problems of every kind that has ever broken a linear classifier.

problem(seed) is deterministic; consecutive seeds cycle through the kinds. `separable` says
whether a hyperplane with an intercept strictly separates the stored floats: True and False are
known from the construction, None means that nobody has looked.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    y_signs: np.ndarray  # -1.0 or +1.0
    name: str
    kind: str
    separable: bool | None
    one_class: bool

    def signed_rows(self, fit_intercept: bool = True) -> np.ndarray:
        """z_i = y_i [1, x_i]."""
        X = self.X
        if fit_intercept:
            X = np.column_stack([np.ones(len(X)), X])
        return self.y_signs[:, np.newaxis] * X


def draw_shape(rng):
    """Mostly tiny, where every corner is met; now and then large enough for many passes."""
    n = rng.integers(41, 201) if rng.random() < 0.05 else rng.integers(2, 41)
    return int(n), int(rng.integers(1, 9))


def draw_signs(rng, n):
    """Random labels with both classes present."""
    signs = rng.choice([-1.0, 1.0], size=n)
    first, second = rng.choice(n, size=2, replace=False)
    signs[first], signs[second] = -1.0, 1.0
    return signs


def comfortable_margin(rng):
    n, d = draw_shape(rng)
    normal = rng.normal(size=d)
    normal /= np.linalg.norm(normal)
    X = rng.normal(size=(n, d))
    scores = np.sort(X @ normal)
    X -= (scores[n // 2 - 1] + scores[n // 2]) / 2 * normal
    signs = np.where(X @ normal > 0, 1.0, -1.0)
    # A quarter of the radius leaves a twentieth in homogeneous coordinates, after the shift.
    gap = max(1.0, np.linalg.norm(X, axis=1).max()) / 4
    X += gap * signs[:, np.newaxis] * normal
    X += rng.uniform(-0.5, 0.5, size=d)
    return X, signs, True


def separable_integers(rng):
    n, d = draw_shape(rng)
    normal = np.zeros(d)
    scores = np.zeros(n)
    while scores.min() == scores.max():
        X = rng.integers(-9, 10, size=(n, d)).astype(float)
        normal = rng.integers(-5, 6, size=d).astype(float)
        scores = X @ normal
    # The threshold lies half way between integers, so no score can meet it.
    threshold = rng.integers(int(scores.min()), int(scores.max())) + 0.5
    return X, np.where(scores > threshold, 1.0, -1.0), True


def overlapping_gaussians(rng):
    n, d = draw_shape(rng)
    signs = draw_signs(rng, n)
    return rng.normal(size=(n, d)) + 0.5 * signs[:, np.newaxis], signs, None


def integer_grid(rng):
    n, d = draw_shape(rng)
    return rng.integers(-1, 2, size=(n, d)).astype(float), draw_signs(rng, n), None


def duplicate_rows(rng):
    X, signs, separable = separable_integers(rng)
    copies = rng.integers(0, len(X), size=rng.integers(1, 11))
    rows = rng.permutation(np.concatenate([np.arange(len(X)), copies]))
    return X[rows], signs[rows], separable


def opposite_duplicates(rng):
    X, signs, _ = comfortable_margin(rng)
    rows = rng.integers(0, len(X), size=rng.integers(1, 4))
    X, signs = np.vstack([X, X[rows]]), np.concatenate([signs, -signs[rows]])
    order = rng.permutation(len(X))
    return X[order], signs[order], False


def collinear(rng):
    n, d = draw_shape(rng)
    direction = rng.integers(-3, 4, size=d).astype(float)
    direction[rng.integers(d)] = 1.0
    along = rng.integers(-20, 21, size=n).astype(float)
    X = rng.integers(-5, 6, size=d) + along[:, np.newaxis] * direction
    signs = draw_signs(rng, n)
    if rng.random() < 0.5:
        along.sort()
        X = X[0] + (along - along[0])[:, np.newaxis] * direction
        signs = np.where(np.arange(n) < rng.integers(1, n), -1.0, 1.0)
    plus, minus = along[signs > 0], along[signs < 0]
    separable = bool(plus.min() > minus.max() or minus.min() > plus.max())
    return X, signs, separable


def constant_columns(rng):
    X, signs, separable = comfortable_margin(rng)
    constants = rng.choice([-7.0, 0.1, 1.0, 1e6], size=rng.integers(1, 3))
    return mix_columns(rng, X, np.tile(constants, (len(X), 1))), signs, separable


def extreme_columns(rng):
    # Rounding one part in 1e16 cannot undo the margin of half a unit between integers.
    X, signs, separable = separable_integers(rng)
    powers = rng.integers(-300, 301, size=X.shape[1])
    return X * np.array([float(f"1e{power}") for power in powers]), signs, separable


def fewer_rows_than_columns(rng):
    # Points in general position, no more than d + 1 of them: every labelling is separable.
    d = int(rng.integers(3, 13))
    n = int(rng.integers(2, d))
    return rng.normal(size=(n, d)), draw_signs(rng, n), True


def one_row(rng):
    return rng.normal(size=(1, rng.integers(1, 9))), rng.choice([-1.0, 1.0], size=1), True


def zero_rows(rng):
    X, signs, _ = comfortable_margin(rng)
    signs = draw_signs(rng, len(X))
    empty = rng.random(len(X)) < rng.choice([0.2, 1.0], p=[0.8, 0.2])
    empty[rng.integers(len(X))] = True
    X[empty] = 0.0
    return X, signs, False if len(set(signs[empty])) == 2 else None


def zero_columns(rng):
    X, signs, separable = comfortable_margin(rng)
    return mix_columns(rng, X, np.zeros((len(X), rng.integers(1, 4)))), signs, separable


def all_columns_zero(rng):
    n, d = draw_shape(rng)
    return np.zeros((n, d)), draw_signs(rng, n), False


def one_class(rng):
    n, d = draw_shape(rng)
    return rng.normal(size=(n, d)), np.full(n, rng.choice([-1.0, 1.0])), True


def copied_columns(rng):
    X, signs, separable = comfortable_margin(rng)
    copies = X[:, rng.integers(0, X.shape[1], size=rng.integers(1, 4))]
    return mix_columns(rng, X, copies), signs, separable


def mostly_zero(rng):
    n, d = draw_shape(rng)
    X = np.where(rng.random((n, d)) < 0.15, rng.normal(size=(n, d)), 0.0)
    return X, draw_signs(rng, n), None


def mix_columns(rng, X, more):
    both = np.hstack([X, more])
    return both[:, rng.permutation(both.shape[1])]


KINDS: dict[str, Callable] = {
    rule.__name__: rule
    for rule in [
        comfortable_margin,
        separable_integers,
        overlapping_gaussians,
        integer_grid,
        duplicate_rows,
        opposite_duplicates,
        collinear,
        constant_columns,
        extreme_columns,
        fewer_rows_than_columns,
        one_row,
        zero_rows,
        zero_columns,
        all_columns_zero,
        one_class,
        copied_columns,
        mostly_zero,
    ]
}


def problem(seed: int, kind: str | None = None) -> Problem:
    """The problem of this seed; its kind follows from the seed unless one is named."""
    if kind is None:
        kind = list(KINDS)[seed % len(KINDS)]
    X, signs, separable = KINDS[kind](np.random.default_rng(seed))
    X = np.ascontiguousarray(X)
    return Problem(X, signs, f"{kind}-{seed}", kind, separable, len(set(signs)) == 1)


def problems(count: int, kinds: list[str] | None = None) -> Iterator[Problem]:
    """The first count problems, cycling through the kinds named, or through all of them."""
    kinds = list(KINDS) if kinds is None else list(kinds)
    for seed in range(count):
        yield problem(seed, kinds[seed % len(kinds)])


def as_sparse(X: np.ndarray, index_dtype: type = np.int32) -> sparse.csr_array:
    """X in CSR form, with indices of the given type."""
    rows = sparse.csr_array(X)
    # Assigned, not passed: the constructor narrows 64-bit indices that would fit into 32.
    rows.indices = rows.indices.astype(index_dtype)
    rows.indptr = rows.indptr.astype(index_dtype)
    return rows
