"""exp, log and tanh of exact numbers, enclosed: fixed-point integers with every error counted.

Numbers are integers in units of ``2**-BITS``. No function of a C library is trusted: `math.log`
gives only a first guess, and the rest is computed here.
"""

from __future__ import annotations

import math
from functools import cache

BITS, DEEP = 160, 416
ONE = 1 << BITS
_GUARD = 64
_LOWEST = -5000  # exp of less is below 2**-7200


@cache
def _ln2(bits: int) -> int:
    """Return ln 2 = 2 atanh(1/3), rounded down, in units of ``2**-(bits + _GUARD)``."""
    extra = 32  # the 170 terms lose less than one unit each
    term, total, n = (1 << (bits + _GUARD + extra + 1)) // 3, 0, 1
    while term:
        total += term // n
        term, n = term // 9, n + 2
    return total >> extra


@cache
def _table(step: int, bits: int) -> list[int]:
    """Return exp(i 2**-step) for i up to 256, each within one unit."""
    bits += _GUARD
    base, term, n = 0, 1 << bits, 1
    while term:
        base += term
        term, n = (term >> step) // n, n + 1
    values = [1 << bits]
    for _ in range(256):  # loses a few units of 2**-bits each time
        values.append(values[-1] * base >> bits)
    return [value >> _GUARD for value in values]


def exp(x: int, bits: int = BITS) -> tuple[int, int, int]:
    """Return low, high and s with low <= 2**s exp(y) <= high for all y in [x, x + 1] units.

    >>> low, high, s = exp(0)
    >>> low <= 1 << s <= high, (high - low) * 2**150 < low
    (True, True)
    """
    if x < _LOWEST << bits:
        return 0, 1, 7200
    halvings = -((x << _GUARD) // _ln2(bits))  # exp(x) = 2**-halvings exp(rest), 0 <= rest < ln 2
    rest = max(0, x + (halvings * _ln2(bits) >> _GUARD))
    step = bits - 8
    small = rest & ((1 << (step - 8)) - 1)
    value = _table(8, bits)[rest >> step] * _table(16, bits)[rest >> (step - 8) & 255] >> bits
    total, term, n = (1 << bits) + small, small, 2
    while term:  # below 2**-16: at most ten terms, or twenty-three of `DEEP`
        term = (term * small >> bits) // n
        total, n = total + term, n + 1
    value = value * total >> bits
    # Of a result in [1, 2), in units: the tables err by 1 each, their product by 5, n Taylor terms
    # by 2 n together, doubled by that product; the argument by 3 and the last product by 1.
    error = bits * 2 // 5
    return value - error, value + error, bits + halvings


def log(top: int, bottom: int, bits: int = BITS) -> tuple[int, int]:
    """Return units below and above ln(top / bottom), for integers above zero.

    >>> low, high = log(2, 1)
    >>> low < high, high - low < 1 << 10, low / ONE == math.log(2.0)
    (True, True, True)
    """
    one, doublings = 1 << bits, top.bit_length() - bottom.bit_length()
    if doublings >= 0:
        m = (top << bits) // (bottom << doublings)
    else:
        m = (top << (bits - doublings)) // bottom
    guess = int(math.log(m / one) * 2.0**60) << (bits - 60)
    low, high, s = exp(-guess, bits)
    low, high = (m * low >> s) - one, ((m + 1) * high >> s) + 1 - one
    if not -(one >> 51) < low <= high < one >> 51:
        raise ArithmeticError("math.log is wrong on this computer")
    sure = guess + (doublings * _ln2(bits) >> _GUARD)
    # m exp(-guess) = 1 + rest. Eight terms of ln(1 + rest) lose 2 each; of the others, and of
    # what was rounded above and below, less than 8 units are left.
    return sure + _log1p(low, bits) - 68, sure + _log1p(high, bits) + 68


def _log1p(rest: int, bits: int) -> int:
    """Return ln(1 + rest) to within 24 units, for rests below 2**-51."""
    total, power = rest, rest
    for n in range(2, 51):
        power = -(power * rest >> bits)
        if -1 <= power <= 1:
            break
        total += power // n
    return total


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
