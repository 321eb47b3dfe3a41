"""``separatrix predict -m model.sx DATA``: the class of every row of raw data, of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import _reading as reading
from separatrix.cli._say import say

_NOTES_SHOWN = 20


def predict(
    data: reading.Data,
    model: Annotated[
        Path, typer.Option("--model", "-m", help="A model file: .sx, or of LIBLINEAR or LIBSVM.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a CSV here instead of printing it.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="A column for the probability of each class.")
    ] = False,
    explain: Annotated[
        int,
        typer.Option("--explain", help="So many contributions to the score of each row, by name."),
    ] = 0,
    kind: reading.Kind = None,
    encoding: reading.Encoding = None,
    no_header: reading.NoHeader = False,
    labels: reading.Labels = None,
    as_json: reading.AsJson = False,
) -> None:
    """Print the class of every row, with its score; raw data become features as in training."""
    from separatrix._terminal import print_pieces
    from separatrix._write_aside import write_whole
    from separatrix.data.row_blocks import row_blocks
    from separatrix.errors import DataError
    from separatrix.storage.model_file import read_any as read

    whole = read(model, plain=True)
    if whole.encoding is None:
        raise DataError(
            f"{model} was trained on arrays and does not know how raw data become features. "
            "Use sx.load and predict in Python, or train with `separatrix fit` or `study`."
        )
    if not hasattr(whole.model, "classes_"):
        raise typer.BadParameter(f"{model} does not hold a classifier.")
    if explain < 0:
        raise typer.BadParameter("--explain takes how many contributions to tell: 1 or more.")
    source: Any = data[0] if len(data) == 1 else [Path(each) for each in data]
    header = False if no_header else None
    blocks = row_blocks(
        source, whole.encoding, kind=kind, characters=encoding, header=header, labels=labels
    )
    run = _Run(whole, probabilities, explain)
    pieces = run.as_json(str(model), blocks) if as_json else run.as_csv(blocks)
    if out is not None:
        write_whole(out, pieces)
    else:
        print_pieces(pieces)
    if not as_json:
        run.tell_errors()


class _Run:
    """One pass over the blocks: counts errors where there are labels, and says notes once."""

    def __init__(self, whole: Any, probabilities: bool, explain: int) -> None:
        self._model, self._names = whole.model, whole.encoding.feature_names
        self._options = probabilities, explain
        self._said: set[str] = set()
        self.wrong = self.labelled = 0

    def _columns(self, block: Any) -> dict[str, Any]:
        from separatrix.cli._predictions import predicted

        for note in block.notes:
            if note not in self._said and len(self._said) < _NOTES_SHOWN:
                self._said.add(note)
                say(f"note: {note}", err=True)
        columns = predicted(self._model, block.X, self._names, *self._options)
        if len(block.y):
            self.labelled += len(block.y)
            self.wrong += _errors(columns["class"], block.y)
        return columns

    def as_csv(self, blocks: Any) -> Iterator[bytes]:
        from separatrix.cli._predictions import csv_head, csv_lines

        first = True
        for block in blocks:
            columns = self._columns(block)
            if first:
                yield csv_head(columns)
                first = False
            yield csv_lines(columns)

    def as_json(self, model: str, blocks: Any) -> Iterator[bytes]:
        from separatrix.cli._predictions import json_lines

        before = f'{{"model": {json.dumps(model, ensure_ascii=False)}, "rows": ['
        for block in blocks:
            for line in json_lines(self._columns(block)):
                yield (before + line).encode("utf-8", "surrogatepass")
                before = ", "
        yield (f'], "errors": {self.wrong}}}\n' if self.labelled else "]}\n").encode()

    def tell_errors(self) -> None:
        if self.labelled:
            share = 100 * self.wrong / self.labelled
            said = f"{self.wrong} errors in {self.labelled} rows with labels ({share:.2f} %)"
            say(said, err=True)


def _errors(predicted: Any, y: Any) -> int:
    """Count labels that differ, as text or as the number they stand for."""
    import numpy as np

    if predicted.dtype.kind in "if" and y.dtype.kind in "if":
        return int(np.count_nonzero(predicted != y))
    return int(np.count_nonzero(predicted.astype(str) != y.astype(str)))
