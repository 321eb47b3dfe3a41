"""Input that may have no end is refused before it fills the memory; pipes are read."""

import io
import os
import resource
import sys
import threading
from types import SimpleNamespace

import pytest

import separatrix as sx
from separatrix.data.sources import streams
from tests.amounts import COMPILED_ONLY
from tests.cli.command import separatrix as run

ROWS = b"x,class\n0,a\n1,a\n2,b\n3,b\n"


@pytest.fixture
def model(tmp_path):
    data, path = tmp_path / "data.csv", tmp_path / "model.sx"
    data.write_bytes(ROWS)
    table = sx.read(data, target="class")
    sx.save(sx.LinearSVM().fit(table.X, table.y), path, table=table)
    return path


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_a_device_is_refused_at_once(device, model):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for words in (
        ("separable", device),
        ("fit", device),
        ("predict", "-m", model, device),
        ("verify", model, device),
        ("verify", device, device),
        ("stream", "-m", model.with_name("new.sx"), device, "--kind", "libsvm", "-q"),
    ):
        told = run(*words)
        assert told.returncode == 3, words
        assert f"{device}: this is a device" in told.stderr
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


def test_a_device_as_standard_input_is_refused(monkeypatch):
    with open("/dev/zero", "rb") as device:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=device))
        told = run("separable", "-")
    assert told.returncode == 3
    assert "standard input: this is a device" in told.stderr


def test_a_pipe_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(ROWS))
    writer.start()
    table = sx.read(pipe, target="class")
    writer.join()
    assert table.y.tolist() == ["a", "a", "b", "b"]


@COMPILED_ONLY
def test_contents_without_an_end_of_a_line_are_refused(monkeypatch, model):
    class Letters(io.RawIOBase):
        given = 0

        def readable(self):
            return True

        def readinto(self, room):
            room[:] = b"x" * len(room)
            Letters.given += len(room)
            return len(room)

    monkeypatch.setattr(streams, "LONGEST_LINE", 1 << 22)
    for words in (("separable", "-"), ("predict", "-m", model, "-", "--kind", "csv")):
        Letters.given = 0
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(Letters())))
        told = run(*words)
        assert told.returncode == 3, told.stderr
        assert told.stderr.startswith("separatrix: standard input")
        assert Letters.given < 1 << 25
        if words[0] == "separable":
            assert "there is no end of a line in 4 MB" in told.stderr
    pieces = streams.Pieces("a pipe", "", io.BufferedReader(Letters()), None)
    with pytest.raises(sx.DataError, match="a pipe: there is no end of a line in 4 MB"):
        pieces.take(1 << 20, lambda _: 0)


def test_lines_without_end_stop_at_half_of_the_memory(monkeypatch):
    class Lines(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, room):
            room[:] = (b"0,a\n" * (len(room) // 4 + 1))[: len(room)]
            return len(room)

    monkeypatch.setattr(streams, "_memory", lambda: 1 << 24)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(Lines())))
    told = run("separable", "-")
    assert told.returncode == 3
    assert "more than the 8,388,608 bytes allowed" in told.stderr
