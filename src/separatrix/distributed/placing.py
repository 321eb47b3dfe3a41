"""Data onto the workers: dask arrays, dataframes or partition files, merged to a block a thread."""

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

from separatrix.core.partitioned import Rows, fingerprint_of
from separatrix.data.partitions import (
    Partitions,
    StoredBlock,
    open_block,
    open_partitions,
    verify_block,
)
from separatrix.distributed.engine import DaskEngine
from separatrix.errors import DataError
from separatrix.problem.blocks import Block
from separatrix.problem.fingerprint import fingerprint_of_blocks
from separatrix.problem.signed import as_matrix

__all__ = ["placed"]

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
