"""What a file is, seen from its contents: its first bytes, then its first lines."""

from __future__ import annotations

import re
from pathlib import PurePath

from separatrix.data.readers.arff import looks_like_arff
from separatrix.data.readers.array_files import ARRAYS, array_kind, is_idx
from separatrix.data.readers.foreign import EXCEL_NAMES, refuse_foreign, zip_kind
from separatrix.data.readers.json_records import NAMES as JSON_NAMES
from separatrix.data.readers.json_records import looks_like_json
from separatrix.data.readers.text import looks_like_labelled_lines, starts_with_names
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

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
