"""The path over C as a table: one row a C, for the eye, for arrays and for files."""

from __future__ import annotations

import csv
import html
import io
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix._write_aside import write_whole

__all__ = ["PathTable"]

_FORMATS = {
    "C": ".4g",
    "validation_error": ".4f",
    "validation_spread": ".4f",
    "standard_error": ".4f",
    "validation_score": ".4f",
    "score_spread": ".4f",
    "score_error": ".4f",
    "training_error": ".4f",
    "n_support": ".1f",
    "margin": ".4g",
    "n_nonzero": ".1f",
    "gap": ".1e",
    "seconds": ".3g",
    "n_folds": ".0f",
}
_WHOLE = {"n_folds"}


class PathTable:
    """What cross-validation found, one row a C, ascending.

    Columns: `C`; `validation_error`, the mean over folds of the share of rows misclassified;
    `validation_spread`, its standard deviation over folds; `standard_error`, that over the root of
    their number; `training_error`, `n_support` and `margin`, means over folds; `gap`, the largest
    relative duality gap of any fold, proved (in a study, as the solver computed it); `seconds`, of
    a processor, all folds together; `n_folds`. Of sparse weights `n_nonzero`, the mean over folds.
    With a scorer also `validation_score` and `score_spread`. Of a study by a measure
    errors are those at the threshold that it takes, and `score_error` is its standard error.

    `chosen` is the number of the row chosen, `reason` says why, `notes` what else is to be known,
    and `fold_errors` holds the error of every fold, a row a C. Where a measure chose,
    `fold_losses` holds what was to be small; NaN where the rows of a fold do not define it.

    >>> table = PathTable({"C": np.array([0.1, 1.0])}, 1, "least error", np.zeros((2, 5)))
    >>> table["C"].tolist(), len(table), table.C
    ([0.1, 1.0], 2, 1.0)
    """

    def __init__(
        self,
        columns: dict[str, np.ndarray],
        chosen: int,
        reason: str,
        fold_errors: np.ndarray,
        notes: tuple[str, ...] = (),
        loss: str = "hinge",
        fold_losses: np.ndarray | None = None,
    ) -> None:
        self._columns, self.loss = columns, loss
        self.chosen, self.reason, self.notes = chosen, reason, notes
        self.fold_errors, self.fold_losses = fold_errors, fold_losses

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @property
    def C(self) -> float:
        """The C chosen."""
        return float(self._columns["C"][self.chosen])

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a column as an array."""
        if name not in self._columns:
            raise KeyError(f"the path has no column {name!r}; it has {', '.join(self._columns)}")
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._columns["C"])

    def __iter__(self) -> Iterator[dict[str, float]]:
        """Give every row as a dictionary."""
        for k in range(len(self)):
            yield {
                name: int(column[k]) if name in _WHOLE else float(column[k])
                for name, column in self._columns.items()
            }

    # ---- for the eye

    def _cells(self) -> list[list[str]]:
        return [
            [format(value, _FORMATS.get(name, ".4g")) for name, value in row.items()]
            for row in self
        ]

    def __repr__(self) -> str:
        heads = [name.replace("_", " ") for name in self._columns]
        cells = self._cells()
        widths = [max(len(head), *(len(row[k]) for row in cells)) for k, head in enumerate(heads)]
        lines = ["  " + "  ".join(h.rjust(w) for h, w in zip(heads, widths, strict=True))]
        for number, row in enumerate(cells):
            mark = "* " if number == self.chosen else "  "
            lines.append(mark + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)))
        return "\n".join([*lines, f"* {self.reason}", *self.notes])

    def _repr_html_(self) -> str:
        right = "style='text-align:right'"
        heads = "".join(
            f"<th {right}>{html.escape(n.replace('_', ' '))}</th>" for n in self.columns
        )
        rows = ""
        for number, row in enumerate(self._cells()):
            cells = "".join(f"<td {right}>{html.escape(cell)}</td>" for cell in row)
            strong = " style='font-weight:bold'" if number == self.chosen else ""
            rows += f"<tr{strong}>{cells}</tr>"
        words = "<br>".join(html.escape(line) for line in (self.reason, *self.notes))
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table><p>{words}</p>"

    # ---- for files

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table, all digits, beside its name and then under it."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.columns, "chosen"])
        for number, row in enumerate(self):
            writer.writerow([*(repr(value) for value in row.values()), int(number == self.chosen)])
        write_whole(path, text.getvalue().encode("utf-8"))

    def facts(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and texts."""
        return {
            "C": self.C,
            "loss": self.loss,
            "reason": self.reason,
            "notes": list(self.notes),
            "rows": list(self),
            "fold_errors": self.fold_errors.tolist(),
        }

    def to_json(self) -> str:
        """Write everything as JSON; infinities, which JSON has not, as null."""
        return json.dumps(_finite(self.facts()), indent=1)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
