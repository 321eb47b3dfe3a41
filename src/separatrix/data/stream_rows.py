"""Chunks of lines to rows and labels: LIBSVM, CSV, and texts with a label before or after a tab.

What a parser settles on the first lines (columns, categories, the side of the label) stays so for
the whole stream, and is kept with the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from separatrix.data.encodings.columns import MISSING_WORDS
from separatrix.data.encodings.encoding import fit_encoding
from separatrix.data.encodings.index_encoding import IndexEncoding
from separatrix.data.encodings.labels import choose_target, known_column, target_labels, tidy_labels
from separatrix.data.encodings.words import TextEncoding, hash_texts
from separatrix.data.readers.delimited import parse_delimited
from separatrix.data.readers.kinds import see_kind
from separatrix.data.readers.libsvm import parse_libsvm
from separatrix.data.readers.text import label_side
from separatrix.data.sources.line_feed import Chunk
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

KINDS = ("libsvm", "csv", "text")
_ROW = re.compile(rb"^[ \t\r]*[^#\s]", re.MULTILINE)
_SAMPLE_LINES = 200


@dataclass(frozen=True)
class Batch:
    """Rows, and a label for each."""

    X: Any
    labels: NDArray[Any]


@dataclass
class Parser:
    """Turns chunks into batches."""

    kind: str
    encoding: Any = None
    header: bytes = b""
    separator: str = ","
    label_side: int = 0
    characters: str = "utf-8"
    target: str | None = None

    def parse(self, chunk: Chunk) -> Batch | None:
        """Return the rows of whole lines; None where there are none.

        A fault is a `DataError` with its line in the file.
        """
        if not chunk.data.strip():
            return None
        added = 0
        try:
            if self.kind == "libsvm":
                return self._libsvm(chunk)
            if self.kind == "text":
                return self._texts(chunk)
            added = 1 if self.header else 0
            return self._table(chunk)
        except DataError as error:
            line = max(1, (error.line or 1) - added) + chunk.line - 1
            raise DataError(error.message, chunk.name, line, error.column or 1) from None

    def _libsvm(self, chunk: Chunk) -> Batch | None:
        if _ROW.search(chunk.data) is None:
            return None
        source = Source(chunk.name, chunk.data)
        found = parse_libsvm(source, zero_based=self.encoding.first == 0, threads=1)
        return Batch(found.X, found.y)

    def _table(self, chunk: Chunk) -> Batch:
        source = Source(chunk.name, self.header + chunk.data)
        decimal = None if self.encoding is None else self.encoding.decimal
        table = parse_delimited(
            source, self.separator, bool(self.header), self.characters, decimal, before=0
        )
        if self.encoding is None:
            target = self._target(table.columns, chunk.name)
            self.encoding, _ = fit_encoding(table.columns, target.name, ())
        by_name = {column.name: column for column in table.columns}
        labels = target_labels(by_name[self.encoding.target], MISSING_WORDS, [])
        X, _ = self.encoding.apply(table.columns, len(labels))
        return Batch(X, labels)

    def _target(self, columns: Any, file: str) -> Any:
        if self.target is not None:
            return known_column(self.target, columns, file)
        target, _ = choose_target(columns, file)
        return target

    def _texts(self, chunk: Chunk) -> Batch | None:
        lines = _decoded(chunk.data, self.characters).split("\n")
        labels, texts = [], []
        for number, line in enumerate(lines, 1):
            if not line or line.isspace():
                continue
            before, tab, after = line.partition("\t") if not self.label_side else _last(line)
            if not tab or not before.strip():
                raise DataError(
                    "expected a label and a text with a tab between; "
                    + ("the label is empty" if tab else "the line has no tab"),
                    line=number,
                    column=1,
                )
            labels.append(before.strip())
            texts.append(after)
        return Batch(hash_texts(texts, self.encoding), tidy_labels(labels)) if texts else None

    def line_of(self, chunk: Chunk, row: int) -> int:
        """Return the number of the line in the file that holds a row of the chunk."""
        for number, line in enumerate(chunk.data.split(b"\n"), chunk.line):
            held = line.strip() and not (self.kind == "libsvm" and line.lstrip().startswith(b"#"))
            if held:
                if row == 0:
                    return number
                row -= 1
        return chunk.line

    def to_dict(self) -> dict[str, Any]:
        """Return what a later run needs, besides the encoding, as plain data."""
        return {
            "kind": self.kind,
            "header": self.header.decode("latin-1"),
            "separator": self.separator,
            "label_side": self.label_side,
            "characters": self.characters,
        }


def _last(line: str) -> tuple[str, str, str]:
    text, tab, label = line.removesuffix("\r").rpartition("\t")
    return label, tab, text


def _decoded(data: bytes, characters: str) -> str:
    try:
        return data.decode(characters)
    except LookupError:
        raise DataError(f"there is no encoding {characters!r}; try 'latin-1'") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"byte 0x{data[error.start]:02x} is not {characters} text; if the file is in another "
            "encoding, say so (--encoding latin-1)",
            line=line,
            column=error.start - data.rfind(b"\n", 0, error.start),
        ) from None


def parser_of(plain: dict[str, Any], encoding: Any) -> Parser:
    """Return the parser of an earlier run."""
    fields = {**plain, "header": plain["header"].encode("latin-1")}
    return Parser(encoding=encoding, **fields)


def parser_for(
    first: Chunk,
    kind: str | None = None,
    target: str | None = None,
    no_header: bool = False,
    zero_based: bool = False,
    characters: str | None = None,
    bits: int = 18,
    ngrams: int = 1,
) -> tuple[Parser, int]:
    """Settle how to read, on the first lines; also return the bytes of a header to leave out."""
    source = Source(first.name, first.data)
    suffix = "." + first.place.path.rsplit(".", 1)[-1].lower() if "." in first.place.path else ""
    kind = kind or see_kind(replace(source, suffix=suffix))
    if kind == "libsvm":
        return Parser(kind, IndexEncoding(0, 0 if zero_based else 1)), 0
    if kind == "text":
        encoding = TextEncoding(ngrams=(1, ngrams), hashing=1 << bits)
        sample = _decoded(first.data, characters or "utf-8").split("\n")[:_SAMPLE_LINES]
        side = label_side([line for line in sample if line.strip()])
        return Parser(kind, encoding, label_side=side or 0, characters=characters or "utf-8"), 0
    if kind != "csv":
        raise DataError(
            f"a stream is libsvm, csv or text, and this looks like {kind}; say which with --kind",
            file=first.name,
        )
    table = parse_delimited(source, None, False if no_header else None, characters)
    _, start = table.place(0)
    header = first.data[table.before : start] if table.header else b""
    return Parser(kind, None, header, table.separator, 0, characters or "utf-8", target), start
