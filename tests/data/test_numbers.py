import math
import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix._compiled import compiled, is_interpreted
from separatrix.data.encodings.numbers import NOT_A_NUMBER, UNFINISHED, scan_number, settled


@compiled
def scan_tokens(text, starts, ends, values, statuses):
    for token in range(starts.shape[0]):
        value, after, status = scan_number(text, starts[token], ends[token])
        values[token] = value
        statuses[token] = status if after == ends[token] else NOT_A_NUMBER


def parse(tokens):
    """Read one number per token; return values and which tokens are numbers."""
    lengths = np.array([len(token) for token in tokens], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    octets = " ".join(tokens).encode()
    values, statuses = np.empty(len(tokens)), np.empty(len(tokens), dtype=np.uint8)
    scan_tokens(np.frombuffer(octets, dtype=np.uint8), ends - lengths, ends, values, statuses)
    for token in np.flatnonzero(statuses == UNFINISHED):
        values[token] = settled(octets, int(ends[token] - lengths[token]))
    return values, statuses != NOT_A_NUMBER


def assert_as_python_reads(tokens):
    values, fine = parse(tokens)
    expected = np.array([float(token) for token in tokens])
    assert fine.all()
    wrong = np.flatnonzero(values.view(np.int64) != expected.view(np.int64))
    assert not len(wrong), [(tokens[i], values[i], expected[i]) for i in wrong[:5]]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_reads_back(value):
    assert_as_python_reads([repr(value), f"{value:.17e}", f"{value:.20g}", f"{value:.25e}"])


SPELLING = r"[+-]?([0-9]{1,45}\.?[0-9]{0,45}|\.[0-9]{1,45})([eE][+-]?[0-9]{1,4})?"


@given(st.from_regex(SPELLING, fullmatch=True))
def test_every_spelling_reads_as_in_python(token):
    assert_as_python_reads([token])


@given(st.integers(2**52, 2**53 - 1), st.integers(-1074, 900), st.sampled_from([-1, 0, 1]))
def test_half_way_between_two_floats(mantissa, exponent, nudge):
    """Digits of an exact half, and of its neighbours 1e-30 away: the hardest to round."""
    half = 2 * mantissa + 1
    if exponent >= 0:
        digits = (half << exponent) * 10**30 + nudge
        token = f"{digits}e-30"
    else:
        digits = half * 5**-exponent * 10**30 + nudge
        token = f"{digits}e{exponent - 30}"
    assert_as_python_reads([token])


def test_powers_of_ten_and_the_edges_of_the_range():
    tokens = [f"{digit}e{power}" for power in range(-350, 320) for digit in (1, 9, 17976931348623)]
    tokens += ["4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "5e-324"]
    tokens += ["2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308"]
    tokens += ["1.7976931348623159e308", "-0", "-0.0", "0e999999999999", "1e-999999999999", "00.10"]
    tokens += ["9007199254740993", "9007199254740992.5", "123456789012345678901234567890"]
    tokens += ["1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e400", "9" * 19, "9" * 18 + "5"]
    assert_as_python_reads(tokens)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "+",
        "-",
        ".",
        "e5",
        ".e5",
        "1e",
        "1e+",
        "1.2.3",
        "inf",
        "nan",
        "0x1p3",
        "1_0",
        "--1",
    ],
)
def test_what_is_not_a_number(token):
    assert not parse([token, "1"])[1][0]


def test_random_numbers_read_bit_identically():
    """A sample of the ten million that benchmarks/reading.py compares."""
    draw = random.Random(20)
    tokens = []
    for _ in range(300 if is_interpreted() else 100_000):
        value = struct.unpack("d", draw.randbytes(8))[0]
        if math.isfinite(value):
            tokens.append(repr(value) if draw.random() < 0.5 else f"{value:.{draw.randrange(25)}e}")
    assert_as_python_reads(tokens)
