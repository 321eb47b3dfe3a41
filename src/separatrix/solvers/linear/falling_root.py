"""Where a falling function of one number crosses zero: Newton's steps kept between two ends."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["falling_root"]


def falling_root(
    value_and_slope: Callable[[float], tuple[float, float]], low: float, high: float, enough: float
) -> float:
    """Find the place where the function is zero, or nearer to it than `enough`.

    The ends are first moved apart until the function has both signs between them.
    """
    width = high - low
    while value_and_slope(low)[0] < 0.0 and width < 1e300:
        low, width = low - width, 2.0 * width
    while value_and_slope(high)[0] > 0.0 and width < 1e300:
        high, width = high + width, 2.0 * width
    place = 0.5 * (low + high)
    for _ in range(100):
        over, slope = value_and_slope(place)
        if abs(over) <= enough or not low < place < high:
            break
        low, high = (place, high) if over > 0.0 else (low, place)
        # Where all terms are flat to rounding there is no slope to follow.
        place = place - over / slope if slope else low
        if not low < place < high:
            place = 0.5 * (low + high)
    return place
