"""Decimal numbers to float64, exactly: the bits that Python's ``float()`` gives, at disk speed.

A decimal is ``mantissa * 10**power``. Three ways, from the most to the least common:

1. mantissa below 2**53 and ``|power| <= 22``: both are exact floats, so one multiplication or
   division rounds correctly (Clinger, "How to read floating point numbers accurately", 1990).
2. Otherwise the product with a 128-bit power of five decides (Lemire, "Number parsing at a gigabyte
   per second", 2021; Mushtak and Lemire, 2023, prove that no further check is needed).
3. More than 18 digits: way 2 for the digits kept and for one more in the last of them. Where the
   two disagree the token is ``UNFINISHED``, and the caller asks ``float()`` itself (`settled`).

All products are made of 32-bit halves, so that nothing overflows in the interpreted loops either.
"""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled

EXACT, UNFINISHED, NOT_A_NUMBER = 0, 1, 2
PARKED = 0x7FF8 << 48  # a NaN whose low bits say where an unfinished number stands

Octets = NDArray[np.uint8]

_DIGITS_KEPT = 18  # always fit a signed 64-bit integer
_LEAST_POWER, _LARGEST_POWER = -342, 308
_POWER_BOUND = 100_000_000  # exponents beyond it change nothing

_EXACT_TENS = np.array([10.0**power for power in range(23)])
_NUMBER = re.compile(rb"[-+.0-9eE]*")
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_THREE = np.uint64(3)
_MAYBE_INEXACT = np.uint64(0x1FF)  # the nine bits below the 55 that rounding looks at


def _powers_of_five() -> NDArray[np.uint64]:
    """Return the leading 128 bits of 5**power as two words, negative powers rounded up."""
    words = np.empty((_LARGEST_POWER - _LEAST_POWER + 1, 2), dtype=np.uint64)
    for power in range(_LEAST_POWER, _LARGEST_POWER + 1):
        if power >= 0:
            bits = 5**power
            excess = bits.bit_length() - 128
            bits = bits >> excess if excess > 0 else bits << -excess
        else:
            five = 5**-power
            length = (five - 1).bit_length()
            shift = length + 127 if power >= -27 else 2 * length + 128
            bits = (1 << shift) // five + 1
            bits >>= max(0, bits.bit_length() - 128)
        words[power - _LEAST_POWER] = bits >> 64, bits & (2**64 - 1)
    return words


_FIVES = _powers_of_five()


@compiled
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Multiply two 64-bit words; return the high and the low word."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    high = a_high * b_high + (middle >> _HALF) + (other >> _HALF)
    return high, ((other & _LOW) << _HALF) | (low & _LOW)


@compiled
def _leading_zeros(mantissa: int) -> int:
    """Count the zero bits in front of a positive 64-bit integer."""
    zeros = 63
    for step in (32, 16, 8, 4, 2, 1):
        if mantissa >> step:
            mantissa >>= step
            zeros -= step
    return zeros


@compiled
def _decimal_product(mantissa: np.uint64, power: int) -> tuple[np.uint64, np.uint64]:
    """Return the top 128 bits of mantissa * 5**power, correct in the bits that rounding uses."""
    row = power - _LEAST_POWER
    high, low = _product(mantissa, _FIVES[row, 0])
    if high & _MAYBE_INEXACT == _MAYBE_INEXACT:
        carry, _ = _product(mantissa, _FIVES[row, 1])
        if low > _ALL - carry:
            low = carry - (_ALL - low) - _ONE
            high += _ONE
        else:
            low += carry
    return high, low


@compiled
def _nearest_float(mantissa: int, power: int) -> float:
    """Return the float nearest to mantissa * 10**power, for 0 <= mantissa < 10**18."""
    if mantissa == 0 or power < _LEAST_POWER:
        return 0.0
    if power > _LARGEST_POWER:
        return math.inf
    zeros = _leading_zeros(mantissa)
    high, low = _decimal_product(np.uint64(mantissa) << np.uint64(zeros), power)
    top = int(high >> np.uint64(63))
    shift = np.uint64(top + 9)
    bits = high >> shift
    exponent = ((217706 * power) >> 16) + 63 + top - zeros + 1023
    if exponent <= 0:
        if exponent <= -63:
            return 0.0
        bits >>= np.uint64(1 - exponent)
        bits = (bits + (bits & _ONE)) >> _ONE
        return math.ldexp(float(bits), -1074)
    tie = low <= _ONE and -4 <= power <= 23 and bits & _THREE == _ONE
    if tie and bits << shift == high:
        bits -= _ONE  # exactly half way: the even neighbour is below
    bits = (bits + (bits & _ONE)) >> _ONE
    if exponent > 2046 or (exponent == 2046 and bits >= np.uint64(1 << 53)):
        return math.inf
    return math.ldexp(float(bits), exponent - 1075)


@compiled
def to_float(mantissa: int, power: int) -> float:
    """Take the cheapest way that is exact."""
    if mantissa < 9007199254740992 and -22 <= power <= 22:
        if power < 0:
            return float(mantissa) / _EXACT_TENS[-power]
        return float(mantissa) * _EXACT_TENS[power]
    return _nearest_float(mantissa, power)


@compiled
def _scan_exponent(text: Octets, at: int, end: int) -> tuple[int, int]:
    """Read ``e-12`` at ``at``; return its value and the place after it, which is ``at`` if none."""
    after = at + 1
    negative = False
    if after < end and (text[after] == 43 or text[after] == 45):
        negative = text[after] == 45
        after += 1
    if after >= end or not 48 <= text[after] <= 57:
        return 0, at
    power = 0
    while after < end and 48 <= text[after] <= 57:
        if power < _POWER_BOUND:
            power = power * 10 + int(text[after]) - 48
        after += 1
    return -power if negative else power, after


@compiled
def scan_number(text: Octets, at: int, end: int) -> tuple[float, int, int]:
    """Read the number that starts at ``at``: return its value, the place after it, and a status."""
    negative = False
    if at < end and (text[at] == 43 or text[at] == 45):
        negative = text[at] == 45
        at += 1
    first = at
    mantissa = 0
    kept = 0
    power = 0
    more = False  # digits other than zero were left out
    point = -1
    while at < end:
        digit = int(text[at]) - 48
        if 0 <= digit <= 9:
            if kept < _DIGITS_KEPT:
                mantissa = mantissa * 10 + digit
                if mantissa:
                    kept += 1
                if point >= 0:
                    power -= 1
            else:
                more = more or digit != 0
                if point < 0:
                    power += 1
        elif digit == -2 and point < 0:
            point = at
        else:
            break
        at += 1
    if at - first - (1 if point >= 0 else 0) == 0:
        return 0.0, at, NOT_A_NUMBER
    if at < end and (text[at] == 101 or text[at] == 69):
        exponent, at = _scan_exponent(text, at, end)
        power += exponent
    value = to_float(mantissa, power)
    status = EXACT
    if more and value != to_float(mantissa + 1, power):
        status = UNFINISHED
    return -value if negative else value, at, status


def settled(data: bytes, at: int) -> float:
    """Let ``float()`` read the unfinished number that starts at a byte.

    >>> settled(b"1 -2.5e3,4", 2)
    -2500.0
    """
    found = _NUMBER.match(data, at)
    return float(found.group()) if found else math.nan
