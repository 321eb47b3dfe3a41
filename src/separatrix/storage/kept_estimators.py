"""Which estimators a model file can hold, as plain data and back.

An estimator becomes its name, its parameters and what `fit` left. The name is a word from
``ESTIMATORS``; nothing else can be built. What a fit computes from the parameters alone is left out
and made again, so that no loop ever follows numbers from a file (``REMADE``).
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import numpy as np

from separatrix import _HOME
from separatrix.core.models import settings_of
from separatrix.errors import ModelFileError
from separatrix.storage.model_checks import require_kinds, require_learned

_NAME = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")

# A file can name these estimators and nothing else.
_OURS = (
    "DeltaRule", "Fisher", "GaussianPlugIn", "KernelKozinec", "KernelPerceptron", "KernelSVM",
    "KernelSVMCV", "Kozinec", "LeastSquares", "LinearProgramHalfspace", "LinearSVM", "LinearSVMCV",
    "LogisticRegression", "LogisticRegressionCV", "OneVsOne", "OneVsRest", "Perceptron", "SGD",
    "ZeroOne",
)  # fmt: skip
_LIFTS = ("Nystrom", "Polynomial", "RadialBasis", "RandomFourier", "Sigmoid")
_SCALERS = ("MaxAbsScaler", "MinMaxScaler", "StandardScaler")
_LINEAR = ("LinearSVM", "LinearSVMCV", "LogisticRegression", "LogisticRegressionCV")
_HOMES = {
    **{name: _HOME[name] for name in _OURS},
    **dict.fromkeys(_LIFTS, _HOME["lift"]),
    **dict.fromkeys(_SCALERS, "sklearn.preprocessing"),
    "Pipeline": "sklearn.pipeline",
    "LibsvmMachine": "separatrix.storage.libsvm_model",
    "Encoder": _HOME["Encoder"],
}
# Estimator -> the module that holds it.
ESTIMATORS = dict(sorted(_HOMES.items()))
# Of these there is a form that predicts alike and does not need scikit-learn.
PLAIN = {
    **dict.fromkeys(_LINEAR, "separatrix.core.models"),
    **dict.fromkeys((*_SCALERS, "Pipeline"), "separatrix.core.models"),
}
_FITTED = {
    "LinearSVM": "separatrix.core.machine",
    "LogisticRegression": "separatrix.core.machine",
}
REMADE = {"Polynomial": ("_tree",)}
# The most that a parameter of this name may be: each is a number of rounds in a loop.
_MOST = {"degree": 100}
_MOST_PRODUCTS = 1 << 22
# Fitted values that a class has a default of.
_WITH_DEFAULT = ("threshold_", "costs_")


def require_known(model: Any) -> None:
    """Refuse, by name, what a model file does not hold."""
    name, home = type(model).__name__, type(model).__module__
    known = home in (PLAIN.get(name), _FITTED.get(name))
    if not known and name in ESTIMATORS:
        known = getattr(import_module(ESTIMATORS[name]), name) is type(model)
    if not known:
        names = ", ".join(ESTIMATORS)
        raise ModelFileError(
            f"a {name} of {type(model).__module__.split('.', 1)[0]} cannot be saved. "
            f"A model file holds one of: {names}."
        )


def packed(packer: Any, model: Any, where: str = "") -> dict[str, Any]:
    """Return name, parameters and fitted values as plain data."""
    require_known(model)
    name, parameters = type(model).__name__, settings_of(model)
    _require_bounded(parameters)
    _require_bounded_lift(model)
    left_out = {*parameters, *REMADE.get(name, ())}
    prefix = f"{where}." if where else ""
    return {
        "estimator": name,
        "parameters": {k: packer.pack(v, f"{prefix}{k}") for k, v in parameters.items()},
        "fitted": {
            k: packer.pack(v, f"{prefix}{k}") for k, v in vars(model).items() if k not in left_out
        },
    }


def built(unpacker: Any, plain: dict[str, Any]) -> Any:
    """Return the estimator that plain data describe."""
    name = plain["estimator"]
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ModelFileError(f"the model file names an estimator that is not known: {name!r}.")
    with unpacker.plainly(name in PLAIN):  # an estimator is made of estimators
        return _built(unpacker, name, plain)


def _built(unpacker: Any, name: str, plain: dict[str, Any]) -> Any:
    parameters = {key: unpacker.unpack(value) for key, value in plain["parameters"].items()}
    kind = class_of(name, parameters, unpacker.plain)
    _require_bounded(parameters)
    if name == "Pipeline":
        _require_steps(parameters["steps"])
    model = kind(**parameters)
    settings = {"steps", *settings_of(model)}  # of which "steps" makes a pipeline
    for key, value in plain["fitted"].items():
        taken = (hasattr(kind, key) and key not in _WITH_DEFAULT) or key in settings
        if not _NAME.fullmatch(key) or taken or key in REMADE.get(name, ()):
            raise ModelFileError(f"the model file sets {key!r}, which is not a fitted value.")
        setattr(model, key, unpacker.unpack(value))
    _require_bounded_lift(model)
    _require_classes(model)
    require_kinds(model)
    require_learned(model)
    return model


def class_of(name: str, parameters: dict[str, Any], plain: bool) -> Any:
    """Return the estimator of a name, or its plain form where that has these parameters."""
    if plain and name in PLAIN:
        kind = getattr(import_module(PLAIN[name]), name)
        if parameters.keys() <= inspect.signature(kind).parameters.keys():
            return kind
    return getattr(import_module(ESTIMATORS[name]), name)


def _require_steps(steps: Any) -> None:
    """Refuse a pipeline of anything but named estimators."""
    good = isinstance(steps, list) and bool(steps)
    for step in steps if good else ():
        named = type(step) is tuple and len(step) == 2 and isinstance(step[0], str)
        good = good and named and type(step[1]).__name__ in ESTIMATORS
    if not good:
        raise ModelFileError("the model file holds a pipeline whose steps are no estimators.")


def _require_bounded(parameters: dict[str, Any]) -> None:
    for name, most in _MOST.items():
        value = parameters.get(name, 0)
        if isinstance(value, int) and value > most:
            raise ModelFileError(f"{name} is {value}; a model file holds at most {most}.")


def _require_classes(model: Any) -> None:
    """Refuse classes that are no list of names, or too many for the scores that tell them apart.

    Models of pairs count pairs of classes: so their number must be that of the scores.
    """
    classes = vars(model).get("classes_")
    if classes is None:
        return
    k = len(classes) if isinstance(classes, np.ndarray) and classes.ndim == 1 else 0
    shares = vars(model).get("dual_coef_") if "kernel_" in vars(model) else None
    scores = len(shares) if isinstance(shares, np.ndarray) and shares.ndim == 2 else None
    fits = shares is None or scores in (1 if k == 2 else k, k * (k - 1) // 2)
    if k < 2 or not fits:
        raise ModelFileError("the classes of the model file do not fit its models.")


def _require_bounded_lift(model: Any) -> None:
    """Refuse products of columns whose tree, made again when first needed, would be large."""
    if type(model).__name__ != "Polynomial" or not hasattr(model, "n_output_features_"):
        return
    from separatrix.problem.lifting import monomial_count

    columns, degree, alone = model.n_features_in_, int(model.degree), bool(model.interaction_only)
    inner = monomial_count(columns, degree - 1, alone) if degree > 1 else 0
    count = monomial_count(columns, degree, alone) + bool(model.include_bias)
    if max(columns, inner) > _MOST_PRODUCTS or model.n_output_features_ != count:
        raise ModelFileError(
            f"a model file holds no lift of degree {degree} of {columns:,} columns. "
            "Take fewer columns or a lower degree."
        )
