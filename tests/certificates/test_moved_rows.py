"""Rows in blocks, moved by a mean: what least squares are proved on."""

import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from separatrix.certificates import column_sizes as module
from separatrix.certificates.column_sizes import LARGEST, moved_rows


def draw(n=40):
    rng = np.random.default_rng(2)
    X = 1e3 + rng.normal(size=(n, 4))
    X[:, 1] = 7.5
    return X, np.full(n, 0.5), np.where(rng.random(n) < 0.5, "a", "b")


def test_a_constant_column_moves_to_zero(monkeypatch):
    monkeypatch.setattr(module, "_ENTRIES_AT_A_TIME", 32)
    X, s, _ = draw()
    rows = moved_rows(X, s, True)
    assert rows.varied.tolist() == [True, False, True, True]
    assert len(list(rows.blocks())) > 3
    whole = rows.whole()
    assert (whole == np.column_stack([X - rows.mean, np.ones(len(X))])).all()
    assert not whole[:, 1].any()
    assert (rows.of(rows.varied).whole() == whole[:, [0, 2, 3, 4]]).all()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_large_columns_are_divided(make):
    X, s, _ = draw()
    rows = moved_rows(make(X * [1e200, 1.0, 1.0, 1e-200]), s, False)
    whole = rows.whole()
    whole = whole.toarray() if sparse.issparse(whole) else whole
    assert abs(whole).max(axis=0).min() >= 0.5
    assert abs(whole).max() < 1.0 < LARGEST


def test_a_division_that_rounds_is_refused():
    X = np.array([[1e300], [5e-324]])
    assert moved_rows(X, np.ones(2), True) is None
    assert moved_rows(sparse.csr_array(X), np.ones(2), True) is None


def test_blocks_prove_what_one_block_proves(monkeypatch):
    X, _, y = draw()
    whole = sx.LeastSquares().fit(X, y).certificate_
    monkeypatch.setattr(module, "_ENTRIES_AT_A_TIME", 20)
    parts = sx.LeastSquares().fit(X, y).certificate_
    assert parts.holds
    assert whole.check(X, y)
    assert parts.objective == pytest.approx(whole.objective, rel=1e-12)
    assert parts.gap <= 2.0 * whole.gap + 1e-15
