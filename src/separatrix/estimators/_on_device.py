"""A machine's data on a device: checked and moved once; and nothing kept of a fit that failed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from separatrix._device import (
    Chunks,
    guarded,
    is_tensor,
    labels_from,
    needs_torch,
    on_host,
    refuse_infinite,
    resolve,
    torch_module,
)
from separatrix.certificates.canonical import LaterName, fingerprint_of
from separatrix.errors import DataError, DeviceError
from separatrix.estimators._validate import in_our_words, label_column, training_data
from separatrix.problem.device_rows import DeviceRows

__all__ = ["device_data", "moved_once", "name_of_rows", "scores_on_device", "worked_on"]

# So many entries are given their name, a hash, while the machine is solved; more only when needed.
_NAMED_AT_ONCE = 1 << 24
_SCORED_ENTRIES = 1 << 24
_FEW_ROWS = 2048


@contextmanager
def worked_on(estimator: Any, X: Any) -> Iterator[None]:
    """Leave an estimator as it was where its fit fails; what a device does is one clear error."""
    there = needs_torch(estimator.device, X)
    device = resolve(estimator.device, X) if there else None
    before = dict(vars(estimator))
    try:
        with nullcontext() if device is None else guarded(device):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def device_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any] | None:
    """Return rows on the estimator's device, labels and weights; None for the processor."""
    if not needs_torch(estimator.device, X):
        return None
    device = resolve(estimator.device, X)
    if device is None:
        return None
    if estimator.solver not in ("auto", "newton", "interior_point"):
        raise DeviceError(
            f"solver={estimator.solver!r} works on the processor. With a device use solver='auto'."
        )
    labels = labels_from(y, X, device)
    weights = labels_from(sample_weight, X, device, "sample_weight")
    if getattr(estimator, "loss", "") == "hinge" and _has_few_wide_rows(X):
        # Their Gram matrix is small: the processor has solved it before a device has begun.
        return (*training_data(estimator, on_host(X), labels), weights)
    rows, labels = _checked(estimator, X, labels)
    return DeviceRows(rows, device, given=X), label_column(labels), weights


def _has_few_wide_rows(X: Any) -> bool:
    shape: tuple[int, ...] = tuple(getattr(X, "shape", ()))
    return len(shape) == 2 and shape[0] < shape[1] and shape[0] <= _FEW_ROWS


def _checked(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Check shapes as scikit-learn does; numbers are looked at where they are worked with."""
    if not needs_torch("cpu", X):
        kinds = [np.float64, np.float32, np.float16]
        try:
            return validate_data(estimator, X, y, dtype=kinds, ensure_all_finite=False)
        except ValueError as error:
            raise in_our_words(error) from error
    rows = X if is_tensor(X) else torch_module().from_dlpack(X)
    if rows.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {rows.ndim}D array instead. X is a table: a row a sample."
        )
    if min(rows.shape) == 0:
        raise DataError(
            f"Found array with shape {tuple(rows.shape)} while a minimum of 1 row and 1 column is "
            "required."
        )
    labels = np.asarray(y)
    labels = labels.ravel() if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.ndim != 1 or len(labels) != rows.shape[0]:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {rows.shape[0]} "
            f"rows, and y is of the shape {labels.shape}. y needs one label a row."
        )
    _check_feature_names(estimator, rows, reset=True)
    _check_n_features(estimator, rows, reset=True)
    return rows, labels


def moved_once(estimator: Any, X: Any) -> Any:
    """Return X as a tensor on the estimator's device where it fits there; else as it is."""
    if is_tensor(X) or not needs_torch(estimator.device, X):
        return X
    device = resolve(estimator.device, X)
    if device is None or not isinstance(X, np.ndarray):
        return X
    chunks = Chunks(X, device)
    return chunks.tensor if chunks.is_resident else X


def name_of_rows(
    rows: DeviceRows, codes: np.ndarray, n_classes: int, pool: Executor
) -> Future[str] | LaterName:
    """Begin to make the name of the data, or put it off where it would take the longest of all."""
    if rows.size > _NAMED_AT_ONCE:
        return LaterName(rows, codes, n_classes)
    return pool.submit(fingerprint_of, rows.source, codes, rows.shape, n_classes)


def scores_on_device(estimator: Any, X: Any) -> np.ndarray | None:
    """Return X coef^T + intercept of a tensor, computed where it is; None where X is no tensor."""
    if not needs_torch("cpu", X):
        return None
    device = resolve("cpu", X)
    with guarded(device):
        rows = X.detach() if is_tensor(X) else torch_module().from_dlpack(X)
        if rows.ndim != 2 or rows.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[-1]} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input."
            )
        coef = torch_module().as_tensor(estimator.coef_.T, dtype=torch_module().float64)
        found = np.empty((rows.shape[0], coef.shape[1]))
        step = max(1, _SCORED_ENTRIES // max(1, rows.shape[1]))
        coef = coef.to(device)
        for start in range(0, len(found), step):
            part = rows[start : start + step].double()
            refuse_infinite(part, start)
            found[start : start + step] = (part @ coef).cpu().numpy()
    return found + estimator.intercept_
