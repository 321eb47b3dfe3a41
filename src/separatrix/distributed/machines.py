"""Models and verdicts on a cluster: the names of the local ones, fitted where the rows are.

Data onto the workers: dask arrays, dataframes or partition files, merged to a block a thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from dask.distributed import Client

from separatrix.core.checks import one_of
from separatrix.core.partitioned import Rows, fingerprint_of, fit_rows
from separatrix.core.partitioned_verdict import verdict_on_rows
from separatrix.core.verdict import Verdict
from separatrix.data.partitions import (
    Partitions,
    StoredBlock,
    open_block,
    open_partitions,
    verify_block,
)
from separatrix.distributed.engine import DaskEngine, client_or_current
from separatrix.errors import DataError
from separatrix.estimators import linear_svm, logistic_regression
from separatrix.problem.blocks import Block
from separatrix.problem.fingerprint import fingerprint_of_blocks
from separatrix.problem.signed import as_matrix
from separatrix.selection import linear_cv
from separatrix.selection.partitioned_path import fit_path_on_rows

__all__ = [
    "LinearSVM",
    "LinearSVMCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "placed",
    "separability",
]


class Distributed:
    """A machine to be fitted on a cluster: the parameters of the local one, and where.

    Parameters
    ----------
    client : dask.distributed.Client or None
        None means the current one.
    checkpoint : path or None
        A file on this machine from which an interrupted fit resumes.
    fingerprint : bool
        Whether the certificate names the SHA-256 of the data, for which all of it passes through
        this machine once. Without it the certificate does not say of which data it speaks.
    parameters
        Those of the local estimator of the same name.
    """

    local: type

    def __init__(
        self,
        *positional: Any,
        client: Any = None,
        checkpoint: str | None = None,
        fingerprint: bool = True,
        **parameters: Any,
    ) -> None:
        self.client, self.checkpoint, self.fingerprint = client, checkpoint, fingerprint
        self.machine = self.local(*positional, **parameters)

    def __repr__(self) -> str:
        return f"distributed.{self.machine!r}"

    def fit(self, X: Any, y: Any = None, *, target: str | None = None) -> Any:
        """Fit to dask arrays or dataframes X and y, or to partition files.

        Returns a plain local estimator, with proof of how close to the best it is.
        """
        loss = getattr(self.machine, "loss", None)
        if loss is not None:
            one_of("loss", loss, ("hinge", "squared_hinge"))
        rows = placed(
            client_or_current(self.client),
            X,
            y,
            target=target,
            checkpoint=self.checkpoint,
            fingerprint=self.fingerprint,
        )
        return self._fit_rows(rows, loss or "logistic")

    def _fit_rows(self, rows: Rows, loss: str) -> Any:
        return fit_rows(self.machine, rows, loss)


class LinearSVM(Distributed):
    """`separatrix.LinearSVM` on a cluster."""

    local = linear_svm.LinearSVM

    def _fit_rows(self, rows: Rows, loss: str) -> Any:
        self.machine._calibration = None
        return super()._fit_rows(rows, loss)


class LogisticRegression(Distributed):
    """`separatrix.LogisticRegression` on a cluster."""

    local = logistic_regression.LogisticRegression

    def _fit_rows(self, rows: Rows, loss: str) -> Any:
        self.machine.verdict_ = None
        return super()._fit_rows(rows, loss)


class LinearSVMCV(Distributed):
    """`separatrix.LinearSVMCV` on a cluster: C is chosen over folds there."""

    local: type = linear_cv.LinearSVMCV

    def _fit_rows(self, rows: Rows, loss: str) -> Any:
        return fit_path_on_rows(self.machine, rows, loss)


class LogisticRegressionCV(LinearSVMCV):
    """`separatrix.LogisticRegressionCV` on a cluster."""

    local = linear_cv.LogisticRegressionCV


def separability(
    X: Any,
    y: Any = None,
    fit_intercept: bool = True,
    *,
    target: str | None = None,
    client: Any = None,
) -> Verdict:
    """Decide whether a hyperplane separates two classes on a cluster, and prove the answer.

    X and y are dask arrays or dataframes, or X is a folder or a list of partition files.
    """
    rows = placed(client_or_current(client), X, y, target=target)
    return verdict_on_rows(rows, fit_intercept)


# ---- data onto the workers: dask arrays, dataframes or partition files, merged to a block a thread


# Blocks up to so many bytes are brought here once for the fingerprint, and not four times.
_KEPT_HERE = 2_000_000_000


def placed(
    client: Client,
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    checkpoint: str | None = None,
    fingerprint: bool = True,
) -> Rows:
    """Return rows on the workers of a client."""
    if isinstance(X, Partitions):
        rows = _of_files(client, X)
    elif isinstance(X, str | os.PathLike) or (
        isinstance(X, list | tuple) and X and all(isinstance(x, str | os.PathLike) for x in X)
    ):
        rows = _of_files(client, open_partitions(X, target))
    else:
        rows = _of_collections(client, X, y, target)
    if not fingerprint:
        rows = rows._replace(fingerprint=lambda: "")
    return rows._replace(checkpoint=checkpoint or rows.checkpoint)


def _groups(sizes: Sequence[int], client: Client) -> list[range]:
    """Cut parts that follow one another into one group for each thread, of about equal size."""
    threads = max(1, sum(client.nthreads().values()))
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, threads) / threads, side="left") + 1
    edges = sorted({0, *cuts.clip(0, len(sizes)).tolist(), len(sizes)})
    return [range(a, b) for a, b in pairwise(edges)]


# ---- files


def read_blocks(
    stored: list[tuple[str, StoredBlock]], n_features: int, classes: np.ndarray, first: int
) -> Block:
    """Read stored blocks into the memory of a worker, as one."""
    parts, codes = [], []
    for folder, block in stored:
        verify_block(Path(folder), block)
        X, numbers = open_block(Path(folder), block, n_features)
        texts = classes.dtype.kind == "U"
        labels = [str(label) if texts else label for label in block.labels]
        parts.append(X)
        codes.append(np.searchsorted(classes, labels)[numbers])
    return Block(_together(parts), np.concatenate(codes), None, first)


def _together(parts: list[Any]) -> Any:
    if sp.issparse(parts[0]):
        return as_matrix(sp.vstack(parts, format="csr") if len(parts) > 1 else parts[0].copy())
    return np.concatenate(parts) if len(parts) > 1 else np.array(parts[0])


def _of_files(client: Client, handle: Partitions) -> Rows:
    groups = _groups([block.entries + block.rows for _, block in handle.stored], client)
    stored = [(str(folder), block) for folder, block in handle.stored]
    starts = np.cumsum([0, *(block.rows for _, block in handle.stored)])

    def make() -> list[Any]:
        # One block a thread, spread out; where a worker is gone any other will do.
        places = [name for name, threads in client.nthreads().items() for _ in range(threads)]
        places = places or [None]
        return [
            client.submit(
                read_blocks,
                [stored[k] for k in group],
                handle.n_features,
                handle.classes,
                int(starts[group.start]),
                pure=False,
                workers=places[number % len(places)],
                allow_other_workers=True,
            )
            for number, group in enumerate(groups)
        ]

    engine = DaskEngine(client, make, handle.n_features)
    counts = handle.counts()
    return Rows(engine, handle.classes, counts, lambda: fingerprint_of(handle), handle.checkpoint)


# ---- dask collections


def block_of(parts: list[Any], labels: list[Any], classes: np.ndarray, first: int) -> Block:
    """Make one block of chunks that follow one another."""
    X = [as_matrix(_plain(part)) for part in parts]
    for part in X:
        if not np.isfinite(part.data if sp.issparse(part) else part).all():
            raise DataError("X holds values that are missing or infinite")
    y = np.concatenate([np.asarray(part) for part in labels])
    codes = np.searchsorted(classes, y)
    rows = _together(X) if len(X) > 1 else X[0]
    return Block(rows, codes, None, first)


def _plain(part: Any) -> Any:
    return part.to_numpy() if hasattr(part, "to_numpy") else part


def facts_of(labels: Any, part: Any) -> tuple[list[Any], int, int]:
    """Return the labels of a chunk, its rows and its columns."""
    return np.unique(np.asarray(labels)).tolist(), part.shape[0], part.shape[1]


def _of_collections(client: Client, X: Any, y: Any, target: str | None) -> Rows:
    if y is None and hasattr(X, "columns"):
        if target is None:
            raise DataError("name the column of labels: target=...")
        y, X = X[target], X[[name for name in X.columns if name != target]]
    if y is None or not hasattr(X, "to_delayed") or not hasattr(y, "to_delayed"):
        raise TypeError(
            "expected dask arrays or dataframes X and y, a folder or a list of partition files, or "
            f"what sx.open_partitions returns; got {type(X).__name__} and {type(y).__name__}. "
            "Data in memory need no cluster: use separatrix.LinearSVM."
        )
    if len(getattr(X, "chunks", ((), ()))[1]) > 1:
        X = X.rechunk({1: -1})
    X_parts, y_parts = np.ravel(X.to_delayed()).tolist(), np.ravel(y.to_delayed()).tolist()
    if len(X_parts) != len(y_parts):
        raise DataError(
            f"X has {len(X_parts)} chunks of rows and y has {len(y_parts)}; rechunk them alike"
        )
    look = dask.delayed(facts_of, pure=False)
    facts = client.gather(
        client.compute([look(b, a) for a, b in zip(X_parts, y_parts, strict=True)])
    )
    classes = np.array(sorted(set().union(*(labels for labels, _, _ in facts))))
    rows, width = [n for _, n, _ in facts], facts[0][2]
    if sum(rows) == 0:
        raise DataError("X holds no rows")
    starts = np.cumsum([0, *rows])
    groups = _groups(rows, client)
    joining = dask.delayed(block_of, pure=False)

    def make() -> list[Any]:
        tasks = [
            joining(
                [X_parts[k] for k in group],
                [y_parts[k] for k in group],
                classes,
                int(starts[group.start]),
            )
            for group in groups
        ]
        futures: list[Any] = client.compute(tasks)
        return futures

    engine = DaskEngine(client, make, width)
    counts, _ = engine.reduce(class_counts, len(classes))
    return Rows(engine, classes, counts, _fingerprint(engine, len(classes)))


def class_counts(block: Block, n_classes: int) -> tuple[np.ndarray, int]:
    """Return how many rows of each class a block has."""
    return np.bincount(block.codes, minlength=n_classes), 0


def _fingerprint(engine: DaskEngine, n_classes: int) -> Callable[[], str]:
    def found() -> str:
        here: Any = None
        if 12 * engine.n_entries <= _KEPT_HERE:
            here = list(engine.blocks())
        shape = engine.n_rows, engine.n_features
        return fingerprint_of_blocks(
            lambda: ((block.X, block.codes) for block in here or engine.blocks()), shape, n_classes
        )

    return found
