"""The arithmetic of all bounds beside exact fractions and balls of 300 bits, on nasty numbers.

Each property is a search that returns the numbers it caught outside an enclosure: none for the
module as it is, some for every mutant of its constants.
"""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.certificates import enclosed_functions as functions
from separatrix.certificates import enclosed_sums, enclosure
from separatrix.certificates.enclosed_functions import entropy, exp, log, log1p, softplus
from separatrix.certificates.enclosed_sums import products, row_sums, sums_both_ways, ways_for
from separatrix.certificates.enclosure import LEAST, UNIT, Enclosure, rounded

MOST = np.finfo(float).max
SPECIAL = [0.0, -0.0, LEAST, -LEAST, 2.0**-1022, 2.0**-1023, 1.0, 1.0 + 2 * UNIT, 1.0 - UNIT, 2.0,
           3.0, 1 / 3, -1 / 3, 0.1, 1e16 + 2.0, 1e-200, 1e200, -1e308, MOST, -MOST]  # fmt: skip


def nasty(rng, count):
    """Numbers of every size, denormals included, and those that sit at the edges."""
    sizes = rng.choice([1.0, 1e-9, 1e9, 1e150, 1e-150, 1e300, 1e-300, 1e-310, LEAST], size=count)
    values = rng.normal(size=count) * sizes
    special = rng.random(count) < 0.3
    values[special] = rng.choice(SPECIAL, size=int(special.sum()))
    return values


def lies_within(value, low, high):
    """Whether an exact number is in an enclosure, infinite ends included."""
    above = low == -math.inf or (math.isfinite(low) and Fraction(float(low)) <= value)
    return above and (high == math.inf or Fraction(float(high)) >= value)


def is_within(inner, outer):
    return bool((outer.low <= inner.low).all() and (inner.high <= outer.high).all())


def outside_arithmetic():
    rng = np.random.default_rng(0)
    a, b = nasty(rng, 4000), nasty(rng, 4000)
    # Numbers whose sum or product lies just beside a float64, and differences that cancel.
    a[:1000] = rng.normal(size=1000)
    b[:500] = a[:500] * (rng.integers(0, 9, size=500) * UNIT - 1.0)
    one, other = Enclosure.exact(a), Enclosure.exact(b)
    wide = Enclosure(np.minimum(a, b), np.maximum(a, b))
    x, y = [list(map(Fraction, values.tolist())) for values in (a, b)]
    caught = []

    def compare(name, found, exact):
        for low, high, value in zip(found.low, found.high, exact, strict=True):
            if value is not None and not lies_within(value, low, high):
                caught.append((name, low, high, value))

    pairs = list(zip(x, y, strict=True))
    compare("+", one + other, [p + q for p, q in pairs])
    compare("-", one - other, [p - q for p, q in pairs])
    compare("*", one * other, [p * q for p, q in pairs])
    compare("/", one / other, [p / q if q else None for p, q in pairs])
    compare("square", one.square(), [p * p for p in x])
    compare("half", one.halved(), [p / 2 for p in x])
    compare("size", wide.size(), [abs(p) for p in x])
    compare("floor", wide.at_least(0.5), [max(p, Fraction(1, 2)) for p in x])
    compare("ceiling", wide.at_most(0.5), [min(q, Fraction(1, 2)) for q in y])
    signs = rng.choice([-1.0, 0.0, 1.0], size=4000)
    compare("sign", wide.times_sign(signs), [int(s) * p for s, p in zip(signs, x, strict=True)])
    for c in (3.0, -1e-300, 0.0):
        compare("wide *", wide * c, [p * Fraction(c) for p in x])
    compare("wide * wide", wide * wide, [p * q for p, q in pairs])
    roots = one.size().root()
    for low, high, value in zip(roots.low, roots.high, x, strict=True):
        if not (Fraction(float(low)) ** 2 <= abs(value) <= Fraction(float(high)) ** 2):
            caught.append(("root", low, high, value))
    return caught


def outside_sums():
    rng = np.random.default_rng(1)
    caught = []
    for count in [0, 1, 5, 255, 256, 257, 300, 2000] * 3:
        values = nasty(rng, count)
        values = np.where(abs(values) > 1e200, 1.0, values) if count % 2 else values
        if count == 2000:
            # Every later term of a stretch is lost: half a unit each.
            values = np.where(np.arange(count) % 256 < 8, 1.0, UNIT)
        found, exact = Enclosure.exact(values).sum(), sum(map(Fraction, values.tolist()))
        if not lies_within(exact, found.low, found.high):
            caught.append((count, found, exact))
    return caught


def ball(value):
    value = Fraction(value)
    return flint.arb(value.numerator) / flint.arb(value.denominator)


def outside_functions(name):
    flint.ctx.prec = 300
    rng = np.random.default_rng(2)
    edges = np.array([0.0, LEAST, 1.0, 2.0, 0.5, math.sqrt(0.5), 1.0 - UNIT, 1.0 + 2 * UNIT])
    if name == "exp":
        function, judge = exp, lambda v: v.exp()
        given = np.concatenate([rng.uniform(-750, 715, 600), rng.normal(size=500) * 1e-9,
                                np.arange(-1078, 1024, 7) * math.log(2.0), [-1e300, 1e4, 710.0],
                                (np.arange(-1070, 1023, 7) + 0.5) * math.log(2.0)])  # fmt: skip
    elif name == "log":
        function, judge = log, lambda v: v.log()
        given = np.concatenate([10.0 ** rng.uniform(-300, 300, 300), rng.uniform(0.4, 2.5, 500),
                                1.0 + rng.normal(size=500) * 1e-9, edges[1:], [2.0**-1050, MOST],
                                np.ldexp(1.0, rng.integers(-1070, 1020, 500))])  # fmt: skip
    elif name == "softplus":
        function, judge = softplus, lambda v: v.exp().log1p()
        given = np.concatenate([rng.uniform(-750, 715, 300), rng.normal(size=300) * 5, [0.0,
                                -1e4, 1e4, LEAST, -LEAST, MOST]])  # fmt: skip
        flint.ctx.prec = 1500
    elif name == "entropy":
        function, judge = entropy, lambda v: -(v * v.log() + (1 - v) * (-v).log1p())
        given = np.concatenate([rng.uniform(0, 0.5, 500), 10.0 ** rng.uniform(-323, -1, 200),
                                [LEAST, 0.5, 2.0**-1022]])  # fmt: skip
        given = given[given > 0.0]
    else:
        function, judge = log1p, lambda v: v.log1p()
        given = np.concatenate([rng.uniform(-1 + 1e-12, 1.2, 600), 10.0 ** rng.uniform(-320, 300,
                                1000), -edges[1:3], [1.0, -0.5, 0.0, MOST]])  # fmt: skip
        given = given[given > -1.0]
    found, caught = function(given), []
    # An enclosure of a whole interval holds the value at its end.
    upwards = function(Enclosure(given, np.nextafter(given, MOST)))
    downwards = function(Enclosure(np.nextafter(given, -MOST), given))
    for each in (found, upwards, downwards):
        for value, low, high in zip(given, each.low, each.high, strict=True):
            true = judge(ball(float(value)))
            above = low == -math.inf or ball(float(low)) <= true
            if not (above and (high == math.inf or true <= ball(float(high)))):
                caught.append((value, low, high))
    usual = (given > -700) & (given < 700) if name == "exp" else given > -600
    width = (found.high - found.low)[usual]
    assert (width <= 1e-13 * abs(found.high[usual]) + 8 * LEAST).all()
    return caught


def lossy_rows():
    """Rows whose sums lose what the bound says: the first term is 1, all others half a unit."""
    count = 300
    long = np.full((1, count), UNIT)
    long[0, 0] = 1.0
    vanishing = np.full((1, count), 2.0**-538)
    cancelling = np.full((1, count), UNIT)
    cancelling[0, :3] = 2.0**60, -(2.0**60), 1.0
    ones = np.ones(count)
    return [(long, ones), (vanishing, np.full(count, 2.0**-537)), (cancelling, ones)]


def nasty_rows(rng):
    n, d = int(rng.integers(1, 8)), int(rng.integers(1, 9))
    X = nasty(rng, n * d).reshape(n, d)
    w = nasty(rng, d)
    if rng.random() < 0.7:
        # Products of middling size that cancel to the last bits, and beyond.
        X = np.ldexp(rng.normal(size=(n, d)), rng.integers(-60, 60, size=(n, d)))
        w = np.ldexp(rng.normal(size=d), rng.integers(-60, 60, size=d))
        if d > 2:
            X[:, 1], w[1] = X[:, 0], -w[0]
    return X, w


def outside_products(way):
    rng = np.random.default_rng(3)
    caught = []
    given = lossy_rows() + [nasty_rows(rng) for _ in range(300)]
    for number, (X, w) in enumerate(given):
        starts = (nasty(rng, len(X)), 1.0) if number % 3 == 1 and number > 2 else ()
        a = nasty(rng, len(X))
        data = sp.csr_array(X) if number < 3 or number % 2 else X
        scores, totals = sums_both_ways(data, w, starts, a, way)
        sums = [
            sum(Fraction(x) * Fraction(v) for x, v in zip(row, w.tolist(), strict=True))
            for row in X.tolist()
        ]
        for start in starts:
            added = np.broadcast_to(start, len(X)).tolist()
            sums = [s + Fraction(v) for s, v in zip(sums, added, strict=True)]
        columns = [
            sum(Fraction(x) * Fraction(v) for x, v in zip(column, a.tolist(), strict=True))
            for column in X.T.tolist()
        ]
        if number < 3:  # the same sum along a column
            found = row_sums(sp.csr_array(X.T), w, way)
            if not lies_within(sums[0], found.low[0], found.high[0]):
                caught.append((number, "column"))
        for found, exact in ((scores, sums), (totals, columns)):
            for low, high, value in zip(found.low, found.high, exact, strict=True):
                if not lies_within(value, low, high):
                    caught.append((number, low, high, value))
    return caught


def test_every_operation_encloses_the_exact_result():
    assert outside_arithmetic() == []
    assert outside_sums() == []


FUNCTIONS = ("exp", "log", "log1p", "softplus", "entropy")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_enclose_what_300_bits_find_and_are_tight(name):
    assert outside_functions(name) == []


@pytest.mark.parametrize("way", ["plain", "compensated", "exact"])
def test_sums_of_rows_and_columns_enclose_the_exact_ones(way):
    assert outside_products(way) == []


def mutated_dot(share, least):
    def dot_error(terms, sizes):
        return share * (terms + 2.0) * UNIT * sizes + least * (terms + 1.0) * LEAST

    return dot_error


MUTANTS = {
    "no step to the next number": (enclosure, "_NEXT", 0.0, outside_arithmetic),
    "half a step": (enclosure, "_NEXT", 0.4 * UNIT, outside_arithmetic),
    "no least number": (enclosure, "LEAST", 0.0, outside_arithmetic),
    "stretches lose nothing": (enclosure, "_SUMMANDS", -2.0, None),
    "functions are exact": (functions, "FUNCTION_ERROR", 0.4 * UNIT, outside_functions),
    "a short logarithm of 2": (functions, "_LN2_LOW", 1.908e-10, outside_functions),
    "another logarithm of 2": (functions, "_LN2_HIGH", 6.931471803691239e-01, outside_functions),
    "a short series of exp": (functions, "_TAYLOR", functions._TAYLOR[3:], outside_functions),
    "a short series of log": (functions, "_ATANH", functions._ATANH[5:], outside_functions),
    "sums lose less": (enclosed_sums, "dot_error", mutated_dot(0.98, 8.0), outside_products),
    "products never vanish": (enclosed_sums, "dot_error", mutated_dot(1.001, 0.4),
                              outside_products),
    "compensated sums are exact": (enclosed_sums, "dot_error", mutated_dot(0.0, 0.0),
                                   lambda _: outside_products("compensated")),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_constants_are_caught(name, monkeypatch):
    module, constant, value, search = MUTANTS[name]
    if constant == "_SUMMANDS":
        # The stretches stay as long as they are; their error is left out.
        real = enclosure._sum
        monkeypatch.setattr(enclosure, "_sum", lambda values: (real(values)[0], 0.0))
        assert outside_sums()
        return
    monkeypatch.setattr(module, constant, value)
    if search is outside_arithmetic:
        assert search()
        return
    caught = []
    for case in FUNCTIONS if search is outside_functions else ("plain",):
        try:
            caught += search(case)
        except AssertionError:
            caught.append("too wide")
        if caught:
            return
    pytest.fail("no test notices")


def test_compensated_sums_are_tight_where_plain_ones_are_not():
    X, w = np.array([[1e16, 1.0, -1e16]]), np.ones(3)
    plain, tight = products(X, w), products(X, w, way="compensated")
    assert plain.low[0] < 0.0 < 2.0 < plain.high[0]
    assert 1.0 - 1e-14 <= tight.low[0] <= 1.0 <= tight.high[0] <= 1.0 + 1e-14
    exact = products(X, w, (-1.0,), way="exact")
    assert exact.low[0] == exact.high[0] == 0.0


def test_what_is_unbounded_is_on_the_safe_side():
    wide = Enclosure(np.array([-math.inf]), np.array([math.inf]))
    nothing = wide * 0.0
    assert nothing.contains(0.0).all()
    assert nothing.high[0] <= 2 * LEAST
    for found in (wide - wide, wide / wide, 1.0 / wide, wide + 1.0, wide * wide):
        assert found.low[0] == -math.inf
        assert found.high[0] == math.inf
    assert Enclosure.exact(np.array([math.nan])).low[0] == -math.inf
    big = Enclosure.exact(np.array([1e308])) + 1e308
    assert big.high[0] == math.inf
    assert products(np.array([[1e300]]), np.array([1e300])).high[0] == math.inf
    assert products(np.array([[1e300]]), np.array([1e300]), way="compensated").high[0] == math.inf
    assert rounded(Fraction(10) ** 400) == (MOST, math.inf)


def test_whole_numbers_that_float64_does_not_hold_are_refused():
    assert Enclosure.exact(np.array([2**53])).low[0] == 2.0**53
    for values in (np.array([2**53 + 1]), np.array([2**63], dtype=np.uint64),
                   np.array([Fraction(1, 3)], dtype=object)):  # fmt: skip
        with pytest.raises(ValueError, match="must not be rounded"):
            Enclosure.exact(values)


def test_nothing_runs_where_denormals_are_flushed(monkeypatch):
    class Flushed:
        def __mul__(self, other):
            return 0.0

    monkeypatch.setattr(enclosure, "_TINY", [Flushed()])
    with pytest.raises(ArithmeticError, match="ffast-math"):
        enclosure.require_denormals()


def test_other_orders_lie_within_an_enclosure_three_times_as_wide():
    rng = np.random.default_rng(4)
    for _ in range(50):
        X = rng.normal(size=(20, 40)) * 10.0 ** rng.integers(-3, 4, size=40)
        w = rng.normal(size=40)
        order = rng.permutation(40)
        wide, other = products(X, w, wide=3.0), products(X[:, order], w[order])
        assert is_within(other, wide)


def test_several_columns_at_once_and_sparse_shares():
    rng = np.random.default_rng(5)
    X, W = rng.normal(size=(30, 5)), rng.normal(size=(5, 3))
    A = sp.csr_array(np.where(rng.random((30, 3)) < 0.5, rng.normal(size=(30, 3)), 0.0))
    for way in ("plain", "compensated", "exact"):
        scores, totals = sums_both_ways(X, W, (), A, way)
        for k in range(3):
            exact = products(X, W[:, k], way="exact")
            assert is_within(exact, scores[:, k])
            exact = row_sums(X, A.toarray()[:, k], way="exact")
            assert is_within(exact, totals[:, k])


def test_exact_sums_of_sparse_rows_take_the_entries_alone(monkeypatch):
    """They were laid out: 1,000 rows of a million columns did not fit in memory."""
    rng = np.random.default_rng(6)
    S = sp.random_array((40, 3000), density=1e-3, rng=rng, format="csr")
    S.data[:2], w, a, start = (0.0, 1e-300), rng.normal(size=3000), rng.normal(size=40), np.ones(40)
    dense = sums_both_ways(S.toarray(), w, (start, 0.1), a, "exact")
    monkeypatch.setattr(sp.csr_array, "toarray", None)
    for found, expected in zip(sums_both_ways(S, w, (start, 0.1), a, "exact"), dense, strict=True):
        assert (found.low == expected.low).all()
        assert (found.high == expected.high).all()
    for unbounded in (np.full(3000, np.inf), np.full(3000, np.nan)):
        assert not np.isfinite(products(S, unbounded, way="exact").low).any()


def test_the_dear_ways_are_for_few_entries():
    assert ways_for(100) == ("plain", "compensated", "exact")
    assert ways_for(1_000_000) == ("plain", "compensated")
    assert ways_for(1 << 27) == ("plain",)


def test_softplus_of_an_interval_is_as_wide_as_its_slope_says():
    centre = np.array([-40.0, -3.0, 0.5, 30.0])
    for off in (1e-6, 0.5):
        found = softplus(Enclosure(centre - off, centre + off))
        for c, low, high in zip(centre, found.low, found.high, strict=True):
            for end in (c - off, c, c + off):
                assert low <= np.logaddexp(0.0, end) * (1.0 + 1e-14)
                assert np.logaddexp(0.0, end) * (1.0 - 1e-14) <= high
        assert (found.high - found.low <= 2.1 * off * np.minimum(found.high, 1.0)).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_more_terms_than_add_up_exactly_bound_nothing(form, monkeypatch):
    monkeypatch.setattr(enclosed_sums, "_MOST_COMPENSATED", 3)
    found = products(form(np.ones((2, 4))), np.ones(4), way="compensated")
    assert (found.low == -math.inf).all()
    assert (found.high == math.inf).all()
    assert products(form(np.ones((1, 2))), np.ones(2), way="compensated").contains(2.0).all()
