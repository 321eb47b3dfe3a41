"""Separability on a cluster: guessed on the workers, proved block by block where the rows are."""

from __future__ import annotations

from typing import Any

from separatrix.core.partitioned_verdict import verdict_on_rows
from separatrix.core.verdict import Verdict
from separatrix.distributed.engine import client_or_current
from separatrix.distributed.placing import placed

__all__ = ["separability"]


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
