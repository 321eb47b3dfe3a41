r"""Texts with labels: lines ``label<TAB>text`` or ``text<TAB>label``.

Lines end at ``\n`` and nowhere else: U+0085 and its kin are part of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from separatrix.data.readers.delimited_head import is_orange_kinds
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

_SAMPLE_LINES = 100
_LONGEST_LABEL = 40
_WORDS_OF_PROSE = 2.5
_WORDS_OF_A_NAME = 3


@dataclass(frozen=True)
class Documents:
    """Texts, the label of each, and what had to be said."""

    texts: list[str]
    labels: list[str]
    sha256: str
    notes: list[str]


def decoded(source: Source, encoding: str | None, notes: list[str]) -> str:
    """Decode as `encoding` says, or else as UTF-8 or, failing that, latin-1."""
    zero = source.data.find(b"\0", 0, 1 << 16)
    if zero >= 0 and encoding is None:
        raise source.error("there is a zero byte: this is not a text file", zero)
    try:
        text = source.data.decode(encoding or "utf-8")
    except LookupError:
        raise DataError(f"there is no encoding {encoding!r}; try 'latin-1'") from None
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise source.error(f"the text is not {encoding}", error.start) from None
        notes.append(f"{source.name} is not UTF-8 and was read as latin-1")
        text = source.data.decode("latin-1")
    return text.removeprefix("\ufeff")


def written_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that hold something, with their numbers."""
    return [
        (number, line.removesuffix("\r"))
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip()
    ]


def _mean_words(texts: Sequence[str]) -> float:
    return sum(len(text.split()) for text in texts) / max(1, len(texts))


def split_at_label(lines: Sequence[str], side: int) -> tuple[list[str], list[str]]:
    r"""Return the labels and the texts of lines, the label being first (0) or last (-1).

    >>> split_at_label(["1\tgood", "0\tnot\tso"], 0)
    (['1', '0'], ['good', 'not\tso'])
    """
    pairs = [line.split("\t", 1) if side == 0 else line.rsplit("\t", 1) for line in lines]
    return [parts[side] for parts in pairs], [parts[side + 1] for parts in pairs]


def label_side(lines: Sequence[str]) -> int | None:
    """Return 0 for ``label<TAB>text``, -1 for ``text<TAB>label``, None if neither."""
    if not lines or any("\t" not in line for line in lines):
        return None
    for side in (-1, 0):
        labels, texts = split_at_label(lines, side)
        short = all(0 < len(label.strip()) <= _LONGEST_LABEL for label in labels)
        few = len(set(labels)) <= max(2, len(labels) // 2)
        if short and few and _mean_words(labels) < 2 and _mean_words(texts) >= _WORDS_OF_PROSE:
            return side
    return None


def looks_like_labelled_lines(source: Source) -> bool:
    r"""Whether the first lines are a label and a text with a tab between.

    >>> lines = b"I like it a lot\t1\nnot at all good\t0\n"
    >>> looks_like_labelled_lines(Source("x", lines))
    True
    """
    sample = source.data[: 1 << 18].decode("latin-1")
    lines = [line for _, line in written_lines(sample)][:_SAMPLE_LINES]
    if len(sample) < len(source.data) and len(lines) < _SAMPLE_LINES:
        lines = lines[:-1]
    if len(lines) > 1 and is_orange_kinds(lines[1].split("\t")):
        return False
    one_tab = sum(line.count("\t") == 1 for line in lines)
    if one_tab < 0.95 * len(lines):
        return False
    return label_side([line for line in lines if line.count("\t") == 1][1:] or lines) is not None


def starts_with_names(source: Source) -> bool:
    r"""Whether the first line names columns: a few words each that stand in no other line.

    >>> starts_with_names(Source("x", b"label\ttext\n1\tI like it\n0\tnot at all\n"))
    True
    """
    sample = source.data[: 1 << 18].decode("latin-1")
    lines = [line.split("\t") for _, line in written_lines(sample)][:_SAMPLE_LINES]
    if not lines:
        return False
    short = all(len(name.split()) <= _WORDS_OF_A_NAME for name in lines[0])
    return short and not any(set(lines[0]) & set(line) for line in lines[1:])


def is_header(labels: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether the first line names the two columns: a label that no other line has, and a word.

    >>> is_header(["Label", "ham", "spam"], ["Text", "see you there", "free money now"])
    True
    """
    alone = labels[0] not in labels[1:] and len(set(labels[1:])) > 1
    return alone and len(texts[0].split()) == 1


def parse_labelled_lines(source: Source, encoding: str | None = None) -> Documents:
    """Split lines into labels and texts; the side of the label is found, a header is left out."""
    notes: list[str] = []
    lines = written_lines(decoded(source, encoding, notes))
    for number, line in lines:
        if "\t" not in line:
            raise DataError(
                "expected a label and a text with a tab between; the line has no tab",
                file=source.name,
                line=number,
                column=1,
            )
    side = label_side([line for _, line in lines[1:]] or [line for _, line in lines])
    if side is None:
        raise source.error(
            "cannot tell the label from the text: one side of the tab must be short and repeat", 0
        )
    written, texts = split_at_label([line for _, line in lines], side)
    labels = [label.strip() for label in written]
    if is_header(labels, texts):
        notes.append(f"the first line was taken as a header: {labels[0]!r}, {texts[0]!r}")
        labels, texts = labels[1:], texts[1:]
    empty = [number for (number, _), label in zip(lines, labels, strict=False) if not label]
    if empty:
        raise DataError("the label is empty", file=source.name, line=empty[0], column=1)
    return Documents(texts, labels, source.sha256, notes)
