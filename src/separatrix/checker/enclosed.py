"""exp, log and tanh of exact numbers, enclosed: fixed-point integers with every error counted.

Numbers are integers in units of ``2**-BITS``. No function of a C library is trusted: `math.log`
gives only a first guess, and the rest is computed here.
"""

from __future__ import annotations

import math
from functools import cache

BITS = 160
ONE = 1 << BITS
# Of a result in [1, 2), in units: the tables err by 1 each, their product by 5, ten Taylor terms by
# 20 together, doubled by that product; the argument by 3 and the last product by 1: below 64.
_ERROR = 64
_GUARD = 64
_LOWEST = -5000  # exp of less is below 2**-7200
_STEP = BITS - 8


@cache
def _ln2() -> int:
    """Return ln 2 = 2 atanh(1/3), rounded down, in units of ``2**-(BITS + _GUARD)``."""
    extra = 32  # the 150 terms lose less than one unit each
    term, total, n = (1 << (BITS + _GUARD + extra + 1)) // 3, 0, 1
    while term:
        total += term // n
        term, n = term // 9, n + 2
    return total >> extra


@cache
def _table(step: int) -> list[int]:
    """Return exp(i 2**-step) for i up to 256, each within one unit."""
    bits = BITS + _GUARD
    base, term, n = 0, 1 << bits, 1
    while term:
        base += term
        term, n = (term >> step) // n, n + 1
    values = [1 << bits]
    for _ in range(256):  # loses a few units of 2**-bits each time
        values.append(values[-1] * base >> bits)
    return [value >> _GUARD for value in values]


def exp(x: int) -> tuple[int, int, int]:
    """Return low, high and s with low <= 2**s exp(y) <= high for all y in [x, x + 1] units.

    >>> low, high, s = exp(0)
    >>> low <= 1 << s <= high, (high - low) * 2**150 < low
    (True, True)
    """
    if x < _LOWEST << BITS:
        return 0, 1, 7200
    halvings = -((x << _GUARD) // _ln2())  # exp(x) = 2**-halvings exp(rest), 0 <= rest < ln 2
    rest = max(0, x + (halvings * _ln2() >> _GUARD))
    small = rest & ((1 << (_STEP - 8)) - 1)
    value = _table(8)[rest >> _STEP] * _table(16)[rest >> (_STEP - 8) & 255] >> BITS
    total, term = ONE + small, small
    for n in range(2, 11):  # below 2**-16: the eleventh term is less than a unit
        term = (term * small >> BITS) // n
        total += term
    value = value * total >> BITS
    return value - _ERROR, value + _ERROR, BITS + halvings


def log(top: int, bottom: int) -> tuple[int, int]:
    """Return units below and above ln(top / bottom), for integers above zero.

    >>> low, high = log(2, 1)
    >>> low < high, high - low < 1 << 10, low / ONE == math.log(2.0)
    (True, True, True)
    """
    doublings = top.bit_length() - bottom.bit_length()
    if doublings >= 0:
        m = (top << BITS) // (bottom << doublings)
    else:
        m = (top << (BITS - doublings)) // bottom
    guess = int(math.log(m / ONE) * 2.0**60) << (BITS - 60)
    low, high, s = exp(-guess)
    # m exp(-guess) = 1 + rest. Where |rest| < 2**-51, ln(1 + rest) is rest - rest^2 / 2 to within
    # |rest|^3 / 2, 64 units; what was rounded above and below is less than the 4 more.
    low, high = (m * low >> s) - ONE, ((m + 1) * high >> s) + 1 - ONE
    if not -(ONE >> 51) < low <= high < ONE >> 51:
        raise ArithmeticError("math.log is wrong on this computer")
    sure = guess + (doublings * _ln2() >> _GUARD)
    low, high = (rest - (rest * rest >> (BITS + 1)) for rest in (low, high))
    return sure + low - 68, sure + high + 68


def log1p_exp(x: int) -> tuple[int, int]:
    """Return top and s with ln(1 + exp(y)) <= top 2**-s for all y up to x + 1 units, x <= 0."""
    _, high, s = exp(x)
    if s > BITS + 64:
        return high, s  # ln(1 + t) <= t
    return log((1 << s) + high, 1 << s)[1], BITS


def tanh(x: int) -> int:
    """Return tanh to within 512 units, of a number within one unit of x."""
    low, _, s = exp(-2 * abs(x))  # tanh|x| = (1 - t) / (1 + t), t = exp(-2|x|)
    value = (((1 << s) - low) << BITS) // ((1 << s) + low)
    return value if x >= 0 else -value
