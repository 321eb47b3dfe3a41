"""Rows of numbers as arrays: .npy, .npz, .safetensors and columns of lists, whole and broken."""

import io
import struct
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fuzz.reading import npy_bytes, safetensors_bytes
from pyarrow import feather, parquet

import separatrix as sx

ROWS = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -2.0], [3.0, 1.0, 1.0]], dtype=np.float32)
LABELS = np.array([0, 1, 1])
PLAIN = ROWS.tobytes()


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


def backed_by_a_map(array):
    """Whether the memory of an array is a mapped file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return "mmap" in str(type(array.obj if isinstance(array, memoryview) else array))


@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", "<f2", "i1", "u1", "<i4", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_any_number_type(tmp_path, dtype, order):
    rows = np.array(abs(np.round(ROWS)), dtype=dtype, order=order)
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "y.npy", LABELS)
    table = sx.read(tmp_path / "rows.npy", labels=tmp_path / "y.npy")
    assert table.kind == "npy"
    assert table.X.dtype == (np.float64 if dtype in ("<f8", "<i4") else np.float32)
    np.testing.assert_array_equal(table.X, rows.astype(np.float64))
    assert table.y.tolist() == [0, 1, 1]
    assert list(table.feature_names) == ["x0", "x1", "x2"]
    if dtype in ("<f4", "<f8"):
        assert backed_by_a_map(table.X)
        assert not table.X.flags.writeable


def test_the_digest_is_that_of_the_file(tmp_path):
    import hashlib

    path = written(tmp_path, "rows.npy", npy_bytes(ROWS))
    np.save(tmp_path / "y.npy", LABELS)
    table = sx.read(path, labels=tmp_path / "y.npy")
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("names", [("X", "y"), ("embeddings", "labels"), ("a", "b")])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_with_rows_and_labels(tmp_path, names, save):
    save(tmp_path / "two.npz", **{names[0]: ROWS, names[1]: np.array(["cat", "dog", "dog"])})
    table = sx.read(tmp_path / "two.npz")
    assert table.X.dtype == np.float32
    assert table.X.tolist() == ROWS.tolist()
    assert table.y.tolist() == ["cat", "dog", "dog"]


def test_npz_with_rows_alone_and_labels_beside(tmp_path):
    np.savez(tmp_path / "one.npz", vectors=ROWS)
    (tmp_path / "names.txt").write_text("cat\ndog\ndog\n")
    assert sx.read(tmp_path / "one.npz", labels=tmp_path / "names.txt").y.tolist()[0] == "cat"


@pytest.mark.parametrize("kind", ["F32", "F64", "F16", "BF16"])
def test_safetensors_of_any_float(tmp_path, kind):
    exact = ROWS  # a few bits each: every type here holds them
    stored = {
        "F32": exact,
        "F64": exact.astype(np.float64),
        "F16": exact.astype(np.float16),
        "BF16": (exact.view(np.uint32) >> 16).astype(np.uint16),
    }[kind]
    data = safetensors_bytes(embeddings=(kind, stored), labels=("I64", LABELS))
    table = sx.read(written(tmp_path, "e.safetensors", data))
    assert table.X.dtype == (np.float64 if kind == "F64" else np.float32)
    assert table.X.tolist() == exact.tolist()
    assert backed_by_a_map(table.X) == (kind in ("F32", "F64"))


def test_safetensors_as_its_own_library_writes_them(tmp_path):
    from safetensors.numpy import save_file

    save_file({"X": ROWS, "y": LABELS}, tmp_path / "own.safetensors", {"made": "here"})
    table = sx.read(tmp_path / "own.safetensors")
    assert table.X.tolist() == ROWS.tolist()
    assert table.y.tolist() == [0, 1, 1]


@pytest.mark.parametrize("compress", ["gz", "xz", "bz2"])
def test_compressed_arrays(tmp_path, compress):
    import bz2
    import gzip
    import lzma

    press = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}[compress]
    path = written(tmp_path, f"rows.npy.{compress}", press(npy_bytes(ROWS)))
    (tmp_path / "y.txt").write_text("label\n0\n1\n1")
    table = sx.read(path, labels=tmp_path / "y.txt")
    assert table.X.tolist() == ROWS.tolist()
    assert table.y.tolist() == [0, 1, 1]


def list_tables():
    flat = pa.array(ROWS.ravel())
    fixed = pa.FixedSizeListArray.from_arrays(flat, 3)
    lists = pa.array(ROWS.astype(np.float64).tolist(), pa.list_(pa.float64()))
    large = pa.array(ROWS.tolist(), pa.large_list(pa.float32()))
    halves = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel().astype(np.float16)), 3)
    return {"fixed": fixed, "lists": lists, "large": large, "halves": halves}


@pytest.mark.parametrize("kind", list_tables())
def test_a_column_of_lists_is_an_embedding(tmp_path, kind):
    table = pa.table(
        {
            "text": ["one", "two", "three"],
            "embedding": list_tables()[kind],
            "label": ["a", "b", "b"],
        }
    )
    parquet.write_table(table, tmp_path / "e.parquet")
    feather.write_feather(table, tmp_path / "e.arrow")
    for name in ("e.parquet", "e.arrow"):
        read = sx.read(tmp_path / name)
        assert read.X.tolist() == ROWS.tolist()
        assert read.X.dtype == (np.float64 if kind == "lists" else np.float32)
        assert read.y.tolist() == ["a", "b", "b"]
        assert read.target == "label"
        assert list(read.feature_names) == ["embedding0", "embedding1", "embedding2"]
        assert any("left out: text" in note for note in read.notes)


def test_frames_with_embeddings(tmp_path):
    columns = {"embedding": ROWS.tolist(), "label": ["a", "b", "b"]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        table = sx.read(frame, target="label")
        assert table.X.tolist() == ROWS.tolist()


def test_a_table_in_chunks_and_slices(tmp_path):
    lists = list_tables()["fixed"]
    whole = pa.table({"e": pa.chunked_array([lists[:1], lists[1:]]), "y": [0, 1, 1]})
    assert sx.read(whole).X.tolist() == ROWS.tolist()
    sliced = pa.table({"e": list_tables()["lists"], "y": [0, 0, 1]}).slice(1)
    assert sx.read(sliced).X.tolist() == ROWS[1:].tolist()


def test_labels_beside_a_table_without_them(tmp_path):
    parquet.write_table(pa.table({"e": list_tables()["fixed"]}), tmp_path / "e.parquet")
    (tmp_path / "y.txt").write_text("a\nb\nb\n")
    table = sx.read(tmp_path / "e.parquet", labels=tmp_path / "y.txt")
    assert table.y.tolist() == ["a", "b", "b"]
    (tmp_path / "plain.csv").write_text("height,age\n1,2\n3,4\n5,7\n")
    beside = sx.read(tmp_path / "plain.csv", labels=tmp_path / "y.txt")
    assert beside.X.tolist() == [[1, 2], [3, 4], [5, 7]]
    assert beside.y.tolist() == ["a", "b", "b"]


def test_the_encoding_reads_later_rows_without_labels(tmp_path):
    np.savez(tmp_path / "train.npz", X=ROWS, y=LABELS)
    encoding = sx.read(tmp_path / "train.npz").encoding
    np.save(tmp_path / "new.npy", ROWS[:2])
    later = encoding.transform(tmp_path / "new.npy")
    assert later.X.tolist() == ROWS[:2].tolist()
    assert len(later.y) == 0
    table = pa.table({"vector": list_tables()["fixed"]})
    parquet.write_table(table, tmp_path / "new.parquet")
    assert encoding.transform(tmp_path / "new.parquet").X.tolist() == ROWS.tolist()
    np.save(tmp_path / "wide.npy", np.ones((2, 5)))
    with pytest.raises(sx.DataError, match="the rows have 5 features, and those of training had 3"):
        encoding.transform(tmp_path / "wide.npy")


def test_machines_take_the_mapped_rows_as_they_are(tmp_path):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "y.npy", y)
    table = sx.read(tmp_path / "rows.npy", labels=tmp_path / "y.npy")
    machine = sx.LogisticRegression().fit(table.X, table.y)
    assert machine.certificate_.check(X, y)
    assert np.array_equal(machine.coef_, sx.LogisticRegression().fit(X, y).coef_)


# ---- what is broken


def header(text, version=1):
    body = text.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(body))
    return b"\x93NUMPY" + bytes([version, 0]) + length + body


def npy(descr="'<f4'", fortran="False", shape="(3, 3)", data=PLAIN, version=1):
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"
    return header(text, version) + data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (npy("'|O'"), "Python objects"),
        (npy_bytes(np.array([{"a": 1}], dtype=object)), "Python objects"),
        (npy("[('a', '<f4')]"), "records"),
        (npy("'<c8'", data=ROWS.tobytes() * 2), "not numbers"),
        (npy("'<U1'"), "not numbers"),
        (npy("'<M8[s]'", data=ROWS.tobytes() * 2), "unknown type"),
        (npy("'V4'"), "not numbers"),
        (npy(shape="(3, 3, 1)"), "3 dimensions"),
        (npy(shape="(9,)"), "as labels are"),
        (npy(shape="()", data=b"1234"), "0 dimensions"),
        (npy(shape="(0, 3)", data=b""), "no numbers"),
        (npy(shape="(3, 4)"), "promises 48 bytes"),
        (npy(shape="(3, 2)"), "promises 24 bytes"),
        (npy(shape="(999999999999, 999999999999)"), "promises"),
        (npy(shape="(9999999999999999999999, 1)"), "no array has"),
        (npy(shape="(3, -3)"), "damaged"),
        (npy(shape="(3  3,)"), "no array has"),
        (npy(shape="(3, __import__('os').system('true'))"), "damaged"),
        (npy(fortran="1"), "damaged"),
        (npy()[:40], "cut short"),
        (npy()[:-1], "promises"),
        (npy()[:9], "damaged"),
        (header("{}"), "damaged"),
        (header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': True}"), "damaged"),
        (header("(" * 5000), "damaged"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{", "too long"),
        (b"\x93NUMPY\x09\x00\x10\x00{}", "damaged"),
        (b"not an array", "no .npy"),
        (
            npy(data=np.array([1, np.nan, 0] * 3, dtype="<f4").tobytes()),
            "row 0, column 1 .* is nan",
        ),
        (
            npy(data=np.array([1, 2, 0] * 2 + [0, 0, -np.inf], dtype="<f4").tobytes()),
            "row 2, colum",
        ),
    ],
)
def test_broken_npy_files_are_named(tmp_path, data, words):
    path = written(tmp_path, "rows.npy", data)
    np.save(tmp_path / "y.npy", LABELS)
    with pytest.raises(sx.DataError, match=words) as caught:
        sx.read(path, labels=tmp_path / "y.npy")
    assert caught.value.file
    assert "\n" not in str(caught.value)


def test_headers_as_other_writers_have_them(tmp_path):
    np.save(tmp_path / "y.npy", LABELS)
    for data in (
        npy(version=2),
        npy(version=3),
        header('{"shape": (3L, 3L), "descr": "<f4", "fortran_order": False}') + ROWS.tobytes(),
    ):
        path = written(tmp_path, "rows.npy", data)
        assert sx.read(path, labels=tmp_path / "y.npy").X.tolist() == ROWS.tolist()


def zipped(**members):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (zipped(readme="hello"), "without arrays"),
        (zipped(**{"X.npy": b"hello"}), "not an array"),
        (zipped(**{"X.npy": npy(), "y.npy": npy_bytes(LABELS)})[:-30], "damaged"),
        (zipped(**{"X.npy": npy()[:-4], "y.npy": npy_bytes(LABELS)}), "promises"),
        (zipped(**{"X.npy": npy(), "y.npy": npy_bytes(LABELS[:2])}), "3 rows, but 2 labels"),
        (zipped(**{"a.npy": npy(), "b.npy": npy()}), "several arrays"),
        (zipped(**{"X.npy": npy(), "y.npy": npy_bytes(np.array([1.0, np.nan, 0]))}), "1 .*nan"),
        (zipped(**{"X.npy": npy(shape="(3, 3, 1)")}), "3 dimensions"),
        (zipped(**{"X.npy": npy(shape="(5000, 4000)", data=bytes(80_000_000))}), "allowed"),
        (zipped(**{name + ".npy": npy_bytes(LABELS) for name in
                   ("data", "indices", "indptr", "shape")}), "sparse matrix"),
    ],
)  # fmt: skip
def test_broken_npz_files_are_named(tmp_path, data, words):
    with pytest.raises(sx.DataError, match=words):
        sx.read(written(tmp_path, "rows.npz", data))


def safe(text, data=b""):
    return struct.pack("<Q", len(text)) + text.encode() + data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (safetensors_bytes(X=("F32", ROWS), y=("I64", LABELS))[:-1], "has 23 for it"),
        (safetensors_bytes(X=("F8_E4M3", ROWS)), "cannot be read"),
        (safetensors_bytes(X=("F32", ROWS[None])), "3 dimensions"),
        (safetensors_bytes(y=("I64", LABELS)), "as labels are"),
        (safe('{"X": 3}'), "damaged"),
        (safe('{"X": {"dtype": "F32", "shape": [3, 3], "data_offsets": [0, 8]}}'), "needs 36"),
        (safe('{"X": {"dtype": "F32", "shape": [3, -3], "data_offsets": [0, 8]}}'), "none"),
        (safe('{"X": {"dtype": "F32", "shape": [true, 1], "data_offsets": [0, 4]}}'), "none"),
        (safe('{"X": {"dtype": "F32", "shape": [1e999, 1], "data_offsets": [0, 4]}}'), "none"),
        (safe("{" * 100_000), "damaged"),
        (safe('{"a":' * 50_000), "damaged"),
        (struct.pack("<Q", 2**31 - 1) + b"{}", "cut short or too long"),
    ],
)
def test_broken_safetensors_files_are_named(tmp_path, data, words):
    with pytest.raises(sx.DataError, match=words):
        sx.read(written(tmp_path, "rows.safetensors", data))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"e": pa.array([[1.0], [1.0, 2.0]]), "y": [0, 1]}, "differ in length: 1 before, and 2"),
        ({"e": pa.array([[1.0], None]), "y": [0, 1]}, "no list here"),
        ({"e": pa.array([[1.0], [None]]), "y": [0, 1]}, "row 1, column 0 .* is nan"),
        ({"e": pa.array([[], []], pa.list_(pa.float32())), "y": [0, 1]}, "is empty"),
        ({"e": [[1.0], [2.0]], "f": [[1.0], [2.0]], "y": [0, 1]}, "several columns hold embeddin"),
        ({"e": [[1.0], [2.0]]}, "no labels"),
        ({"e": [[1.0], [2.0]], "y": [1, 1]}, "one value only"),
    ],
)
def test_broken_columns_of_lists_are_named(tmp_path, columns, words):
    parquet.write_table(pa.table(columns), tmp_path / "e.parquet")
    with pytest.raises(sx.DataError, match=words):
        sx.read(tmp_path / "e.parquet")


def test_one_of_several_embeddings_is_left(tmp_path):
    columns = {"e": [[1.0], [2.0]], "f": [[3.0], [4.0]], "y": [0, 1]}
    assert sx.read(pa.table(columns), drop=["e"]).X.tolist() == [[3.0], [4.0]]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (b"0\n1\n", "3 rows, but 2 labels"),
        (b"0\n\n1\n", "line 2"),
        (npy_bytes(ROWS), "no array of labels"),
        (npy_bytes(np.array([1.0, np.inf, 0.0])), "label 1 .* is inf"),
        (npy_bytes(np.array(["a", None, "b"], dtype=object)), "Python objects"),
        (npy_bytes(np.array([1j, 2j, 3j])), "complex"),
    ],
)
def test_broken_labels_are_named(tmp_path, labels, words):
    np.save(tmp_path / "rows.npy", ROWS)
    path = written(tmp_path, "labels", labels)
    with pytest.raises(sx.DataError, match=words):
        sx.read(tmp_path / "rows.npy", labels=path)


@pytest.mark.parametrize("where", ["beside", "within", "table"])
def test_amounts_are_no_labels(tmp_path, where):
    prices = np.arange(150) % 50 + 0.5
    rows = np.arange(300.0).reshape(150, 2)

    def reading(labels):
        if where == "beside":
            np.save(tmp_path / "rows.npy", rows)
            np.save(tmp_path / "labels.npy", labels)
            return sx.read(tmp_path / "rows.npy", labels=tmp_path / "labels.npy")
        if where == "within":
            np.savez(tmp_path / "both.npz", X=rows, y=labels)
            return sx.read(tmp_path / "both.npz")
        frame = pa.table({"embedding": rows.tolist()})
        np.save(tmp_path / "labels.npy", labels)
        return sx.read(frame, labels=tmp_path / "labels.npy")

    assert len(reading(prices).classes) == 50  # three rows a value: they may be classes
    with pytest.raises(sx.DataError, match=r"150 different ones in 150 rows.* give other labels"):
        reading(np.arange(150) + 0.5)
    with pytest.raises(sx.DataError, match="75 different ones in 150 rows"):
        reading(np.arange(150) % 75 + 0.5)
    assert len(reading(np.arange(150) % 75).classes) == 75  # two examples of every class


def test_later_labels_need_not_look_like_classes(tmp_path):
    np.savez(tmp_path / "both.npz", X=np.arange(24.0).reshape(12, 2), y=np.arange(12) % 2)
    trained = sx.read(tmp_path / "both.npz")
    np.savez(tmp_path / "later.npz", X=np.ones((30, 2)), y=np.arange(30) + 0.5)
    assert len(trained.encoding.transform(tmp_path / "later.npz").y) == 30


def test_missing_labels_are_asked_for_and_a_file_of_them_is_named(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    with pytest.raises(sx.DataError, match=r"3 rows and no labels; give .* \(--labels FILE\)$"):
        sx.read(tmp_path / "rows.npy")
    np.save(tmp_path / "labels.npy", LABELS)
    with pytest.raises(sx.DataError, match=r"'labels.npy' is beside it"):
        sx.read(tmp_path / "rows.npy")


def test_labels_of_a_file_that_holds_them_are_refused(tmp_path):
    (tmp_path / "a.libsvm").write_text("1 1:2\n0 2:1\n")
    (tmp_path / "y.txt").write_text("0\n1\n")
    with pytest.raises(sx.DataError, match="leave labels"):
        sx.read(tmp_path / "a.libsvm", labels=tmp_path / "y.txt")
    (tmp_path / "texts").mkdir()
    with pytest.raises(sx.DataError, match="leave labels"):
        sx.read(tmp_path / "texts", labels=tmp_path / "y.txt")


def test_a_kind_that_is_told_wins(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    with pytest.raises(sx.DataError):
        sx.read(tmp_path / "rows.npy", kind="csv")
    with pytest.raises(sx.DataError, match=r"no \.npy"):
        sx.read(written(tmp_path, "x.bin", b"1,2\n3,4\n"), kind="npz")


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_labels_too_long_for_a_float_stay_apart(tmp_path, dtype):
    np.save(tmp_path / "rows.npy", ROWS)
    for first in (2**53, 2**60, 2**63) if dtype is np.uint64 else (2**53, -(2**60)):
        labels = np.array([first, first + 1, first], dtype=dtype)
        np.save(tmp_path / "y.npy", labels)
        table = sx.read(tmp_path / "rows.npy", labels=tmp_path / "y.npy")
        assert [int(label) for label in table.y] == labels.tolist()
        (tmp_path / "y.txt").write_text("".join(f"{label}\n" for label in labels))
        texts = sx.read(tmp_path / "rows.npy", labels=tmp_path / "y.txt")
        assert [int(label) for label in texts.y] == labels.tolist()


def test_labels_of_bytes_are_utf_8_or_latin_1(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    for code in ("utf-8", "latin-1"):
        np.save(tmp_path / "y.npy", np.array([text.encode(code) for text in ("é", "a", "é")]))
        table = sx.read(tmp_path / "rows.npy", labels=tmp_path / "y.npy")
        assert table.y.tolist() == ["é", "a", "é"]


def test_empty_lists_are_said_to_be_empty(tmp_path):
    table = pa.table({"v": pa.array([[], []], pa.list_(pa.float32())), "y": [0, 1]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(sx.DataError, match="is empty"):
        sx.read(tmp_path / "rows.parquet", target="y")
