"""From what was asked to estimators, and to the Python code that says the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.lab.asked import Asked
from separatrix.lab.lifts import LIFTS, lift_of
from separatrix.lab.parameters import BadRequest

__all__ = ["build", "python_code"]

_LECTURE_START = [0.0, 1.0, 0.5]
_SECONDS = 4
_DIRECT_REPLAYS = ("perceptron", "sgd")


def build(asked: Asked) -> tuple[Any, Any]:
    """Return the lift, None if there is none, and the estimator."""
    lift, _ = lift_of(asked.lift, asked.lift_settings, len(asked.X))
    machine = getattr(sx, asked.method.estimator)(**_arguments(asked))
    wrapper = _wrapper(asked)
    return lift, machine if wrapper is None else getattr(sx, wrapper)(machine)


def python_code(asked: Asked) -> str:
    """Return a script that reproduces what is on the screen."""
    lines = ["import numpy as np", "import separatrix as sx", ""]
    points = ",\n    ".join(repr(point) for point in asked.X.tolist())
    lines += [f"X = np.array([\n    {points},\n])", f"y = np.array({asked.codes.tolist()})", ""]
    data = "X"
    _, lift_settings = lift_of(asked.lift, asked.lift_settings, len(asked.X))
    if asked.lift != "none":
        lines.append(f"lift = {_call('lift.' + LIFTS[asked.lift][1], lift_settings)}")
        lines.append("lifted = lift.fit_transform(X)")
        data = "lifted"
    call, wrapper = _call(asked.method.estimator, _arguments(asked)), _wrapper(asked)
    lines.append(f"machine = {call if wrapper is None else f'sx.{wrapper}({call})'}")
    if can_replay(asked):
        lines.append(f"for frame in sx.replay(machine, {data}, y):")
        shown = "frame.errors" if asked.method.family == "Kernels" else "frame.weights"
        which = "frame.machine, " if asked.n_classes > 2 and asked.many != "direct" else ""
        lines.append(f"    print({which}frame.update, {shown})")
    lines += [f"machine.fit({data}, y)", "print(machine)"]
    if asked.n_classes == 2 and asked.lift == "none":
        lines += ["", "verdict = sx.separability(X, y)", "print(verdict)"]
        lines.append("print(verdict.certificate.check(X, y))")
    return "\n".join(lines) + "\n"


def can_replay(asked: Asked) -> bool:
    """Whether every update can be shown: of many classes at once, of some methods only."""
    if asked.n_classes == 2 or asked.many != "direct":
        return asked.method.replays
    return asked.method.replays and asked.method.name in _DIRECT_REPLAYS


def _arguments(asked: Asked) -> dict[str, Any]:
    given = {name: value for name, value in asked.settings.items() if value is not None}
    many = asked.n_classes > 2
    for name, meaning in _MEANINGS.items():
        if name in given:
            given[name] = meaning(given[name], asked)
    if many and asked.method.own_many:
        given["multi_class"] = asked.many
    if given.get("task", "bayes") != "bayes" and many:
        raise BadRequest("Minimax and Neyman-Pearson are for two classes.")
    defaults = getattr(sx, asked.method.estimator)().get_params()
    if "max_seconds" in defaults and "max_seconds" not in given:
        given["max_seconds"] = _SECONDS
    return {
        name: value
        for name, value in given.items()
        if type(value) is list or value != defaults[name]
    }


def _start(word: str, asked: Asked) -> Any:
    if word != "lecture":
        return word
    if asked.n_classes > 2 or asked.lift != "none":
        raise BadRequest("The lecture's start is for two classes in the plane.")
    return _LECTURE_START


def _priors(word: str, asked: Asked) -> Any:
    if word == "none":
        return None
    if asked.settings.get("task", "bayes") != "bayes":
        raise BadRequest("Minimax and Neyman-Pearson need no priors: leave them as they are.")
    if asked.many != "direct" and asked.n_classes > 2:
        return [0.5, 0.5]  # of every machine
    return [1.0 / asked.n_classes] * asked.n_classes


def _bounded_class(word: str, asked: Asked) -> Any:
    return int(np.unique(asked.codes)[1]) if word == "second" else None


def _losses(table: list[list[float]], asked: Asked) -> list[list[float]]:
    """Return the part of the table that is about the classes drawn."""
    _refuse_machines(asked, "What errors cost")
    codes = np.unique(asked.codes).tolist()
    return [[table[decision][code] for code in codes] for decision in codes]


def _reject_cost(cost: float, asked: Asked) -> float:
    _refuse_machines(asked, "Not to decide")
    return cost


def _refuse_machines(asked: Asked, what: str) -> None:
    if asked.n_classes > 2 and asked.many != "direct":
        raise BadRequest(f"{what} is weighed over all classes at once: choose that way.")


# What words of the form mean to the library.
_MEANINGS: dict[str, Any] = {
    "init": _start,
    "pocket": lambda word, _: {"ratchet": True, "none": False}.get(word, word),
    "class_weight": lambda word, _: None if word == "none" else word,
    "priors": _priors,
    "bounded_class": _bounded_class,
    "loss_matrix": _losses,
    "reject_cost": _reject_cost,
}


def _wrapper(asked: Asked) -> str | None:
    if asked.n_classes == 2 or asked.many == "direct" or asked.method.own_many:
        return None
    return {"ovr": "OneVsRest", "ovo": "OneVsOne"}[asked.many]


def _call(name: str, settings: dict[str, Any]) -> str:
    written = ", ".join(f"{key}={_written(value)}" for key, value in settings.items())
    return f"sx.{name}({written})"


def _written(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "np.inf"
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)
