"""Files in blocks give the rows of the whole, at every size of block."""

import bz2
import gzip
import io
import json
import lzma
import sys

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

import separatrix as sx
from separatrix.data.row_blocks import row_blocks

LIBSVM = "+1 1:0.5 3:2\n-1 2:1\n\n# note\n+1 1:1 2:0.5\n-1 3:-1\n" * 9
TABLE = 'age,job,"long, name",label\n' + (
    '39,cook,"a ""b""\nc",yes\n50, clerk ,x,no\n,cook,"a, b",yes\n28,none,x,no\n' * 9
)
TEXTS = "a very good film\tgood\nnot a film\tbad\nété comme hiver\tgood\ndull and long\tbad\n" * 9
ROWS = np.arange(40.0, dtype=np.float32).reshape(20, 2)
SIZES = [1, 7, 64, 300, 1 << 20]


def stacked(blocks):
    blocks = list(blocks)
    X = sp.vstack([sp.csr_array(block.X) for block in blocks]).toarray()
    return X, np.concatenate([block.y for block in blocks]), len(blocks)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "contents", "options"),
    [
        ("data.libsvm", LIBSVM, {}),
        ("data.csv", TABLE, {"target": "label"}),
        ("data.txt", TEXTS, {}),
        ("data.tsv", TABLE.replace(",", "\t"), {"target": "label"}),
    ],
)
def test_blocks_are_the_whole(name, contents, options, size, tmp_path):
    path = tmp_path / name
    path.write_text(contents)
    table = sx.read(path, **options)
    X, y, count = stacked(row_blocks(path, table.encoding, size=size))
    whole = table.encoding.transform(path)
    assert (sp.csr_array(whole.X).toarray() == X).all()
    assert (y == whole.y).all()
    assert count > 1 or size > len(contents)


@pytest.mark.parametrize(
    "options",
    [
        {"weighting": "tfidf", "stop_words": ("film",)},
        {"ngrams": (1, 2), "weighting": "binary"},
        {"hashing": 16},
    ],
)
def test_words_are_looked_up_once_and_counted_as_ever(options, tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.data.encodings.words._MOST_REMEMBERED", 3)
    path = tmp_path / "data.txt"
    path.write_text(TEXTS)
    encoding = sx.read(path, **options).encoding
    path.write_text(TEXTS + "words never seen before and a good film\tgood\n")
    X, _, count = stacked(row_blocks(path, encoding, size=60))
    assert (encoding.transform(path).X.toarray() == X).all()
    assert count > 5


@pytest.mark.parametrize(
    ("ending", "packed"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
    ],
)
def test_compressed_files_are_read_as_they_come(ending, packed, tmp_path):
    plain, path = tmp_path / "data.libsvm", tmp_path / f"data.libsvm{ending}"
    plain.write_text(LIBSVM)
    path.write_bytes(packed(LIBSVM.encode()))
    encoding = sx.read(plain).encoding
    want, have = stacked(row_blocks(plain, encoding)), stacked(row_blocks(path, encoding, size=99))
    assert (want[0] == have[0]).all()
    path.write_bytes(packed(LIBSVM.encode() * 50)[:-9])
    with pytest.raises(sx.DataError):
        stacked(row_blocks(path, encoding))


def test_standard_input_texts_without_labels_and_other_characters(tmp_path, monkeypatch):
    path = tmp_path / "data.txt"
    path.write_text(TEXTS)
    encoding = sx.read(path).encoding
    bare = "\n".join(line.split("\t")[0] for line in TEXTS.splitlines())

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(bare.encode("utf-16")))

    monkeypatch.setattr(sys, "stdin", Stdin)
    X, y, _ = stacked(row_blocks("-", encoding, size=50))
    assert (encoding.transform(path).X.toarray() == X).all()
    assert len(y) == 0
    path.write_bytes(TEXTS.encode("latin-1"))
    assert (stacked(row_blocks(path, encoding))[0] == X).all()
    assert (stacked(row_blocks(path, encoding, characters="latin-1"))[0] == X).all()
    with pytest.raises(sx.DataError, match="no encoding"):
        stacked(row_blocks(path, encoding, characters="klingon"))
    with pytest.raises(sx.DataError, match="not in that encoding"):
        stacked(row_blocks(path, encoding, characters="utf-8"))


def test_errors_name_the_line_of_the_file(tmp_path):
    path = tmp_path / "data.libsvm"
    path.write_text(LIBSVM)
    encoding = sx.read(path).encoding
    path.write_text(LIBSVM + "+1 1:x\n")
    with pytest.raises(sx.DataError) as caught:
        stacked(row_blocks(path, encoding, size=40))
    assert caught.value.line == LIBSVM.count("\n") + 1
    path = tmp_path / "data.csv"
    path.write_text(TABLE)
    encoding = sx.read(path, target="label").encoding
    path.write_text(TABLE + "30,cook\n")
    with pytest.raises(sx.DataError) as caught:
        stacked(row_blocks(path, encoding, size=100))
    assert caught.value.line == TABLE.count("\n") + 1
    path = tmp_path / "data.txt"
    path.write_text(TEXTS)
    encoding = sx.read(path).encoding
    path.write_text(TEXTS + "no tab here\n")
    with pytest.raises(sx.DataError) as caught:
        stacked(row_blocks(path, encoding, size=100))
    assert caught.value.line == TEXTS.count("\n") + 1


def test_what_is_not_there_or_empty_says_so(tmp_path):
    path = tmp_path / "data.libsvm"
    path.write_text(LIBSVM)
    encoding = sx.read(path).encoding
    with pytest.raises(sx.DataError, match="did you mean"):
        stacked(row_blocks(tmp_path / "data.libsv", encoding))
    path.write_text(" \n")
    with pytest.raises(sx.DataError, match="empty"):
        stacked(row_blocks(path, encoding))
    with pytest.raises(sx.DataError, match=r"cannot be read|directory"):
        stacked(row_blocks(tmp_path / "data.libsvm" / "x", encoding))


def test_parquet_and_folders_are_read_whole(tmp_path):
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": [0, 1, 1]}), path)
    encoding = sx.read(path, target="y").encoding
    assert stacked(row_blocks(path, encoding))[0].tolist() == [[1.0], [2.0], [3.0]]
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "good.txt").write_text("a very good film\nquite good\n")
    (folder / "bad.txt").write_text("not a film\n")
    encoding = sx.read(folder).encoding
    assert len(stacked(row_blocks(folder, encoding))[1]) == 3


@pytest.mark.parametrize("size", [1, 64, 500, 1 << 20])
@pytest.mark.parametrize("groups", [1, 7, 100])
def test_parquet_comes_by_stretches_of_row_groups(tmp_path, size, groups):
    table = pa.table(
        {
            "age": pa.array([39, None, 50, 28] * 5),
            "job": pa.array(["cook", "clerk", None, "none"] * 5).dictionary_encode(),
            "label": ["yes", "no", "yes", "no"] * 5,
        }
    )
    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path, row_group_size=groups)
    encoding = sx.read(path).encoding
    whole = encoding.transform(path)
    X, y, count = stacked(row_blocks(path, encoding, size=size))
    assert (sp.csr_array(whole.X).toarray() == X).all()
    assert (y == whole.y).all()
    assert count > 1 or size > 64


def test_parquet_of_embeddings_comes_in_stretches(tmp_path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 2)
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"e": lists, "y": [0, 1] * 10}), path, row_group_size=6)
    encoding = sx.read(path).encoding
    X, y, count = stacked(row_blocks(path, encoding, size=64))
    assert X.tolist() == ROWS.tolist()
    assert y.tolist() == [0, 1] * 10
    assert count > 3


def test_a_damaged_parquet_file_is_named_where_it_breaks(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), path)
    encoding = sx.read(path).encoding
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(sx.DataError, match=r"rows.parquet.*damaged"):
        list(row_blocks(path, encoding))
    parquet.write_table(pa.table({"a": [], "y": []}), path)
    with pytest.raises(sx.DataError, match="no rows"):
        list(row_blocks(path, encoding))


@pytest.mark.parametrize("size", [1, 17, 1 << 20])
@pytest.mark.parametrize("ending", ["npy", "npz", "safetensors", "npy.gz"])
def test_arrays_come_in_stretches(tmp_path, monkeypatch, size, ending):
    from fuzz.reading import npy_bytes, npz_bytes, safetensors_bytes

    contents = {
        "npy": npy_bytes(ROWS),
        "npz": npz_bytes(np.savez, X=ROWS, y=np.arange(20) % 2),
        "safetensors": safetensors_bytes(X=("F32", ROWS), y=("I64", np.arange(20) % 2)),
        "npy.gz": gzip.compress(npy_bytes(ROWS)),
    }[ending]
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(contents)
    (tmp_path / "y.txt").write_text("0\n1\n" * 10)
    encoding = sx.read(path, labels=tmp_path / "y.txt").encoding
    labels = tmp_path / "y.txt" if "npy" in ending else None
    X, y, count = stacked(row_blocks(path, encoding, labels=labels, size=size))
    assert X.tolist() == ROWS.tolist()
    assert y.tolist() == [0, 1] * 10
    assert count == (20 if size == 1 else 10 if size == 17 else 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(contents)))
    assert stacked(row_blocks("-", encoding, size=size))[0].tolist() == ROWS.tolist()


def test_a_row_that_is_no_number_is_named_in_whatever_stretch(tmp_path):
    broken = ROWS.copy()
    broken[13, 1] = np.nan
    np.save(tmp_path / "rows.npy", broken)
    np.savez(tmp_path / "train.npz", X=ROWS, y=np.arange(20) % 2)
    encoding = sx.read(tmp_path / "train.npz").encoding
    with pytest.raises(sx.DataError, match="row 13, column 1"):
        list(row_blocks(tmp_path / "rows.npy", encoding, size=32))
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(sx.DataError, match="labels"):
        list(row_blocks(tmp_path / "a.csv", encoding, labels=tmp_path / "rows.npy"))


def test_parquet_does_not_stay_in_memory(tmp_path):
    path = tmp_path / "rows.parquet"
    draw = np.random.default_rng(0)
    columns = {"a": draw.normal(size=400_000), "y": draw.integers(0, 2, size=400_000)}
    parquet.write_table(pa.table(columns), path, row_group_size=20_000)
    encoding = sx.read(pa.table(columns).slice(0, 100)).encoding
    before, most = pa.total_allocated_bytes(), 0
    for block in row_blocks(path, encoding, size=1 << 16):
        most = max(most, pa.total_allocated_bytes() - before)
        assert block.X.shape[0] <= 4096
    assert most < path.stat().st_size / 4


@pytest.mark.parametrize("size", [1, 600, 2000, 1 << 20])
@pytest.mark.parametrize("names", [["a", "b"], [0, 1]])
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_rows_that_have_a_label_have_it_wherever_a_file_is_cut(size, names, ending, tmp_path):
    """Labels that first appear late, and some that are absent between."""
    rows = [{"x": float(k), "y": names[k % 2]} for k in range(40)]
    trained = tmp_path / "trained.jsonl"
    trained.write_text("\n".join(map(json.dumps, rows)))
    there = [k >= 23 and k % 5 > 0 for k in range(40)]
    path = tmp_path / f"later.{ending}"
    if ending == "jsonl":
        kept = [row if label else {"x": row["x"]} for row, label in zip(rows, there, strict=True)]
        path.write_text("\n".join(map(json.dumps, kept)))
    else:
        lines = [
            f"{r['x']},{r['y'] if label else ''}" for r, label in zip(rows, there, strict=True)
        ]
        path.write_text("\n".join(["x,y", *lines]))
    found = []
    for block in row_blocks(path, sx.read(trained, target="y").encoding, size=size):
        labels = block.y.astype(str).tolist() if len(block.y) else [""] * block.X.shape[0]
        assert len(labels) == block.X.shape[0]
        found += labels
    assert found == [str(names[k % 2]) if label else "" for k, label in enumerate(there)]
