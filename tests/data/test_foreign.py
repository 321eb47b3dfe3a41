"""A file of a format that is not read here is named in one sentence, whatever its name says."""

import gzip
import io
import pickle
import sqlite3
import tarfile
import zipfile

import pytest

import separatrix as sx
from separatrix.data.row_blocks import row_blocks


def tar(mode):
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode=mode) as archive:
        member = tarfile.TarInfo("a.csv")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"a,b\n"))
    return sink.getvalue()


def zipped(*names):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names:
            archive.writestr(name, b"a,b\n1,2\n")
    return sink.getvalue()


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (a)")
    connection.close()
    return path.read_bytes()


CASES = {
    "a tar archive": tar("w"),
    "a tar archive, compressed (.gz)": tar("w:gz"),
    "a zip archive of 'a.csv'": zipped("a.csv"),
    "a PyTorch file": zipped("model/data.pkl"),
    "a Word document": zipped("word/document.xml"),
    "an OpenDocument file": zipped("mimetype", "content.xml"),
    "a Python pickle": pickle.dumps({"a": [1]}),
    "an HDF5 file": b"\x89HDF\r\n\x1a\n" + bytes(100),
    "a PDF document": b"%PDF-1.4\n1 0 obj\n",
    "an HTML page": b"\n<!DOCTYPE html>\n<html><body>404</body></html>",
    "an XML file": b'<?xml version="1.0"?><a/>',
    "an old Excel (.xls)": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
    "an R data file": gzip.compress(b"RDX3\nX\n" + bytes(50)),
    "a PNG image": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
}


@pytest.mark.parametrize("name", ["data", "data.csv", "data.arff"])
@pytest.mark.parametrize("words", CASES)
def test_what_is_not_read_is_named(tmp_path, words, name):
    path = tmp_path / name
    path.write_bytes(CASES[words])
    encoding = sx.read(_plain(tmp_path), "y").encoding
    for reading in (lambda: sx.read(path), lambda: list(row_blocks(path, encoding))):
        with pytest.raises(sx.DataError) as caught:
            reading()
        assert f"this is {words}" in str(caught.value)
        assert "not read here; " in str(caught.value)
        assert caught.value.file == str(path)


def test_a_database_is_named(tmp_path):
    database(tmp_path / "data.db")
    with pytest.raises(sx.DataError, match="an SQLite database"):
        sx.read(tmp_path / "data.db")


def _plain(folder):
    path = folder / "plain.csv"
    path.write_text("a,y\n1,n\n2,p\n3,n\n")
    return path


@pytest.mark.parametrize("address", ["https://example.org/a.csv", "s3://bucket/a.csv"])
def test_an_address_is_not_fetched(address):
    with pytest.raises(sx.DataError, match=r"an address \(URL\), and nothing is fetched"):
        sx.read(address)
    with pytest.raises(sx.DataError, match=r"an address \(URL\)"):
        list(row_blocks(address, _Any()))


class _Any:
    target = None


@pytest.mark.parametrize(
    "text",
    [
        b"class,x\na,1\nb,2\na,3\n",
        b"ORC,y\n1,a\n2,b\n",
        b"x,y\nPK,a\nPL,b\n",
        b"GIF8,y\n1,a\n2,b\n",
    ],
)
def test_tables_that_begin_like_other_formats_are_tables(tmp_path, text):
    (tmp_path / "x.csv").write_bytes(text)
    assert sx.read(tmp_path / "x.csv").kind == "csv"


def test_one_column_is_no_pickle(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"class\na\nb\na\n")
    with pytest.raises(sx.DataError, match="no column of features"):
        sx.read(tmp_path / "x.csv")


def test_folders_of_pages_are_texts_still(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        for number in range(3):
            page = f"<html><body>page {number} of class {name}</body></html>"
            (tmp_path / name / f"{number}.html").write_text(page)
    assert sx.read(tmp_path).classes.tolist() == ["a", "b"]
