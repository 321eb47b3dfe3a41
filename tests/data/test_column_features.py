"""Scales, ranks and splines of columns: against scikit-learn and definitions, dense and sparse."""

import itertools
from fractions import Fraction

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


columns = arrays(
    np.float64,
    st.tuples(st.integers(3, 40), st.integers(1, 2)),
    elements=st.integers(-6, 12).map(float) | st.sampled_from([0.0, 0.5, 1e3]),
)


def naive_splines(X):
    """The parts of the splines of all columns, by definition, and the column of each."""
    found, at = [np.empty((len(X), 0))], []
    for j, x in enumerate(X.T.tolist()):
        values = sorted(set(x))
        if len(values) < 6:
            continue
        weight = {v: min(Fraction(x.count(v), len(x)), Fraction(1, 6)) for v in values}
        total, edges = sum(weight.values()), [values[0]]
        for k in range(1, 6):
            below = Fraction(0)
            for v in values:
                below += weight[v]
                if below >= total * Fraction(k, 6):
                    edges.append(v)
                    break
        edges = sorted({*edges, values[-1]})
        for low, high in itertools.pairwise(edges):
            part = np.clip(x, low, high)
            found.append(((part - part.mean()) / part.std())[:, None])
            at.append(j)
    return np.hstack(found), at


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


@given(columns)
def test_splines_are_clipped_columns_standardised(X):
    learned = learn_columns(X, "splines")
    found = learned.apply(X)[:, X.shape[1] :]
    expected, at = naive_splines(X)
    assert [part.column for part in learned.splines] == at
    assert_allclose(found, expected, atol=1e-9)
    sparse = learn_columns(sp.csr_matrix(X), "splines").apply(sp.csr_matrix(X))
    assert sp.issparse(sparse)
    away = sparse.toarray()[:, X.shape[1] :]
    assert_allclose(away - away[0], found - found[0], atol=1e-9)
    nothing = learn_columns(sp.csr_matrix(X), "splines").apply(sp.csr_matrix(0.0 * X))
    assert nothing.count_nonzero() == 0  # zeros stay zeros


def test_splines_add_up_to_any_function_that_is_linear_between_their_knots():
    rng = np.random.default_rng(1)
    x = np.sort(rng.normal(size=500))
    learned = learn_columns(x[:, None], "splines")
    knots = [learned.splines[0].knots[0], *(part.knots[1] for part in learned.splines)]
    assert len(knots) == 7
    heights = rng.normal(size=len(knots))
    made = np.column_stack([np.ones(500), learned.apply(x[:, None])[:, 1:]])
    wanted = np.interp(x, knots, heights)
    weights, *_ = np.linalg.lstsq(made, wanted, rcond=None)
    assert_allclose(made @ weights, wanted, atol=1e-9)
    shares = np.searchsorted(x, knots[1:-1]) / 500
    assert_allclose(shares, np.arange(1, 6) / 6, atol=0.01)


def test_where_most_rows_are_zero_the_others_have_knots():
    x = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])[:, None]
    parts = learn_columns(x, "splines").splines
    assert parts[0].knots[0] == 0.0
    assert len(parts) >= 3


def test_names_of_splines_tell_them_apart():
    near = 1.0 + 1e-9 * np.arange(12)
    X = np.column_stack([near, 10.0 * np.arange(12)])
    names = learn_columns(X, "splines").names(["a", "b"])
    assert len(set(names)) == len(names)
    assert names[-1] == "b from 90 to 110"


@pytest.mark.parametrize("features", ["ranks", "splines"])
def test_huge_and_tiny_values_stay_finite(features):
    X = np.array([[-1e308, 1e-320], [0.0, 2e-320], [1e308, 5e-320], [3.0, 0.0], [5.0, 0.0],
                  [8.0, 1e-310], [9.0, 0.0]])  # fmt: skip
    X = np.column_stack([X, [0.0, 5e-324, 1e-323, 1.0, 2.0, 3.0, 4.0]])
    with np.errstate(over="ignore"):
        assert np.isfinite(learn_columns(X, features).apply(X)[:, 3:]).all()


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


@pytest.mark.parametrize("features", ["raw", "standard", "ranks", "splines", "fine-cosines"])
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
    for features in ("raw", "standard", "ranks", "splines"):
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
        {"splines": [[0, [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]]},
        {"splines": [[2, [0.0, 1.0], [0.0, 1.0]]]},
        {"splines": [[0, [0.0, 5e-324], [0.0, 1.0]]]},
        {"splines": 3},
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
