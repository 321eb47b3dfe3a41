"""``separatrix lecture-table``: an SVM on sentences for six values of C, beside the lecture's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli._output import progress_bar, say
from separatrix.cli._reading import AsJson

if TYPE_CHECKING:
    from separatrix.selection.lecture_table import Line


def lecture_table(
    sentences: Annotated[
        Path | None,
        typer.Argument(
            help="The folder of UCI's Sentiment Labelled Sentences, or one file of its lines."
        ),
    ] = None,
    splits: Annotated[
        int, typer.Option(min=1, help="Choices of 500 test sentences; figures are their means.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Print the SVM lecture's table beside ours: errors and support vectors for six values of C.

    Example: separatrix lecture-table sentiment/
    """
    from separatrix.data.lectures import needed_sentences
    from separatrix.selection.lecture_table import WITHIN, lecture_sentences
    from separatrix.selection.lecture_table import lecture_table as table

    if sentences is None:
        raise typer.BadParameter(needed_sentences(), param_hint="SENTENCES")
    X, y = lecture_sentences(sentences)
    with progress_bar("splits", splits) as tick:
        lines = table(X, y, splits, tick)
    if as_json:
        say(
            json.dumps(
                {"splits": splits, "rule": WITHIN, "lines": [_facts(line) for line in lines]}
            )
        )
        return
    shown = "split" if splits == 1 else "splits, their means"
    say(f"{len(y):,} sentences, {X.shape[1]:,} words; {splits} {shown}\n")
    for text in table_lines(lines):
        say(text)
    say(f"\n{WITHIN}")


def table_lines(lines: list[Line]) -> list[str]:
    """Return the table in plain columns, its two lines of heading first."""
    made = [
        "            training error %       test error %           support vectors",
        "     C      lecture     ours       lecture     ours       lecture     ours",
    ]
    for line in lines:
        training, test, vectors = line.lecture
        made.append(
            f"{line.C:7g}     {training:7.2f}  {line.training_error:7.2f}       {test:7.1f}"
            f"  {line.test_error:7.1f}       {vectors:7d}  {line.support_vectors:7.0f}"
            f"     {'within' if line.is_within else 'outside'}"
        )
    return made


def _facts(line: Line) -> dict[str, Any]:
    names = ("training_error", "test_error", "support_vectors")
    return {
        "C": line.C,
        **{name: getattr(line, name) for name in names},
        "lecture": dict(zip(names, line.lecture, strict=True)),
        "within": line.is_within,
    }
