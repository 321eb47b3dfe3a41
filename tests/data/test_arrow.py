"""Arrow arrays by their buffers are what pyarrow makes of the same values."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.data.arrow import from_numpy, from_texts, opened, text_scalar, to_numpy


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "int8", "uint8"])
def test_numbers_there_and_back(kind):
    values = np.arange(12).astype(kind)[::2]
    array = from_numpy(values)
    assert array.equals(pa.array(values))
    assert np.array_equal(to_numpy(array), values)
    assert to_numpy(array[2:4]).tolist() == values[2:4].tolist()
    assert to_numpy(array[:0]).dtype == values.dtype


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=20))
def test_texts(texts):
    array = from_texts(texts)
    array.validate(full=True)
    assert array.equals(pa.array(texts, pa.string()))


def test_half_of_a_surrogate_pair_is_refused_as_by_pyarrow():
    with pytest.raises(UnicodeEncodeError):
        from_texts(["\ud800"])
    assert text_scalar("ab").as_py() == "ab"


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1, max_size=40))
def test_gaps_are_nan(values):
    array = pa.array(values, pa.float64())
    for part in (array, array[1:], array[3:11], pa.chunked_array([array, array[:1]])):
        wanted = np.array(part.to_pylist(), dtype=float)
        assert np.array_equal(to_numpy(part), wanted, equal_nan=True)


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 20))
def test_truth_values(values, start):
    assert to_numpy(pa.array(values)[start:]).tolist() == values[start:]


def test_what_arrow_reads_is_its_own():
    """Its threads may outlive Python, and then cannot give bytes of Python's back."""
    data = bytearray(b"a,b\n1,2\n")
    reader = opened(data)
    data[0] = ord("z")
    assert reader.read() == b"a,b\n1,2\n"
