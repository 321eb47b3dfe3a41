"""Predictions of a block of rows as columns, and as lines of CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import typer

__all__ = ["Columns", "csv_head", "csv_lines", "json_lines", "predicted"]

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
        columns |= {f"score of {name}": scores[:, k] for k, name in enumerate(classes)}
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise typer.BadParameter(
                "this model has scores only, no probabilities: fit it with --loss logistic, or in "
                "Python with LinearSVM(probability=True)."
            )
        shares = model.predict_proba(X)
        columns |= {f"probability of {name}": shares[:, k] for k, name in enumerate(classes)}
    if explain:
        from separatrix.core.explanation import contributions

        explanations = contributions(whole, raw, names)
        columns["explanation"] = [each.top(explain) for each in explanations]
    return columns


def _decided(model: Any, X: Any, scores: np.ndarray) -> np.ndarray:
    """Return the classes; where they follow from the scores, without scoring again."""
    from separatrix.core.linear_model import LinearModel, decided

    if type(model).predict is not LinearModel.predict:
        return np.asarray(model.predict(X))
    return decided(model.classes_, scores)


def csv_head(columns: Columns) -> bytes:
    """Return the line of names."""
    from separatrix.storage.coefficients_csv import defused

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([defused(name) for name in columns])
    return text.getvalue().encode("utf-8", "surrogatepass")


def csv_lines(columns: Columns) -> bytes:
    """Return a line a row; texts that a spreadsheet would run are defused."""
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
    import pyarrow as pa

    from separatrix.data.arrow import from_numpy, from_texts

    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return from_numpy(values).cast(pa.string())
    distinct, codes = np.unique(np.asarray(values, dtype=str), return_inverse=True)
    texts = from_texts([_cell(text) for text in distinct.tolist()])
    return pa.DictionaryArray.from_arrays(from_numpy(codes.ravel()), texts).dictionary_decode()


def _cell(text: str) -> str:
    from separatrix.storage.coefficients_csv import defused

    safe = defused(text)
    quoted = any(letter in safe for letter in ',"\n\r')
    return f'"{safe.replace(chr(34), chr(34) * 2)}"' if quoted else safe


def _slow_lines(columns: Columns) -> bytes:
    from separatrix.storage.coefficients_csv import defused

    text = io.StringIO()
    rows = zip(*(_plain(values) for values in columns.values()), strict=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([defused(v) if isinstance(v, str) else v for v in row] for row in rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _plain(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def json_lines(columns: Columns) -> Iterator[str]:
    """Yield every row as JSON."""
    for row in zip(*(_plain(values) for values in columns.values()), strict=True):
        yield json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
