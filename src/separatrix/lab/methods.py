"""The methods that the lab offers, each with its parameters as a form can show them.

One table says everything: what the page draws as controls, what the server accepts, and what the
exported Python code says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from separatrix.lab.parameters import BadRequest, Parameter, choice, switch

__all__ = ["METHODS", "Method", "catalogue"]


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
        kept = {
            parameter.name: read[parameter.name]
            for parameter in self.parameters
            if parameter.when is None or read[parameter.when[0]] in parameter.when[1]
        }
        if "C" in kept and kept["C"] is None:
            kept["C"] = math.inf
        return {**kept, **self.fixed}

    def as_plain(self) -> dict[str, Any]:
        """Return what the page needs to offer the method."""
        return {
            "name": self.name,
            "label": self.label,
            "family": self.family,
            "sentence": self.sentence,
            "parameters": [parameter.as_plain() for parameter in self.parameters],
            "many": list(self.many),
            "replays": self.replays,
            "lifts": self.lifts,
        }


_UPDATE = choice(
    "update", "Correct with", ("single", "one row"), ("minibatch", "a few rows"),
    ("batch", "all rows"),
)  # fmt: skip
_ORDER = choice(
    "order", "Order of rows", ("cyclic", "in the order given"), ("random", "random"),
    ("worst", "worst first"),
)  # fmt: skip
_FEW = Parameter(
    "batch_size", "Rows at a time", "whole", 4, low=1, high=1000, when=("update", ("minibatch",))
)
_SEED = Parameter("random_state", "Seed", "whole", 0, low=0, high=9999, when=("order", ("random",)))
_ANY_SEED = Parameter("random_state", "Seed", "whole", 0, low=0, high=9999, more=True)
_INTERCEPT = switch("fit_intercept", "The line may miss the origin", True, more=True)
_BIAS_COST = Parameter(
    "intercept_penalty", "Penalty of the intercept", "log", None, low=1e-6, high=1e3, more=True,
    absent="none: b is free",
)  # fmt: skip
_WEIGHTS = choice(
    "class_weight", "Class weights", ("none", "by their rows"), ("balanced", "balanced"), more=True
)
_PRIORS = choice("priors", "Priors", ("none", "class frequencies"), ("equal", "equal"), more=True)
_START = choice(
    "init", "Start", ("zeros", "at zero"), ("random", "at random"),
    ("lecture", "at b = 0, w = (1, 0.5)"),
)  # fmt: skip
_EPSILON = Parameter(
    "epsilon",
    "Epsilon",
    "log",
    None,
    low=1e-6,
    high=10.0,
    absent="stop at the first separating line",
)
_KERNEL = (
    choice(
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


def _updates(most: int = 500) -> Parameter:
    return Parameter("max_updates", "Most updates", "whole", most, low=1, high=5000)


def _cost(absent: str = "") -> Parameter:
    return Parameter("C", "C", "log", 1.0, low=1e-4, high=1e6, absent=absent)


def _tolerance(default: float | None, absent: str = "") -> Parameter:
    return Parameter(
        "tol", "Tolerance", "log", default, low=1e-10, high=0.5, absent=absent, more=True
    )


def _solver(*solvers: tuple[str, str]) -> Parameter:
    return choice("solver", "Solver", ("auto", "chosen by the data"), *solvers, more=True)


def _shrinkage(*more: tuple[str, str]) -> Parameter:
    return choice(
        "shrinkage", "Shrink covariances", ("auto", "if singular"),
        ("ledoit-wolf", "by Ledoit and Wolf"), *more, more=True,
    )  # fmt: skip


_NEWTON, _INTERIOR = ("newton", "Newton"), ("interior_point", "interior point")
_COORDINATE, _GRAM = ("dual_coordinate", "coordinate descent"), ("gram", "Gram matrix")

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "perceptron", "Perceptron", "Updates", "Perceptron",
            "Add a misclassified row to the weights until none is left.",
            (
                _UPDATE, _ORDER, _FEW, _SEED,
                Parameter("learning_rate", "Learning rate", "log", 1.0, low=1e-3, high=1e3),
                _START,
                choice("pocket", "Pocket", ("best", "the best"), ("every", "the best of all"),
                       ("ratchet", "the best, ratchet"), ("none", "none: the last")),
                switch("average", "Average all weights", False),
                _updates(),
                Parameter("decay", "Rate decreases with t to the power", "log", None, low=1e-2,
                          high=4.0, absent="it stays", more=True),
                Parameter("patience", "Patience", "whole", None, low=1, high=5000, more=True,
                          absent="until the budget is spent"),
                _tolerance(None, "until no row is wrong"),
                switch("scale", "Scale columns internally", False, more=True),
                _INTERCEPT,
            ),
            many=("direct", "ovr", "ovo"), replays=True,
        ),
        Method(
            "delta_rule", "Delta rule", "Updates", "DeltaRule",
            "Gradient descent on the squared error, by single rows or by all rows.",
            (
                switch("thresholded", "Threshold the output", False),
                choice("update", "Correct with", ("batch", "all rows"), ("single", "one row"),
                       ("minibatch", "a few rows")),
                choice("order", "Order of rows", ("cyclic", "in the order given"),
                       ("random", "random"), when=("update", ("single", "minibatch"))),
                _FEW,
                Parameter("learning_rate", "Learning rate", "log", None, low=1e-5, high=10.0,
                          absent="by the largest eigenvalue"),
                _START, _updates(), _tolerance(1e-6), _ANY_SEED, _INTERCEPT,
            ),
            replays=True,
        ),
        Method(
            "kozinec", "Kozinec", "Updates", "Kozinec",
            "Move to the point of the hull nearest the origin; epsilon bounds the margin.",
            (_EPSILON, _ORDER, _SEED, _updates(), _INTERCEPT), replays=True,
        ),
        Method(
            "sgd", "Stochastic gradient", "Updates", "SGD",
            "Stochastic gradient steps: one row at a time, as in a stream.",
            (
                choice("loss", "Loss", ("hinge", "hinge"), ("squared_hinge", "squared hinge"),
                       ("logistic", "logistic"), ("perceptron", "perceptron")),
                _cost("infinite: no penalty"),
                choice("order", "Order of rows", ("random", "random"),
                       ("cyclic", "in the order given")),
                _SEED,
                switch("average", "Average all weights", True),
                Parameter("max_passes", "Most passes", "whole", 8, low=1, high=64),
                switch("scale", "Scale columns internally", True, more=True),
                _tolerance(0.01), _WEIGHTS, _INTERCEPT,
            ),
            many=("direct", "ovr", "ovo"), replays=True,
        ),
        Method(
            "hard_margin", "Hard margin", "Margins", "LinearSVM",
            "The largest margin, with no point inside it.",
            (_solver(_INTERIOR, _COORDINATE, _GRAM), _tolerance(1e-4), _INTERCEPT),
            fixed={"C": math.inf}, own_many=True, replays=True,
        ),
        Method(
            "soft_margin", "Soft margin", "Margins", "LinearSVM",
            "A large margin; a point inside it costs C times its shortfall.",
            (
                _cost(),
                choice("loss", "Loss", ("hinge", "hinge"), ("squared_hinge", "squared hinge")),
                _solver(_INTERIOR, _NEWTON, _COORDINATE, _GRAM),
                _tolerance(1e-4), _WEIGHTS, _BIAS_COST, _ANY_SEED, _INTERCEPT,
            ),
            many=("ovr", "ovo", "direct"), own_many=True, replays=True,
        ),
        Method(
            "logistic", "Logistic regression", "Margins", "LogisticRegression",
            "Class probabilities by penalised maximum likelihood.",
            (
                _cost("infinite: maximum likelihood"), _solver(_NEWTON, _GRAM), _tolerance(1e-4),
                _WEIGHTS, _BIAS_COST, _INTERCEPT,
            ),
            own_many=True, replays=True,
        ),
        Method(
            "kernel_svm", "Kernel SVM", "Kernels", "KernelSVM",
            "The soft margin with a kernel; dual variables move in pairs.",
            (
                _cost("infinite: a hard margin"), *_KERNEL,
                _solver(("smo", "SMO: two at a time"), ("chunking", "chunks of a quarter")),
                _tolerance(1e-3), _WEIGHTS,
            ),
            many=("ovo", "ovr", "direct"), own_many=True, replays=True, lifts=False,
        ),
        Method(
            "kernel_perceptron", "Kernel perceptron", "Kernels", "KernelPerceptron",
            "The perceptron with a kernel: count the mistakes of every row.",
            (*_KERNEL, _updates()), replays=True, lifts=False,
        ),
        Method(
            "kernel_kozinec", "Kernel Kozinec", "Kernels", "KernelKozinec",
            "Kozinec's algorithm with a kernel.",
            (_EPSILON, *_KERNEL, _updates()), replays=True, lifts=False,
        ),
        Method(
            "linear_program", "Linear program", "In one go", "LinearProgramHalfspace",
            "Any line without errors; with slack, the one of least mean violation.",
            (switch("slack", "Allow slack", True), _INTERCEPT),
        ),
        Method(
            "least_squares", "Least squares", "In one go", "LeastSquares",
            "Fit a linear function to the class codes.",
            (
                Parameter("ridge", "Ridge", "log", None, low=1e-6, high=1e6, absent="none"),
                _INTERCEPT,
            ),
            many=("direct", "ovr", "ovo"),
        ),
        Method(
            "fisher", "Fisher's discriminant", "In one go", "Fisher",
            "The direction of largest scatter between classes over scatter within.",
            (
                choice("threshold", "Threshold", ("mean", "at the mean"),
                       ("gaussian", "for Gaussian classes")),
                choice("direction", "Direction", ("fisher", "Fisher's"),
                       ("means", "between the means")),
                _PRIORS, _shrinkage(("pseudo-inverse", "never: pseudo-inverse")),
            ),
            many=("direct", "ovr", "ovo"),
        ),
        Method(
            "gaussian", "Gaussian plug-in", "In one go", "GaussianPlugIn",
            "Bayes' rule with the estimated Gaussians.",
            (
                choice("covariance", "Covariance", ("shared", "shared"), ("full", "of each class"),
                       ("diagonal", "diagonal")),
                choice("task", "Task", ("bayes", "least expected loss"), ("minimax", "minimax"),
                       ("neyman-pearson", "Neyman-Pearson")),
                Parameter("bound", "Largest error on one class", "log", 0.05, low=1e-4, high=0.9,
                          when=("task", ("neyman-pearson",))),
                choice("bounded_class", "Which class", ("first", "the first"),
                       ("second", "the second"), when=("task", ("neyman-pearson",))),
                Parameter("loss_matrix", "Cost of errors", "losses", None, low=0.0, high=1e6,
                          absent="every error costs 1", when=("task", ("bayes", "minimax"))),
                Parameter("reject_cost", "Cost of rejection", "log", None, low=1e-3,
                          high=1e3, absent="always decide", when=("task", ("bayes",))),
                _PRIORS, _shrinkage(),
            ),
            many=("direct", "ovr", "ovo"), lifts=False,
        ),
        Method(
            "zero_one", "Fewest errors", "In one go", "ZeroOne",
            "The least number of training errors, with a proved lower bound.",
            (
                Parameter("max_seconds", "Most seconds", "whole", 2, low=1, high=5),
                _ANY_SEED,
            ),
        ),
    )
}  # fmt: skip


def catalogue() -> list[dict[str, Any]]:
    """Return all methods for the page."""
    return [method.as_plain() for method in METHODS.values()]
