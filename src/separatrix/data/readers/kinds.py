"""What a file is, seen from its contents: its first bytes, then its first lines.

Formats that are not read here, known by their first bytes: named, with what to do.

Files that are no lines, opened as lines: JSON arrays and Excel sheets become JSON Lines.

A stream goes on from a place in its file; here that is a place among these lines.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from io import BytesIO
from pathlib import PurePath
from typing import BinaryIO

from separatrix.data.options import ReadOptions
from separatrix.data.readers.arff import looks_like_arff
from separatrix.data.readers.array_files import ARRAYS, array_kind, is_idx
from separatrix.data.readers.delimited import as_utf8
from separatrix.data.readers.excel import as_json_lines
from separatrix.data.readers.json_records import NAMES as JSON_NAMES
from separatrix.data.readers.json_records import looks_like_json, records_of
from separatrix.data.readers.text import looks_like_labelled_lines, starts_with_names
from separatrix.data.sources.streams import Source, open_source
from separatrix.errors import DataError

EXCEL_NAMES = (".xlsx", ".xlsm", ".xltx", ".xltm")
_AS_TABLE = "save the table as CSV or Parquet"
_UNPACK = "unpack it and give the file within"
# First bytes -> what the file is, and what to do.
_BY_START: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (also Keras, MATLAB 7.3, NetCDF 4)", _AS_TABLE),
    (b"SQLite format 3\0", "an SQLite database", "export the table: sqlite3 -header -csv"),
    (b"%PDF-", "a PDF document", "give the data it was made of"),
    (b"{\\rtf", "an RTF document", "give the data it was made of"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel (.xls) or Word file", "save it as .xlsx"),
    (b"MATLAB 5.0", "a MATLAB file", _AS_TABLE),
    (b"$FL2", "an SPSS file", _AS_TABLE),
    (b"$FL3", "an SPSS file", _AS_TABLE),
    (b"<stata_dta>", "a Stata file", _AS_TABLE),
    (b"RDX2\n", "an R data file", _AS_TABLE),
    (b"RDX3\n", "an R data file", _AS_TABLE),
    (b"X\n\0\0\0\2", "an R data file (.rds)", _AS_TABLE),
    (b"X\n\0\0\0\3", "an R data file (.rds)", _AS_TABLE),
    (b"Obj\x01", "an Avro file", "convert it to Parquet"),
    (b"CDF\x01", "a NetCDF file", _AS_TABLE),
    (b"CDF\x02", "a NetCDF file", _AS_TABLE),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (b"\x1f\x9d", "a file compressed with compress (.Z)", "decompress it: uncompress"),
    (b"\x04\x22\x4d\x18", "a file compressed with lz4", "decompress it: unlz4"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image", "give a table of its values"),
    (b"\xff\xd8\xff", "a JPEG image", "give a table of its values"),
    (b"GIF87a", "a GIF image", "give a table of its values"),
    (b"GIF89a", "a GIF image", "give a table of its values"),
    (b"\x7fELF", "a program", "give a data file"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the data", "fetch them: git lfs pull"),
)  # fmt: skip
_SAS = b"\0" * 12 + b"\xc2\xea\x81\x60"
_PICKLE = re.compile(
    rb"\x80[\x02-\x05]|\((?:dp|lp)\d+\n|c(?:__builtin__|__main__|copy_reg|numpy|pandas)[\w.]*\n"
)
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\s", re.I)
_WITHIN = (
    ("xl/workbook.bin", "a binary Excel file (.xlsb)", "save as .xlsx or CSV"),
    ("word/", "a Word document", "give the data it was made of"),
    ("ppt/", "a presentation", "give the data it was made of"),
    ("META-INF/", "a Java archive", "give a data file"),
)


def refuse_foreign(source: Source) -> None:
    """Raise for contents of a format that is known and not read here."""
    start = bytes(source.data[:1024])
    found = _known(start, source)
    if found is not None:
        raise _refusal(*found, source)


def _refusal(what: str, remedy: str, source: Source) -> DataError:
    packed = f", compressed ({source.compression})" if source.compression else ""
    return DataError(f"this is {what}{packed}, which is not read here; {remedy}", source.name, 1, 1)


def _known(start: bytes, source: Source) -> tuple[str, str] | None:
    for magic, what, remedy in _BY_START:
        if start.startswith(magic):
            return what, remedy
    if start[257:262] == b"ustar":
        return "a tar archive", f"unpack it (tar xf {_short(source.name)}) and give the file within"
    if start.startswith(b"ORC") and b"ORC" in bytes(source.data[-16:]) and b"\0" in start:
        return "an ORC file", "convert it to Parquet"
    if start.startswith(_SAS):
        return "a SAS file", _AS_TABLE
    if start[8:12] == b"DUCK":
        return "a DuckDB database", "export the table to Parquet"
    if _PICKLE.match(start):
        return "a Python pickle, and opening one can run code", "save the table as Parquet or CSV"
    if _PAGE.match(start):
        return (
            "an HTML page, perhaps one that says why a download failed",
            "get the data file itself",
        )
    if _XML.match(start):
        return "an XML file", _AS_TABLE
    return None


def _short(name: str) -> str:
    return name.replace("\\", "/").rsplit("/", 1)[-1]


# ---- what is in a zip file


def zip_kind(source: Source) -> str:
    """Return "npz" or "excel" for a zip file that is one of them; refuse any other archive.

    A damaged archive is left to the reader that its name calls for.
    """
    try:
        with zipfile.ZipFile(BytesIO(bytes(source.data))) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, UnicodeError):
        return _of_name(source)
    if any(name.endswith(".npy") for name in names):
        return "npz"
    if any(name.startswith("xl/") and name.endswith(".xml") for name in names):
        return "excel"
    if "mimetype" in names and any(name == "content.xml" for name in names):
        raise _refusal("an OpenDocument file (.ods, .odt)", "save as .xlsx or CSV", source)
    if any(name.endswith("/data.pkl") for name in names):
        raise _refusal("a PyTorch file", "save the tensors as .safetensors", source)
    for inside, what, remedy in _WITHIN:
        if any(name.startswith(inside) for name in names):
            raise _refusal(what, remedy, source)
    if source.suffix in (".npz", *EXCEL_NAMES):
        return _of_name(source)
    shown = ", ".join(repr(name[:40]) for name in names[:3]) + (", ..." if len(names) > 3 else "")
    held = f" of {shown}" if names else " with nothing in it"
    raise _refusal(f"a zip archive{held}", _UNPACK, source)


def _of_name(source: Source) -> str:
    if source.suffix in EXCEL_NAMES or b"xl/worksheets" in bytes(source.data[: 1 << 16]):
        return "excel"
    return "npz"


# ---- what a file is, seen from its contents: its first bytes, then its first lines


_LIBSVM_LINE = re.compile(
    rb"[^\s:#]+([ \t]+qid:\d+)?([ \t]+\d+:[-+.\deE]+)*[ \t]*(#.*)?\r?", re.ASCII
)
_SAMPLE = 1 << 16
_BY_NAME = {
    **dict.fromkeys((".libsvm", ".svm", ".svmlight"), "libsvm"),
    **dict.fromkeys(JSON_NAMES, "json"),
    **dict.fromkeys(EXCEL_NAMES, "excel"),
    ".arff": "arff",
}
_PAIR = re.compile(rb"[ \t]\d+:[-+.\d]")


def see_kind(source: Source) -> str:
    """See what a file is from its contents."""
    data = source.data
    arrays = array_kind(bytes(data[:16]))
    if arrays == "npz":
        return zip_kind(source)
    if arrays is not None:
        return arrays
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith((b"ARROW1", b"FEA1")):
        return "arrow"
    if is_idx(data):
        return "idx"
    if source.suffix[1:] in ARRAYS:
        return source.suffix[1:]
    start = bytes(data[:_SAMPLE])
    if looks_like_json(start):
        return "json"
    if looks_like_arff(start):
        return "arff"
    if len(data) > _SAMPLE:  # the last token, or line, is cut: leave it out
        start = start[: max(start.rfind(b"\n"), 0)] or start[: start.rfind(b" ") + 1]
    lines = [line for line in start.split(b"\n")[:50] if line.strip()]
    rows = [line for line in lines if not line.lstrip().startswith(b"#")]
    alike = sum(_LIBSVM_LINE.fullmatch(line.strip(b" \t")) is not None for line in rows)
    # Half of the lines decide, so that a broken one is named as what it is.
    if 2 * alike > len(rows) and any(_PAIR.search(line) for line in rows):
        return "libsvm"
    if source.suffix in _BY_NAME:
        return _BY_NAME[source.suffix]
    if source.suffix == ".csv" or (source.suffix == ".tsv" and starts_with_names(source)):
        return "csv"
    return "text" if looks_like_labelled_lines(source) else "csv"


def kind_or_refusal(source: Source) -> str:
    """See what a file is; one of a format that is not read here is named and refused."""
    refuse_foreign(source)
    return see_kind(source)


# What is said of a format in an error about a file that was taken to be one.
TITLES = {"json": "JSON", "arff": "ARFF", "excel": "Excel"}


def naming(error: DataError, kind: str, file: str) -> DataError:
    """Return the error with a place, and with the format where a user may not know it.

    What concerns a whole file is said of its first line.
    """
    title, message = TITLES.get(kind), error.message
    if _BY_NAME.get(PurePath(file).suffix.lower(), kind) != kind:
        title = title or kind  # its name says otherwise
    if title is not None and title not in message:
        message += f" (read as {title})"
    return DataError(message, error.file or file, error.line or 1, error.column or 1)


# ---- files that are no lines, opened as lines: JSON arrays and Excel sheets become JSON Lines


_START = 1 << 12
_kept: dict[tuple[str, int, int], bytes] = {}  # the last file that was rewritten


def open_lines(path: str) -> BinaryIO:
    """Open a file whose lines are rows, or what it is as such lines."""
    file = open(path, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
    try:
        start = os.pread(file.fileno(), _START, 0)
    except OSError:  # a pipe
        return file
    if not are_rewritten(start):
        return file
    file.close()
    return io.BytesIO(_rewritten(path))


def are_rewritten(start: bytes) -> bool:
    """Whether contents that begin so are no lines: an array of JSON, or a zip file."""
    is_array = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") and looks_like_json(start)
    return is_array or start.startswith(b"PK\x03\x04")


def _rewritten(path: str) -> bytes:
    facts = os.stat(path)
    key = (os.path.abspath(path), facts.st_size, facts.st_mtime_ns)
    if key not in _kept:
        _kept.clear()
        _kept[key] = lines_of(open_source(path))
    return _kept[key]


def lines_of(source: Source) -> bytes:
    """Return the rows of a JSON array or an Excel sheet as lines, each where it stood if it can."""
    kind = kind_or_refusal(source)
    try:
        if kind == "excel":
            return as_json_lines(source, ReadOptions())
        if kind != "json":
            message = f"a stream is made of lines of rows, and this is {kind}; convert it first"
            raise DataError(message, source.name, 1, 1)
        source = as_utf8(source, None)
        written, at = list[str](), 1
        for line, record in records_of(source.data.decode(), source.name):
            written += ["\n"] * (line - at)
            written.append(json.dumps(record) + "\n")
            at = max(at, line) + 1
        return "".join(written).encode()
    except DataError as error:
        raise naming(error, kind, source.name) from None
