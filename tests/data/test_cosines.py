"""Random cosines: exact turns against fractions, cosines against NumPy's, the same bits always."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import separatrix as sx
from separatrix.data.encodings.column_features import GAMMAS, ColumnFeatures, learn_columns
from separatrix.data.encodings.column_functions import (
    FARTHEST,
    PER_UNIT,
    TERMS,
    Cosines,
    cosine_of_turns,
)

DIGEST = "e9a67aeb8d3547de0358247d78ed43e691b677ce79ecd70efd0e1a54869be826"


def test_the_cosine_is_within_its_stated_error():
    rng = np.random.default_rng(0)
    turns = np.rint(rng.uniform(-(2.0**19), 2.0**19, 100_000) * 2.0**33) / 2.0**33
    turns = np.concatenate([turns, np.arange(-8, 9) / 8.0, [2.0**-33, 0.25 - 2.0**-33]])
    exact = turns - np.rint(turns)  # NumPy's cosine of a large angle would be that of another one
    found = cosine_of_turns(turns.copy())
    assert abs(found - np.cos(2.0 * np.pi * exact)).max() < 1e-15
    assert abs(found).max() <= 1.0 + 1e-15
    assert cosine_of_turns(np.array([0.25, -0.25, 3.75])).tolist() == [0.0, 0.0, 0.0]


def plainly(cosines, z):
    """Return the cosines of one row by exact sums, and the polynomial one step at a time."""
    directions, offsets = cosines.drawn
    found = []
    for u, t in zip(directions.T.tolist(), offsets.tolist(), strict=True):
        turn = Fraction(t)
        for column, part in zip(cosines.columns, u, strict=True):
            held = min(max(z[column], -FARTHEST), FARTHEST)
            turn += Fraction(round(Fraction(held) * int(PER_UNIT)), int(PER_UNIT)) * Fraction(part)
        quarter = Fraction(1, 4) - abs(turn - round(turn))
        q = float(quarter)
        assert Fraction(q) == quarter
        sine = TERMS[-1]
        for term in TERMS[-2::-1]:
            sine = sine * (q * q) + term
        found.append(sine * q * cosines.size)
    return found


@pytest.mark.parametrize("width", [1, 7, 255])
def test_every_bit_is_that_of_exact_sums(width):
    rng = np.random.default_rng(width)
    Z = rng.normal(size=(4, width)) * [[1.0], [30.0], [1e4], [1e300]]
    cosines = Cosines(tuple(range(width)), 12, 1.0, float(width))
    assert_array_equal(cosines.apply(Z), [plainly(cosines, row) for row in Z.tolist()])


def test_bits_are_those_of_every_computer():
    Z = np.arange(-60.0, 60.0).reshape(20, 6) / 7.0
    whole = np.ascontiguousarray(Cosines((0, 2, 5), 64, 0.25, 3.0).apply(Z))
    # Kept from one computer: another numpy, BLAS or processor must find the same.
    assert hashlib.sha256(whole.tobytes()).hexdigest() == DIGEST
    parts = [Cosines((0, 2, 5), 64, 0.25, 3.0).apply(Z[at : at + 3]) for at in range(0, 20, 3)]
    assert_array_equal(np.vstack(parts), whole)


@pytest.mark.parametrize("name", list(GAMMAS))
def test_their_products_are_about_an_rbf_kernel(name):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4)) * [1.0, 10.0, 0.1, 5.0] + 3.0
    learned = learn_columns(X, name)
    F = learned.apply(X)
    Z, C = F[:, :4], F[:, 4:]
    assert C.shape[1] == 256
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    kernel = np.exp(-GAMMAS[name] / 4.0 * distances)
    assert abs(C @ C.T / 4.0 - kernel).mean() < 0.06
    assert learned.names(list("abcd"))[4:6] == ["cosine 1", "cosine 2"]


def test_sparse_rows_and_zeros_and_ones():
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.exponential(size=30), np.arange(30) % 2, rng.normal(size=30)])
    for given in (X, sp.csr_matrix(X)):
        learned = learn_columns(given, "cosines", np.array([False, False, True]))
        assert learned.cosines.columns == (0, 1)
        assert learned.cosines.variance == 1.25
        again = ColumnFeatures.from_dict(learned.to_dict())
        assert_array_equal(again.apply(given), learned.apply(given))


def test_too_many_columns_are_refused():
    with pytest.raises(sx.DataError, match="1 to 255 columns, and there are 256"):
        learn_columns(np.random.default_rng(0).normal(size=(5, 256)), "cosines")


@pytest.mark.parametrize(
    "cosines",
    [3, [[0], 4, 0.25], [[0, 9], 4, 0.25, 1.0], [[], 4, 0.25, 1.0], [[0], 0, 0.25, 1.0],
     [[0], 10**9, 0.25, 1.0], [[0], 4, -1.0, 1.0], [[0], 4, 0.25, math.nan], [[0], 4, 1e300, 1.0],
     [[0], 4.0, 0.25, 1.0], [[True], 4, 0.25, 1.0], [[0], 4, "1", 1.0]],
)  # fmt: skip
def test_damaged_cosines_are_refused(cosines):
    plain = learn_columns(np.random.default_rng(0).normal(size=(9, 2)), "cosines").to_dict()
    with pytest.raises(sx.DataError, match="cosines must"):
        ColumnFeatures.from_dict(plain | {"cosines": cosines})
