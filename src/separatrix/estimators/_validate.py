"""What an estimator is given: checked once, refused in plain words, and moved where it is used.

Rows, labels and weights, on the processor or on a device. Nothing is kept of a fit that failed.

Solvers converge without scaling. But distances, products of columns and the path of the updates are
dominated by the largest columns: what is found there is another classifier than after scaling.
There one warning is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    validate_data,
)

from separatrix._device import (
    Chunks,
    guarded,
    is_tensor,
    labels_from,
    needs_torch,
    on_host,
    resolve,
    torch_module,
)
from separatrix._device import (
    refuse_infinite as refuse_infinite_on_device,
)
from separatrix._sparse import sparse as sp
from separatrix.core import checks as core
from separatrix.core.checks import are_plainly_classes, refuse_infinite
from separatrix.errors import DataError, DeviceError, ScaleWarning
from separatrix.problem.device_rows import DeviceRows
from separatrix.problem.fingerprint import LaterName, fingerprint_on_device
from separatrix.problem.signed import as_matrix, refuse_rounded

__all__ = [
    "all_weighted",
    "brought",
    "checked_weights",
    "class_codes",
    "device_data",
    "moved_once",
    "name_of_rows",
    "number_support",
    "present_rows",
    "repeated_rows",
    "row_weights",
    "scores_on_device",
    "threads_of",
    "warn_of_scale",
    "weighted_rows",
    "worked_on",
]

_FLOATS = [np.float64, np.float32]
# So many entries are given their name, a hash, while the machine is solved; more only when needed.
_NAMED_AT_ONCE = 1 << 24
_SCORED_ENTRIES = 1 << 24
_OF_CALLBACKS = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")
_FEW_ROWS = 2048
_MOST_REPEATED = 1 << 30  # entries of rows repeated by their weights
_FAR_APART = 1e3


def training_data(estimator: Any, X: Any, y: Any, reset: bool = True) -> tuple[Any, np.ndarray]:
    """Return X as numbers and y as a column of labels, or say what is wrong with them."""
    X, y = _validated(estimator, X, y, reset=reset, order="C")
    refuse_infinite(estimator, X)
    return as_matrix(X) if sp.issparse(X) else X, label_column(y)


def _validated(estimator: Any, *data: Any, **options: Any) -> Any:
    """Check data in scikit-learn's way; whether numbers are finite or rounded, in ours."""
    refuse_rounded(data[0])
    try:
        return validate_data(
            estimator,
            # Under scikit-learn's array_api_dispatch a tensor would stay one; loops need NumPy.
            *(each if isinstance(each, np.ndarray) else on_host(each) for each in data),
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=_FLOATS,
            ensure_all_finite=False,
            **options,
        )
    except ValueError as error:
        raise in_our_words(error) from error


def _may_need_torch(device: Any, X: Any) -> bool:
    """Whether this device and these data may need torch: nothing in NumPy's arrays does."""
    return not (device == "cpu" and isinstance(X, np.ndarray)) and needs_torch(device, X)


def label_column(y: np.ndarray) -> np.ndarray:
    """Return y if it holds labels, or say what is wrong with it."""
    if not are_plainly_classes(y):
        try:
            check_classification_targets(y)
        except TypeError as error:
            raise DataError("y mixes labels of different kinds. Make all of them text.") from error
    return y


def regression_data(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Return X and the values to be predicted, one column or several."""
    refuse_rounded(y, "y")
    X, y = _validated(estimator, X, y, order="C", multi_output=True, y_numeric=True)
    refuse_infinite(estimator, X)
    return X, y.astype(np.float64)


def new_data(estimator: Any, X: Any) -> Any:
    """Return the X to predict for."""
    X = _validated(estimator, X, reset=False)
    refuse_infinite(estimator, X)
    # Fitted rows are sorted: the same row in another order would round to another score.
    return as_matrix(X) if sp.issparse(X) else X


def in_our_words(error: ValueError) -> ValueError:
    """Return a refusal that says what to do, where scikit-learn's does not."""
    text = str(error)
    if "could not convert string to float" in text:
        value = text.split(":", 1)[-1].strip()
        return DataError(
            f"X holds text where a number is needed: {value}. Put sx.Encoder() before the model "
            "in a pipeline, or read the frame: table = sx.read(frame, target=...)."
        )
    return error


def checked_weights(sample_weight: Any, rows: Any) -> np.ndarray | None:
    """Return the weights of rows as numbers at least 0; None where none are given."""
    if sample_weight is None:
        return None
    refuse_rounded(sample_weight, "sample_weight")
    checked: np.ndarray = _check_sample_weight(
        on_host(sample_weight), rows, dtype=np.float64, copy=True, ensure_non_negative=True
    )
    core.require_sum(checked)
    return checked


def row_weights(
    estimator: Any, codes: np.ndarray, sample_weight: Any, class_weight: Any
) -> np.ndarray:
    """Return one weight a row, sample weight times class weight, or say what is wrong with them."""
    return core.row_weights(estimator, codes, checked_weights(sample_weight, codes), class_weight)


def all_weighted(X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return X as float64, y, and the weight of every row."""
    X = as_matrix(X).astype(np.float64, copy=False)
    weights = checked_weights(sample_weight, X)
    return X, y, np.ones(X.shape[0]) if weights is None else weights


def weighted_rows(X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return X as float64, y and the weights, without the rows of weight 0."""
    X, y, weights = all_weighted(X, y, sample_weight)
    kept = weights > 0.0
    return (X, y, weights) if kept.all() else (X[kept], y[kept], weights[kept])


def repeated_rows(
    model: Any, X: Any, y: np.ndarray, sample_weight: Any, instead: str
) -> tuple[Any, np.ndarray]:
    """Return every row as often as its weight says, the copies one after another.

    `instead` names what to use for weights that are no whole numbers.
    """
    weights = checked_weights(sample_weight, X)
    if weights is None or (weights == 1.0).all():
        return X, y
    name = type(model).__name__
    if not (np.isfinite(weights).all() and (weights == np.rint(weights)).all()):
        raise ValueError(
            f"{name} takes sample weights as numbers of visits: they must be whole numbers at "
            f"least 0. {instead}"
        )
    if float(weights.sum()) * X.shape[1] > _MOST_REPEATED:
        raise DataError(
            f"{name} repeats rows by their weights, and {weights.sum():.3g} rows are too many. "
            f"Divide the weights. {instead}"
        )
    rows = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
    return X[rows], y[rows]


def class_codes(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the number of every label among the classes that a first call named."""
    codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    if not np.array_equal(classes[codes], y):
        unknown = sorted(set(y.tolist()) - set(classes.tolist()))
        raise DataError(f"y holds labels that are not among the classes: {unknown[:8]}.")
    return np.asarray(codes)


# ---- a class whose rows all weigh nothing is left out, as if its rows were not there


def present_rows(model: Any, X: Any, y: Any, sample_weight: Any, *more: Any) -> tuple[Any, ...]:
    """Return the numbers of the rows to fit on (None: all), and the data of these rows alone.

    Warns of the classes left out. Arrays, frames, lists and tensors stay what they are, and None
    stays None.
    """
    given = (X, y, sample_weight, *more)
    kept = _kept_rows(model, y, sample_weight)
    if kept is None:
        return None, *given
    return kept, *(
        values if values is None else values[kept] if is_tensor(values)
        else _safe_indexing(values, kept)
        for values in given
    )  # fmt: skip


def number_support(model: Any, kept: np.ndarray | None) -> None:
    """Let `support_` number the rows as they were given."""
    if kept is not None and hasattr(model, "support_"):
        model.support_ = kept[model.support_]


def _kept_rows(model: Any, y: Any, sample_weight: Any) -> np.ndarray | None:
    """Return the rows of classes that weigh something; None where those are all rows.

    What is no list of labels and weights, and one class alone, is left to the checks that follow.
    """
    # Columns of a precomputed kernel are rows too: they stay, and the fit refuses the class.
    given = isinstance(getattr(model, "kernel", None), str) and model.kernel == "precomputed"
    if sample_weight is None or given or _numbers_rows(getattr(model, "cv", None)):
        return None
    weights, labels = np.asarray(on_host(sample_weight)), np.asarray(on_host(y))
    if weights.shape != labels.shape or weights.ndim != 1 or weights.dtype.kind not in "biuf":
        return None
    weightless = weights == 0.0
    if not weightless.any() or np.isnan(weights.astype(np.float64)).any():
        return None
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:  # labels that cannot be sorted
        return None
    absent = np.bincount(codes, ~weightless, minlength=len(classes)) == 0.0
    if not absent.any() or absent.sum() > len(classes) - 2:
        return None
    names = ", ".join(map(repr, classes[absent][:8].tolist()))
    warnings.warn(
        f"{type(model).__name__}: all rows of class {names} have weight zero. The class is left "
        "out: classes_ and certificate_ are those of the other rows.",
        UserWarning,
        stacklevel=4,
    )
    return np.flatnonzero(~absent[codes])


def _numbers_rows(cv: Any) -> bool:
    """Whether folds are given as numbers of rows, which have to stay what they are."""
    return not (cv is None or hasattr(cv, "split") or isinstance(cv, int | np.integer))


# ---- columns whose sizes differ widely


def _column_ranges(X: Any) -> np.ndarray:
    """Return the largest less the smallest value of every column.

    >>> _column_ranges(np.array([[1.0, 200.0], [3.0, -200.0]])).tolist()
    [2.0, 400.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            spread = X.max(axis=0).toarray() - X.min(axis=0).toarray()
            return np.asarray(spread, dtype=np.float64).ravel()
        X = np.asarray(X)
        return np.asarray(X.max(axis=0) - X.min(axis=0), dtype=np.float64)


def warn_of_scale(estimator: Any, X: Any, remedy: str = "", stacklevel: int = 3) -> None:
    """Warn if the ranges of columns differ by more than a factor of 1000."""
    if not hasattr(X, "shape") or len(X.shape) != 2 or min(X.shape) == 0:
        return
    ranges = _column_ranges(X)
    ranges = ranges[np.isfinite(ranges) & (ranges > 0.0)]
    if ranges.size < 2 or ranges.max() <= _FAR_APART * ranges.min():
        return
    apart = float(ranges.max()) / float(ranges.min())  # as Python's numbers it may overflow
    name = type(estimator).__name__
    pipeline = f"make_pipeline(StandardScaler(), {name}(...)) in Python"
    warnings.warn(
        f"{name}: columns differ in size by a factor of {apart:.3g}, and the "
        "answer depends on their units: the largest decide. Standardise them: "
        f"{remedy or pipeline}, --scale standard on the command line.",
        ScaleWarning,
        stacklevel=stacklevel,
    )


# ---- where and by whom the work is done


def threads_of(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` asks for, as joblib counts them."""
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0. Use None for every core.")
    return int(effective_n_jobs(n_jobs or -1))


@contextmanager
def worked_on(estimator: Any, X: Any) -> Iterator[None]:
    """Leave an estimator as it was where its fit fails; what a device does is one clear error."""
    there = _may_need_torch(estimator.device, X)
    device = resolve(estimator.device, X) if there else None
    before = dict(vars(estimator))
    try:
        with nullcontext() if device is None else guarded(device):
            yield
    except BaseException:
        # scikit-learn ends its callbacks by these, and removes them: a thread would wait for ever.
        ending = {name: v for name, v in vars(estimator).items() if name in _OF_CALLBACKS}
        vars(estimator).clear()
        vars(estimator).update(before | ending)
        raise


def device_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any] | None:
    """Return rows on the estimator's device, labels and weights; None for the processor."""
    if not _may_need_torch(estimator.device, X):
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
    if not _may_need_torch("cpu", X):
        refuse_rounded(X)
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
    if is_tensor(X) or not _may_need_torch(estimator.device, X):
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
    return pool.submit(fingerprint_on_device, rows.source, codes, rows.shape, n_classes)


def scores_on_device(estimator: Any, X: Any) -> np.ndarray | None:
    """Return X coef^T + intercept of a tensor, computed where it is; None where X is no tensor."""
    if not _may_need_torch("cpu", X):
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
            refuse_infinite_on_device(part, start)
            found[start : start + step] = (part @ coef).cpu().numpy()
    return found + estimator.intercept_


def brought(device: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any]:
    """Return the device to work on (None: the processor), and the data as NumPy has them.

    Rows of a tensor come to the processor too: there their fingerprint is made and proofs are
    checked.

    >>> brought("cpu", [[1.0]], [0], None)
    (None, [[1.0]], [0], None)
    """
    if not _may_need_torch(device, X):
        return None, X, y, sample_weight
    place = resolve(device, X)
    y = labels_from(y, X, place)
    return place, on_host(X), y, labels_from(sample_weight, X, place, "sample_weight")
