"""Rows that do not fit memory: files converted once to blocks, and visited block by block.

A partition is converted to a folder named by the SHA-256 of its contents. The folder is written
under another name and renamed when it is whole; what an interrupted conversion left is gone on
with. A file that has the size and time it had is not looked through again.

A block is one file: values, then (CSR) column numbers and row starts, then a label number for every
row. What the file holds is written in the manifest of its folder, with a checksum.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._sparse import sparse
from separatrix._write_aside import write_whole
from separatrix.data.encodings.labels import Numbered
from separatrix.data.readers.partition_sources import kind_of, looked_through, pieces_of
from separatrix.errors import DataError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_MOST_STEP, _LEAST_STEP = 32 << 20, 1 << 20
_FORMAT = 1


def bytes_of(memory: str | float) -> int:
    """Return how many bytes a size is, as people write it.

    >>> bytes_of("1.5GB"), bytes_of("64 MiB"), bytes_of(1000)
    (1500000000, 67108864, 1000)
    """
    if not isinstance(memory, str):
        return int(memory)
    found = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)(i?)b?\s*", memory.lower())
    if found is None or found[1].count(".") > 1 or found[1] == ".":
        raise DataError(f"memory is a size such as '1GB' or '500MB'. Got {memory!r} instead.")
    unit = _BINARY.get(found[2], 1) if found[3] else _UNITS[found[2]]
    return int(float(found[1]) * unit)


@dataclass(frozen=True, eq=False)
class Partitions:
    """Rows on disk, in blocks: give it to ``LinearSVM.fit`` or ``LogisticRegression.fit``."""

    files: tuple[str, ...]
    stored: tuple[tuple[Path, StoredBlock], ...]
    n_features: int
    classes: np.ndarray
    memory: int
    zero_based: bool
    kind: str
    feature_names: Sequence[str]
    target: str | None = None
    checkpoint: str | None = None
    known: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(block.rows for _, block in self.stored)

    @property
    def n_entries(self) -> int:
        """The number of stored values."""
        return sum(block.entries for _, block in self.stored)

    @property
    def size(self) -> int:
        """The bytes of all blocks."""
        return sum(block.size for _, block in self.stored)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.n_rows, self.n_features

    def block(self, number: int) -> tuple[Any, np.ndarray]:
        """Return the rows of one block, mapped into memory, and their class numbers."""
        folder, block = self.stored[number]
        X, codes = open_block(folder, block, self.n_features)
        return X, self._numbering(block)[codes]

    def _numbering(self, block: StoredBlock) -> np.ndarray:
        """Return the class number of each label number of a block."""
        texts = self.classes.dtype.kind == "U"
        labels = [str(label) if texts else label for label in block.labels]
        return np.searchsorted(self.classes, labels)

    def blocks(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield all blocks in their order."""
        for number in range(len(self.stored)):
            yield self.block(number)

    def verify(self) -> None:
        """Raise, naming the file, if a block is missing or was altered; once for each handle."""
        if "verified" not in self.known:
            for folder, block in self.stored:
                verify_block(folder, block)
            self.known["verified"] = True

    def counts(self) -> np.ndarray:
        """Return how many rows each class has."""
        counts = np.zeros(len(self.classes), dtype=np.int64)
        for _, codes in self.blocks():
            counts += np.bincount(codes, minlength=len(counts))
        return counts

    def __repr__(self) -> str:
        return (
            f"Partitions({self.n_rows} rows x {self.n_features} features, "
            f"{len(self.stored)} blocks of {len(self.files)} files)"
        )


def open_partitions(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | None = None,
    *,
    memory: str | float = "1GB",
    cache: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Partitions:
    """Open a folder, a file or several files of rows that need not fit memory.

    Parameters
    ----------
    source : path or list of paths
        LIBSVM text (plain, .gz, .bz2, .xz), Parquet, or npz with ``X`` and ``y``, or ``data``,
        ``indices``, ``indptr``, ``shape`` and ``y``. Of a folder every file is taken, by name.
    target : str or None, default=None
        The column of labels in Parquet.
    memory : str or number, default="1GB"
        What conversion and training may use beyond the program itself.
    cache : path or None, default=None
        Where converted blocks are kept; None is ``.separatrix`` beside the data.
    checkpoint : path or None, default=None
        A file from which an interrupted fit resumes.

    Returns
    -------
    Partitions
        Rows on disk, in blocks: an argument of `fit` in place of X and y.

    See Also
    --------
    read : rows that fit in memory.
    LinearSVM : fits partitions; `LogisticRegression` does too.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "one.libsvm").write_text("+1 1:2\\n-1 2:1\\n")
    >>> _ = (folder / "two.libsvm").write_text("-1 1:-1 3:0.5\\n")
    >>> open_partitions(folder)
    Partitions(3 rows x 3 features, 2 blocks of 2 files)
    """
    paths = _listed(source)
    kinds = {kind_of(path) for path in paths}
    if len(kinds) > 1:
        raise DataError(f"partitions are of one kind; these are {', '.join(sorted(kinds))}")
    limit = bytes_of(memory)
    home = Path(cache) if cache is not None else paths[0].parent / ".separatrix"
    if cache is None:  # which anyone may have put there
        _require_own(home)
    facts = [_looked(path, home) for path in paths]
    zero_based = any(counts_from_zero for _, counts_from_zero in facts)
    step = min(_MOST_STEP, max(_LEAST_STEP, limit // 32))
    stored: list[tuple[Path, StoredBlock]] = []
    for path, (digest, _) in zip(paths, facts, strict=True):
        folder = _converted(path, home, digest, target, zero_based, step)
        stored += [(folder, block) for block in _blocks_in(folder)]
    width = _width_of(stored, str(paths[0]))
    kind = kinds.pop()
    return Partitions(
        files=tuple(map(str, paths)),
        stored=tuple(stored),
        n_features=width,
        classes=labels_in_common([block for _, block in stored]),
        memory=limit,
        zero_based=zero_based,
        kind=kind,
        feature_names=_names(kind, paths[0], target, width, zero_based),
        target=target,
        checkpoint=None if checkpoint is None else os.fspath(checkpoint),
    )


def _width_of(stored: list[tuple[Path, StoredBlock]], file: str) -> int:
    """Return how many features all blocks have; dense ones must agree."""
    if not stored:
        raise DataError("the partitions hold no rows", file=file)
    width = max(block.columns for _, block in stored)
    if width == 0:
        raise DataError(
            "there is not one feature in it; partitions are LIBSVM text (label index:value ...), "
            "Parquet or npz with X and y",
            file=file,
        )
    for folder, block in stored:
        if not block.sparse and block.columns != width:
            said = f"a partition has {block.columns} features and another {width}"
            raise DataError(said, str(folder))
    return width


def _names(
    kind: str, path: Path, target: str | None, width: int, zero_based: bool
) -> Sequence[str]:
    if kind != "parquet":
        return Numbered("", 0 if zero_based or kind == "npz" else 1, width)
    import pyarrow.parquet as pq

    return [name for name in pq.read_schema(path).names if name != target]


def _listed(source: Any) -> list[Path]:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.is_dir():
            paths = sorted(p for p in path.iterdir() if p.is_file() and p.name[0] not in "._")
            if not paths:
                raise DataError("the folder holds no files", file=str(path))
            return paths
        source = [path]
    paths = [Path(each) for each in source]
    if not paths:
        raise DataError("there are no partitions to open")
    for path in paths:
        if not path.is_file():
            raise DataError("the partition is missing", file=str(path))
    return paths


def _looked(path: Path, home: Path) -> tuple[str, bool]:
    """Look a file through, or remember what it held when it was as old and as long as now."""
    stat = path.stat()
    now = [path.name, stat.st_size, stat.st_mtime_ns]
    note = home / f"{path.name}.seen.json"
    try:
        kept = json.loads(note.read_text())
        if kept["file"] == now:
            return kept["sha256"], kept["counts_from_zero"]
    except (OSError, ValueError, KeyError):
        pass
    digest, counts_from_zero = looked_through(path)
    plain = {"file": now, "sha256": digest, "counts_from_zero": counts_from_zero}
    write_whole(note, json.dumps(plain).encode())
    return digest, counts_from_zero


def _converted(
    path: Path, home: Path, digest: str, target: str | None, zero_based: bool, step: int
) -> Path:
    """Return the folder of a partition's blocks, made now where it is not there."""
    how = f"{'z' if zero_based else 'o'}-{target or ''}"
    name = re.sub(r"[^\w.-]", "_", f"{digest[:32]}-{how}")
    folder, aside = home / name, home / f"{name}.part"
    _require_own(folder)
    if folder.is_dir():
        return folder
    aside.mkdir(parents=True, exist_ok=True)
    _require_own(aside)
    journal: dict[str, Any] = {"format": _FORMAT, "at": 0, "blocks": []}
    if (aside / "manifest.json").exists():
        journal = json.loads((aside / "manifest.json").read_text())
    for X, y, at in pieces_of(path, target, zero_based, journal["at"], step):
        block = write_block(aside, len(journal["blocks"]), X, y)
        journal["blocks"].append(block.to_dict())
        journal["at"] = at
        write_whole(aside / "manifest.json", json.dumps(journal).encode())
    if not journal["blocks"]:
        raise DataError("the partition holds no rows", file=str(path))
    os.replace(aside, folder)
    return folder


def _require_own(folder: Path) -> None:
    """Refuse anything but a folder of this user: a link would lead to files of someone else."""
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return
    mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    if not (stat.S_ISDIR(found.st_mode) and mine):
        raise DataError(
            "this is no folder of yours, and converted blocks would be kept in it: remove it",
            file=str(folder),
        )


def _blocks_in(folder: Path) -> list[StoredBlock]:
    try:
        plain = json.loads((folder / "manifest.json").read_text())
        return [StoredBlock.from_dict(block) for block in plain["blocks"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            "the manifest of converted blocks is damaged; delete the folder, and it is made again",
            file=str(folder),
        ) from None


# ---- blocks


@dataclass(frozen=True)
class StoredBlock:
    """What one block file holds; `labels` are the distinct labels that its numbers stand for."""

    file: str
    rows: int
    entries: int
    columns: int
    sparse: bool
    labels: tuple[Any, ...]
    crc: int

    @property
    def size(self) -> int:
        """The length of the file in bytes."""
        return _places(self)[-1]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**asdict(self), "labels": list(self.labels)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> StoredBlock:
        """Return the block that plain data describe."""
        return cls(**{**plain, "labels": tuple(plain["labels"])})


def _places(block: StoredBlock) -> list[int]:
    """Return where values, column numbers, row starts and labels begin, and where all ends."""
    sizes = [8 * block.entries]
    if block.sparse:
        sizes += [4 * block.entries + 4 * (block.entries % 2), 8 * (block.rows + 1)]
    else:
        sizes += [0, 0]
    sizes.append(4 * block.rows)
    return [0, *np.cumsum(sizes).tolist()]


def write_block(folder: Path, number: int, X: Any, y: np.ndarray) -> StoredBlock:
    """Write rows under their number, whole or not at all."""
    labels, codes = np.unique(y, return_inverse=True)
    is_sparse = sparse.issparse(X)
    if is_sparse:
        pieces = [
            np.ascontiguousarray(X.data, dtype="<f8"),
            np.ascontiguousarray(X.indices, dtype="<i4"),
            np.zeros(X.nnz % 2, dtype="<i4"),
            np.ascontiguousarray(X.indptr, dtype="<i8"),
        ]
    else:
        pieces = [np.ascontiguousarray(X, dtype="<f8")]
    pieces.append(codes.astype("<i4"))
    octets = [piece.tobytes() for piece in pieces]
    crc = 0
    for piece in octets:
        crc = zlib.crc32(piece, crc)
    name = f"block-{number:05d}.bin"
    write_whole(folder / name, octets)
    return StoredBlock(
        name,
        X.shape[0],
        int(X.nnz if is_sparse else X.size),
        X.shape[1],
        is_sparse,
        tuple(labels.tolist()),
        crc,
    )


def open_block(folder: Path, block: StoredBlock, n_features: int) -> tuple[Any, np.ndarray]:
    """Map a block into memory; return its rows and their label numbers.

    The map lives as long as the arrays do.
    """
    octets = np.frombuffer(_mapped(folder / block.file, block.size), dtype=np.uint8)
    values_at, columns_at, starts_at, labels_at, end = _places(block)
    values = octets[values_at : values_at + 8 * block.entries].view("<f8")
    codes = octets[labels_at:end].view("<i4")
    if not block.sparse:
        return values.reshape(block.rows, block.columns), codes
    columns = octets[columns_at : columns_at + 4 * block.entries].view("<i4")
    starts = octets[starts_at:labels_at].view("<i8")
    # int32 starts as everywhere else, so that each loop is compiled once; entries fit them.
    X = sparse.csr_array((values, columns, starts.astype(np.int32)), shape=(block.rows, n_features))
    return X, codes


def _mapped(path: Path, size: int) -> Any:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size != size:
                raise DataError(
                    "the block is not as long as its manifest says; delete its folder, and it is "
                    "made again from the source",
                    file=str(path),
                )
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        raise DataError(
            "the block is missing; delete its folder, and it is made again from the source",
            file=str(path),
        ) from None


def verify_block(folder: Path, block: StoredBlock) -> None:
    """Raise, naming the file, if a block is missing or is not what was written."""
    mapped = _mapped(folder / block.file, block.size)
    if zlib.crc32(mapped) != block.crc:
        raise DataError(
            "the block was altered since it was written; delete its folder, and it is made again "
            "from the source",
            file=str(folder / block.file),
        )


def labels_in_common(blocks: Sequence[StoredBlock]) -> np.ndarray:
    """Return the distinct labels of all blocks in order, numbers as numbers if all are."""
    found: set[Any] = set()
    for block in blocks:
        found |= set(block.labels)
    if any(isinstance(label, str) for label in found):
        return np.array(sorted({str(label) for label in found}))
    return np.array(sorted(found))
