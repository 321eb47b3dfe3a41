"""``sx.Study``: the main job for data in memory, as ``separatrix study`` is for files."""

from __future__ import annotations

import dataclasses
import html
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._sparse import sparse
from separatrix._write_aside import write_whole
from separatrix.data.encodings.column_features import FeatureEncoding
from separatrix.data.encodings.encoding import IndexEncoding
from separatrix.data.encodings.labels import classes_of
from separatrix.data.encodings.prepared import text_options
from separatrix.data.encodings.words import TextEncoding, fit_text
from separatrix.data.options import ReadOptions
from separatrix.data.readers.typed_tables import frame_to_arrow, is_frame
from separatrix.data.table import Table, read
from separatrix.errors import DataError, with_article
from separatrix.problem.sparse_penalty import penalty_words
from separatrix.report.advice import changed_call
from separatrix.report.facts import Facts
from separatrix.report.study import Settings
from separatrix.report.study import Study as StudyRun
from separatrix.report.study_rows import beside
from separatrix.storage.model_file import read_model

__all__ = ["Leaderboard", "Study", "StudyModel"]

_SHORT = 20  # values of a setting that are written out
_SETTINGS = tuple(part.name for part in dataclasses.fields(Settings))
_READING = tuple(part.name for part in dataclasses.fields(ReadOptions))


class Study:
    """A whole study: choose features, loss and C, fit, prove, test once, report.

    Parameters
    ----------
    X : frame, array, sparse matrix, list of texts, path, paths or Table
        The rows. Columns of a frame may hold texts, categories and missing values.
    y : array or None, default=None
        The labels; None where a column of the frame or of the file holds them.
    target : str, int or None, default=None
        That column, by its name or its number.
    **settings
        The settings of ``separatrix study`` by the same names (features, loss, Cs, folds,
        test_share, seed, group, time, dedupe, balanced, positive, title, ...), and the options of
        `sx.read` (drop, categorical, missing, ...) where there is something to read. `group` and
        `time` may also be arrays, a value a row.

    Attributes
    ----------
    facts_ : Facts
        All that was found; ``facts_.to_json()`` is ``study.json``.
    leaderboard_ : Leaderboard
        The candidates, the best first: a list of dictionaries that prints as a table. Where
        another measure than the error chose, it is there too, and orders them.
    model_ : StudyModel
        The model, fitted and proved. It predicts rows of the form that X has.
    folder_ : Path
        Where ``report.html``, ``model.sx`` and the certificate are.

    See Also
    --------
    LinearSVMCV : the choice of C alone.
    read : the reader of files and frames.
    SealedTest : the test set that a study opens once.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.array([[k % 7, k % 5] for k in range(40)], dtype=float)
    >>> y = np.where(X[:, 0] > X[:, 1], "more", "less")
    >>> study = sx.Study(X, y, features="raw", Cs=(1.0, 10.0), folds=3).run()
    >>> study.facts_.test.n, len(study.leaderboard_)
    (8, 1)
    >>> study.model_.predict([[6.0, 1.0], [0.0, 4.0]]).tolist()
    ['more', 'less']
    """

    facts_: Facts
    leaderboard_: Leaderboard
    model_: StudyModel
    folder_: Path

    def __init__(
        self, X: Any, y: Any = None, *, target: str | int | None = None, **settings: Any
    ) -> None:
        unknown = [name for name in settings if name not in (*_SETTINGS, *_READING)]
        if unknown:
            known = ", ".join(_SETTINGS)
            raise TypeError(f"Study has no setting {unknown[0]!r}. The settings are: {known}.")
        if target is not None and not isinstance(target, str | int | np.integer):
            raise DataError(
                "target is the name or the number of a column, and it is given a "
                f"{type(target).__name__}: labels go second, Study(X, y)"
            )
        values = {
            name: beside(name, settings[name])
            for name in ("group", "time")
            if settings.get(name) is not None and not isinstance(settings[name], str)
        }
        chosen: dict[str, Any] = {
            name: name if name in values else value
            for name, value in settings.items()
            if name in _SETTINGS
        }
        self.settings = Settings(**chosen)
        options = {k: v for k, v in settings.items() if k not in _SETTINGS}
        columns = [self.settings.group, self.settings.time]
        aside = [name for name in columns if name is not None and name not in values]
        table = table_of(X, y, target, options, aside)
        for name, each in values.items():
            _require_one_each(name, each, len(table.y))
        self.table = dataclasses.replace(table, aside={**table.aside, **values})
        rows = [repr(os.fspath(X)) if isinstance(X, str | os.PathLike) else "X"]
        rows += ["y"] if y is not None else []
        rows += [f"target={target!r}"] if target is not None else []
        typed = {name: _as_typed(name, value) for name, value in settings.items()}
        self._again = partial(changed_call, ", ".join(rows), typed)

    def run(self, folder: str | os.PathLike[str] | None = None) -> Study:
        """Do the study; its files are in the folder, or in one that lasts as long as this object.

        In the same folder an interrupted study is resumed.
        """
        if folder is None:
            folder = tempfile.mkdtemp(prefix="separatrix-study-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder_ = Path(folder)
        work = StudyRun(self.table, self.folder_, self.settings, again=self._again)
        self.facts_ = work.run()
        self.leaderboard_ = Leaderboard.of(self.facts_)
        whole = read_model(self.folder_ / "model.sx")
        self.model_ = StudyModel(whole.model, whole.encoding)
        return self

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report, one HTML file."""
        from separatrix.report.page import render_report

        if not hasattr(self, "facts_"):
            raise ValueError("There is nothing to report yet: call run() first.")
        write_whole(path, render_report(self.facts_).encode())

    def __repr__(self) -> str:
        """Say the answer, or that there is none yet."""
        if not hasattr(self, "facts_"):
            return f"Study({self.table!r}); run() begins it"
        return f"{self.facts_.answer}\n{self.leaderboard_}"

    def _repr_html_(self) -> str | None:
        if not hasattr(self, "facts_"):
            return None
        return f"<p>{html.escape(self.facts_.answer)}</p>{self.leaderboard_._repr_html_()}"


def _as_typed(name: str, value: Any) -> str:
    """Return a value as code: a short one as it is, another by the name of its setting.

    >>> _as_typed("Cs", (0.1, 1.0)), _as_typed("group", np.zeros(3))
    ('(0.1, 1.0)', 'group')
    """
    short = bool | int | float | str | None
    if isinstance(value, short):
        return repr(value)
    is_list = isinstance(value, tuple | list) and len(value) <= _SHORT
    return repr(value) if is_list and all(isinstance(each, short) for each in value) else name


class Leaderboard(list[dict[str, Any]]):
    """The candidates of a study, the best first; the one chosen is marked.

    `chosen_by` says what chose it.

    >>> Leaderboard([{"features": "raw", "loss": "hinge", "C": 1.0, "error": 0.25,
    ...               "standard_error": 0.01, "n_features": 4, "seconds": None, "chosen": True}])
      features  loss   C  error %    +-  weights  seconds
    * raw       hinge  1    25.00  1.00        4        -
    """

    chosen_by: str = ""

    @classmethod
    def of(cls, facts: Facts) -> Leaderboard:
        """Return the candidates of some facts; of a path alone, its chosen C."""
        rows: list[dict[str, Any]] = [
            {
                "features": each.features,
                "loss": each.loss,
                "C": each.C,
                "error": each.error,
                "standard_error": each.standard_error,
                "n_features": each.n_features,
                "l1_ratio": each.l1_ratio,
                "n_nonzero": each.n_nonzero,
                "seconds": each.seconds,
                "chosen": each.chosen,
            }
            for each in facts.candidates
        ]
        if not rows:
            rows = [_of_path(facts)]
        found, sign, name = facts.scoring, 1.0, "error"
        if measure := facts.chosen_measure:
            scored = [each for each in facts.candidates if each.score is not None]
            scores = [(each.score, each.score_error) for each in scored]
            if found is not None and not scores:  # of a path over C, which compares no others
                scores = [(found.value, found.standard_error)]
            for row, (score, error) in zip(rows, scores, strict=True):
                row |= {"measure": measure, "score": score, "score_error": error}
            sign, name = (-1.0 if found is not None and found.larger_is_better else 1.0), "score"
        board = cls(sorted(rows, key=lambda row: (sign * row[name], not row["chosen"])))
        board.chosen_by = facts.chosen_by
        return board

    def _cells(self) -> list[list[str]]:
        measure = self[0].get("measure") if self else None
        more = [] if measure is None else [measure, "+-"]
        heads = ["", "features", "loss", "C", *more, "error %", "+-", "weights", "seconds"]
        rows = [
            [
                "*" if row["chosen"] else "",
                row["features"],
                _model_of(row),
                f"{row['C']:.4g}",
                *([f"{row['score']:.4f}", f"{row['score_error']:.4f}"] if more else []),
                f"{100.0 * row['error']:.2f}",
                f"{100.0 * row['standard_error']:.2f}",
                _weights_of(row),
                "-" if row["seconds"] is None else f"{row['seconds']:.1f}",
            ]
            for row in self
        ]
        return [heads, *rows]

    def __repr__(self) -> str:
        """Write a table."""
        cells = self._cells()
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        lines = [
            "  ".join(
                cell.ljust(width) if k < 3 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row[1:], widths[1:], strict=True), 1)
            )
            for row in cells
        ]
        said = [f"{row[0] or ' '} {line}" for row, line in zip(cells, lines, strict=True)]
        return "\n".join([*said, f"* {self.chosen_by}"] if self.chosen_by else said)

    def _repr_html_(self) -> str:
        heads, *rows = self._cells()
        top = "".join(f"<th>{html.escape(head)}</th>" for head in heads)
        body = ""
        for row in rows:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
            strong = " style='font-weight:bold'" if row[0] else ""
            body += f"<tr{strong}>{cells}</tr>"
        table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{html.escape(self.chosen_by)}</p>" if self.chosen_by else table


def _model_of(row: dict[str, Any]) -> str:
    parts = (row["loss"].replace("_", " "), penalty_words(row.get("l1_ratio", 0.0)))
    return ", ".join(part for part in parts if part)


def _weights_of(row: dict[str, Any]) -> str:
    """Return the number of features; of sparse weights, how many of them have one."""
    nonzero = row.get("n_nonzero")
    return f"{row['n_features']:,}" if nonzero is None else f"{nonzero:,} of {row['n_features']:,}"


def _of_path(facts: Facts) -> dict[str, Any]:
    assert facts.path is not None, "a study chose a C"
    assert facts.machine is not None, "and fitted a model"
    assert facts.data is not None, "to data"
    row = next(row for row in facts.path.rows if facts.path.chosen == row.C)
    return {
        "features": "raw",
        "loss": facts.machine.loss,
        "C": row.C,
        "error": row.validation_error,
        "standard_error": row.validation_spread,
        "n_features": facts.data.n_features,
        "seconds": facts.path.seconds,
        "chosen": True,
    }


class StudyModel:
    """A fitted model with what makes its features: it takes rows as the study was given them.

    Attributes that are not its own are those of the model (`coef_`, `certificate_`, ...).
    """

    def __init__(self, model: Any, encoding: Any) -> None:
        self.model, self.encoding = model, encoding

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the model."""
        if name.startswith("__") or "model" not in vars(self):
            raise AttributeError(name)
        return getattr(self.model, name)

    def __repr__(self) -> str:
        """Say what the model is."""
        return f"StudyModel({type(self.model).__name__}(C={self.model.C:.4g}))"

    def features_of(self, X: Any) -> Any:
        """Return the features that the model takes."""
        encoding = self.encoding
        if encoding is None:
            return X
        is_scaled = isinstance(encoding, FeatureEncoding)
        inner = encoding.inner if is_scaled else encoding
        if _is_path(X) or is_frame(X):
            return encoding.transform(X).X
        if isinstance(inner, TextEncoding):
            found = inner.encode([str(text) for text in X])
        elif isinstance(inner, IndexEncoding):
            found = inner.fitted(X if sparse.issparse(X) else np.asarray(X, dtype=np.float64))[0]
        else:
            raise DataError("the study had named columns: give a frame with these columns")
        return encoding.columns.apply(found) if is_scaled else found

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every row."""
        return np.asarray(self.model.predict(self.features_of(X)))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of every row."""
        return np.asarray(self.model.decision_function(self.features_of(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class, for every row."""
        return np.asarray(self.model.predict_proba(self.features_of(X)))

    def score(self, X: Any, y: Any) -> float:
        """Return the share of rows whose class is predicted rightly."""
        return float(np.mean(self.predict(X) == np.asarray(y)))


# ---- data of any form


def table_of(
    X: Any, y: Any, target: str | int | None, options: dict[str, Any], aside: Sequence[str]
) -> Table:
    """Return the table that any form of data is; columns aside are kept beside the features."""
    if isinstance(X, Table):
        _refuse(X, y=y, target=target, **options)
        return X
    reading = {"aside": tuple(aside), **options} if aside else options
    if y is None:
        several = isinstance(X, list | tuple) and all(_is_path(each) for each in X)
        if _is_path(X) or several or is_frame(X):
            return read(X, target, **reading)
        raise TypeError("Study(X, y) needs the labels y of an array.")
    _refuse(X, target=target)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"y must be a column of labels. Got an array of shape {labels.shape}.")
    if any(label is None or label != label for label in labels.tolist()):
        raise DataError("y has rows without a label. Fill them in, or leave the rows out.")
    if is_frame(X):
        return _of_frame(X, labels, reading)
    if _is_path(X):
        raise TypeError("Study(path) reads the labels too: name their column, target='...'.")
    if _are_texts(X):
        return _of_texts([str(text) for text in X], labels, reading)
    _refuse(X, **reading)
    return _of_array(X, labels)


def _is_path(thing: Any) -> bool:
    return isinstance(thing, str | os.PathLike)


def _refuse(X: Any, **given: Any) -> None:
    names = [name for name, value in given.items() if value is not None]
    if names:
        kind = with_article(type(X).__name__)
        raise TypeError(f"Study of {kind} with labels takes no {', '.join(names)}.")


def _are_texts(X: Any) -> bool:
    values = X.tolist() if hasattr(X, "tolist") and getattr(X, "ndim", 0) == 1 else X
    return isinstance(values, list | tuple) and bool(values) and isinstance(values[0], str)


def _of_frame(frame: Any, labels: np.ndarray, options: dict[str, Any]) -> Table:
    import pyarrow as pa

    whole = frame_to_arrow(frame)
    _require_one_each("y", labels, whole.num_rows)
    name = "target"
    while name in whole.column_names:
        name += "_"
    classes, codes = np.unique(labels, return_inverse=True)
    table = read(whole.append_column(name, pa.array(codes)), name, **options)
    encoding = dataclasses.replace(table.encoding, classes=tuple(classes.tolist()))
    return dataclasses.replace(table, y=labels, classes=classes, encoding=encoding)


def _of_texts(texts: list[str], labels: np.ndarray, options: dict[str, Any]) -> Table:
    _require_one_each("y", labels, len(texts))
    chosen = ReadOptions(**options)
    encoding, X = fit_text(texts, text_options(chosen), chosen.max_features)
    encoding = dataclasses.replace(encoding, classes=tuple(classes_of(labels).tolist()))
    return Table(
        X=X, y=labels, feature_names=encoding.feature_names, classes=classes_of(labels),
        kind="text", source="texts", sha256="", encoding=encoding, texts=texts,
    )  # fmt: skip


def _of_array(X: Any, labels: np.ndarray) -> Table:
    rows = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    if rows.ndim != 2:
        raise DataError(f"X must be a table: a row a sample. Got an array of shape {rows.shape}.")
    _require_one_each("y", labels, rows.shape[0])
    if not sparse.issparse(rows):
        if rows.dtype.kind == "O" or rows.dtype.kind == "U":
            raise DataError(
                "X holds texts beside numbers; give a frame, whose columns have names, or encode "
                "it: sx.Encoder()"
            )
        rows = rows.astype(np.float32 if rows.dtype == np.float32 else np.float64)
    values = rows.data if sparse.issparse(rows) else rows
    if not np.isfinite(values).all():
        raise DataError(
            "X holds values that are no finite numbers; give a frame, where missing values are "
            "filled, or encode it: sx.Encoder()"
        )
    names = [f"x{k}" for k in range(rows.shape[1])]
    return Table(
        X=rows, y=labels, feature_names=names, classes=classes_of(labels), kind="array",
        source="array", sha256="", encoding=None,
    )  # fmt: skip


def _require_one_each(name: str, values: np.ndarray, n_rows: int) -> None:
    if values.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows, and {name} has the shape {values.shape}.")
