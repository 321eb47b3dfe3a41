"""The sizes of columns, found once: bounds on their lengths for all weights of rows."""

from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from tests.amounts import cases
from tests.problems import as_sparse

import separatrix as sx
from separatrix.certificates.column_sizes import Sized, column_lengths
from separatrix.certificates.sparse_gap import SparseGap


def exact_length(column, weights, has_bias):
    """Return sum_i s_i x_i^2 about the weighted mean, in fractions."""
    pairs = [(Fraction(x), Fraction(s)) for x, s in zip(column, weights, strict=True)]
    square, total = sum(s * x * x for x, s in pairs), sum(s for _, s in pairs)
    return square - sum(s * x for x, s in pairs) ** 2 / total if has_bias else square


def drawn_columns(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 20)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-5, 6, size=d) + rng.integers(-3, 4)
    if seed % 3 == 0:
        X = (X > 0.0).astype(float)
    X[:, 0] = 1e-170 if seed % 4 == 0 else 3.0  # its squares vanish, or it is constant
    return X, rng.random(n) * 10.0 ** rng.integers(-3, 4), bool(seed % 2)


def test_lengths_are_not_below_the_exact_ones():
    for seed in cases(120):
        X, weights, has_bias = drawn_columns(seed)
        exact = [exact_length(column, weights.tolist(), has_bias) for column in X.T.tolist()]
        for data in (Sized(X), Sized(as_sparse(X))):
            other = np.random.default_rng(seed + 1).random(len(weights))
            data.lengths(other, has_bias, 1.0)  # by which all others are bounded
            few = np.array([X.shape[1] - 1])
            for found in (
                column_lengths(data, weights, has_bias, 1.0).high,
                data.lengths(weights, has_bias, 1.0).high,
                np.append(
                    np.full(X.shape[1] - 1, np.inf),
                    column_lengths(data, weights, has_bias, 1.0, few).high,
                ),
            ):
                pairs = zip(found.tolist(), exact, strict=True)
                assert all(high == np.inf or Fraction(high) >= true for high, true in pairs), seed


def test_lengths_for_twice_the_weights_are_twice_as_large():
    X, weights, _ = drawn_columns(1)
    data = Sized(X)
    first = data.lengths(weights, True, 1.0).high
    assert np.allclose(data.lengths(2.0 * weights, True, 1.0).high, 2.0 * first)


def test_a_row_that_did_not_count_bounds_nothing():
    X, weights, _ = drawn_columns(1)
    data = Sized(X)
    data.lengths(np.where(np.arange(len(weights)) == 0, 0.0, weights), True, 1.0)
    assert (data.lengths(weights, True, 1.0).high == np.inf).all()


def test_a_path_proves_what_every_value_proves_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 90))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=60) > 0.0).astype(int)
    fields = ("costs", "loss", "weights", "multipliers", "ridge", "l1", "data_sha256", "classes")
    for data in (X, as_sparse(X)):
        path = sx.LogisticRegressionPath(Cs=12).fit(data, y)
        for proof in path.certificates_:
            kept = {name: getattr(proof, name) for name in fields}
            alone = SparseGap.proved(data, 2.0 * y - 1.0, tol=path.tol, **kept)
            assert alone.zeros.tolist() == proof.zeros.tolist()
            assert alone.gap == proof.gap
            assert proof.check(data, y)
        assert sum(len(proof.zeros) for proof in path.certificates_) > 500


def test_an_entry_in_parts_is_not_summed_at_once():
    """The largest part says nothing of the entry; and SciPy's flag may be wrong."""
    once = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 4.0]]))
    parts = sp.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    parts.has_canonical_format = True
    assert Sized(once).is_summed_whole
    assert Sized(sp.csr_array((3, 2))).is_summed_whole
    assert not Sized(parts).is_summed_whole
    assert not Sized(sp.csc_array(once)).is_summed_whole
