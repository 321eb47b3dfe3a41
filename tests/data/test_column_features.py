"""Scales and ranks of columns: against scikit-learn and the definition, dense and sparse alike."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.data.encodings.column_features import (
    ColumnFeatures,
    FeatureEncoding,
    learn_columns,
)
from separatrix.data.encodings.encoding import fit_encoding
from separatrix.data.raw_rows import RawRows
from separatrix.data.row_blocks import row_blocks
from separatrix.data.table import encoding_from_dict, read_as

tables = arrays(
    np.float64,
    st.tuples(st.integers(3, 12), st.integers(1, 4)),
    elements=st.sampled_from([0.0, 1.0, -2.5, 3.0, 7.25, 1e-3, 40.0]),
)


@given(tables)
def test_standard_is_that_of_scikit_learn_but_for_zeros_and_ones(X):
    found = learn_columns(X, "standard").apply(X)
    expected = StandardScaler().fit_transform(X)
    plain = np.isin(X, [0.0, 1.0]).all(axis=0)
    constant = (X[0] == X).all(axis=0)
    assert_allclose(found[:, ~plain & ~constant], expected[:, ~plain & ~constant], atol=1e-12)
    assert_array_equal(found[:, plain | constant], X[:, plain | constant])


@given(tables)
def test_ranks_are_mid_ranks_standardised(X):
    learned = learn_columns(X, "ranks")
    found = learned.apply(X)[:, X.shape[1] :]
    several = [j for j in range(X.shape[1]) if len(np.unique(X[:, j])) >= 3]
    assert [rank.column for rank in learned.ranks] == several
    for place, j in enumerate(several):
        expected = StandardScaler().fit_transform(rankdata(X[:, j])[:, None])[:, 0]
        assert_allclose(found[:, place], expected, atol=1e-12)


@given(tables)
def test_sparse_columns_differ_from_dense_ones_by_a_constant(X):
    learned = learn_columns(sp.csr_matrix(X), "ranks")
    found = learned.apply(sp.csr_matrix(X))
    assert sp.issparse(found)
    dense = learn_columns(X, "ranks").apply(X)
    assert_allclose(found.toarray() - found.toarray()[0], dense - dense[0], atol=1e-9)


def test_many_values_are_ranked_between_256_of_them():
    x = np.random.default_rng(0).lognormal(size=5000)[:, None]
    found = learn_columns(x, "ranks")
    assert len(found.ranks[0].knots) <= 256
    exact = StandardScaler().fit_transform(rankdata(x[:, 0])[:, None])[:, 0]
    assert abs(found.apply(x)[:, 1] - exact).max() < 0.02


def test_huge_and_tiny_values_stay_finite():
    X = np.array([[-1e308, 1e-320], [0.0, 2e-320], [1e308, 5e-320], [3.0, 0.0]])
    with np.errstate(over="ignore"):
        assert np.isfinite(learn_columns(X, "ranks").apply(X)[:, 2:]).all()


@pytest.fixture
def csv(tmp_path):
    rng = np.random.default_rng(3)
    rows = [
        f"{rng.normal():.3f},{'' if k % 7 == 0 else rng.integers(9)},{'uvw'[k % 3]},{'ab'[k % 2]}"
        for k in range(40)
    ]
    path = tmp_path / "t.csv"
    path.write_text("x,y,kind,class\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("features", ["raw", "standard", "ranks", "fine-cosines"])
def test_a_file_read_later_gets_the_same_bits(csv, features):
    table = sx.read(csv, target="class")
    codes = (table.y == "b").astype(int)
    learned = RawRows(table).learn(features, np.arange(25), codes)
    encoding = encoding_from_dict(learned.encoding.to_dict())
    assert isinstance(encoding, FeatureEncoding) == (features != "raw")
    again = read_as(csv, encoding)
    assert list(again.feature_names) == list(learned.encoding.feature_names)
    assert again.X.shape[1] == len(again.feature_names)
    for X in (
        again.X,
        sp.vstack([sp.csr_matrix(b.X) for b in row_blocks(csv, encoding, size=100)]),
    ):
        assert_array_equal(sp.csr_matrix(X).toarray(), sp.csr_matrix(learned.X).toarray())


def test_other_rows_teach_nothing(csv):
    table = sx.read(csv, target="class")
    lines = csv.read_text().splitlines()
    lines[30:] = [f"{9.5 * k},,new,{'ab'[k % 2]}" for k in range(len(lines) - 30)]
    csv.write_text("\n".join(lines) + "\n")
    altered = sx.read(csv, target="class")
    rows, codes = np.arange(25), np.zeros(40, dtype=int)
    for features in ("raw", "standard", "ranks"):
        first, other = (RawRows(each).learn(features, rows, codes) for each in (table, altered))
        assert first.encoding.to_dict() == other.encoding.to_dict()
        assert (first.X[rows] != other.X[rows]).sum() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"scale": [0.0, 1.0]},
        {"scale": [1.0]},
        {"shift": [float("nan"), 0.0]},
        {"ranks": [[5, [0.0, 1.0], [0.0, 1.0]]]},
        {"ranks": [[0, [1.0, 0.0], [0.0, 1.0]]]},
        {"ranks": [[0, [1.0], [0.0]]]},
        {"ranks": 3},
    ],
)
def test_damaged_features_are_refused(change, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y,class\n1,2,a\n3,4,b\n5,7,a\n")
    learned = RawRows(sx.read(path)).learn("ranks", np.arange(3), np.array([0, 1, 0]))
    with pytest.raises(sx.DataError, match="not well-formed"):
        encoding_from_dict(learned.encoding.to_dict() | change)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_products_are_those_of_scaled_columns(is_sparse):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(5.0, 3.0, 40), rng.exponential(2.0, 40), np.arange(40) % 2,
                         1 - np.arange(40) % 2])  # fmt: skip
    given = sp.csr_matrix(X) if is_sparse else X
    columns = learn_columns(given, "products")
    Z = (X[:, :2] - (0.0 if is_sparse else X[:, :2].mean(axis=0))) / X[:, :2].std(axis=0)
    Z = np.column_stack([Z, X[:, 2:]])
    # No square of a column of 0 and 1, and no product of the two that never meet.
    pairs = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    assert list(columns.pairs) == pairs
    expected = np.column_stack([Z, *(Z[:, i] * Z[:, j] for i, j in pairs)])
    np.testing.assert_allclose(columns.apply(given), expected, rtol=1e-12)
    names = columns.names(list("abcd"))
    assert names[4:7] == ["a squared", "a × b", "a × c"]
    again = ColumnFeatures.from_dict(columns.to_dict())
    np.testing.assert_array_equal(again.apply(given), columns.apply(given))
    with pytest.raises(sx.DataError, match="pairs must be those of columns"):
        ColumnFeatures.from_dict(columns.to_dict() | {"pairs": [[0, 4]]})


def test_products_of_many_columns_are_refused():
    with pytest.raises(sx.DataError, match="at most 100 columns, and there are 101"):
        learn_columns(np.random.default_rng(0).normal(size=(5, 101)), "products")


def test_products_too_large_are_refused():
    columns = learn_columns(np.array([[1.0, 2.0], [2.0, 5.0], [4.0, 3.0]]), "products")
    with pytest.raises(sx.DataError, match="row 1: the product of columns 0 and 0 is too large"):
        columns.apply(np.array([[1.0, 2.0], [1e200, 2.0]]))


def test_the_encoding_of_plain_numbers_is_learned_when_it_is_asked_for(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,class\n" + "".join(f"{i},{i * i % 7},c{i % 2}\n" for i in range(12)))
    table, rows = sx.read(path, target="class"), np.arange(5)
    codes = np.arange(12) % 2
    asked = []

    def fitted(*given):
        asked.append(len(given[0][0]))
        return fit_encoding(*given)

    monkeypatch.setattr("separatrix.data.raw_rows.fit_encoding", fitted)
    learned = RawRows(table).learn("standard", rows, codes)
    assert not asked
    assert [code.median for code in learned.encoding.inner.codes] == [2.0, 2.0]  # of these rows
    assert asked == [5]
    columns, _ = table.raw
    assert_array_equal(learned.encoding.inner.apply(columns, 12)[0], table.X)
