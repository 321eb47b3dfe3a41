"""Formats that are not read here, known by their first bytes: named, with what to do."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO

from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

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


EXCEL_NAMES = (".xlsx", ".xlsm", ".xltx", ".xltm")


def _of_name(source: Source) -> str:
    if source.suffix in EXCEL_NAMES or b"xl/worksheets" in bytes(source.data[: 1 << 16]):
        return "excel"
    return "npz"
