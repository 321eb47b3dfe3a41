"""From a request to estimators, and to the Python code that says the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.lab.methods import METHODS, Method
from separatrix.lab.parameters import LIFTS, MOST_CLASSES, BadRequest, lift_of

__all__ = ["MOST_POINTS", "Request", "build", "python_code", "read_points", "read_request"]

_LECTURE_START = [0.0, 1.0, 0.5]
_SECONDS = 4
_DIRECT_REPLAYS = ("perceptron", "sgd")


def build(request: Request) -> tuple[Any, Any]:
    """Return the lift, None if there is none, and the estimator."""
    lift, _ = lift_of(request.lift, request.lift_settings, len(request.X))
    machine = getattr(sx, request.method.estimator)(**_arguments(request))
    wrapper = _wrapper(request)
    return lift, machine if wrapper is None else getattr(sx, wrapper)(machine)


def python_code(request: Request) -> str:
    """Return a script that reproduces what is on the screen."""
    lines = ["import numpy as np", "import separatrix as sx", ""]
    points = ",\n    ".join(repr(point) for point in request.X.tolist())
    lines += [f"X = np.array([\n    {points},\n])", f"y = np.array({request.codes.tolist()})", ""]
    data = "X"
    _, lift_settings = lift_of(request.lift, request.lift_settings, len(request.X))
    if request.lift != "none":
        lines.append(f"lift = {_call('lift.' + LIFTS[request.lift][1], lift_settings)}")
        lines.append("lifted = lift.fit_transform(X)")
        data = "lifted"
    call, wrapper = _call(request.method.estimator, _arguments(request)), _wrapper(request)
    lines.append(f"machine = {call if wrapper is None else f'sx.{wrapper}({call})'}")
    if can_replay(request):
        lines.append(f"for frame in sx.replay(machine, {data}, y):")
        shown = "frame.errors" if request.method.family == "Kernels" else "frame.weights"
        which = "frame.machine, " if request.n_classes > 2 and request.many != "direct" else ""
        lines.append(f"    print({which}frame.update, {shown})")
    lines += [f"machine.fit({data}, y)", "print(machine)"]
    if request.n_classes == 2 and request.lift == "none":
        lines += ["", "verdict = sx.separability(X, y)", "print(verdict)"]
        lines.append("print(verdict.certificate.check(X, y))")
    return "\n".join(lines) + "\n"


def can_replay(request: Request) -> bool:
    """Whether every update can be shown: of many classes at once, of some methods only."""
    if request.n_classes == 2 or request.many != "direct":
        return request.method.replays
    return request.method.replays and request.method.name in _DIRECT_REPLAYS


def _arguments(request: Request) -> dict[str, Any]:
    given = {name: value for name, value in request.settings.items() if value is not None}
    many = request.n_classes > 2
    for name, meaning in _MEANINGS.items():
        if name in given:
            given[name] = meaning(given[name], request)
    if many and request.method.own_many:
        given["multi_class"] = request.many
    if given.get("task", "bayes") != "bayes" and many:
        raise BadRequest("Minimax and Neyman-Pearson are for two classes.")
    defaults = getattr(sx, request.method.estimator)().get_params()
    if "max_seconds" in defaults and "max_seconds" not in given:
        given["max_seconds"] = _SECONDS
    return {
        name: value
        for name, value in given.items()
        if type(value) is list or value != defaults[name]
    }


def _start(word: str, request: Request) -> Any:
    if word != "lecture":
        return word
    if request.n_classes > 2 or request.lift != "none":
        raise BadRequest("The lecture's start is for two classes in the plane.")
    return _LECTURE_START


def _priors(word: str, request: Request) -> Any:
    if word == "none":
        return None
    if request.settings.get("task", "bayes") != "bayes":
        raise BadRequest("Minimax and Neyman-Pearson need no priors: leave them as they are.")
    if request.many != "direct" and request.n_classes > 2:
        return [0.5, 0.5]  # of every machine
    return [1.0 / request.n_classes] * request.n_classes


def _bounded_class(word: str, request: Request) -> Any:
    return int(np.unique(request.codes)[1]) if word == "second" else None


def _losses(table: list[list[float]], request: Request) -> list[list[float]]:
    """Return the part of the table that is about the classes drawn."""
    _refuse_machines(request, "The cost of errors")
    codes = np.unique(request.codes).tolist()
    return [[table[decision][code] for code in codes] for decision in codes]


def _reject_cost(cost: float, request: Request) -> float:
    _refuse_machines(request, "The cost of rejection")
    return cost


def _refuse_machines(request: Request, what: str) -> None:
    if request.n_classes > 2 and request.many != "direct":
        raise BadRequest(f"{what} needs all classes at once: choose that way.")


# What words of the form mean to the library.
_MEANINGS: dict[str, Any] = {
    "init": _start,
    "pocket": lambda word, _: {"best": True, "none": False}.get(word, word),
    "class_weight": lambda word, _: None if word == "none" else word,
    "priors": _priors,
    "bounded_class": _bounded_class,
    "loss_matrix": _losses,
    "reject_cost": _reject_cost,
}


def _wrapper(request: Request) -> str | None:
    if request.n_classes == 2 or request.many == "direct" or request.method.own_many:
        return None
    return {"ovr": "OneVsRest", "ovo": "OneVsOne"}[request.many]


def _call(name: str, settings: dict[str, Any]) -> str:
    written = ", ".join(f"{key}={_written(value)}" for key, value in settings.items())
    return f"sx.{name}({written})"


def _written(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "np.inf"
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


# ---- the request


MOST_POINTS = 10_000
_LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class Request:
    """Points, the class number of each, and what to do with them."""

    X: np.ndarray
    codes: np.ndarray
    method: Method
    settings: dict[str, Any]
    many: str
    lift: str
    lift_settings: dict[str, Any]

    @property
    def n_classes(self) -> int:
        """How many different classes the points have."""
        return len(np.unique(self.codes))


def read_points(message: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the points and their class numbers, or refuse."""
    if not isinstance(message, dict):
        raise BadRequest("Send a JSON object.")
    points, classes = message.get("points"), message.get("classes")
    if not isinstance(points, list) or not isinstance(classes, list):
        raise BadRequest("Send a list of points and a list of classes.")
    if len(points) != len(classes):
        raise BadRequest("Every point needs one class.")
    if len(points) > MOST_POINTS:
        raise BadRequest(f"The lab takes at most {MOST_POINTS:,} points; got {len(points):,}.")
    for point in points:
        if not (isinstance(point, list) and len(point) == 2 and all(map(_is_number, point))):
            raise BadRequest("A point is a list of two finite numbers below a billion.")
    if not all(type(code) is int and 0 <= code < MOST_CLASSES for code in classes):
        raise BadRequest(f"A class is a whole number from 0 to {MOST_CLASSES - 1}.")
    codes = np.array(classes, dtype=np.int64)
    if len(np.unique(codes)) < 2:
        raise BadRequest("Place points of at least two classes.")
    return np.array(points, dtype=np.float64).reshape(-1, 2), codes


def read_request(message: Any) -> Request:
    """Return what to run, or refuse in words."""
    X, codes = read_points(message)
    method = METHODS.get(_text(message.get("method")))
    if method is None:
        raise BadRequest("There is no such method.")
    parameters, lift = message.get("parameters", {}), message.get("lift") or {"name": "none"}
    if not isinstance(parameters, dict) or not isinstance(lift, dict):
        raise BadRequest("Parameters and lift are JSON objects.")
    lift_settings = lift.get("parameters", {})
    if not isinstance(lift_settings, dict):
        raise BadRequest("The parameters of a lift are a JSON object.")
    many = _text(message.get("many") or method.many[0])
    if many not in method.many:
        raise BadRequest(f"{method.label} does not take many classes by {many[:40]!r}.")
    name = _text(lift.get("name", "none"))
    if not method.lifts:
        name, lift_settings = "none", {}
    return Request(X, codes, method, method.settings(parameters), many, name, lift_settings)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST  # NaN is not
