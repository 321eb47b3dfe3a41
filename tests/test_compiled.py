"""Nothing about the cache on disk can break a call: each trouble is really made, then met."""

import copy
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

from separatrix import _machine_code
from separatrix._compiled import inlined, is_interpreted, prefetch
from tests.amounts import ALL

FIT = """
import sys
import numpy as np
from separatrix._machine_code import cache_home
from separatrix.problem.losses import value
{before}
assert value(0, 0.25) == 0.75
assert value.stats.cache_hits[next(iter(value.stats.cache_hits))] if {hit} else True
print("ok", sum(value.stats.cache_hits.values()), sum(value.stats.cache_misses.values()))
"""

compiled_only = pytest.mark.skipif(
    is_interpreted(), reason="loops are interpreted in this run: there is no cache"
)


def fit(home, before="", hit=False, **variables):
    environment = {**os.environ, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("XDG_CACHE_HOME", None)
    environment.pop("SEPARATRIX_CACHE_DIR", None)
    run = subprocess.run(
        [sys.executable, "-c", FIT.format(before=before, hit=hit)],
        env={**environment, **{k: str(v) for k, v in variables.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    word, hits, misses = run.stdout.split()
    assert word == "ok"
    return int(hits), int(misses)


def cache_files(home):
    return sorted((home / ".cache" / "separatrix").rglob("*.nb*"))


@compiled_only
def test_the_second_process_compiles_nothing(tmp_path):
    assert fit(tmp_path) == (0, 1)
    assert cache_files(tmp_path)
    assert fit(tmp_path, hit=True) == (1, 0)


# `least_loss` is written to a file of its own: machine code of what has no file is not kept.
OUTER = """
import sys
from separatrix._compiled import compiled
from separatrix.problem.losses import value
sys.path.insert(0, {folder!r})
assert value(0, 0.25) == 0.75
lean = "numba.np.linalg" not in sys.modules
from outer import least_loss
assert least_loss(0) == 0.0
print("ok", int(lean), sum(value.stats.cache_hits.values()))
"""


@compiled_only
def test_kept_machine_code_needs_no_compiler_and_goes_into_new_loops(tmp_path):
    (tmp_path / "outer.py").write_text(
        """
from separatrix._compiled import compiled
from separatrix.problem.losses import value

@compiled
def least_loss(code):
    least = 1e300
    for step in range(8):
        least = min(least, value(code, step - 2.0))
    return least
"""
    )
    fit(tmp_path)
    environment = {**os.environ, "SEPARATRIX_CACHE_DIR": str(tmp_path / ".cache" / "separatrix")}
    for _ in range(2):  # the second time both loops are kept
        run = subprocess.run(
            [sys.executable, "-c", OUTER.format(folder=str(tmp_path))],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.stdout.split()[:2] == ["ok", "1"], run.stdout + run.stderr


@pytest.mark.long
@compiled_only
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut", "empty", "altered", "garbage"] if ALL else ["cut"])
def test_a_damaged_cache_file_is_a_miss(tmp_path, ending, damage):
    fit(tmp_path)
    for path in cache_files(tmp_path):
        if path.suffix == f".{ending}":
            data = bytearray(path.read_bytes())
            if damage == "cut":
                data = data[: len(data) // 2]
            elif damage == "empty":
                data = bytearray()
            elif damage == "altered":
                data[len(data) // 2] ^= 0xFF
            else:
                data = bytearray(b"\x80\x05garbage" * 20)
            path.write_bytes(bytes(data))
    assert fit(tmp_path) == (0, 1)
    assert fit(tmp_path) == (1, 0), "the damaged file has been replaced by a good one"


@pytest.mark.long
@compiled_only
def test_a_home_that_cannot_be_written_to(tmp_path):
    """A file stands where the folder should be: not even root can write there."""
    (tmp_path / ".cache").write_text("not a folder")
    assert fit(tmp_path) == (0, 1)
    assert fit(tmp_path / "does" / "not" / "exist", HOME="/proc/nowhere") == (0, 1)


@pytest.mark.long
@compiled_only
def test_a_read_only_home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o500)
    try:
        if os.geteuid() != 0:
            assert fit(home) == (0, 1)
            assert not cache_files(home)
        else:
            # Root may write anywhere, so the file system itself must refuse.
            assert fit(home, HOME="/proc/self/task") == (0, 1)
    finally:
        home.chmod(0o700)


@pytest.mark.long
@compiled_only
def test_a_full_disk(tmp_path):
    """Every write of more than nothing fails: the limit on file size is the disk's end."""
    before = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""
    assert fit(tmp_path, before) == (0, 1)
    assert not [path for path in cache_files(tmp_path) if path.stat().st_size]
    assert fit(tmp_path) == (0, 1)
    assert fit(tmp_path) == (1, 0)


@compiled_only
def test_edited_sources_have_another_cache(tmp_path, monkeypatch):
    package = tmp_path / "separatrix"
    shutil.copytree(_machine_code._PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(_machine_code, "_PACKAGE", package)
    first = _machine_code.source_stamp()
    stamps = {first}
    for name in ("problem/rows.py", "solvers/linear/blocks/passes.py", "infer/loops.py"):
        edited = package / name
        edited.write_text(edited.read_text() + "\n# edited\n")
        stamps.add(_machine_code.source_stamp())
    assert len(stamps) == 4, "an edit in a folder inside another counts too"
    last = package / "solvers" / "zy"
    last.mkdir()
    (last / "loop.py").write_text("")
    stamps.add(_machine_code.source_stamp())
    last.rename(last.with_name("zz"))
    stamps.add(_machine_code.source_stamp())
    assert len(stamps) == 6, "so does the folder that a file is in"
    monkeypatch.setattr(_machine_code.numba.config, "BOUNDSCHECK", 1)
    stamps.add(_machine_code.source_stamp())
    assert len(stamps) == 7, "so does whether loops check every index"


def test_every_folder_with_loops_counts():
    package = _machine_code._PACKAGE
    holding = {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if path.parent != package and "\n@compiled" in path.read_text()
    }
    assert holding <= set(_machine_code._FOLDERS_WITH_LOOPS)


def test_old_versions_are_forgotten(tmp_path):
    new, old, kept, mixed = ("0" * 15 + digit for digit in "1234")
    for name in (new, old, kept, mixed, "photos"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "loop.nbi").write_text("x")
    (tmp_path / mixed / "mine.txt").write_text("x")
    for name in (old, kept, mixed, "photos"):
        os.utime(tmp_path / name, (0, 0))
    _machine_code._forget_old_versions(tmp_path, kept=kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == [new, kept, mixed, "photos"]
    assert [path.name for path in (tmp_path / mixed).iterdir()] == ["mine.txt"]
    assert (tmp_path / "photos" / "loop.nbi").exists()


def test_the_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("SEPARATRIX_CACHE_DIR", str(tmp_path))
    assert _machine_code.cache_home() == tmp_path
    monkeypatch.delenv("SEPARATRIX_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert _machine_code.cache_home() == tmp_path / "x" / "separatrix"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert _machine_code.cache_home() == tmp_path / "home" / ".cache" / "separatrix"


@compiled_only
def test_loops_cost_nothing_until_one_runs():
    told = """
import sys
from separatrix.problem.losses import value
assert "numba" not in sys.modules
value(0, 0.25)
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-c", told], check=True)


def test_a_loop_travels_by_its_name():
    from separatrix.problem.losses import value

    assert pickle.loads(pickle.dumps(value)) is value
    assert copy.deepcopy(value) is value


def test_little_work_is_done_in_python():
    """Without numba, to the same bits: the numbers of a small file, read by loops that call others.

    Both ways run in processes of their own, since numba once loaded is used for any work.
    """
    told = """
import sys
import numpy as np
from separatrix.data.sources.streams import Source
from separatrix.data.readers.delimited import read_grid
from separatrix.data.readers.libsvm import parse_libsvm
{before}
rng = np.random.default_rng(0)
values = rng.normal(size=(60, 3)) * 10.0 ** rng.integers(-300, 300, size=(60, 3))
lines = [",".join(repr(v) for v in row) for row in values.tolist()]
lines += ["123456789012345678901234567890,1e-400,word", ",-0.5, 7 "]
read, words, _ = read_grid(Source("x", "\\n".join(lines).encode(), "", "", ""), ",", 3, 0)
rows = [" ".join(["1", *(f"{{k + 1}}:{{v!r}}" for k, v in enumerate(r))]) for r in values.tolist()]
sparse = parse_libsvm(Source("x", "\\n".join(rows).encode(), "", "", ""))
assert np.array_equal(read[:60], values) and np.array_equal(sparse.X.toarray(), values)
print(read.tobytes().hex(), words, sparse.X.data.tobytes().hex(), "numba" in sys.modules)
"""
    compiled = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    runs = []
    for before in ("", "import numba"):
        command = [sys.executable, "-c", told.format(before=before)]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=compiled)
        runs.append(run.stdout.split())
    assert [run.pop() for run in runs] == ["False", "True"]
    assert runs[0] == runs[1]


@compiled_only
def test_any_place_may_be_prefetched_and_nothing_changes():
    """Also beyond the end, where a loop that looks ahead may point."""

    @inlined  # without a file of machine code
    def total(values, places):
        result = 0.0
        for place in places:
            prefetch(values, place)
            prefetch(values, place + 10**6)
            result += values[place]
        return result

    values = np.arange(10.0)
    places = np.array([9, 0, 3], dtype=np.uint32)
    assert total(values, places) == 12.0
    assert (values == np.arange(10.0)).all()
    assert "prefetch" in "".join(total.dispatcher.inspect_llvm().values())
