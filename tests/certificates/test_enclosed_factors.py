"""Factors that are enclosed, entries that were rounded, float32, and an eigenvalue: all exactly."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from tests.certificates.test_enclosure import lies_within, nasty

from separatrix.certificates import enclosed_sums
from separatrix.certificates.class_scatter import least_eigenvalue
from separatrix.certificates.enclosed_sums import dot_error_32, products, row_sums
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.least_squares import _gram, _square_lengths, _weighted_squares_of


def dot(one, other):
    return sum(Fraction(a) * Fraction(b) for a, b in zip(one, other, strict=True))


def test_powers_of_two_and_radii():
    rng = np.random.default_rng(0)
    values, powers = nasty(rng, 2000), rng.integers(-2200, 2200, size=2000)
    ends = np.sort(np.stack([values, nasty(rng, 2000)]), axis=0)
    wide = Enclosure(*ends)
    moved, middle, radius = wide.scaled(powers), wide.middle, wide.radius
    for i, power in enumerate(powers.tolist()):
        for end in ends[:, i]:
            exact = Fraction(end) * Fraction(2) ** power
            assert lies_within(exact, moved.low[i], moved.high[i])
            if np.isfinite(radius[i]):
                assert abs(Fraction(end) - Fraction(middle[i])) <= Fraction(radius[i])
    point = Enclosure(values, values.copy())
    assert (point.middle == values).all()
    assert not point.radius.any()


def outside_enclosed_factors():
    rng, caught = np.random.default_rng(1), 0
    for number in range(120):
        n, d = (int(k) for k in rng.integers(1, 7, size=2))
        X = nasty(rng, n * d).reshape(n, d) if number % 3 == 0 else rng.normal(size=(n, d))
        data = sp.csr_array(X) if number % 2 else X
        for way in ("plain", "each", "compensated"):
            for turned, count in ((False, d), (True, n)):
                ends = np.sort(rng.normal(size=(2, count)) * 10.0 ** rng.integers(-9, 9), axis=0)
                # One factor lies at an end of its enclosure, and so does every other.
                inside = np.where(rng.random(count) < 0.5, ends[0], ends[1])
                found = (row_sums if turned else products)(data, Enclosure(*ends), way=way)
                for low, high, row in zip(found.low, found.high, X.T if turned else X, strict=True):
                    caught += not lies_within(dot(row.tolist(), inside.tolist()), low, high)
    return caught


def test_factors_anywhere_in_their_enclosures(monkeypatch):
    assert outside_enclosed_factors() == 0
    nothing = lambda sizes, radius, _: Enclosure.exact(0.0 * (sizes @ radius))  # noqa: E731
    monkeypatch.setattr(enclosed_sums, "_doubt", nothing)
    assert outside_enclosed_factors() > 100


def test_entries_that_were_rounded_once():
    rng = np.random.default_rng(2)
    for _ in range(100):
        Y, m = rng.normal(size=(3, 1)) + np.zeros((3, 1)), 1.0 / 3.0
        X, w = Y - m, rng.normal(size=1) * 3.0
        found = products(X, w, rounded=1)
        turned = row_sums(X.T, w, rounded=1)
        for i in range(3):
            exact = (Fraction(Y[i, 0]) - Fraction(m)) * Fraction(w[0])
            assert lies_within(exact, found.low[i], found.high[i])
            assert lies_within(exact, turned.low[i], turned.high[i])
    # A product that vanished before counts as a least normal number.
    a, x = 1e-200 * 1e-200, 1e300
    found = row_sums(np.array([[x]]), np.array([a]), rounded=1)
    assert lies_within(Fraction(1e-200) ** 2 * Fraction(x), found.low[0], found.high[0])


def test_sums_in_float32():
    unit = 2.0**-24
    rng = np.random.default_rng(3)
    rows = [np.append(1.0, np.full(300, unit)), rng.normal(size=301), np.full(301, 2.0**-76)]
    for row in rows:
        values, factors = row.astype(np.float32), rng.choice([1.0, 3.0], size=301)
        if row[0] == 2.0**-76:
            factors = np.full(301, 2.0**-74)  # every product vanishes
        factors = factors.astype(np.float32)
        total, size = np.float32(0.0), np.float32(0.0)
        for v, f in zip(values, factors, strict=True):
            total, size = total + v * f, size + abs(v * f)
        off = abs(Fraction(float(total)) - dot(values.tolist(), factors.tolist()))
        assert 0 < off <= Fraction(float(dot_error_32(301.0, float(size))))
    assert dot_error_32(1e6, np.ones(2)).tolist() == [np.inf, np.inf]


def is_positive_semidefinite(matrix):
    """Whether exact elimination meets no negative pivot."""
    rows = [list(map(Fraction, row)) for row in matrix]
    for k, pivot in enumerate(rows):
        if pivot[k] < 0 or (pivot[k] == 0 and any(pivot[k:])):
            return False
        for row in rows[k + 1 :]:
            share = row[k] / pivot[k] if pivot[k] else Fraction(0)
            row[:] = [a - share * b for a, b in zip(row, pivot, strict=True)]
    return True


def without(matrix, share):
    exact = [[Fraction(v) for v in row] for row in matrix.tolist()]
    for k, row in enumerate(exact):
        row[k] -= Fraction(share)
    return exact


def false_eigenvalues():
    rng, false, found = np.random.default_rng(4), 0, set()
    for number in range(150):
        size = int(rng.integers(1, 6))
        v, off = rng.normal(size=size) * 10.0 ** rng.integers(0, 3), rng.choice([0.0, 1e-6, 1e-3])
        # The least eigenvalue lies beside one of those that are tried, on either side of it.
        near = rng.choice([0.9, 0.1, 0.01, 1e-4]) * (1.0 + rng.choice([-1.0, 1.0]) * 1e-15)
        matrix = near * np.eye(size) + (np.outer(v, v) if number % 3 else 0.0)
        share = least_eigenvalue(Enclosure.around(matrix, off))
        found.add(share)
        for other in (matrix, matrix - off):
            false += bool(share) and not is_positive_semidefinite(without(other, share))
    assert {0.1, 0.01, 1e-4} <= found
    return false


def test_the_least_eigenvalue_is_not_below_the_bound(monkeypatch):
    assert false_eigenvalues() == 0
    monkeypatch.setattr(Enclosure, "radius", property(lambda self: 0.0 * self.low))
    assert false_eigenvalues() > 0


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("level", [False, True], ids=["weights", "one power of two"])
def test_gram_matrices_of_moved_columns(make, level):
    rng = np.random.default_rng(5)
    Y, mean, s = rng.random((6, 3)), np.full(3, 1.0 / 3.0), rng.random(6)
    s = np.full(6, 0.25) if level else s
    A = Y - mean
    sizes = rng.random(3) + 0.5
    lengths = _square_lengths(_weighted_squares_of(make(A), s), 6)
    blocks = [(slice(0, 4), make(A[:4])), (slice(4, 6), make(A[4:]))]
    gram = _gram(iter(blocks), s, lengths.root(), sizes, rounded=2)
    moved = [[Fraction(y) - Fraction(1.0 / 3.0) for y in row] for row in Y.tolist()]
    for j in range(3):
        for k in range(3):
            exact = sum(Fraction(c) * r[j] * r[k] for c, r in zip(s.tolist(), moved, strict=True))
            if j == k:
                assert lies_within(exact, lengths.low[j], lengths.high[j])
            exact /= Fraction(sizes[j]) * Fraction(sizes[k])
            assert lies_within(exact, gram.low[j, k], gram.high[j, k])
            assert gram.high[j, k] - gram.low[j, k] < 1e-13


def test_squares_that_vanish_are_within_the_bound():
    A, s = np.full((6, 1), 2.0**-540), np.full(6, 0.75)
    lengths = _square_lengths(_weighted_squares_of(A, s), 6)
    assert lies_within(Fraction(9, 2) / 2**1080, lengths.low[0], lengths.high[0])
    assert lengths.high[0] > 0.0


def test_factors_made_of_the_products_sum_to_the_same():
    rng = np.random.default_rng(1)
    X, W, T = rng.normal(size=(50, 4)), rng.normal(size=(4, 2)), rng.normal(size=(50, 2))
    given = products(X, W, way="each") - T
    expected = row_sums(X, given, way="each")
    scores, found = enclosed_sums.sums_both_ways(
        X, W, (), lambda rows, found: found - T[rows], way="each"
    )
    assert (scores.low == products(X, W, way="each").low).all()
    assert (found.low == expected.low).all()
    assert (found.high == expected.high).all()
