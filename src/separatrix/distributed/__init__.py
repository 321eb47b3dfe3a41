"""The models on a Dask cluster: the same names, the same optimum, the same proof.

    from separatrix.distributed import LinearSVM
    machine = LinearSVM(C=1.0, client=client).fit(X, y)     # X, y: dask arrays or dataframes
    machine = LinearSVM(C=1.0).fit("folder of partitions")  # on the current client

What comes out is a plain local estimator. Needs Dask: ``pip install 'dask[distributed]'``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["LinearSVM", "LinearSVMCV", "LogisticRegression", "LogisticRegressionCV", "separability"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'separatrix.distributed' has no attribute {name!r}")
    from separatrix.distributed import machines

    return getattr(machines, name)
