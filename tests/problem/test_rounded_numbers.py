"""Numbers that float64 does not hold are refused: rounded, classes that differ become equal."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import separatrix as sx
from separatrix.errors import DataError
from separatrix.problem.signed import as_matrix

BESIDE = 2**53 + 1  # no float64
NUMBERS = [[BESIDE], [2**53]]
LABELS = [1, 0]
SPLIT = (np.array([2**53, 1, 2**53]), (np.array([0, 0, 1]), np.zeros(3, dtype=int)))
GIVEN = {
    "int64": np.array(NUMBERS),
    "uint64": np.array(NUMBERS, dtype=np.uint64),
    "objects": np.array(NUMBERS, dtype=object),
    "beyond int64": np.array([[2**70], [2**70 + 1]], dtype=object),
    "long floats": np.array([[1], [1 + np.longdouble(2) ** -60]]),
    "list": NUMBERS,
    "list beside floats": [[BESIDE, 0.5], [2**53, 0.5]],
    "lil": sp.lil_array(np.array(NUMBERS)),
    "csc": sp.csc_array(np.array(NUMBERS)),
    "entries that are added up": sp.coo_array(SPLIT, shape=(2, 1)),
    "the same by rows": sp.csr_array((SPLIT[0], np.zeros(3, int), np.array([0, 2, 3]))),
    "pandas": pd.DataFrame({"a": [BESIDE, 2**53], "b": [0.5, 0.5]}),
    "pandas with a type for missing values": pd.DataFrame({"a": pd.array([BESIDE, 1], "Int64")}),
    "polars": pl.DataFrame({"a": [BESIDE, 2**53], "b": [0.5, 0.5]}),
    "arrow": pa.table({"a": [BESIDE, 2**53], "b": [0.5, 0.5]}),
}


@pytest.mark.parametrize("X", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize(
    "use",
    [
        lambda X: sx.LinearSVM().fit(X, LABELS),
        lambda X: sx.separability(X, LABELS),
        lambda X: sx.inference(X, LABELS),
        lambda X: sx.LinearSVM().fit([[1.0], [0.0]], LABELS).certificate_.check(X, LABELS),
    ],
    ids=["fit", "separability", "inference", "check"],
)
def test_they_are_refused(use, X):
    with pytest.raises(DataError, match="beyond 2\\^53"):
        use(X)


def test_so_are_points_targets_and_weights():
    with pytest.raises(DataError, match="points"):
        sx.shatter(NUMBERS)
    with pytest.raises(DataError, match="y has whole numbers"):
        sx.LeastSquares(task="regression").fit([[1.0], [2.0]], [BESIDE, 0])
    with pytest.raises(DataError, match="sample_weight has whole numbers"):
        sx.LinearSVM().fit([[1.0], [2.0]], LABELS, sample_weight=[BESIDE, 1])


def test_what_float64_holds_is_read_as_it_is():
    large = [[2**53], [-(2**53)]]
    for X in (np.array(large), large, sp.lil_array(np.array(large)), np.array(large, dtype=object)):
        assert sx.separability(X, LABELS).kind == "separable"
    small = np.array([[1.0], [2.0]])
    for X in (small.astype(np.longdouble), sp.dok_array(small)):
        assert sx.separability(X, LABELS).kind == "separable"


def test_complex_numbers_are_refused():
    X = np.array([[1.0], [-1.0]])
    proof = sx.LinearSVM().fit(X, LABELS).certificate_
    with pytest.raises(DataError, match="Complex data"):
        proof.check(X + 5j, LABELS)


def test_entries_of_one_place_are_added_up_as_they_are_stored():
    three = (np.array([True] * 3), np.array([0, 0, 0]), np.array([0, 2, 3]))
    short = (np.array([100, 100], dtype=np.int8), np.array([0, 0]), np.array([0, 2, 2]))
    for parts in (three, short):
        X = sp.csr_array(parts, shape=(2, 1))
        assert as_matrix(X).toarray().tolist() == X.toarray().astype(float).tolist()


@pytest.mark.parametrize("starts", [[0, 10**8, 10**9, 0], [0, 2, 1, 2], [1, 1, 2, 2], [0, 1, 2, 9]])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_row_starts_out_of_order_are_refused(kind, starts):
    """SciPy does not look at them where the last is 0; reading the rows crashed the process."""
    X = kind((3, 3))
    X.indptr = np.array(starts, dtype=np.int32)
    X.data, X.indices = np.ones(2), np.zeros(2, dtype=np.int32)
    for use in (sx.separability, sx.LinearSVM().fit):
        with pytest.raises(ValueError, match="row starts"):
            use(X, [0, 1, 0])


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_a_table_says_that_they_are_rounded(tmp_path, kind):
    frame = pd.DataFrame({"a": [BESIDE, 2**53, 5], "b": [1, 2, 3], "y": [1, 0, 0]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    table = sx.read(frame if kind == "frame" else tmp_path / f"data.{kind}", target="y")
    assert [note.partition(";")[0] for note in table.notes if "2^53" in note] == [
        "a: numbers beyond 2^53 are read as the nearest float64"
    ]
