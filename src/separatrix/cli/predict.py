"""``separatrix predict -m model.sx DATA``: the class of every row of raw data."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import _reading as reading


def predict(
    data: reading.Data,
    model: Annotated[Path, typer.Option("--model", "-m", help="The model file.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a CSV here instead of printing it.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="A column for the probability of each class.")
    ] = False,
    encoding: reading.Encoding = None,
    no_header: reading.NoHeader = False,
    as_json: reading.AsJson = False,
) -> None:
    """Print the class of every row, with its score; raw data become features as in training."""
    from separatrix.errors import DataError
    from separatrix.storage.model_file import read_model

    whole = read_model(model)
    if whole.encoding is None:
        raise DataError(
            f"{model} was trained on arrays and does not know how raw data become features. "
            "Use sx.load and predict in Python, or train with `separatrix fit` or `study`."
        )
    source: Any = data[0] if len(data) == 1 else [Path(each) for each in data]
    options = {"encoding": encoding, "header": False if no_header else None}
    table = whole.encoding.transform(source, **options)
    for note in table.notes:
        typer.echo(f"note: {note}", err=True)
    columns = _columns(whole.model, table.X, probabilities)
    if as_json:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        told: dict[str, Any] = {"model": str(model), "rows": rows}
        if len(table.y):
            told["errors"] = _errors(columns["class"], table.y)
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    text = _as_csv(columns)
    if out is None:
        typer.echo(text, nl=False)
    else:
        from separatrix._write_aside import write_whole

        write_whole(out, text.encode("utf-8", "surrogatepass"))
    if len(table.y):
        wrong, n = _errors(columns["class"], table.y), len(table.y)
        typer.echo(f"{wrong} errors in {n} rows with labels ({100 * wrong / n:.2f} %)", err=True)


def _columns(model: Any, X: Any, probabilities: bool) -> dict[str, list[Any]]:
    scores = model.decision_function(X)
    names = [str(name) for name in model.classes_.tolist()]
    columns: dict[str, list[Any]] = {"class": model.predict(X).tolist()}
    if scores.ndim == 1:
        columns["score"] = scores.tolist()
    else:
        columns |= {f"score of {name}": scores[:, k].tolist() for k, name in enumerate(names)}
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise typer.BadParameter("this model has scores only, no probabilities.")
        shares = model.predict_proba(X)
        columns |= {f"probability of {name}": shares[:, k].tolist() for k, name in enumerate(names)}
    return columns


def _errors(told: list[Any], y: Any) -> int:
    return sum(str(a) != str(b) for a, b in zip(told, y.tolist(), strict=True))


def _as_csv(columns: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
