import bz2
import gzip
import hashlib
import io
import lzma
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import separatrix as sx
from separatrix._write_aside import write_whole
from separatrix.data.sources import progress, streams
from separatrix.data.sources.streams import line_and_column, open_pieces, open_source

ROWS = b"".join(b"%+d 1:%d 2:0.5\n" % (1 - 2 * (row % 2), row) for row in range(200))


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_files_read_as_plain_ones(tmp_path, ending):
    packed = PACKERS[ending](ROWS)
    path = tmp_path / f"rows.libsvm{ending}"
    path.write_bytes(packed)
    source = open_source(path)
    assert source.data == ROWS
    assert (source.suffix, source.compression) == (".libsvm", ending)
    assert source.sha256 == hashlib.sha256(packed).hexdigest()
    assert sx.read(path).X.shape == (200, 2)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_members_one_after_another(tmp_path, ending):
    path = tmp_path / f"rows{ending}"
    path.write_bytes(PACKERS[ending](ROWS) + PACKERS[ending](ROWS))
    assert open_source(path).data == ROWS * 2


@pytest.mark.parametrize("ending", PACKERS)
def test_a_bomb_is_refused(tmp_path, ending):
    path = tmp_path / f"bomb{ending}"
    path.write_bytes(PACKERS[ending](bytes(40 << 20)))
    with pytest.raises(sx.DataError, match="max_bytes"):
        open_source(path)
    with pytest.raises(sx.DataError, match="1,000 bytes"):
        open_source(path, max_bytes=1000)
    if ending == ".gz":
        assert len(open_source(path, max_bytes=50 << 20).data) == 40 << 20


@pytest.mark.parametrize("ending", PACKERS)
def test_damage_is_named(tmp_path, ending):
    packed = PACKERS[ending](ROWS)
    path = tmp_path / f"rows{ending}"
    for cut in (7, len(packed) // 2, len(packed) - 2):
        path.write_bytes(packed[:cut])
        with pytest.raises(sx.DataError, match=r"damaged|empty"):
            sx.read(path)


def test_an_xz_header_cannot_ask_for_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "XZ_MEMORY", 1 << 20)
    path = tmp_path / "rows.xz"
    path.write_bytes(lzma.compress(ROWS, preset=9))
    with pytest.raises(sx.DataError, match="damaged"):
        open_source(path)


def test_several_xz_streams_in_one_file_are_read_whole_and_by_pieces(tmp_path):
    path = tmp_path / "rows.xz"
    path.write_bytes(lzma.compress(ROWS) + bytes(8) + lzma.compress(ROWS) + bytes(4))
    assert open_source(path).data == ROWS + ROWS
    with open_pieces(path) as pieces:
        assert pieces.rest() == ROWS + ROWS


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(ROWS))))
    table = sx.read("-")
    assert (table.source, table.X.shape) == ("standard input", (200, 2))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROWS)))
    with pytest.raises(sx.DataError, match="max_bytes"):
        sx.read("-", max_bytes=10)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "heart.libsvm").write_bytes(ROWS)
    with pytest.raises(sx.DataError, match=r"did you mean '.*heart\.libsvm'"):
        sx.read(tmp_path / "hart.libsvm")
    with pytest.raises(sx.DataError, match="check the path"):
        sx.read(tmp_path / "nowhere" / "x")
    with pytest.raises(sx.DataError, match="allowed"):
        sx.read(tmp_path / "heart.libsvm", max_bytes=10)
    with pytest.raises(sx.DataError, match="cannot be read"):
        open_source(tmp_path)


@given(st.binary(max_size=60), st.data())
def test_places_are_counted_in_lines(data, draw):
    at = draw.draw(st.integers(0, len(data)))
    lines = data[:at].split(b"\n")
    assert line_and_column(data, at) == (len(lines), len(lines[-1]) + 1)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_appears_on_a_terminal_after_a_while(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.Progress("Reading", 10) as quick:
        quick.advance(5)
    assert not quick.shown
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    with progress.Progress("Reading", 10) as slow:
        slow.advance(5)
    assert slow.shown
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.Progress("Reading", 10) as silent:
        silent.advance(5)
    assert not silent.shown


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"before")

    def failing():
        yield b"half"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_whole(path, failing())
    assert path.read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_error_of_hashing_reaches_who_asks_for_the_digest(tmp_path, monkeypatch):
    file = tmp_path / "large.csv"
    file.write_bytes(b"a,b\n" + b"1,2\n" * (1 << 18))

    def broken(_):
        raise MemoryError("no room")

    monkeypatch.setattr("separatrix.data.sources.streams.hashlib.sha256", broken)
    source = open_source(str(file))
    assert source.digest is not None
    with pytest.raises(MemoryError, match="no room"):
        source.digest.result(timeout=10)
