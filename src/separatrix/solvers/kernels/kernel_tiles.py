"""Kernel values in float32, tile by tile: what the solver looks at, and no proof rests on.

    store[slots[r], j]  =  K(left_r, right_j)        for j from `begin` to `end`

Dense rows: one matrix product a tile. Sparse rows with few columns: each row of `left` adds up
columns of a dense transpose; with many columns, of a sparse one. A tile stays in the processor's
cache until it is finished (exp, power or tanh), and is then written to its place.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled, inlined

__all__ = ["COLUMNS", "LINEAR", "POLY", "RBF", "SIGMOID", "fill_dense", "fill_narrow", "fill_wide"]

LINEAR, POLY, RBF, SIGMOID = range(4)
ROWS, COLUMNS = 128, 1024

_LEAST_EXPONENT = np.float32(-87.0)
_ZERO, _HALF, _ONE, _TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
_LOG2_E, _LN_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
_C2, _C3, _C4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_C5, _C6 = np.float32(1 / 120), np.float32(1 / 720)
_EXPONENT_BIAS, _ONE_EXPONENT = np.int32(127), np.int32(1 << 23)


@compiled
def fill_dense(  # type: ignore[no-untyped-def]
    kind, gamma, coef0, degree, left, left_squares, right, right_squares, begin, end, slots, store
):
    """Fill by matrix products of tiles."""
    tile = np.empty(ROWS * COLUMNS, dtype=np.float32)
    powers = np.empty(COLUMNS, dtype=np.int32)
    for column in range(begin, end, COLUMNS):
        width = min(COLUMNS, end - column)
        squares = right_squares[column : column + width]
        for row in range(0, left.shape[0], ROWS):
            height = min(ROWS, left.shape[0] - row)
            products = tile[: height * width].reshape((height, width))
            np.dot(left[row : row + height], right[column : column + width].T, products)
            for r in range(height):
                out = store[slots[row + r], column : column + width]
                finish(
                    kind,
                    gamma,
                    coef0,
                    degree,
                    products[r],
                    left_squares[row + r],
                    squares,
                    out,
                    powers,
                )


@compiled
def fill_narrow(  # type: ignore[no-untyped-def]
    kind,
    gamma,
    coef0,
    degree,
    values,
    indices,
    starts,
    rows,
    left_squares,
    across,
    right_squares,
    begin,
    end,
    slots,
    store,
):
    """Fill from CSR rows and the dense transpose `across` of the right-hand rows."""
    products = np.empty(COLUMNS, dtype=np.float32)
    powers = np.empty(COLUMNS, dtype=np.int32)
    for column in range(begin, end, COLUMNS):
        width = min(COLUMNS, end - column)
        squares = right_squares[column : column + width]
        for r in range(rows.shape[0]):
            part = products[:width]
            part[:] = _ZERO
            k, stop = starts[rows[r]], starts[rows[r] + 1]
            while k + 4 <= stop:
                # As locals, since the loop below might otherwise write over them.
                u, v, w, z = values[k], values[k + 1], values[k + 2], values[k + 3]
                a = across[indices[k], column : column + width]
                b = across[indices[k + 1], column : column + width]
                c = across[indices[k + 2], column : column + width]
                d = across[indices[k + 3], column : column + width]
                for j in range(width):
                    part[j] += u * a[j] + v * b[j] + w * c[j] + z * d[j]
                k += 4
            while k < stop:
                u = values[k]
                a = across[indices[k], column : column + width]
                for j in range(width):
                    part[j] += u * a[j]
                k += 1
            out = store[slots[r], column : column + width]
            finish(kind, gamma, coef0, degree, part, left_squares[r], squares, out, powers)


@compiled
def fill_wide(  # type: ignore[no-untyped-def]
    kind,
    gamma,
    coef0,
    degree,
    values,
    indices,
    starts,
    rows,
    left_squares,
    turned_values,
    turned_indices,
    turned_starts,
    right_squares,
    begin,
    end,
    slots,
    store,
):
    """Fill from CSR rows and sparse transposes of every COLUMNS right-hand rows."""
    products = np.empty(COLUMNS, dtype=np.float32)
    powers = np.empty(COLUMNS, dtype=np.int32)
    for column in range(begin, end, COLUMNS):
        width = min(COLUMNS, end - column)
        squares = right_squares[column : column + width]
        beginnings = turned_starts[column // COLUMNS]
        for r in range(rows.shape[0]):
            part = products[:width]
            part[:] = _ZERO
            for k in range(starts[rows[r]], starts[rows[r] + 1]):
                feature, value = indices[k], values[k]
                for q in range(beginnings[feature], beginnings[feature + 1]):
                    part[turned_indices[q]] += value * turned_values[q]
            out = store[slots[r], column : column + width]
            finish(kind, gamma, coef0, degree, part, left_squares[r], squares, out, powers)


@compiled
def finish(kind, gamma, coef0, degree, products, square, squares, out, powers):  # type: ignore[no-untyped-def]
    """Turn products x.z into kernel values."""
    if kind == RBF:
        exponentials(products, square, squares, gamma, out, powers)
    elif kind == POLY:
        for j in range(products.shape[0]):
            base = gamma * products[j] + coef0
            value = _ONE
            for _ in range(degree):
                value *= base
            out[j] = value
    elif kind == SIGMOID:
        for j in range(products.shape[0]):
            out[j] = np.tanh(gamma * products[j] + coef0)
    else:
        for j in range(products.shape[0]):
            out[j] = products[j]


@inlined
def exponentials(products, square, squares, gamma, out, powers):  # type: ignore[no-untyped-def]
    """Write exp(-gamma |x - z|^2), to about 2e-7 of itself (and of the exponent).

    exp(t) = 2^k exp(r) with |r| <= ln 2 / 2: a short polynomial, and k put into the exponent bits.
    Written as plain loops, which become vector instructions; the library's exp would not.
    """
    for j in range(products.shape[0]):
        t = gamma * (_TWO * products[j] - square - squares[j])
        out[j] = max(min(t, _ZERO), _LEAST_EXPONENT)
    for j in range(products.shape[0]):
        powers[j] = np.int32(out[j] * _LOG2_E - _HALF)
    for j in range(products.shape[0]):
        r = out[j] - np.float32(powers[j]) * _LN_2
        out[j] = _ONE + r * (_ONE + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * _C6)))))
    for j in range(products.shape[0]):
        powers[j] = np.int32((powers[j] + _EXPONENT_BIAS) * _ONE_EXPONENT)
    scales = powers.view(np.float32)
    for j in range(products.shape[0]):
        out[j] *= scales[j]
