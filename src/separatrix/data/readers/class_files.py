"""Texts of one class each: several files or a folder, with a file or a folder per class.

What the files hold is looked at first: tables and numbers read as words would give classes that
nobody meant, so they are refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from separatrix.data.readers.delimited_head import looks_like_table
from separatrix.data.readers.kinds import see_kind
from separatrix.data.readers.text import (
    Documents,
    decoded,
    looks_like_labelled_lines,
    parse_labelled_lines,
    written_lines,
)
from separatrix.data.sources.streams import Source, open_source
from separatrix.errors import DataError

_TABLES = (".csv", ".tsv", ".tab")
_LOOKED_AT = 3  # files of each folder
_NAMES = {
    "libsvm": "LIBSVM data",
    "csv": "a table (CSV)",
    "json": "a table (JSON)",
    "arff": "a table (ARFF)",
    "excel": "a table (Excel)",
    "parquet": "a table (Parquet)",
    "arrow": "a table (Arrow)",
    "idx": "an array (IDX)",
    "npy": "an array (npy)",
    "npz": "arrays (npz)",
    "safetensors": "arrays (safetensors)",
}
_PARTITIONS = ("libsvm", "parquet", "npz")


def _refuse(name: str, kind: str) -> None:
    """Say what a file is that holds no texts, and how many such files are read."""
    many = "read all as partitions of one set: --memory 1GB (sx.open_partitions)"
    if kind not in _PARTITIONS:
        many = f"save them as Parquet and {many}"
    raise DataError(
        f"this is {_NAMES[kind]}, but several files are read as texts, a class each: give one "
        f"file, or {many}; if these are texts after all, say kind='text' (--kind text)",
        file=name,
    )


def _refuse_what_is_no_text(source: Source, kind: str | None) -> None:
    """Refuse LIBSVM data, arrays and tables; `kind` counts more than the contents."""
    found = kind or see_kind(source)
    if found == "text" or (found == "csv" and kind is None and not looks_like_table(source)):
        return
    _refuse(source.name, found)


def _class_names(paths: Sequence[Path]) -> list[str]:
    """Name the class of each file: by its ending where the stems are equal, or else by its stem."""
    packed = (".gz", ".bz2", ".xz", ".zst")
    plain = [path.with_suffix("") if path.suffix in packed else path for path in paths]
    if len({path.stem for path in plain}) == 1 and all(path.suffix for path in plain):
        return [path.suffix[1:] for path in plain]
    return [path.stem for path in plain]


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _joined(parts: Sequence[Documents]) -> Documents:
    """Put the texts of several files one after another."""
    return Documents(
        [text for part in parts for text in part.texts],
        [label for part in parts for label in part.labels],
        hashlib.sha256("\n".join(part.sha256 for part in parts).encode()).hexdigest(),
        [note for part in parts for note in part.notes],
    )


def _read_files(
    paths: Sequence[Path], encoding: str | None, max_bytes: int | None, kind: str | None
) -> Documents:
    """Read a file per class, a text per line; or files whose lines all have labels."""
    sources = [open_source(path, max_bytes) for path in paths]
    for source in sources:
        _refuse_what_is_no_text(source, kind)
    labelled = [looks_like_labelled_lines(source) for source in sources]
    if all(labelled):
        return _joined([parse_labelled_lines(source, encoding) for source in sources])
    if any(labelled):
        odd = sources[labelled.index(True)].name
        raise DataError(
            "the lines have labels, but those of other files have none; give a file per class, "
            "or only files with labels",
            file=odd,
        )
    names = _class_names(paths)
    if len(set(names)) < len(names):
        raise DataError(f"two files give the same class: {', '.join(names)}; rename one")
    parts = []
    for source, name in zip(sources, names, strict=True):
        said: list[str] = []
        found = [line for _, line in written_lines(decoded(source, encoding, said))]
        parts.append(Documents(found, [name] * len(found), source.sha256, said))
    joined = _joined(parts)
    note = f"each file is taken as one class, a text per line: {_few(names)}"
    return replace(joined, notes=[note, *joined.notes])


def _is_named(source: Source) -> bool:
    """Whether the name says that a file is a table: one text may look like one by chance."""
    return source.suffix in _TABLES


def _read_folders(
    folders: Sequence[Path], encoding: str | None, max_bytes: int | None, kind: str | None
) -> Documents:
    """Read a folder per class, a text per file."""
    parts = []
    for folder in folders:
        files = sorted(entry for entry in folder.rglob("*") if entry.is_file())
        for number, path in enumerate(files):
            source, said = open_source(path, max_bytes), list[str]()
            if number < _LOOKED_AT and (kind or see_kind(source) != "csv" or _is_named(source)):
                _refuse_what_is_no_text(source, kind)
            text = decoded(source, encoding, said)
            parts.append(Documents([text], [folder.name], source.sha256, said))
    joined = _joined(parts)
    notes = joined.notes
    if len(notes) > 3:
        notes = [*notes[:2], f"and {len(notes) - 2} more files were read as latin-1"]
    names = _few([folder.name for folder in folders])
    note = f"each folder is taken as one class, a text per file: {names}"
    return replace(joined, notes=[note, *notes])


def read_classes(
    where: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    encoding: str | None = None,
    max_bytes: int | None = None,
    kind: str | None = None,
) -> Documents:
    """Read several files, one per class, or a folder that holds a file or a folder per class."""
    if isinstance(where, str | os.PathLike):
        entries = sorted(path for path in Path(where).iterdir() if not path.name.startswith("."))
        name = os.fspath(where)
    else:
        entries, name = [Path(path) for path in where], ", ".join(os.fspath(path) for path in where)
    folders = [path for path in entries if path.is_dir()]
    if folders and len(folders) < len(entries):
        raise DataError("there are both files and folders; keep a file or a folder per class", name)
    if len(entries) < 2:
        raise DataError("expected a file or a folder per class, so at least two", file=name)
    found = (_read_folders if folders else _read_files)(entries, encoding, max_bytes, kind)
    if not found.texts or len(set(found.labels)) < 2:
        raise DataError("fewer than two classes hold a text", file=name)
    return found
