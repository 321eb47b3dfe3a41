import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.data.readers import libsvm
from separatrix.data.readers.libsvm import parse_libsvm, write_libsvm
from separatrix.data.sources.streams import Source, open_source
from tests.naive.libsvm import read_libsvm
from tests.optional import shared_file


def read(data: bytes, **options):
    return parse_libsvm(Source("some.libsvm", data), **options)


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.integers(0, 10**22).map(lambda digits: f"0.{digits:022d}"),
    st.sampled_from(["+1", ".5", "5.", "1E3", "-0", "1e-400"]),
)


@st.composite
def libsvm_lines(draw):
    """Lines with all that the format allows: comments, blanks, CRLF, queries."""
    first = draw(st.sampled_from([0, 1]))
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        tokens = [draw(st.sampled_from(["+1", "-1", "1", "0", "3.5", "spam", "1,2", "été"]))]
        if draw(st.booleans()):
            tokens.append(f"qid:{draw(st.integers(0, 10**15))}")
        indices = sorted(draw(st.sets(st.integers(first, 60), max_size=6)))
        tokens += [f"{index}:{draw(numbers)}" for index in indices]
        blanks = draw(st.sampled_from([" ", "  ", "\t", " \t "]))
        comment = draw(st.sampled_from(["", "", " # 1:2 note", "#x", " "]))
        lines.append(blanks.join(tokens) + comment)
        lines += draw(st.sampled_from([[], [], [""], ["# only a comment"], ["   "]]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


@given(libsvm_lines(), st.integers(1, 80))
def test_agrees_with_the_naive_reader(data, chunk):
    X, labels, queries = read_libsvm(data)
    X += 0.0  # toarray() loses the sign of -0.0
    before, libsvm.CHUNK = libsvm.CHUNK, chunk
    try:
        found = read(data)
    finally:
        libsvm.CHUNK = before
    assert found.X.shape == X.shape
    assert_array_equal(found.X.toarray().view(np.int64), X.view(np.int64))
    assert found.X.has_sorted_indices
    assert [str(label) for label in found.y.tolist()] == [
        str(label) for label in libsvm.tidy_labels(labels).tolist()
    ]
    given = found.query_ids
    assert (given is None) == all(query is None for query in queries)
    if given is not None:
        assert given.tolist() == [-1 if query is None else query for query in queries]


@given(st.data())
def test_writing_and_reading_gives_the_same_bits(tmp_path_factory, data):
    finite = st.floats(allow_nan=False, allow_infinity=False)
    rows = data.draw(st.lists(st.lists(finite, min_size=3, max_size=3), min_size=1, max_size=5))
    y = data.draw(
        st.sampled_from([[-1, 1], ["no", "yes"], [0.5, 1e-300]]).flatmap(
            lambda labels: st.lists(st.sampled_from(labels), min_size=len(rows), max_size=len(rows))
        )
    )
    path = tmp_path_factory.mktemp("written") / "rows.libsvm"
    X = np.array(rows) + 0.0  # a zero is not stored, so its sign is not kept
    zero_based = data.draw(st.booleans())
    write_libsvm(path, X, y, zero_based=zero_based, query_ids=range(len(y)))
    found = parse_libsvm(open_source(path), n_features=3, zero_based=zero_based)
    assert_array_equal(found.X.toarray().view(np.int64), X.view(np.int64))
    assert found.y.tolist() == y
    assert found.query_ids.tolist() == list(range(len(y)))


@pytest.mark.parametrize("name", ["heart_scale", "a9a", "a9a.t", "mushrooms", "mushrooms.t"])
def test_agrees_with_scikit_learn(name):
    path = shared_file(f"{name}.libsvm")
    if is_interpreted() and name != "heart_scale":
        path_lines = path.read_bytes().split(b"\n")[:200]
        data = b"\n".join(path_lines)
    else:
        data = path.read_bytes()
    import io

    X, y = load_svmlight_file(io.BytesIO(data))
    found = read(data)
    assert found.X.shape == X.shape
    assert_array_equal(found.X.indptr, X.indptr)
    assert_array_equal(found.X.indices, X.indices)
    assert_array_equal(found.X.data, X.data)
    assert_array_equal(found.y, y)


def test_any_number_of_threads_and_chunks_gives_the_same_bits(monkeypatch):
    draw = np.random.default_rng(0)
    X = sparse.random(60, 30, density=0.2, random_state=0, format="csr")
    X.data = draw.normal(size=X.nnz)
    data = b"".join(libsvm_text(X, draw.integers(0, 3, 60)))
    whole = read(data, threads=1)
    monkeypatch.setattr(libsvm, "CHUNK", 100)
    pieces = read(data, threads=4)
    assert_array_equal(whole.X.data, pieces.X.data)
    assert_array_equal(whole.X.indices, pieces.X.indices)
    assert_array_equal(whole.y, pieces.y)


def libsvm_text(X, y):
    from separatrix.data.readers.libsvm import libsvm_text

    return libsvm_text(X, y)


@pytest.mark.parametrize(
    ("data", "line", "column", "words"),
    [
        (b"", 1, 1, "no rows"),
        (b"# nothing\n\n", 1, 1, "no rows"),
        (b"1 1:2\n1:2 2:3\n", 2, 1, "no label"),
        (b"1 1:2\n1 a:3\n", 2, 3, "'a:3'"),
        (b"1 1:2 3\n", 1, 7, "index:value"),
        (b"1 -1:2\n", 1, 3, "'-1:2'"),
        (b"1 1:\n", 1, 5, "number after the colon"),
        (b"1 1:2 2:x7\n", 1, 9, "'x7'"),
        (b"1 1:2:3\n", 1, 5, "'2:3'"),
        (b"1 1:nan\n", 1, 5, "'nan'"),
        (b"1 1:1e999\n", 1, 5, "too large"),
        (b"1 1:1.79769313486231580794e308\n", 1, 5, "too large"),
        (b"1 2147483647:1\n", 1, 3, "renumber"),
        (b"1 99999999999999999999:1\n", 1, 3, "renumber"),
        (b"1 3:1 3:2\n", 1, 7, "twice"),
        (b"1 1:1\n1 2:1 3:1 3:2\n", 2, 11, "twice"),
        (b"1 1:1\n1 3:1 2:1 4:2\n", 2, 7, "must ascend, and '2:1'"),
        (b"1 0:1\n1 3:1 0:1\n", 2, 7, "must ascend, and '0:1'"),
        (b"1 qid:x 1:2\n", 1, 3, "qid"),
        (b"1 qid:1234567890123456789 1:2\n", 1, 3, "18 digits"),
        (b"1 qix:1 1:2\n", 1, 3, "index:value"),
        (b"\xff\xfe 1:2\n", 1, 1, "UTF-8"),
    ],
)
def test_what_is_broken_is_named(data, line, column, words):
    with pytest.raises(sx.DataError, match=r"some\.libsvm") as caught:
        read(data)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in str(caught.value)


def test_a_broken_line_does_not_change_what_the_file_is(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"1 1:2 3:4\n0 1:2 x:5\n1 2:3\n")
    with pytest.raises(sx.DataError, match="index:value") as caught:
        sx.read(path)
    assert (caught.value.line, caught.value.column) == (2, 7)


def test_a_line_longer_than_the_sample_is_still_seen_for_what_it_is(tmp_path):
    path = tmp_path / "wide"
    row = " ".join(f"{at}:0.5" for at in range(1, 9000))
    path.write_text(f"1 {row}\n0 {row}\n")
    assert path.stat().st_size > 2 * 65536
    if not is_interpreted():
        assert sx.read(path).X.shape == (2, 8999)


def test_counting_from_zero_and_width_can_be_told():
    assert read(b"1 1:2", zero_based=True).X.shape == (1, 2)
    assert read(b"1 1:2", n_features=9).X.shape == (1, 9)
    with pytest.raises(sx.DataError, match="0-based"):
        read(b"1 0:2", zero_based=False)
    with pytest.raises(sx.DataError, match="n_features"):
        read(b"1 5:2", n_features=3)


@pytest.mark.parametrize("label", ["", "a b", "a:b", "a#b"])
def test_a_label_that_no_line_can_hold_is_refused(tmp_path, label):
    with pytest.raises(sx.DataError, match="rename"):
        write_libsvm(tmp_path / "x", [[1.0]], [label])
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(sx.DataError, match="finite"):
        write_libsvm(tmp_path / "x", [[np.nan]], [1])
    with pytest.raises(sx.DataError, match="2 labels"):
        write_libsvm(tmp_path / "x", [[1.0]], [1, 2])
