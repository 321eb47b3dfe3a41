"""From what was asked to estimators, and to the Python code that says the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.lab.asked import Asked
from separatrix.lab.lifts import LIFTS, lift_of
from separatrix.lab.methods import BadRequest

__all__ = ["build", "python_code"]

_LECTURE_START = [0.0, 1.0, 0.5]
_SECONDS = 4


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
        lines.append(f"    print(frame.update, {shown})")
    lines += [f"machine.fit({data}, y)", "print(machine)"]
    if asked.n_classes == 2 and asked.lift == "none":
        lines += ["", "verdict = sx.separability(X, y)", "print(verdict)"]
        lines.append("print(verdict.certificate.check(X, y))")
    return "\n".join(lines) + "\n"


def can_replay(asked: Asked) -> bool:
    """Whether every update can be shown: of many classes only the perceptron's, directly."""
    direct = asked.method.name == "perceptron" and asked.many == "direct"
    return asked.method.replays and (asked.n_classes == 2 or direct)


def _arguments(asked: Asked) -> dict[str, Any]:
    given = {name: value for name, value in asked.settings.items() if value is not None}
    many = asked.n_classes > 2
    if given.get("init") == "lecture":
        if many or asked.lift != "none":
            raise BadRequest("The lecture's start is for two classes in the plane.")
        given["init"] = _LECTURE_START
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
