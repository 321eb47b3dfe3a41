"""``separatrix predict -m model.sx DATA``: the class of every row of raw data, of any size."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli import _reading as reading
from separatrix.cli._output import say

__all__ = ["Columns", "csv_head", "csv_lines", "json_lines", "predicted"]

if TYPE_CHECKING:
    import numpy as np

_NOTES_SHOWN = 20


@reading.with_source("kind", "encoding", "no_header", "labels", "sheet", after="explain")
def predict(
    source: reading.Source,
    data: reading.Data,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            help="A model file: .sx, or of LIBLINEAR or LIBSVM; MODEL.sx before the data will do.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a CSV here instead of printing it.")
    ] = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--proba", "--probabilities", help="A column for the probability of each class."
        ),
    ] = False,
    explain: Annotated[
        int,
        typer.Option("--explain", help="So many contributions to the score of each row, by name."),
    ] = 0,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Take columns of training that are absent as missing."
        ),
    ] = False,
    as_json: reading.AsJson = False,
) -> None:
    """Print the class of every row, with its score; raw data become features as in training."""
    from separatrix._terminal import print_pieces
    from separatrix._write_aside import write_whole
    from separatrix.data.row_blocks import row_blocks
    from separatrix.errors import DataError
    from separatrix.storage.model_file import read_any as read
    from separatrix.storage.model_file import taken_apart

    source, model = _with_model(source, model)
    whole = taken_apart(read(model, plain=True))
    if whole.encoding is None:
        raise DataError(
            f"{model} was trained on arrays and does not know how raw data become features. "
            "Use sx.load and predict in Python, or train with `separatrix fit` or `study`."
        )
    if not hasattr(whole.model, "classes_"):
        raise typer.BadParameter(f"{model} does not hold a classifier.")
    if explain < 0:
        raise typer.BadParameter("--explain takes how many contributions to tell: 1 or more.")
    if probabilities:
        _require_probabilities(whole.model)
    blocks = row_blocks(
        source.place,
        whole.encoding,
        kind=source.kind,
        characters=source.encoding,
        header=source.header,
        labels=source.labels,
        sheet=source.sheet,
        allow_missing=allow_missing,
    )
    run = _Run(whole, probabilities, explain)
    pieces = run.as_json(str(model), blocks) if as_json else run.as_csv(blocks)
    if out is not None:
        write_whole(out, pieces)
    else:
        print_pieces(pieces)
    if not as_json:
        run.tell_errors()


def _with_model(source: reading.Source, model: Path | None) -> tuple[reading.Source, Path]:
    """Return the data and the model, which may be the one .sx file among the data."""
    if model is not None:
        return source, model
    named = [each for each in source.data if each.endswith(".sx")]
    if len(named) != 1 or len(source.data) == 1:
        raise typer.BadParameter("name the model and the data: separatrix predict MODEL.sx DATA.")
    rest = [each for each in source.data if each not in named]
    return replace(source, data=rest), Path(named[0])


def _require_probabilities(model: Any) -> None:
    last = getattr(model, "steps", [("", model)])[-1][1]
    if not hasattr(last, "predict_proba"):
        raise typer.BadParameter(
            "this model has scores only, no probabilities: fit it with --loss logistic, or in "
            "Python with LinearSVM(probability=True)."
        )


class _Run:
    """One pass over the blocks: counts errors where there are labels, and says notes once."""

    def __init__(self, whole: Any, probabilities: bool, explain: int) -> None:
        self._model, self._names = whole.model, whole.encoding.feature_names
        self._options = probabilities, explain
        self._said: set[str] = set()
        self.wrong = self.labelled = 0

    def _columns(self, block: Any) -> dict[str, Any]:
        for note in block.notes:
            if note not in self._said and len(self._said) < _NOTES_SHOWN:
                self._said.add(note)
                say(f"note: {note}", err=True)
        columns = predicted(self._model, block.X, self._names, *self._options)
        if len(block.y):
            there = _labelled(block.y)
            self.labelled += int(there.sum())
            self.wrong += _errors(columns["class"][there], block.y[there])
        return columns

    def as_csv(self, blocks: Any) -> Iterator[bytes]:
        first = True
        for block in blocks:
            columns = self._columns(block)
            if first:
                yield csv_head(columns)
                first = False
            yield csv_lines(columns)

    def as_json(self, model: str, blocks: Any) -> Iterator[bytes]:
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


def _labelled(y: Any) -> Any:
    """Return which rows have a label: an absent one is an empty text."""
    import numpy as np

    return y != "" if y.dtype.kind in "UO" else np.ones(len(y), dtype=bool)


def _errors(predicted: Any, y: Any) -> int:
    """Count labels that differ, as text or as the number they stand for."""
    import numpy as np

    if predicted.dtype.kind in "if" and y.dtype.kind in "if":
        return int(np.count_nonzero(predicted != y))
    return int(np.count_nonzero(predicted.astype(str) != y.astype(str)))


# ---- predictions of a block of rows as columns, and as lines of CSV or JSON

Columns = dict[str, Any]  # name -> values of every row: an array, or a list of texts


def predicted(model: Any, X: Any, names: Any, probabilities: bool, explain: int) -> Columns:
    """Return class, scores, and what else was requested."""
    classes = [str(name) for name in model.classes_.tolist()]
    whole, raw = model, X
    for _, step in getattr(model, "steps", [])[:-1]:
        X = step.transform(X)
    model = getattr(model, "steps", [("", model)])[-1][1]
    scores = model.decision_function(X)
    columns: Columns = {"class": _decided(model, X, scores)}
    if scores.ndim == 1:
        columns["score"] = scores
    else:
        columns |= {
            f"score of {name}": scores[:, k] for k, name in enumerate(_scored(model, classes))
        }
    if probabilities:
        _require_probabilities(model)
        shares = model.predict_proba(X)
        columns |= {f"probability of {name}": shares[:, k] for k, name in enumerate(classes)}
    if explain:
        from separatrix.core.explanation import contributions

        explanations = contributions(whole, raw, names)
        columns["explanation"] = [each.top(explain) for each in explanations]
    return columns


def _scored(model: Any, classes: list[str]) -> list[str]:
    """Name what each column of scores speaks for: a class, or one class against another."""
    if getattr(model, "decision_function_shape", "ovr") != "ovo":
        return classes
    return [f"{classes[above]} against {classes[below]}" for above, below in model._pairs()]


def _decided(model: Any, X: Any, scores: np.ndarray) -> np.ndarray:
    """Return the classes; where they follow from the scores, without scoring again."""
    import numpy as np

    from separatrix.core.linear_model import LinearModel, VotingModel, decided

    if type(model).predict is VotingModel.predict and model.costs_ is None:
        return decided(model.classes_, scores, model.threshold_)
    if type(model).predict is LinearModel.predict:
        return decided(model.classes_, scores)
    return np.asarray(model.predict(X))


def csv_head(columns: Columns) -> bytes:
    """Return the line of names."""
    from separatrix.storage.model_summary import defused

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([defused(name) for name in columns])
    return text.getvalue().encode("utf-8", "surrogatepass")


def csv_lines(columns: Columns) -> bytes:
    """Return a line a row; texts that a spreadsheet would run are defused."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from separatrix.data.arrow import from_numpy, text_scalar

    try:
        cells = [_arrow(values) for values in columns.values()]
    except UnicodeEncodeError:  # half of a surrogate pair in a class or a word
        return _slow_lines(columns)
    lines = pc.binary_join_element_wise(*cells, text_scalar("\n" if len(cells) == 1 else ","))
    ends = from_numpy(np.array([0, len(lines)], dtype=np.int32))
    whole = pc.binary_join(pa.ListArray.from_arrays(ends, lines), text_scalar("\n"))
    return bytes(whole[0].as_buffer()) + b"\n"


def _arrow(values: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    from separatrix.data.arrow import from_numpy, from_texts

    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return from_numpy(values).cast(pa.string())
    distinct, codes = np.unique(np.asarray(values, dtype=str), return_inverse=True)
    texts = from_texts([_cell(text) for text in distinct.tolist()])
    return pa.DictionaryArray.from_arrays(from_numpy(codes.ravel()), texts).dictionary_decode()


def _cell(text: str) -> str:
    from separatrix.storage.model_summary import defused

    safe = defused(text)
    quoted = any(letter in safe for letter in ',"\n\r')
    return f'"{safe.replace(chr(34), chr(34) * 2)}"' if quoted else safe


def _slow_lines(columns: Columns) -> bytes:
    from separatrix.storage.model_summary import defused

    text = io.StringIO()
    rows = zip(*(_plain(values) for values in columns.values()), strict=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([defused(v) if isinstance(v, str) else v for v in row] for row in rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _plain(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def json_lines(columns: Columns) -> Iterator[str]:
    """Yield every row as JSON."""
    for row in zip(*(_plain(values) for values in columns.values()), strict=True):
        yield json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
