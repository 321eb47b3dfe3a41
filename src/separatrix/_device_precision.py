"""Whether float32 products on a GPU may be made in TF32: one setting of the process, shared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from separatrix._device import torch_module

__all__ = ["product_precision"]


class _Asked:
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
        with _Asked.lock:
            if _Asked.fast + _Asked.exact == 0:
                _Asked.before = getattr(matmul, name)
            setattr(_Asked, kind, getattr(_Asked, kind) + step)
            allowed = _Asked.exact == 0
            wanted = allowed if name == "allow_tf32" else "tf32" if allowed else "ieee"
            nobody = _Asked.fast + _Asked.exact == 0
            setattr(matmul, name, _Asked.before if nobody else wanted)

    count(1)
    try:
        yield
    finally:
        count(-1)
