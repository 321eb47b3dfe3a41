"""The machines on a Dask cluster: the same names, the same optimum, the same proof.

    from separatrix.distributed import LinearSVM
    machine = LinearSVM(C=1.0, client=client).fit(X, y)     # X, y: dask arrays or dataframes
    machine = LinearSVM(C=1.0).fit("folder of partitions")  # on the current client

What comes out is a plain local estimator. Needs ``pip install separatrix[dask]``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "LinearSVM": "separatrix.distributed.machines",
    "LinearSVMCV": "separatrix.distributed.chosen",
    "LogisticRegression": "separatrix.distributed.machines",
    "LogisticRegressionCV": "separatrix.distributed.chosen",
    "separability": "separatrix.distributed.verdict",
}

__all__ = ["LinearSVM", "LinearSVMCV", "LogisticRegression", "LogisticRegressionCV", "separability"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'separatrix.distributed' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
