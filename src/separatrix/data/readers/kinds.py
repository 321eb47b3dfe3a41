"""What a file is, seen from its contents: its first bytes, then its first lines."""

from __future__ import annotations

import re

from separatrix.data.readers.array_files import ARRAYS, array_kind, is_idx
from separatrix.data.readers.text import looks_like_labelled_lines, starts_with_names
from separatrix.data.sources.streams import Source

_LIBSVM_LINE = re.compile(
    rb"[^\s:#]+([ \t]+qid:\d+)?([ \t]+\d+:[-+.\deE]+)*[ \t]*(#.*)?\r?", re.ASCII
)
_SAMPLE = 1 << 16
_PAIR = re.compile(rb"[ \t]\d+:[-+.\d]")


def see_kind(source: Source) -> str:
    """See what a file is from its contents."""
    data = source.data
    arrays = array_kind(bytes(data[:16]))
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
    start = data[:_SAMPLE]
    if len(data) > _SAMPLE:  # the last token, or line, is cut: leave it out
        start = start[: max(start.rfind(b"\n"), 0)] or start[: start.rfind(b" ") + 1]
    lines = [line for line in start.split(b"\n")[:50] if line.strip()]
    rows = [line for line in lines if not line.lstrip().startswith(b"#")]
    alike = sum(_LIBSVM_LINE.fullmatch(line.strip(b" \t")) is not None for line in rows)
    # Half of the lines decide, so that a broken one is named as what it is.
    if 2 * alike > len(rows) and any(_PAIR.search(line) for line in rows):
        return "libsvm"
    if source.suffix in (".libsvm", ".svm", ".svmlight"):
        return "libsvm"
    if source.suffix == ".csv" or (source.suffix == ".tsv" and starts_with_names(source)):
        return "csv"
    return "text" if looks_like_labelled_lines(source) else "csv"
