"""Chunks of lines to rows and labels: LIBSVM, CSV, JSON Lines, ARFF, and labelled texts.

What a parser settles on the first lines (columns, categories, the side of the label) stays so for
the whole stream, and is kept with the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from separatrix.data.encodings.columns import MISSING_WORDS
from separatrix.data.encodings.encoding import IndexEncoding, fit_encoding
from separatrix.data.encodings.labels import choose_target, known_column, target_labels, tidy_labels
from separatrix.data.encodings.words import TextEncoding, hash_texts
from separatrix.data.options import ReadOptions
from separatrix.data.readers.arff import arff_columns, arff_head, with_categories
from separatrix.data.readers.delimited import as_utf8, parse_delimited
from separatrix.data.readers.json_records import gathered, records_of
from separatrix.data.readers.kinds import are_rewritten, kind_or_refusal, naming
from separatrix.data.readers.libsvm import parse_libsvm
from separatrix.data.readers.text import is_header, label_side, split_at_label
from separatrix.data.sources.line_feed import Chunk
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

KINDS = ("libsvm", "csv", "text", "json", "arff")
TABLES = ("csv", "json", "arff")
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
    notes: list[str] = field(default_factory=list)

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
            added = 1 if self.header and self.kind == "csv" else 0
            return self._table(chunk)
        except DataError as error:
            error = naming(error, self.kind, chunk.name)
            line = max(1, (error.line or 1) - added) + chunk.line - 1
            raise DataError(error.message, chunk.name, line, error.column or 1) from None

    def _libsvm(self, chunk: Chunk) -> Batch | None:
        if _ROW.search(chunk.data) is None:
            return None
        source = Source(chunk.name, chunk.data)
        found = parse_libsvm(source, zero_based=self.encoding.first == 0, threads=1)
        return Batch(found.X, found.y)

    def _table(self, chunk: Chunk) -> Batch | None:
        columns, options = self._columns(chunk)
        if not columns or not len(columns[0]):
            return None
        if self.encoding is None:
            target = self._target(columns, chunk.name)
            self.encoding, _ = fit_encoding(columns, target.name, (), options)
        by_name = {column.name: column for column in columns}
        if self.encoding.target not in by_name:
            raise DataError(f"there is no {self.encoding.target!r}, the target, in this line")
        labels = target_labels(by_name[self.encoding.target], MISSING_WORDS, [])
        X, _ = self.encoding.apply(columns, len(labels))
        return Batch(X, labels)

    def _columns(self, chunk: Chunk) -> tuple[Any, ReadOptions]:
        """Return the columns of some lines, and what their head says of them."""
        decimal = None if self.encoding is None else self.encoding.decimal
        if self.kind == "json":
            text = _decoded(chunk.data, self.characters)
            records = gathered(records_of(text, chunk.name), chunk.name)
            return records.columns(decimal), ReadOptions()
        if self.kind == "arff":
            head = arff_head(Source(chunk.name, self.header))
            data = _decoded(chunk.data, self.characters).encode()
            columns = arff_columns(data, head, chunk.name, ReadOptions(), decimal)
            return columns, with_categories(ReadOptions(), head)
        source = Source(chunk.name, self.header + chunk.data)
        table = parse_delimited(
            source, self.separator, bool(self.header), self.characters, decimal, before=0
        )
        return table.columns, ReadOptions()

    def _target(self, columns: Any, file: str) -> Any:
        if self.target is not None:
            return known_column(self.target, columns, file)
        target, reason = choose_target(columns, file)
        self.notes.append(reason)
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
            comment = {"libsvm": b"#", "arff": b"%"}.get(self.kind)
            held = line.strip() and not (comment and line.lstrip().startswith(comment))
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


def _text_parser(
    first: Chunk, encoding: TextEncoding, characters: str, no_header: bool
) -> tuple[Parser, int]:
    """Settle the side of the label; a line of names is left out, by the rule of whole files."""
    sample = _decoded(first.data, characters).split("\n")
    lines = [line.removesuffix("\r") for line in sample if line.strip()]
    side = label_side(lines[1:_SAMPLE_LINES] or lines) or 0
    start = 0
    if not no_header and all("\t" in line for line in lines):
        labels, texts = split_at_label(lines, side)
        if is_header([label.strip() for label in labels], texts):
            start = first.data.index(lines[0].encode(characters)) + len(lines[0].encode(characters))
            start = first.data.find(b"\n", start) + 1
    return Parser("text", encoding, label_side=side, characters=characters), start


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
    kind = kind or kind_or_refusal(replace(source, suffix=suffix))
    if kind == "libsvm":
        return Parser(kind, IndexEncoding(0, 0 if zero_based else 1)), 0
    if kind == "text":
        encoding = TextEncoding(ngrams=(1, ngrams), hashing=1 << bits)
        return _text_parser(first, encoding, characters or "utf-8", no_header)
    if kind == "json":
        if are_rewritten(first.data[:4096]):
            raise DataError(
                "an array of JSON cannot come from standard input, where lines are learned as they "
                "come; give the file, or JSON Lines (jq -c '.[]')",
                file=first.name,
            )
        return Parser(kind, None, target=target, characters=characters or "utf-8"), 0
    if kind == "arff":
        source = as_utf8(source, characters)
        head = arff_head(source)
        if head.attributes:
            header = first.data[: head.start]
            return Parser(kind, None, header, ",", 0, characters or "utf-8", target), head.start
        kind = "csv"
    if kind != "csv":
        raise DataError(
            f"a stream is {', '.join(KINDS)} lines, and this looks like {kind}; say which with "
            "--kind",
            file=first.name,
        )
    table = parse_delimited(source, None, False if no_header else None, characters)
    _, start = table.place(0)
    header = first.data[table.before : start] if table.header else b""
    return Parser(kind, None, header, table.separator, 0, characters or "utf-8", target), start
