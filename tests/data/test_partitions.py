"""Files to blocks: read back the same, gone on with after an interruption, faults named."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.sparse as sp

import separatrix as sx
from separatrix.data import partitions
from separatrix.data.partitions import bytes_of, open_partitions
from separatrix.data.readers.libsvm import write_libsvm


def rows(n=120, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.2)
    X[0, d - 1] = 1.0
    return sp.csr_matrix(X), rng.integers(0, 2, n)


def together(handle):
    blocks = list(handle.blocks())
    return sp.vstack([X for X, _ in blocks]).toarray(), np.concatenate([y for _, y in blocks])


def test_rows_come_back_as_they_were_whatever_the_size_of_a_piece(tmp_path, monkeypatch):
    X, y = rows()
    write_libsvm(tmp_path / "a.libsvm", X, y)
    for step in (1, 1000, 1 << 20):
        monkeypatch.setattr(partitions, "_MOST_STEP", step)
        monkeypatch.setattr(partitions, "_LEAST_STEP", step)
        handle = open_partitions(tmp_path / "a.libsvm", cache=tmp_path / f"cache-{step}")
        back, codes = together(handle)
        assert (back == X.toarray()).all()
        assert (codes == y).all()
        assert handle.counts().tolist() == np.bincount(y).tolist()
    assert len(handle.stored) == 1


def test_a_conversion_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    X, y = rows()
    write_libsvm(tmp_path / "a.libsvm", X, y)
    monkeypatch.setattr(partitions, "_MOST_STEP", 2000)
    monkeypatch.setattr(partitions, "_LEAST_STEP", 2000)
    real, made = partitions.write_block, []

    def interrupted(folder, number, X, y):
        if number == 3:
            raise KeyboardInterrupt
        made.append(number)
        return real(folder, number, X, y)

    monkeypatch.setattr(partitions, "write_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_partitions(tmp_path / "a.libsvm")
    folders = [path for path in (tmp_path / ".separatrix").iterdir() if path.is_dir()]
    assert [path.suffix for path in folders] == [".part"]
    monkeypatch.setattr(
        partitions, "write_block", lambda *told: (made.append(told[1]), real(*told))[1]
    )
    handle = open_partitions(tmp_path / "a.libsvm")
    assert made == list(range(len(handle.stored)))
    assert (together(handle)[0] == X.toarray()).all()


def test_a_file_that_changed_is_converted_anew(tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text("+1 1:1\n-1 1:2\n")
    assert open_partitions(path).n_rows == 2
    path.write_text("+1 1:1\n-1 1:2\n-1 2:5\n")
    assert open_partitions(path).shape == (3, 2)


def test_compressed_text_and_counting_from_zero(tmp_path):
    with gzip.open(tmp_path / "a.gz", "wt") as file:
        file.write("+1 1:1 2:3\n-1 2:2\n")
    (tmp_path / "b.libsvm").write_text("-1 0:7\n")
    handle = open_partitions(tmp_path)
    assert together(handle)[0].tolist() == [[0, 1, 3], [0, 0, 2], [7, 0, 0]]
    assert handle.feature_names[0] == "0"


def test_labels_of_all_files_are_numbered_together(tmp_path):
    (tmp_path / "a.libsvm").write_text("spam 1:1\n")
    (tmp_path / "b.libsvm").write_text("ham 1:2\neggs 1:3\n")
    handle = open_partitions(tmp_path)
    assert handle.classes.tolist() == ["eggs", "ham", "spam"]
    assert together(handle)[1].tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("name", "contents", "sentence"),
    [
        ("a.libsvm", b"+1 1:1\n-1 2:oops\n", "line 2"),
        ("a.npz", b"not a zip", "cannot be read"),
        ("a.parquet", b"PAR1 not really", "cannot be read"),
        ("a.libsvm", b"\n\n", "no rows"),
        ("a.xz", b"\xfd7zXZ\x00 broken", "cannot be read"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, contents, sentence):
    (tmp_path / name).write_bytes(contents)
    with pytest.raises(sx.DataError, match=sentence) as error:
        open_partitions(tmp_path, target="y")
    assert name in str(error.value)


def test_what_an_npz_lacks_is_said(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(2))
    with pytest.raises(sx.DataError, match="this one holds X"):
        open_partitions(tmp_path)
    np.savez(tmp_path / "a.npz", X=np.array([[np.nan]]), y=[1])
    with pytest.raises(sx.DataError, match="finite"):
        open_partitions(tmp_path)


def test_other_faults(tmp_path):
    with pytest.raises(sx.DataError, match="missing"):
        open_partitions([tmp_path / "nowhere"])
    with pytest.raises(sx.DataError, match="no files"):
        open_partitions(tmp_path)
    (tmp_path / "a.libsvm").write_text("1 1:1\n")
    np.savez(tmp_path / "b.npz", X=np.eye(2), y=[0, 1])
    with pytest.raises(sx.DataError, match="one kind"):
        open_partitions(tmp_path)
    with pytest.raises(sx.DataError, match="1GB"):
        bytes_of("much")


@pytest.mark.parametrize("which", ["home", "blocks", "half"])
def test_a_link_in_the_place_of_blocks_is_not_followed(tmp_path, which):
    """Whoever supplied the data chose which files were overwritten."""
    data, victim = tmp_path / "data", tmp_path / "victim"
    data.mkdir()
    victim.mkdir()
    write_libsvm(data / "a.libsvm", *rows())
    open_partitions(data)
    home = data / ".separatrix"
    made = next(each for each in home.iterdir() if each.is_dir())
    place = {"home": home, "blocks": made, "half": made.with_name(made.name + ".part")}[which]
    made.rename(tmp_path / "away")
    (victim / "block-00000.bin").write_bytes(b"precious")
    if which == "home":
        home.rename(tmp_path / "home")
    place.symlink_to(victim, target_is_directory=True)
    with pytest.raises(sx.DataError, match="no folder of yours"):
        open_partitions(data)
    assert [each.name for each in victim.iterdir()] == ["block-00000.bin"]
    assert (victim / "block-00000.bin").read_bytes() == b"precious"
