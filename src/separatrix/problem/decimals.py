"""Numbers as they are written: 0.1 as one tenth, not as the float64 next to it.

The shortest decimal that reads back as the same float is what a table of at most 15 digits said.
Times a power of ten, one for each column, the decimals are integers, which floats hold exactly.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

__all__ = ["decimal_places", "times_powers_of_ten"]


def _columns(X: Any) -> list[np.ndarray]:
    if isinstance(X, np.ndarray):
        return list(X.T)
    columns = X.tocsc()
    return [columns.data[a:b] for a, b in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)]


def decimal_places(X: Any) -> tuple[int, ...]:
    """Return how many digits after the point each column needs.

    >>> decimal_places(np.array([[0.1, 3.0], [0.25, 20.0]]))
    (2, 0)
    """
    places = []
    for column in _columns(X):
        shortest = (Decimal(repr(v)).normalize().as_tuple() for v in np.unique(column).tolist())
        places.append(max((-int(t.exponent) for t in shortest), default=0))
    return tuple(max(0, p) for p in places)


def times_powers_of_ten(X: Any, places: tuple[int, ...]) -> Any:
    """Return the decimals times ``10**places``, exactly; refuse what is too long for that.

    >>> times_powers_of_ten(np.array([[0.1], [0.25]]), (2,)).ravel().tolist()
    [10.0, 25.0]
    """
    if isinstance(X, np.ndarray):
        out = np.empty_like(X, dtype=np.float64)
        for j, (column, digits) in enumerate(zip(X.T, places, strict=True)):
            out[:, j] = _scaled(column, digits)
        return out
    columns = X.tocsc(copy=True)
    for j, digits in enumerate(places):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        columns.data[part] = _scaled(columns.data[part], digits)
    return columns.tocsr()


def _scaled(column: np.ndarray, places: int) -> np.ndarray:
    distinct, where = np.unique(column, return_inverse=True)
    numbers = [Decimal(repr(v)).scaleb(places) for v in distinct.tolist()]
    for value, number in zip(distinct.tolist(), numbers, strict=True):
        if number != number.to_integral_value() or abs(number) > 2**53:
            raise ValueError(
                f"{value!r} has too many digits to be read as a decimal. Decide on the stored "
                "floats instead (without decimal)."
            )
    return np.array([float(n) for n in numbers], dtype=np.float64)[where.reshape(column.shape)]
