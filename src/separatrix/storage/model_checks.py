"""What a model file says must fit together, before anyone predicts with it or goes on learning.

`partial_fit` and streams go on from ``_stream``, whose shapes say how far a compiled loop writes.
So a file whose shapes are not those of its classes and features is refused.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._sparse import is_sparse
from separatrix.core.linear_model import LogisticProbabilities
from separatrix.errors import ModelFileError

_METHODS = ("predict", "decision_function", "predict_proba", "transform")
_NARROW = 1 << 20  # a row of so many features is no burden


def require_fitted(model: Any) -> None:
    """Refuse to keep what has not been fitted."""
    if _is_plain(model) and hasattr(model, "coef_"):
        return
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        name = type(model).__name__
        raise ModelFileError(f"this {name} is not fitted. Fit it, then save it.") from None


def require_consistent(
    model: Any, encoding: Any, names: Any, rows: Any, arrays: dict[str, np.ndarray]
) -> None:
    """Refuse a model whose parts do not fit together: a trial row of zeros goes through it."""
    first = model.steps[0][1] if type(model).__name__ == "Pipeline" else model
    if type(first).__name__ == "Encoder":
        _require_encoder(first)
        if encoding is not None or names:
            raise ModelFileError("the model file encodes its columns twice.")
        if first is not model and len(model.steps) > 1:
            last = type(model)(model.steps[1:])
            _require_rest(last, len(first.encoding_.feature_names), rows, arrays)
        return
    features = getattr(model, "n_features_in_", None)
    if type(features) is not int or features < 1:
        raise ModelFileError("the model file does not say how many features there are.")
    _require_width(model, features, arrays)
    _require_weights(model, features)
    _require_threshold(model)
    _require_costs(model)
    for listed in (getattr(encoding, "feature_names", None), names):
        if listed is not None and len(listed) != features:
            raise ModelFileError(
                f"the model takes {features} features, but the model file names {len(listed)}."
            )
    if rows is not None and not (
        isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype == np.int64
        and (rows >= 0).all()
    ):  # fmt: skip
        raise ModelFileError("the model file must number the rows of training.")
    _try(model, _row_of_zeros(model, features))


def _require_encoder(encoder: Any) -> None:
    """Refuse an encoder whose columns are not those that its encoding takes."""
    from separatrix.data.encodings.labels import Encoding

    values = vars(encoder)
    names, count = values.get("_names"), values.get("n_features_in_")
    known = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not known or type(count) is not int or count != len(names) or len(set(names)) != count:
        raise ModelFileError(
            "the columns of the encoder in the model file are not named once each."
        )
    encoding = values.get("encoding_")
    if not isinstance(encoding, Encoding):
        raise ModelFileError("the encoder of the model file has learned nothing.")
    inner = getattr(encoding, "inner", encoding)
    taken = [code.name for code in getattr(inner, "codes", ())]
    taken += [name for name in (getattr(inner, "column", None),) if name is not None]
    if not set(taken) <= set(names):
        raise ModelFileError("the encoder of the model file takes columns that it does not name.")


def _require_rest(model: Any, features: int, rows: Any, arrays: dict[str, np.ndarray]) -> None:
    """Refuse what follows an encoder where it does not take as many features as that makes."""
    taken = getattr(model, "n_features_in_", None)
    if taken != features:
        raise ModelFileError(
            f"the encoder of the model file makes {features} features, and the model takes {taken}."
        )
    require_consistent(model, None, None, rows, arrays)


def require_spreads(spreads: Any, features: int) -> None:
    """Refuse standard deviations that are not one number a feature."""
    if spreads is None:
        return
    if not (isinstance(spreads, np.ndarray) and spreads.shape == (features,)):
        raise ModelFileError("the model file must hold one standard deviation a feature.")
    if spreads.dtype != np.float64:
        raise ModelFileError("the standard deviations of the model file are no numbers.")


def _require_width(model: Any, features: int, arrays: dict[str, np.ndarray]) -> None:
    """Refuse a width that nothing in the file has: a row of it would take memory for nothing."""
    if features <= _NARROW or any(features in array.shape for array in arrays.values()):
        return
    vectors: Any = getattr(model, "support_vectors_", None)
    kernel = getattr(getattr(model, "kernel_", None), "name", "")
    if is_sparse(vectors) and vectors.shape[1] == features and kernel != "precomputed":
        return  # support vectors stay sparse, and so does the row
    if type(model).__name__ != "Polynomial":
        raise ModelFileError(f"the model file claims {features:,} features and holds none.")


def _require_weights(model: Any, features: int) -> None:
    if vars(model).get("coef_") is None:  # of a kernel they are made from the support vectors
        return
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    classes: Any = getattr(model, "classes_", None)
    k = 0 if classes is None else len(classes)
    counts = {1 if k == 2 else k, k, k * (k - 1) // 2}
    if (
        coef.ndim != 2
        or coef.shape[1] != features
        or intercept.shape != (len(coef),)
        or (classes is not None and len(coef) not in counts)
        or coef.dtype.kind != "f"
        or intercept.dtype.kind != "f"
    ):
        raise ModelFileError(
            "weights, intercept and classes of the model file do not fit together."
        )


def _require_threshold(model: Any) -> None:
    """Refuse a threshold that is no number, or that more than two classes would ignore."""
    steps = getattr(model, "steps", None)
    model = steps[-1][1] if steps else model
    if not hasattr(type(model), "threshold_") or "threshold_" not in vars(model):
        return
    value, scores = model.threshold_, len(np.atleast_2d(model.coef_))
    if type(value) is not float or not math.isfinite(value) or scores != 1:
        raise ModelFileError("the threshold of the model file is not one number for one score.")


def _require_costs(model: Any) -> None:
    """Refuse costs that are no matrix over three classes or more, or that nothing can weigh."""
    steps = getattr(model, "steps", None)
    model = steps[-1][1] if steps else model
    if not hasattr(type(model), "costs_") or "costs_" not in vars(model):
        return
    if not sound_costs(model):
        raise ModelFileError(
            "the costs of the model file are not those of three classes or more, or the model has "
            "no probabilities to weigh them by."
        )


def sound_costs(model: Any) -> bool:
    """Whether `costs_` is a matrix over the classes of a model that has probabilities."""
    costs, k = model.costs_, len(model.classes_)
    return (
        isinstance(costs, np.ndarray)
        and costs.dtype == np.float64
        and costs.shape == (k, k)
        and k > 2
        and bool(np.isfinite(costs).all() and (costs >= 0.0).all())
        and not np.diag(costs).any()
        and hasattr(model, "predict_proba")
    )


def _row_of_zeros(model: Any, features: int) -> Any:
    if not _takes_sparse(model, features):
        return np.zeros((1, features))
    from scipy.sparse import csr_array

    return csr_array((1, features))


def _takes_sparse(model: Any, features: int) -> bool:
    """Whether the trial row is sparse; a narrow one, for a plain model, need not load SciPy."""
    if _is_plain(model):
        steps = [step for _, step in getattr(model, "steps", ())]
        return features > _NARROW and all(getattr(step, "takes_sparse", True) for step in steps)
    from sklearn.utils import get_tags

    return get_tags(model).input_tags.sparse and getattr(model, "kernel", "") != "precomputed"


def _is_plain(model: Any) -> bool:
    return not hasattr(model, "__sklearn_tags__")


def _methods(model: Any) -> tuple[str, ...]:
    """Name what is tried; probabilities that follow from the scores alone need no trial."""
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    follow = _is_plain(last) and isinstance(last, LogisticProbabilities)
    return tuple(name for name in _METHODS if not (follow and name == "predict_proba"))


def _try(model: Any, row: Any) -> None:
    """Let one row through every method; what comes out must be one row too."""
    done = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in _methods(model):
            try:
                method = getattr(model, name, None)
                if method is None:
                    continue
                rows = method(row).shape[0]
            except Exception as error:
                raise ModelFileError(
                    f"the parts of the model do not fit together: {error}"
                ) from error
            if rows != 1:
                raise ModelFileError("the parts of the model do not fit together.")
            done += 1
    if not done:
        raise ModelFileError("the model file holds a model that neither predicts nor lifts.")


def are_rows(data: Any, indices: Any, indptr: Any, shape: list[int]) -> bool:
    """Whether loops can follow these numbers: SciPy's own check passes some that they cannot."""
    return bool(
        data.ndim == indices.ndim == indptr.ndim == 1
        and data.dtype.kind == "f"
        and indices.dtype.kind == indptr.dtype.kind == "i"
        and len(shape) == 2
        and shape[0] >= 0
        and 0 <= shape[1] < 2**31
        and len(indptr) == shape[0] + 1
        and indptr[0] == 0
        and (np.diff(indptr) >= 0).all()
        and indptr[-1] == len(indices) == len(data)
        and (indices >= 0).all()
        and (indices < shape[1]).all()
    )


def require_kernel(kernel: Any) -> None:
    """Refuse a kernel that none of ours is."""
    from separatrix.problem.kernels import KERNELS

    known = kernel.name in KERNELS and kernel.function is None
    if not (known and type(kernel.gamma) is type(kernel.coef0) is float and kernel.is_sound):
        raise ModelFileError("the model file holds a kernel that is not known.")


def require_kinds(model: Any) -> None:
    """Refuse, by name, fitted values of a kind that a model never has."""
    from separatrix.problem.kernels import Kernel

    held = vars(model)
    names, features = held.get("feature_names_in_"), held.get("n_features_in_")
    sound = {
        "feature_names_in_": names is None
        or (isinstance(names, np.ndarray) and names.shape == (features,) and _are_texts(names)),
        "certificates_": isinstance(held.get("certificates_", []), list),
        "kernel_": "kernel_" not in held or isinstance(held["kernel_"], Kernel),
        "costs_": "costs_" not in held or hasattr(type(model), "costs_"),
    }
    for name, good in sound.items():
        if not good:
            raise ModelFileError(f"the model file sets {name} to what no such model holds.")


def _are_texts(names: np.ndarray) -> bool:
    return all(isinstance(name, str) for name in names.tolist())


# ---- what is learned from a stream


_SLOT = 8  # numbers a feature holds
_TOTALS = 2  # numbers a score holds


def require_learned(model: Any) -> None:
    """Refuse what was learned from a stream, where its parts are not of this model."""
    held = vars(model)
    if "_stream" not in held:
        return
    fits = _FITS.get(type(model).__name__)
    classes, features = held.get("classes_"), held.get("n_features_in_")
    if (
        fits is None
        or classes is None
        or len(classes) < 2
        or type(features) is not int
        or not isinstance(held["_stream"], tuple)
        or not fits(model, held["_stream"], len(classes), features)
    ):
        raise ModelFileError("what the model file learned from a stream does not fit together.")


def _fits_gradients(model: Any, parts: tuple[Any, ...], k: int, features: int) -> bool:
    """Slots, sums and totals; or the slots of some features, their numbers, and one for the rest.

    Weights of all features are in the file too, so that the slots take at most so many times more.
    """
    scores = 1 if k == 2 else k
    if model.learning_rate != "free":
        return _fits_schedule(model, parts, scores, features)
    if len(parts) not in (3, 6) or not all(isinstance(part, np.ndarray) for part in parts):
        return False
    slots, sums, totals, *rest = parts
    held = len(slots) if slots.ndim else -1
    fits = (
        _is_real(slots, (held, scores, _SLOT))
        and _is_real(sums, (held if model.average else 0, scores))
        and _is_real(totals, (scores, _TOTALS))
        and _is_real(vars(model).get("_centre"), (features,))
        and np.shape(vars(model).get("coef_")) == (scores, features)
    )
    if not fits or not rest:
        return fits and held == features + 1
    numbers, last, other = rest
    return bool(
        numbers.dtype == last.dtype == np.int64
        and numbers.shape == (held,)
        and last.shape == (1,)
        and _is_real(other, (scores, _SLOT))
        and (np.diff(numbers) > 0).all()
        and numbers.min(initial=0) >= 0
        and 0 <= last[0] <= features
        and max(int(last[0]), int(numbers.max(initial=0))) == features
    )


def _fits_schedule(model: Any, parts: tuple[Any, ...], scores: int, features: int) -> bool:
    """The last weights, their means, and the clock."""
    if len(parts) != 3:
        return False
    held, means, clock = parts
    return bool(
        _is_real(held, (scores, features + 1))
        and _is_real(means, (scores if model.average else 0, features + 1))
        and _is_real(clock, (2,))
        and _is_real(vars(model).get("_centre"), (features,))
        and np.shape(vars(model).get("coef_")) == (scores, features)
    )


def _fits_perceptron(model: Any, parts: tuple[Any, ...], k: int, features: int) -> bool:
    """The last weights, the answer, and for how many visits it is the mean."""
    size = (1 + features) * (1 if k == 2 else k)
    if len(parts) != 3:
        return False
    last, answer, visits = parts
    return _is_real(last, (size,)) and _is_real(answer, (size,)) and type(visits) is float


def _is_real(array: Any, shape: tuple[int, ...]) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.shape == shape
        and array.dtype == np.float64
        and array.flags.c_contiguous
    )


_FITS: dict[str, Callable[[Any, tuple[Any, ...], int, int], bool]] = {
    "SGD": _fits_gradients,
    "Perceptron": _fits_perceptron,
}
