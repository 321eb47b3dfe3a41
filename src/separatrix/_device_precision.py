"""Whether float32 products on a GPU may be made in TF32: one setting of the process, shared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from separatrix._device import torch_module

__all__ = ["product_precision"]


class _Requests:
    """How many blocks, in any thread, ask for what; and what was set before the first of them."""

    lock = threading.Lock()
    fast = 0
    exact = 0
    before: Any = None


@contextmanager
def product_precision(fast: bool) -> Iterator[None]:
    """Allow TF32 in float32 products on a GPU, or forbid it; what was set before comes back.

    The setting is the process's: as long as any block forbids it, it is forbidden to all.
    """
    matmul = torch_module().backends.cuda.matmul
    name = "fp32_precision" if hasattr(matmul, "fp32_precision") else "allow_tf32"  # before 2.9
    kind = "fast" if fast else "exact"

    def count(step: int) -> None:
        with _Requests.lock:
            if _Requests.fast + _Requests.exact == 0:
                _Requests.before = getattr(matmul, name)
            setattr(_Requests, kind, getattr(_Requests, kind) + step)
            allowed = _Requests.exact == 0
            setting = allowed if name == "allow_tf32" else "tf32" if allowed else "ieee"
            nobody = _Requests.fast + _Requests.exact == 0
            setattr(matmul, name, _Requests.before if nobody else setting)

    count(1)
    try:
        yield
    finally:
        count(-1)
