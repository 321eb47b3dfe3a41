"""The methods that the lab offers, each with its parameters as a form can show them.

One table says everything: what the page draws as controls, what the server accepts, and what the
exported Python code says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

__all__ = ["METHODS", "Method", "Parameter", "catalogue"]


class BadRequest(ValueError):
    """What was asked cannot be done; the message says why, in plain words."""


@dataclass(frozen=True)
class Parameter:
    """One control: a choice, a switch, a whole number, or a number on a logarithmic scale.

    `choices` are pairs of a value and its label. With `absent` the number may be left out, and the
    label says what happens then. `when` names another parameter and the values that make this one
    matter.
    """

    name: str
    label: str
    kind: str  # "choice", "switch", "whole" or "log"
    default: Any
    choices: tuple[tuple[str, str], ...] = ()
    low: float = 0.0
    high: float = 1.0
    absent: str = ""
    when: tuple[str, tuple[Any, ...]] | None = None

    def read(self, value: Any) -> Any:
        """Return the value if it is one that the control can have."""
        if self.kind == "choice":
            if value in [choice for choice, _ in self.choices]:
                return value
        elif self.kind == "switch":
            if isinstance(value, bool):
                return value
        elif value is None:
            if self.absent:
                return None
        elif type(value) in (int, float) and self.low <= value <= self.high:
            if self.kind == "log":
                return float(value)
            if value == int(value):
                return int(value)
        raise BadRequest(f"{self.label}: {str(value)[:40]!r} is not one of its values.")

    def told(self) -> dict[str, Any]:
        """Return what the page needs to draw the control."""
        return {
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "default": self.default,
            "choices": [list(choice) for choice in self.choices],
            "low": self.low,
            "high": self.high,
            "absent": self.absent,
            "when": None if self.when is None else [self.when[0], list(self.when[1])],
        }


@dataclass(frozen=True)
class Method:
    """One method: its name, the class that does the work, and its parameters.

    `many` says how it takes more than two classes: "direct" itself, "ovr" and "ovo" by one machine
    a class or a pair. `replays` whether its updates can be watched.
    """

    name: str
    label: str
    family: str
    estimator: str
    sentence: str
    parameters: tuple[Parameter, ...] = ()
    fixed: dict[str, Any] = field(default_factory=dict)
    many: tuple[str, ...] = ("ovr", "ovo")
    own_many: bool = False  # whether the estimator itself has `multi_class`
    replays: bool = False
    lifts: bool = True

    def settings(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the constructor's arguments, defaults filled in, or refuse."""
        known = {parameter.name for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise BadRequest(f"{self.label} has no parameter {str(name)[:40]!r}.")
        read = {p.name: p.read(given.get(p.name, p.default)) for p in self.parameters}
        for parameter in self.parameters:
            if parameter.when is not None and read[parameter.when[0]] not in parameter.when[1]:
                del read[parameter.name]
        return {**read, **self.fixed}

    def told(self) -> dict[str, Any]:
        """Return what the page needs to offer the method."""
        return {
            "name": self.name,
            "label": self.label,
            "family": self.family,
            "sentence": self.sentence,
            "parameters": [parameter.told() for parameter in self.parameters],
            "many": list(self.many),
            "replays": self.replays,
            "lifts": self.lifts,
        }


def _choice(name: str, label: str, *choices: tuple[str, str], when: Any = None) -> Parameter:
    return Parameter(name, label, "choice", choices[0][0], choices, when=when)


_ORDER = _choice(
    "order", "Order of rows", ("cyclic", "one after another"), ("random", "random"),
    ("worst", "worst first"),
)  # fmt: skip
_BLOCK = (
    _choice(
        "update", "Correct with", ("single", "one row"), ("minibatch", "a few rows"),
        ("batch", "all rows"),
    ),
    Parameter(
        "batch_size", "Rows at a time", "whole", 4, low=1, high=1000,
        when=("update", ("minibatch",)),
    ),
)  # fmt: skip
_SEED = Parameter("random_state", "Seed", "whole", 0, low=0, high=9999, when=("order", ("random",)))


def _updates(most: int = 500) -> Parameter:
    return Parameter("max_updates", "At most so many updates", "whole", most, low=1, high=5000)


def _cost(default: float = 1.0) -> Parameter:
    return Parameter("C", "C", "log", default, low=1e-4, high=1e6)


_KERNEL = (
    _choice(
        "kernel", "Kernel", ("rbf", "Gaussian (rbf)"), ("poly", "polynomial"),
        ("sigmoid", "sigmoid"), ("linear", "linear"),
    ),
    Parameter(
        "gamma", "Gamma", "log", None, low=1e-3, high=1e3, absent="by the data's spread",
        when=("kernel", ("rbf", "poly", "sigmoid")),
    ),
    Parameter("degree", "Degree", "whole", 3, low=1, high=9, when=("kernel", ("poly",))),
    Parameter("coef0", "Constant", "whole", 1, low=-5, high=5,
              when=("kernel", ("poly", "sigmoid"))),
)  # fmt: skip
_EPSILON = Parameter(
    "epsilon", "Epsilon", "log", None, low=1e-6, high=10.0, absent="stop at the first separator"
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "perceptron", "Perceptron", "Updates", "Perceptron",
            "Add a misclassified row to the weights until none is left.",
            (
                _BLOCK[0], _ORDER, _BLOCK[1], _SEED,
                Parameter("learning_rate", "Learning rate", "log", 1.0, low=1e-3, high=1e3),
                _choice("init", "Start", ("zeros", "at zero"), ("random", "at random"),
                        ("lecture", "at b = 0, w = (1, 0.5)")),
                Parameter("pocket", "Keep the best (pocket)", "switch", True),
                Parameter("average", "Average all weights", "switch", False),
                _updates(),
            ),
            many=("direct", "ovr", "ovo"), replays=True,
        ),
        Method(
            "delta_rule", "Delta rule", "Updates", "DeltaRule",
            "Walk down the squared error, one row or all of them at a time.",
            (
                Parameter("thresholded", "Threshold the output", "switch", False),
                _choice("update", "Correct with", ("batch", "all rows"), ("single", "one row"),
                        ("minibatch", "a few rows")),
                _choice("order", "Order of rows", ("cyclic", "one after another"),
                        ("random", "random"), when=("update", ("single", "minibatch"))),
                _BLOCK[1],
                Parameter("learning_rate", "Learning rate", "log", None, low=1e-5, high=10.0,
                          absent="by the largest eigenvalue"),
                _updates(),
            ),
            replays=True,
        ),
        Method(
            "kozinec", "Kozinec", "Updates", "Kozinec",
            "Walk to the point of the hull nearest the origin; epsilon squeezes the margin.",
            (_EPSILON, _ORDER, _SEED, _updates()), replays=True,
        ),
        Method(
            "linear_program", "Linear program", "In one go", "LinearProgramHalfspace",
            "Ask for any feasible point, or with slack for the least total shortfall.",
            (Parameter("slack", "Allow slack", "switch", True),),
        ),
        Method(
            "hard_margin", "Hard margin", "Margins", "LinearSVM",
            "The widest street with no point on it.",
            (_choice("solver", "Solver", ("auto", "interior point"),
                     ("dual_coordinate", "coordinate descent")),),
            fixed={"C": math.inf}, own_many=True, replays=True,
        ),
        Method(
            "soft_margin", "Soft margin", "Margins", "LinearSVM",
            "A wide street; C is what a point on it costs.",
            (
                _cost(),
                _choice("loss", "Loss", ("hinge", "hinge"), ("squared_hinge", "squared hinge")),
                _choice("solver", "Solver", ("auto", "chosen by the data"),
                        ("dual_coordinate", "coordinate descent")),
            ),
            many=("ovr", "ovo", "direct"), own_many=True, replays=True,
        ),
        Method(
            "logistic", "Logistic regression", "Margins", "LogisticRegression",
            "The hyperplane of most likely class probabilities.", (_cost(),),
            own_many=True, replays=True,
        ),
        Method(
            "kernel_svm", "Kernel machine", "Kernels", "KernelSVM",
            "The soft margin in a kernel's space, two multipliers at a time.",
            (_cost(), *_KERNEL), many=("ovo", "ovr"), own_many=True, replays=True, lifts=False,
        ),
        Method(
            "kernel_perceptron", "Kernel perceptron", "Kernels", "KernelPerceptron",
            "Count the mistakes of every row, in a kernel's space.",
            (*_KERNEL, _updates()), replays=True, lifts=False,
        ),
        Method(
            "kernel_kozinec", "Kernel Kozinec", "Kernels", "KernelKozinec",
            "The nearest point of the hull, in a kernel's space.",
            (_EPSILON, *_KERNEL, _updates()), replays=True, lifts=False,
        ),
        Method(
            "least_squares", "Least squares", "In one go", "LeastSquares",
            "Fit the class numbers as if they were measurements.",
            (Parameter("ridge", "Ridge", "log", None, low=1e-6, high=1e6, absent="none"),),
            many=("direct", "ovr", "ovo"),
        ),
        Method(
            "fisher", "Fisher's discriminant", "In one go", "Fisher",
            "The direction that parts the means most for the spread within.",
            (
                _choice("threshold", "Threshold", ("mean", "at the mean"),
                        ("gaussian", "for Gaussian classes")),
                _choice("direction", "Direction", ("fisher", "Fisher's"),
                        ("means", "between the means")),
            ),
            many=("direct", "ovr", "ovo"),
        ),
        Method(
            "gaussian", "Gaussian plug-in", "In one go", "GaussianPlugIn",
            "Bayes' rule, as if the estimated Gaussians were the truth.",
            (
                _choice("covariance", "Covariance", ("shared", "shared"), ("full", "of each class"),
                        ("diagonal", "diagonal")),
                _choice("task", "Task", ("bayes", "fewest errors"), ("minimax", "minimax"),
                        ("neyman-pearson", "Neyman-Pearson")),
            ),
            many=("direct", "ovr", "ovo"), lifts=False,
        ),
        Method(
            "zero_one", "Fewest errors", "In one go", "ZeroOne",
            "The least number of training errors, with a proved lower bound.",
            (Parameter("max_seconds", "At most so many seconds", "whole", 2, low=1, high=5),),
        ),
    )
}  # fmt: skip


def catalogue() -> list[dict[str, Any]]:
    """Return all methods for the page."""
    return [method.told() for method in METHODS.values()]
