"""Files that are written: whole or not at all, whatever the disk or a neighbour does."""

import errno
import json
import os
import resource
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fuzz import kills
from tests.amounts import COMPILED_ONLY, cases
from tests.cli.command import separatrix

import separatrix as sx
from separatrix._write_aside import create_whole, write_whole
from separatrix.plots._drawing import written_aside

X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
KERNEL, LINEAR = sx.KernelSVM().fit(X, Y), sx.LinearSVM().fit(X, Y)
WRITERS = {
    "sx": lambda path: sx.save(LINEAR, path),
    "liblinear": lambda path: sx.exchange.write_liblinear(LINEAR, path),
    "libsvm": lambda path: sx.exchange.write_libsvm_model(KERNEL, path),
    "onnx": lambda path: sx.exchange.write_onnx(KERNEL, path),
    "csv": lambda path: sx.exchange.write_coefficients(LINEAR, path),
}


def names(folder):
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("call", ["os.fsync", "os.replace", "os.fdopen"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_an_error_of_the_disk_leaves_the_old_file(writer, call, number, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(call, fail)
    with pytest.raises(OSError, match=os.strerror(number)):
        WRITERS[writer](path)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]
    WRITERS[writer](path)
    assert path.read_bytes() != b"old"


def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path):
    """The system itself refuses the bytes, in the middle of a piece."""
    path = tmp_path / "model.sx"
    sx.save(LINEAR, path)
    before = path.read_bytes()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            sx.save(KERNEL, path)
        except OSError as error:
            os._exit(0 if error.errno == errno.EFBIG else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == before
    assert names(tmp_path) == ["model.sx"]


def limited(size, *words, cwd):
    """Run the command line in a child that may write files of so many bytes: code, and words."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            done = separatrix(*words, cwd=cwd)
            os.write(writer, json.dumps([done.returncode, done.stderr]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        found = told.read()
    os.waitpid(child, 0)
    return json.loads(found)


@pytest.mark.long
def test_a_full_disk_while_a_stream_writes_its_checkpoint(tmp_path):
    """One plain error; the last checkpoint stands, and the next run goes on from it."""
    rng = np.random.default_rng(0)
    lines = [f"{k % 2} 1:{rng.normal():.3f} 2:{k % 2 + rng.normal():.3f}\n" for k in range(400)]
    data, calm = tmp_path / "rows.libsvm", tmp_path / "calm"
    stream = ["stream", "-m", "model.sx", "../rows.libsvm", "-q", "--checkpoint", "0"]
    folder = tmp_path / "disturbed"
    for place in (calm, folder):
        place.mkdir()
        for count in (200, 400) if place is calm else (200,):
            data.write_text("".join(lines[:count]))
            assert separatrix(*stream, cwd=place).returncode == 0
    data.write_text("".join(lines))
    before = (folder / "model.sx").read_bytes()
    code, words = limited(len(before) // 2, *stream, cwd=folder)
    assert code == 3
    assert words.startswith("separatrix: model.sx: the model could not be written: File too large.")
    assert (folder / "model.sx").read_bytes() == before
    assert names(folder) == ["model.sx"]
    assert separatrix(*stream, cwd=folder).returncode == 0
    assert (folder / "model.sx").read_bytes() == (calm / "model.sx").read_bytes()


def test_a_full_disk_itself(tmp_path):
    """A file system of 64 kB, where one may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("only root may mount a file system: `sudo make test-all`")
    try:
        path = disk / "model.sx"
        sx.save(LINEAR, path)
        before = path.read_bytes()
        large = sx.LinearSVM().fit(np.random.default_rng(0).normal(size=(40, 4000)), [0, 1] * 20)
        with pytest.raises(OSError, match="No space left"):
            sx.save(large, path)
        assert path.read_bytes() == before
        assert names(disk) == ["model.sx"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_that_cannot_be_written_to_is_one_plain_error(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(OSError, match="file"):
        sx.save(LINEAR, blocked / "model.sx")


def test_many_writers_of_one_name_take_turns(tmp_path):
    """Two that wrote the same name at once once took each other's half-written file."""
    path = tmp_path / "model.sx"
    contents = [bytes([k]) * (200_000 + k) for k in range(8)]

    def write(k):
        for _ in cases(25):
            write_whole(path, [contents[k][:1000], contents[k][1000:]])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["model.sx"]


def test_a_half_file_of_a_killed_writer_is_taken_over(tmp_path):
    path = tmp_path / "model.sx"
    path.with_name("model.sx.part").write_bytes(b"half" * 9999)
    write_whole(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert names(tmp_path) == ["model.sx"]


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_link_under_the_name_aside_is_not_written_through(link, tmp_path):
    """Whoever can write in the folder could once have any file of the user overwritten."""
    victim, path = tmp_path / "victim", tmp_path / "model.sx"
    victim.write_bytes(b"precious")
    link(victim, tmp_path / "model.sx.part")
    write_whole(path, b"whole")
    assert victim.read_bytes() == b"precious"
    assert path.read_bytes() == b"whole"
    assert not path.is_symlink()
    assert names(tmp_path) == ["model.sx", "victim"]


def test_a_link_to_nothing_under_the_name_aside_makes_no_file(tmp_path):
    (tmp_path / "model.sx.part").symlink_to(tmp_path / "elsewhere")
    write_whole(tmp_path / "model.sx", b"whole")
    assert names(tmp_path) == ["model.sx"]


def test_a_pipe_under_the_name_aside_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.sx.part")
    write_whole(tmp_path / "model.sx", b"whole")
    assert names(tmp_path) == ["model.sx"]


def test_a_link_put_there_between_two_looks_is_not_followed(tmp_path, monkeypatch):
    """The half of a killed writer becomes a link after it was looked at."""
    victim, aside = tmp_path / "victim", tmp_path / "model.sx.part"
    victim.write_bytes(b"precious")
    aside.write_bytes(b"half")
    look = os.lstat

    def look_and_exchange(path, **keywords):
        found = look(path, **keywords)
        if os.fspath(path) == os.fspath(aside) and not aside.is_symlink():
            aside.unlink()
            aside.symlink_to(victim)
            monkeypatch.setattr(os, "lstat", look)
        return found

    monkeypatch.setattr(os, "lstat", look_and_exchange)
    write_whole(tmp_path / "model.sx", b"whole")
    assert victim.read_bytes() == b"precious"
    assert names(tmp_path) == ["model.sx", "victim"]


def test_pictures_and_seals_are_not_written_through_links(tmp_path):
    """Their names aside could be guessed too."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for name in (".picture.svg.part.svg", f"seal.{os.getpid()}.part"):
        (tmp_path / name).symlink_to(victim)
    with written_aside(tmp_path / "picture.svg") as aside:
        aside.write_bytes(b"picture")
    create_whole(tmp_path / "seal", b"seal")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "picture.svg").read_bytes() == b"picture"
    assert (tmp_path / "seal").read_bytes() == b"seal"


@pytest.mark.long
def test_thirty_kills_while_saving():
    told = kills.run({"save": 30}, seed=3, say=lambda *_, **__: None)
    assert told["save"]["kills"] >= 30


@pytest.mark.long
@COMPILED_ONLY
def test_five_kills_of_a_stream():
    told = kills.run({"stream": 5}, seed=3, say=lambda *_, **__: None)
    assert told["stream"]["kills"] >= 5
