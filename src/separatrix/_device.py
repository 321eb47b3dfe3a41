"""Dense data on an accelerator: the only place that imports torch, and only where it is needed.

    resolve(device, X)         where the work is done: a torch.device, or None for the CPU
    rows_on(X, device)         X there as one tensor, not copied where it already is right
    Chunks(X, device)          X there as a whole if it fits, else stretch by stretch
    labels_from(y, X, device)  y or weights as a NumPy array, refused from another device
    like(X, found)             an array as the kind of X, and where X is
    on_host(X)                 a tensor as a NumPy array; anything else as it is
    guarded(device)            out of memory and a lost device become one `DeviceError`
    product_precision(fast)    whether float32 products on a GPU may be made in TF32

Half precision is computed with as float32, which holds its numbers exactly; float64 stays.
It is longer than other files because all that knows torch by name is to be found in one place.
"""

from __future__ import annotations

import importlib
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.errors import DataError, DeviceError, not_finite

__all__ = [
    "Chunks",
    "guarded",
    "is_tensor",
    "labels_from",
    "like",
    "needs_torch",
    "on_host",
    "product_precision",
    "refuse_infinite",
    "resolve",
    "rows_on",
    "torch_module",
]

_INSTALL = "Install it: pip install torch."
_PLACES = re.compile(r"cpu|auto|cuda(:[0-9]+)?")
# Of the free memory of a device, what the rows may fill, and what a stretch of them may.
_RESIDENT, _STRETCH = 0.7, 0.1
_STAGED_BYTES = 1 << 28
_CHECKED_ROWS = 1 << 16
_GIB = float(1 << 30)
_LARGEST = 1e100


# ---- torch, where it is


def torch_module() -> Any:
    """Return torch, or say how to get it."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise DeviceError(f"This needs torch, which is not installed. {_INSTALL}") from error


def is_tensor(X: Any) -> bool:
    """Whether X is a torch tensor; does not import torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def _is_on_an_accelerator(X: Any) -> bool:
    """Whether X is another library's array that is not in the memory of the processor."""
    if isinstance(X, np.ndarray) or is_tensor(X) or not hasattr(X, "__dlpack_device__"):
        return False
    kind, _ = X.__dlpack_device__()
    return int(kind) not in (1, 3)  # DLPack: the processor's memory, pinned or not


def _tensor_of(X: Any) -> Any:
    """Return X as a tensor where it is one, or speaks DLPack from an accelerator; else None."""
    if is_tensor(X):
        return X.detach()
    return torch_module().from_dlpack(X) if _is_on_an_accelerator(X) else None


def needs_torch(device: Any, X: Any) -> bool:
    """Whether this device and these data may need torch: a test that costs nothing."""
    return device != "cpu" or is_tensor(X) or _is_on_an_accelerator(X)


def resolve(device: Any, X: Any) -> Any:
    """Return the torch.device to work on, or None for the processor's own code.

    A tensor is met where it is; "cuda" takes whatever is in the processor's memory there; "auto"
    takes a GPU where torch sees one and X is dense.

    >>> resolve("cpu", np.zeros((2, 1))) is None
    True
    >>> resolve("gpu", np.zeros((2, 1)))
    Traceback (most recent call last):
    ValueError: device must be 'cpu', 'cuda', 'cuda:N' or 'auto'. Got 'gpu' instead.
    """
    name = str(device)
    if not _PLACES.fullmatch(name):
        raise ValueError(
            f"device must be 'cpu', 'cuda', 'cuda:N' or 'auto'. Got {device!r} instead."
        )
    held = _tensor_of(X)
    if held is not None:
        _refuse_layout(held)
        if name in ("cpu", "auto") or held.device.type == "cpu":
            return held.device if name in ("cpu", "auto") else _gpu(name)
        target = _gpu(name)
        if name != "cuda" and target != held.device:
            raise DeviceError(
                f"X is on {held.device}, and device={name!r} was requested. Move X "
                f"(X.to({name!r})), or leave device out: the work is done where X is."
            )
        return held.device
    if name == "cpu":
        return None
    if name == "auto":
        return _gpu("cuda") if not sp.issparse(X) and _sees_a_gpu() else None
    if sp.issparse(X):
        raise DeviceError(
            f"device={name!r} takes dense data, and X is sparse. Use device='cpu', which is made "
            "for sparse rows, or X.toarray() if the dense array fits in memory."
        )
    return _gpu(name)


def _refuse_layout(tensor: Any) -> None:
    torch = torch_module()
    if tensor.layout is not torch.strided:
        raise DeviceError(
            f"X is a tensor of layout {tensor.layout}: dense tensors are taken. Use X.to_dense(), "
            "or a SciPy CSR matrix with device='cpu'."
        )
    if tensor.device.type not in ("cpu", "cuda"):
        raise DeviceError(f"X is on {tensor.device}: tensors on cpu and cuda are taken. Move it.")


def _sees_a_gpu() -> bool:
    try:
        return bool(torch_module().cuda.is_available())
    except DeviceError:
        return False


def _gpu(name: str) -> Any:
    """Return the GPU of this name, with its number."""
    torch = torch_module()
    if not torch.cuda.is_available():
        raise DeviceError(
            f"device={name!r} needs a GPU, and torch {torch.__version__} sees none. Use "
            "device='cpu', or 'auto', which takes a GPU where there is one."
        )
    count = int(torch.cuda.device_count())
    number = int(name.partition(":")[2] or torch.cuda.current_device())
    if number >= count:
        raise DeviceError(
            f"device={name!r}: torch sees {count} GPU{'s' * (count != 1)}, numbered from 0."
        )
    return torch.device("cuda", number)


# ---- data


def labels_from(values: Any, X: Any, device: Any, name: str = "y") -> Any:
    """Return y or sample weights as NumPy holds them; what is no tensor comes back as it is."""
    held = _tensor_of(values)
    if held is None:
        return values
    mine = _tensor_of(X)
    at_home = {str(device), "cpu" if mine is None else str(mine.device)}
    if str(held.device) not in at_home:
        raise DeviceError(
            f"{name} is on {held.device}, and X is on {' or '.join(sorted(at_home))}. "
            f"Move it: {name}.to({str(device)!r})."
        )
    torch = torch_module()
    if held.dtype is torch.bfloat16 or held.is_complex():
        raise DeviceError(f"{name} is of {held.dtype}: use whole numbers, float32 or float64.")
    return held.cpu().numpy()


def on_host(X: Any) -> Any:
    """Return a tensor's numbers as a NumPy array, and anything else as it is.

    >>> on_host([1.0])
    [1.0]
    """
    held = _tensor_of(X)
    if held is None:
        return X
    torch = torch_module()
    half = held.dtype in (torch.float16, torch.bfloat16)
    return (held.float() if half else held).cpu().numpy()


def like(X: Any, found: Any) -> Any:
    """Return numbers of NumPy as a tensor beside X, where X is one; else as they are.

    >>> like([1.0], np.zeros(1))
    array([0.])
    """
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        return found
    if is_tensor(X):
        return torch_module().as_tensor(found, device=X.device)
    if _is_on_an_accelerator(X) and hasattr(X, "__array_namespace__"):
        return X.__array_namespace__().asarray(found, device=X.device)
    return found


def compute_type(X: Any, dtype: Any = None) -> Any:
    """Return the type X is computed with: float64 where it is needed to hold X, else float32."""
    torch = torch_module()
    if dtype is not None:
        return dtype
    if is_tensor(X):
        small = (torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.uint8, torch.bool)
        if X.is_complex():
            raise DeviceError(f"X is of {X.dtype}: real numbers are needed.")
        return torch.float32 if X.dtype in small else torch.float64
    kind = np.dtype(X.dtype)
    if kind.kind not in "fiub":
        raise DataError(f"X is of type {kind}: numbers are needed, as float32 or float64.")
    exact = kind.itemsize <= 2 or kind == np.float32
    return torch.float32 if exact else torch.float64


def rows_on(X: Any, device: Any, dtype: Any = None, check: bool = True) -> Any:
    """Return X on the device as a tensor of float32 or float64 rows, finite throughout."""
    torch = torch_module()
    held = _tensor_of(X)
    if held is None:
        X = np.asarray(X) if not isinstance(X, np.ndarray) else X
    else:
        X = held
    _refuse_shape(X)
    kind = compute_type(X, dtype)
    if held is not None:
        rows = X.to(device=device, dtype=kind).contiguous()
    elif device.type == "cpu" and X.flags.writeable and X.flags.c_contiguous and _same(X, kind):
        rows = torch.from_numpy(X)
    else:
        rows = torch.empty(X.shape, dtype=kind, device=device)
        for start, stop, part in _staged(X, device, kind, _stretch(X.shape, kind, _STAGED_BYTES)):
            rows[start:stop].copy_(part)
    if check:
        for start in range(0, rows.shape[0], _CHECKED_ROWS):
            refuse_unusable(rows[start : start + _CHECKED_ROWS], start)
    return rows


def _refuse_shape(X: Any) -> None:
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. X is a table: a row a sample."
        )


def _same(X: np.ndarray, kind: Any) -> bool:
    return X.dtype.isnative and str(kind) == f"torch.{X.dtype}"


def refuse_infinite(rows: Any, start: int = 0) -> None:
    """Refuse NaN and infinities, saying where; `start` is the number of the first row."""
    bad = ~rows.isfinite()
    if bool(bad.any()):
        row, column = (int(k) for k in bad.nonzero()[0])
        raise not_finite(float(rows[row, column]), start + row, f"column {column}")


def refuse_unusable(rows: Any, start: int = 0) -> None:
    """Refuse NaN, infinities, and entries whose squares leave the range of floating point."""
    if rows.numel() == 0:
        return
    least, most = (float(end) for end in rows.aminmax())
    if abs(least) <= _LARGEST and abs(most) <= _LARGEST:  # NaN fails both
        return
    refuse_infinite(rows, start)
    column = int(rows.abs().amax(dim=0).argmax())
    raise DataError(
        f"X holds {float(rows[:, column].abs().max()):.3g} in column {column}, whose square is "
        "beyond the largest number. Divide that column first."
    )


def _stretch(shape: tuple[int, ...], kind: Any, bytes_at_a_time: float) -> int:
    return max(1, int(bytes_at_a_time) // max(1, shape[1] * kind.itemsize))


def _staged(X: Any, device: Any, kind: Any, height: int) -> Iterator[tuple[int, int, Any]]:
    """Yield stretches of rows on the device; the next is laid ready while one is worked on.

    What is yielded is overwritten two stretches later.
    """
    torch = torch_module()
    n, width = X.shape
    height = min(height, max(n, 1))
    if is_tensor(X) and X.device == device:
        for start in range(0, n, height):
            stop = min(start + height, n)
            yield start, stop, X[start:stop].to(kind)
        return
    pinned = device.type == "cuda"
    stages = [torch.empty((height, width), dtype=kind, pin_memory=pinned) for _ in range(2)]
    there = [torch.empty((height, width), dtype=kind, device=device) for _ in range(2)]
    sent: list[Any] = [None, None]
    for turn, start in enumerate(range(0, n, height)):
        stop, side = min(start + height, n), turn % 2
        if sent[side] is not None:
            sent[side].synchronize()  # the copy out of this stage, two stretches ago
        part = X[start:stop]
        if is_tensor(part):
            stages[side][: stop - start].copy_(part)
        else:
            np.copyto(stages[side].numpy()[: stop - start], part, casting="unsafe")
        there[side][: stop - start].copy_(stages[side][: stop - start], non_blocking=pinned)
        if pinned:
            sent[side] = torch.cuda.Event()
            sent[side].record(torch.cuda.current_stream(device))
        yield start, stop, there[side][: stop - start]


class Chunks:
    """Rows on a device, gone over as (start, stop, tensor): all at once, or what memory holds.

    Where they fit they stay, and the one chunk is the tensor itself, gone over in stretches of
    `chunk_rows` only if that is given. Where they do not, every pass brings them anew.
    """

    def __init__(
        self, X: Any, device: Any, *, dtype: Any = None, chunk_rows: int | None = None
    ) -> None:
        held = _tensor_of(X)
        self._X = held if held is not None else X if isinstance(X, np.ndarray) else np.asarray(X)
        _refuse_shape(self._X)
        self.device, self.dtype = device, compute_type(self._X, dtype)
        self.shape = (int(self._X.shape[0]), int(self._X.shape[1]))
        size = float(self.shape[0]) * self.shape[1] * self.dtype.itemsize
        free = free_bytes(device)
        is_there = held is not None and held.device == device and held.dtype == self.dtype
        self.chunk_rows = chunk_rows
        self.tensor: Any = None
        if is_there or (size <= _RESIDENT * free and chunk_rows is None):
            self.tensor = rows_on(self._X, device, self.dtype)
        else:
            self.chunk_rows = chunk_rows or _stretch(self.shape, self.dtype, _STRETCH * free)
            for start, _, part in self:
                refuse_unusable(part, start)

    @property
    def is_resident(self) -> bool:
        """Whether the rows stay on the device."""
        return self.tensor is not None

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        """Go over the rows once; a tensor yielded may be overwritten two chunks later."""
        n = self.shape[0]
        if self.tensor is None:
            assert self.chunk_rows is not None
            yield from _staged(self._X, self.device, self.dtype, self.chunk_rows)
            return
        step = max(1, self.chunk_rows or n)
        for start in range(0, n, step):
            stop = min(start + step, n)
            yield start, stop, self.tensor[start:stop]


def free_bytes(device: Any) -> float:
    """Return how many bytes may be allocated: of a GPU what is free, elsewhere no bound."""
    torch = torch_module()
    if device.type != "cuda":
        return float("inf")
    free, _ = torch.cuda.mem_get_info(device)
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(free + kept)


# ---- what can go wrong there


@contextmanager
def guarded(device: Any) -> Iterator[None]:
    """Turn what a device does to a fit into one clear error; gradients are not kept here."""
    torch = torch_module()
    try:
        with torch.no_grad():
            yield
    except torch.cuda.OutOfMemoryError as error:
        raise DeviceError(_out_of_memory(str(error), device)) from error
    except RuntimeError as error:
        text = str(error)
        if "can't allocate memory" in text:
            raise DeviceError(_out_of_memory(text, device)) from error
        lost = getattr(torch, "AcceleratorError", ())
        if isinstance(error, lost) or re.search("CUDA error|cusolver|cublas|CUDNN", text):
            first = text.strip().splitlines()[0] if text.strip() else "no reason given"
            raise DeviceError(
                f"{device} failed in the middle of the work: {first}. Nothing was kept. A process "
                "that lost its device must be started anew; or use device='cpu'."
            ) from error
        raise


def _out_of_memory(text: str, device: Any) -> str:
    size = re.search(r"allocate ([0-9.]+) ?(GiB|MiB|KiB|bytes)", text)
    units = {"GiB": 1.0, "MiB": 2.0**-10, "KiB": 2.0**-20, "bytes": 1.0 / _GIB}
    needed = f"{float(size[1]) * units[size[2]]:.3g} GiB more needed, " if size else ""
    try:
        room = free_bytes(device)
    except RuntimeError:
        room = 0.0
    free = f"{room / _GIB:.3g} GiB free" if np.isfinite(room) else "no more to be had"
    return (
        f"{device} ran out of memory: {needed}{free}. Nothing was kept. Free memory there, give X "
        "as a NumPy array or memory map (it is then brought over in pieces), or use device='cpu'."
    )


# ---- whether float32 products may be made in TF32: one setting of the process, shared


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
