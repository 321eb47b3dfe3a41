"""Where the work is done: devices resolved, rows moved and streamed, failures in clear words."""

import threading

import numpy as np
import pytest
from scipy import sparse

import separatrix._device as device
from separatrix._device import (
    Chunks,
    guarded,
    labels_from,
    on_host,
    product_precision,
    resolve,
    rows_on,
)
from separatrix.errors import DataError, DeviceError
from tests.torch_problems import CPU, torch


def table(n=7, d=3, kind=np.float64):
    return np.random.default_rng(0).normal(size=(n, d)).astype(kind)


def fake_gpus(monkeypatch, count):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)


# ---- where


def test_arrays_stay_on_the_processor_and_tensors_where_they_are():
    assert resolve("cpu", table()) is None
    assert resolve("cpu", sparse.csr_array(table())) is None
    assert resolve("cpu", torch.zeros(2, 2)) == CPU
    assert resolve("auto", torch.zeros(2, 2)) == CPU


def test_auto_takes_a_gpu_for_dense_rows(monkeypatch):
    fake_gpus(monkeypatch, 1)
    assert resolve("auto", table()) == torch.device("cuda", 0)
    assert resolve("auto", sparse.csr_array(table())) is None
    fake_gpus(monkeypatch, 0)
    assert resolve("auto", table()) is None


def test_cuda_takes_what_is_in_the_processors_memory(monkeypatch):
    fake_gpus(monkeypatch, 2)
    assert resolve("cuda", table()) == torch.device("cuda", 0)
    assert resolve("cuda:1", torch.zeros(2, 2)) == torch.device("cuda", 1)
    with pytest.raises(DeviceError, match="torch sees 2 GPUs, numbered from 0"):
        resolve("cuda:2", table())


def test_what_cannot_be_is_said(monkeypatch):
    with pytest.raises(ValueError, match="device must be 'cpu'"):
        resolve("gpu", table())
    fake_gpus(monkeypatch, 0)
    with pytest.raises(DeviceError, match="sees none"):
        resolve("cuda", table())
    with pytest.raises(DeviceError, match="X is sparse"):
        resolve("cuda", sparse.csr_array(table()))
    with pytest.raises(DeviceError, match="to_dense"):
        resolve("cpu", torch.eye(3).to_sparse())
    with pytest.raises(DeviceError, match="X is on meta"):
        resolve("cpu", torch.empty(3, 2, device="meta"))


class Elsewhere:
    """An array of another library in a GPU's memory, as DLPack describes it."""

    def __dlpack_device__(self):
        return 2, 0


def test_arrays_of_other_libraries_are_asked_where_they_are(monkeypatch):
    monkeypatch.setattr(torch, "from_dlpack", lambda X: torch.zeros(2, 2))
    assert device.needs_torch("cpu", Elsewhere())
    assert resolve("cpu", Elsewhere()) == CPU
    assert not device.needs_torch("cpu", table())


# ---- labels and weights


def test_labels_come_from_where_the_rows_are():
    y = torch.tensor([1, 0, 1])
    assert labels_from(y, torch.zeros(3, 1), CPU).tolist() == [1, 0, 1]
    assert labels_from(["a", "b"], torch.zeros(2, 1), CPU) == ["a", "b"]
    with pytest.raises(DeviceError, match="y is on meta, and X is on cpu"):
        labels_from(torch.empty(3, device="meta"), torch.zeros(3, 1), CPU)
    with pytest.raises(DeviceError, match=r"sample_weight is of torch\.bfloat16"):
        labels_from(torch.ones(3).bfloat16(), torch.zeros(3, 1), CPU, "sample_weight")


# ---- rows


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
        (torch.uint8, torch.float32),
        (torch.int64, torch.float64),
    ],
)
def test_types_are_kept_where_they_hold_the_numbers(given, kept):
    X = torch.arange(6).reshape(3, 2).to(given)
    moved = rows_on(X, CPU)
    assert moved.dtype is kept
    assert torch.equal(moved.double(), X.double())
    if given in (torch.float32, torch.float64):
        assert moved.data_ptr() == X.data_ptr()


def test_numpy_is_not_copied_where_it_is_right():
    X = table()
    assert rows_on(X, CPU).data_ptr() == X.ctypes.data
    for other in (table(kind=np.float16), np.asfortranarray(X), X.astype(">f8"), X[::-1]):
        assert np.array_equal(rows_on(other, CPU).numpy(), other)
    X.flags.writeable = False
    assert np.array_equal(rows_on(X, CPU).numpy(), X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_with_its_place(value):
    X = table()
    X[4, 1] = value
    with pytest.raises(DataError, match=r"X contains .* in row 4, column 1"):
        rows_on(X, CPU)
    with pytest.raises(DataError, match="row 4, column 1"):
        Chunks(X, CPU, chunk_rows=3)


def test_what_is_too_large_or_no_number_is_refused():
    X = table()
    X[0, 2] = -1e200
    with pytest.raises(DataError, match="1e\\+200 in column 2"):
        rows_on(X, CPU)
    with pytest.raises(DataError, match="2D"):
        rows_on(np.zeros(3), CPU)
    with pytest.raises(DataError, match="numbers are needed"):
        rows_on(np.array([["a"]]), CPU)
    with pytest.raises(DeviceError, match="real numbers"):
        rows_on(torch.zeros(2, 2, dtype=torch.complex64), CPU)


# ---- chunks


def test_rows_that_fit_are_one_chunk_that_stays():
    X = torch.as_tensor(table())
    chunks = Chunks(X, CPU)
    ((start, stop, piece),) = chunks
    assert (start, stop) == (0, 7)
    assert chunks.is_resident
    assert piece.data_ptr() == X.data_ptr()


@pytest.mark.parametrize("height", [1, 3, 7, 100])
def test_streamed_chunks_are_the_rows(height, tmp_path):
    X = table(11, 4, np.float32)
    np.save(tmp_path / "rows.npy", X)
    for source in (X, np.load(tmp_path / "rows.npy", mmap_mode="r")):
        chunks = Chunks(source, CPU, chunk_rows=height)
        assert not chunks.is_resident
        seen = [(start, stop, piece.numpy().copy()) for start, stop, piece in chunks]
        assert [start for start, *_ in seen] == list(range(0, 11, height))
        assert np.array_equal(np.concatenate([piece for *_, piece in seen]), X)


def test_what_does_not_fit_is_streamed(monkeypatch):
    X = table(100, 4)
    monkeypatch.setattr(device, "free_bytes", lambda _: 1000.0)
    chunks = Chunks(X, CPU)
    assert not chunks.is_resident
    assert chunks.chunk_rows == 3  # a tenth of what is free, in rows of 32 bytes
    assert np.array_equal(np.concatenate([piece.numpy().copy() for *_, piece in chunks]), X)


def test_tensors_come_back():
    half = torch.tensor([[1.5, 2.0]]).bfloat16()
    assert on_host(half).tolist() == [[1.5, 2.0]]
    assert on_host(table()).shape == (7, 3)


# ---- failures


def test_out_of_memory_and_a_lost_device_are_one_clear_error():
    said = "CUDA out of memory. Tried to allocate 20.00 GiB."
    with pytest.raises(DeviceError, match="ran out of memory: 20 GiB more") as caught, guarded(CPU):
        raise torch.cuda.OutOfMemoryError(said)
    assert "device='cpu'" in str(caught.value)
    said = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1073741824 bytes."
    with pytest.raises(DeviceError, match="1 GiB more needed"), guarded(CPU):
        raise RuntimeError(said)
    said = "CUDA error: unspecified launch failure\nmore"
    with pytest.raises(DeviceError, match="failed in the middle of the work: CUDA"), guarded(CPU):
        raise RuntimeError(said)
    with pytest.raises(RuntimeError, match=r"^ours$"), guarded(CPU):
        raise RuntimeError("ours")


def test_precision_of_products_is_put_back():
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    with product_precision(fast=True):
        assert matmul.fp32_precision == "tf32"
    assert matmul.fp32_precision == before


def test_precision_of_products_is_that_of_the_most_careful_block_in_any_thread():
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    inside, go_on = threading.Event(), threading.Event()

    def exact():
        with product_precision(fast=False):
            inside.set()
            go_on.wait(120)

    with product_precision(fast=True):
        other = threading.Thread(target=exact)
        other.start()
        assert inside.wait(120)
        assert matmul.fp32_precision == "ieee"
    assert matmul.fp32_precision == "ieee"  # the other block is not over
    go_on.set()
    other.join()
    assert matmul.fp32_precision == before
