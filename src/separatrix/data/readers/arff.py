"""ARFF, the format of Weka: attributes with their types, then rows; sparse rows in braces too.

    @relation people
    @attribute age numeric
    @attribute job {clerk, cook}
    @data
    39, clerk
    {0 50, 1 cook}

Rows are rewritten as those of a CSV, line by line, and read as such. A file without attributes is a
table whose columns the cells decide. Weights of rows and relational attributes are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.data.encodings.columns import MISSING_WORDS, CellColumn
from separatrix.data.encodings.prepared import encode_columns
from separatrix.data.options import ReadOptions
from separatrix.data.readers.delimited import as_utf8, parse_delimited
from separatrix.data.readers.typed_tables import with_labels
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

_START = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[ \t\r]*(?:%[^\n]*)?\n)*[ \t]*@(?:relation|attribute|data)\b", re.I
)
DATA_LINE = re.compile(rb"^[ \t]*@data\b", re.I | re.M)
_QUOTED = {"'": re.compile(r"'((?:[^'\\]|\\.)*)'"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"')}
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
_NUMERIC = ("numeric", "real", "integer")
_PLAIN = re.compile(rb"['\"\\{%]")
_MOST_SPARSE = 1 << 28  # bytes of sparse rows written out in full


@dataclass(frozen=True)
class Attribute:
    """A column: its name, whether it holds numbers, and its values where they are listed."""

    name: str
    kind: str  # numeric, nominal or text
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Head:
    """What stands above the rows: the attributes, and where the rows begin."""

    attributes: tuple[Attribute, ...]
    start: int = 0
    lines: int = 0


def looks_like_arff(data: bytes) -> bool:
    """Whether the first line that is no comment declares a relation or an attribute.

    >>> looks_like_arff(b"% old\\n@RELATION x\\n"), looks_like_arff(b"a,b\\n1,2\\n")
    (True, False)
    """
    return _START.match(data) is not None


def arff_head(source: Source) -> Head:
    """Return what stands above the rows of a file in UTF-8; nothing where there are no names."""
    data, at, lines = source.data, 0, 0
    attributes: list[Attribute] = []
    if not looks_like_arff(data):
        return Head(())
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        text = data[at:end].decode("utf-8", "replace").strip()
        lines += 1
        word, _, rest = text.replace("\t", " ").partition(" ")
        if word.casefold() == "@data":
            _refuse_repeats(attributes, source.name)
            return Head(tuple(attributes), end, lines)
        if word.casefold() == "@attribute":
            try:
                attributes.append(_attribute(rest.strip()))
            except ValueError as error:
                raise DataError(str(error), source.name, lines, 1) from None
        elif text and not text.startswith("%") and word.casefold() != "@relation":
            raise DataError(
                f"expected @attribute or @data in the head of the ARFF file, got {text[:30]!r}",
                source.name,
                lines,
                1,
            )
        at = end
    raise source.error("the ARFF file has no @data: there are no rows", len(data))


def _refuse_repeats(attributes: list[Attribute], file: str) -> None:
    names = [attribute.name for attribute in attributes]
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            message = f"two attributes of the ARFF file are called {name!r}; rename one"
            raise DataError(message, file, 1, number)


def _attribute(text: str) -> Attribute:
    if text[:1] in _QUOTED and text:
        found = _QUOTED[text[0]].match(text)
        if found is None:
            raise ValueError("a quote in the ARFF head is not closed")
        name, kind = _unescaped(found[1]), text[found.end() :].strip()
    else:
        parts = re.match(r"([^\s{]+)\s*(.*)", text)
        if parts is None:
            raise ValueError("the attribute of the ARFF file has no name")
        name, kind = parts[1], parts[2]
    if kind.startswith("{"):
        inner, brace, _ = kind[1:].rpartition("}")
        if not brace:
            raise ValueError(f"the values of the ARFF attribute {name!r} are not closed with '}}'")
        return Attribute(name, "nominal", tuple(split_fields(inner, ",")))
    word = kind.split()[0].casefold() if kind else ""
    if word in _NUMERIC:
        return Attribute(name, "numeric")
    if word in ("string", "date"):
        return Attribute(name, "text")
    if word == "relational":
        raise ValueError(
            f"the ARFF attribute {name!r} is relational, a table within a row; drop it"
        )
    raise ValueError(f"the ARFF attribute {name!r} has no type that is known, {kind[:30]!r}")


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: _LETTERS.get(found[1], found[1]), text)


def split_fields(line: str, separator: str) -> list[str]:
    r"""Split a row at its separators; quotes of both kinds, and escapes within them.

    >>> split_fields(r"1, 'it\'s, so' , ?", ",")
    ['1', "it's, so", '?']
    """
    fields, at = list[str](), 0
    while True:
        while at < len(line) and line[at] in " \t" and line[at] != separator:
            at += 1
        quote = line[at : at + 1]
        if quote and quote in _QUOTED:
            found = _QUOTED[quote].match(line, at)
            if found is None:
                raise ValueError(f"a quote ({quote}) in the ARFF row is not closed")
            fields.append(_unescaped(found[1]))
            at = found.end()
            while at < len(line) and line[at] in " \t" and line[at] != separator:
                at += 1
            if at < len(line) and line[at] != separator:
                raise ValueError("expected a comma after a quoted value of the ARFF row")
        else:
            end = line.find(separator, at)
            end = len(line) if end < 0 else end
            fields.append(line[at:end].rstrip(" \t"))
            at = end
        if at >= len(line):
            return fields
        at += 1


def rows_as_csv(data: bytes, head: Head, file: str) -> tuple[bytes, str]:
    """Return rows as lines of a CSV, a line each, and its separator."""
    separator = _separator(data)
    if not _PLAIN.search(data):
        return data, separator
    width, size = len(head.attributes), 0
    written = list[str]()
    for number, line in enumerate(data.decode().split("\n"), 1):
        line = line.strip(" \t\r")
        if not line or line.startswith("%"):
            written.append("")
            continue
        try:
            fields = _fields(line, separator, head)
        except ValueError as error:
            raise DataError(str(error), file, number, 1) from None
        if width and len(fields) != width:
            raise DataError(
                f"the row has {len(fields)} values, and the ARFF file has {width} attributes",
                file,
                number,
                1,
            )
        written.append(separator.join(_cell(field, separator) for field in fields))
        size += len(written[-1])
        if size > _MOST_SPARSE + 4 * len(data):
            raise DataError(
                "the sparse rows of the ARFF file would take too much memory in full; convert it "
                "to LIBSVM",
                file,
                number,
                1,
            )
    return "\n".join(written).encode(), separator


def _separator(data: bytes) -> str:
    """Return a comma, or a tab where the first row has tabs and no comma."""
    for line in data[: 1 << 16].split(b"\n"):
        if line.strip() and not line.lstrip().startswith(b"%"):
            return "\t" if b"\t" in line.strip() and b"," not in line else ","
    return ","


def _cell(field: str, separator: str) -> str:
    field = field.replace("\r", " ").replace("\n", " ")  # a row stays on its line
    if not field or (separator not in field and '"' not in field):
        return field
    return '"' + field.replace('"', '""') + '"'


def _fields(line: str, separator: str, head: Head) -> list[str]:
    if not line.startswith("{"):
        fields = split_fields(line, separator)
        if len(fields) > 1 and re.fullmatch(r"\{[^{}]*\}", fields[-1]) and line.endswith("}"):
            raise ValueError(
                "the ARFF row has a weight in braces, and weights are not read; remove it"
            )
        return fields
    if not line.endswith("}"):
        raise ValueError("the sparse row of the ARFF file is not closed with '}'")
    if not head.attributes:
        raise ValueError("the row is a sparse one of ARFF, and no attribute is declared above")
    fields = ["0" if each.kind == "numeric" else "" for each in head.attributes]
    for place, attribute in enumerate(head.attributes):
        fields[place] = attribute.values[0] if attribute.values else fields[place]
    named = set[int]()
    inner = line[1:-1].strip()
    for pair in _pairs(inner) if inner else ():
        index, value = pair
        if index >= len(fields) or index in named:
            raise ValueError(
                f"the sparse row of the ARFF file names column {index} twice or in vain"
            )
        named.add(index)
        fields[index] = value
    left = [
        each.name
        for place, each in enumerate(head.attributes)
        if each.kind == "text" and place not in named
    ]
    if left:
        raise ValueError(
            f"the sparse row leaves out the text attribute {left[0]!r} of the ARFF file"
        )
    return fields


def _pairs(inner: str) -> list[tuple[int, str]]:
    """Return the places and values of a sparse row, commas between them."""
    found, at = list[tuple[int, str]](), 0
    while True:
        begin = re.compile(r"[ \t]*(\d{1,9})[ \t]+").match(inner, at)
        if begin is None:
            raise ValueError("expected 'index value' pairs in the sparse row of the ARFF file")
        at = begin.end()
        quote = inner[at : at + 1]
        if quote and quote in _QUOTED:
            quoted = _QUOTED[quote].match(inner, at)
            if quoted is None:
                raise ValueError(f"a quote ({quote}) in the ARFF row is not closed")
            value, at = _unescaped(quoted[1]), quoted.end()
            comma = inner.find(",", at)
            end = len(inner) if comma < 0 else comma
            if inner[at:end].strip():
                raise ValueError("expected a comma after a quoted value of the ARFF row")
        else:
            comma = inner.find(",", at)
            end = len(inner) if comma < 0 else comma
            value = inner[at:end].strip()
        found.append((int(begin[1]), value))
        if comma < 0:
            return found
        at = comma + 1


def arff_columns(
    data: bytes, head: Head, file: str, options: ReadOptions, decimal: str | None = None
) -> list[CellColumn]:
    """Return the columns of rows, checked against what is declared of them; none of comments."""
    csv, separator = rows_as_csv(as_utf8(Source(file, data), None).data, head, file)
    if not csv.strip():
        return []
    header = False if head.attributes else options.header
    given = separator if head.attributes else options.separator
    table = parse_delimited(Source(file, csv), given, header, None, decimal, before=0)
    if not head.attributes:
        return table.columns
    if len(table.columns) != len(head.attributes):
        message = (
            f"the row has {len(table.columns)} values, and the ARFF file has "
            f"{len(head.attributes)} attributes"
        )
        raise table.error(message, 0, 1)
    pairs = zip(table.columns, head.attributes, strict=True)
    return [_checked(replace(column, name=each.name), each) for column, each in pairs]


def _checked(column: CellColumn, attribute: Attribute) -> CellColumn:
    if attribute.kind == "numeric" and column.numbers(MISSING_WORDS) is None:
        row, word = column.first_word(MISSING_WORDS)
        raise column.error(
            f"the ARFF file declares {attribute.name!r} as numbers, and {word!r} is none", row
        )
    if attribute.kind == "nominal":
        texts = column.texts(MISSING_WORDS)
        known = {value.strip(" \t") for value in attribute.values}
        strange = [code for code, value in enumerate(texts.values) if value not in known]
        if strange:
            row = int(np.flatnonzero(texts.codes == strange[0])[0])
            raise column.error(
                f"{texts.values[strange[0]]!r} is none of the values that the ARFF file declares "
                f"for {attribute.name!r}",
                row,
            )
    return column


def with_categories(options: ReadOptions, head: Head) -> ReadOptions:
    """Return the options with every nominal attribute as a column of categories."""
    nominal = [each.name for each in head.attributes if each.kind == "nominal"]
    return replace(options, categorical=[*options.categorical, *nominal])


def read_arff(source: Source, options: ReadOptions, encoding: Any) -> dict[str, Any]:
    """Read a whole file."""
    source = as_utf8(source, options.encoding)
    head = arff_head(source)
    below = b"\n" * head.lines + source.data[head.start :]
    if not source.data[head.start :].strip():
        raise source.error("the ARFF file has no rows below @data", len(source.data))
    decimal = options.decimal or getattr(encoding, "decimal", None)
    columns = arff_columns(below, head, source.name, options, decimal)
    options = with_categories(options, head)
    return encode_columns(*with_labels(columns, source, options), encoding)
