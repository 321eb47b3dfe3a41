"""Why: weights by name, how much each matters, and what made the score of one row.

    weight               what the score gains for one unit of the feature
    importance           weight times the feature's standard deviation: comparable across units
    odds ratio           exp(weight), for the logistic machine: what one unit multiplies the odds by
    contribution         weight times the row's value; with the intercept they add up to the score

The sum is exact: rounding of the score itself is a part of its own, so that the correctly rounded
sum of all parts (`math.fsum`) is the score, to the last bit.

What a fitted model is as plain weights: ``W x + b``, and how its scores become a class.

One row of weights decides between two classes by its sign; one a class by the largest; one a pair
of classes by votes. Scaling before the machine is folded into the weights, which then are in the
units of the raw columns:  w.((x - m) / s) + b  =  (w / s).x + (b - w.(m / s)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.core.linear_model import VotingModel, least_cost, pairs_of


@dataclass(frozen=True)
class Weight:
    """One weight: `unit` says for how much of the feature; None where a figure is not known."""

    name: str
    unit: str
    weight: float
    importance: float | None = None
    odds_ratio: float | None = None


@dataclass(frozen=True)
class Contributions:
    """What made one score: `parts` are (name, contribution), the largest first.

    `speaks_for` is the class that a positive score speaks for; `rounding` what floating point took
    or added on the way.
    """

    speaks_for: str
    score: float
    intercept: float
    parts: tuple[tuple[str, float], ...]
    rounding: float

    def top(self, most: int) -> str:
        """Say the largest in one line.

        >>> Contributions("b", 1.5, 1.0, (("x", 0.75), ("y", -0.25)), 0.0).top(1)
        'x +0.75'
        """
        return "; ".join(f"{name} {value:+.4g}" for name, value in self.parts[:most])


# ---- weights


def weights_by_name(
    model: Any,
    names: Sequence[str] | None = None,
    *,
    spreads: np.ndarray | None = None,
    encoding: Any = None,
    machine: int = 0,
    most: int | None = None,
) -> list[Weight]:
    """Return the weights of one machine, those of most effect first: all, or the first `most`.

    `spreads` are the standard deviations of the features (of the raw ones, where they are scaled
    inside the model); without them the order is by the weights themselves.

    >>> import separatrix as sx
    >>> model = sx.LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 0, 1])
    >>> [weight.name for weight in weights_by_name(model, ["age", "height"])]
    ['age', 'height']
    """
    form = linear_form(model)
    weights = form.weights[machine]
    named = names if names is not None else [f"x{k}" for k in range(len(weights))]
    logistic = "Logistic" in type(_last(model)).__name__
    effect = abs(weights) if spreads is None else abs(weights) * spreads
    found = []
    for j in np.argsort(-effect, kind="stable")[:most].tolist():
        value = float(weights[j])
        with np.errstate(over="ignore"):
            ratio = float(np.exp(value)) if logistic else None
        spread = None if spreads is None else float(value * spreads[j])
        found.append(Weight(str(named[j]), _unit(str(named[j]), encoding), value, spread, ratio))
    return found


def _last(model: Any) -> Any:
    steps = getattr(model, "steps", None)
    return steps[-1][1] if steps else model


def _unit(name: str, encoding: Any) -> str:
    """Say for how much of the feature a weight is.

    >>> from separatrix.data.encodings.words import TextEncoding
    >>> _unit("good", TextEncoding(("good",))), _unit("age", None)
    ('occurrence', 'unit')
    """
    kind = type(encoding).__name__
    if kind == "TextEncoding":
        ways = {"binary": "presence", "tfidf": "unit of tf-idf"}
        return ways.get(encoding.weighting, "occurrence")
    if kind == "TableEncoding":
        codes = {n: code for code in encoding.codes for n in code.feature_names}
        code = codes.get(name)
        category = type(code).__name__ == "CategoryCode" or (code and name != code.name)
        return "where it is so" if category else f"unit of {name}"
    return "unit"


# ---- one row


def contributions(
    model: Any, X: Any, names: Sequence[str] | None = None
) -> Iterator[Contributions]:
    """Yield for every row what its score is made of: that of the class predicted.

    Of two classes the score speaks for the second. A kernel machine's score is made of its support
    vectors. Machines that vote have no one score, and are refused.

    >>> import separatrix as sx
    >>> model = sx.LinearSVM().fit([[0.0, 1.0], [4.0, 0.0]], ["low", "high"])
    >>> (row,) = contributions(model, np.array([[3.0, 1.0]]), ["age", "height"])
    >>> math.fsum([row.intercept, row.rounding, *(v for _, v in row.parts)]) == row.score
    True
    """
    machine = _last(model)
    for _, step in getattr(model, "steps", [])[:-1]:
        X = step.transform(X)
        names = _names_after(step, names)
    scores = np.asarray(machine.decision_function(X))
    codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    if getattr(machine, "costs_", None) is not None:
        codes = least_cost(machine.predict_proba(X), machine.costs_)
    kernel = hasattr(machine, "kernel_")
    terms = _kernel_terms(machine, X) if kernel else _linear_terms(machine, X, names)
    rows, weights, intercepts, named = terms
    if type(machine).__name__ == "GaussianPlugIn" and scores.ndim > 1:
        raise ValueError("Log-probabilities of several classes are no sum of contributions.")
    rows = sp.csr_array(rows)
    classes = [str(name) for name in machine.classes_.tolist()]
    for i in range(rows.shape[0]):
        k = 0 if scores.ndim == 1 else int(codes[i])
        score = float(scores[i] if scores.ndim == 1 else scores[i, k])
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        columns = rows.indices[part]
        values = rows.data[part] * weights[k, columns]
        order = np.argsort(-abs(values), kind="stable")
        parts = tuple((_name(named, int(columns[j])), float(values[j])) for j in order if values[j])
        intercept = float(intercepts[k])
        speaks_for = classes[1] if scores.ndim == 1 else classes[k]
        yield Contributions(speaks_for, score, intercept, parts, _rest(score, intercept, parts))


def _name(names: Any, column: int) -> str:
    return f"x{column}" if names is None else str(names[column])


def _rest(score: float, intercept: float, parts: tuple[tuple[str, float], ...]) -> float:
    """Return what is missing from the exact sum of the parts to the score."""
    if not math.isfinite(score):
        return 0.0
    total = sum((Fraction(value) for _, value in parts), Fraction(intercept))
    return float(Fraction(score) - total)


def _names_after(step: Any, names: Sequence[str] | None) -> Sequence[str] | None:
    try:
        given = None if names is None else np.array([str(name) for name in names], dtype=object)
        return [str(name) for name in step.get_feature_names_out(given)]
    except (AttributeError, ValueError):
        return None


def _linear_terms(
    machine: Any, X: Any, names: Sequence[str] | None
) -> tuple[Any, np.ndarray, np.ndarray, Sequence[str] | None]:
    form = linear_form(machine)
    if form.pairs is not None:
        raise ValueError("Models of pairs vote: no one score is made of contributions.")
    return X, form.weights, form.intercepts, names


def _kernel_terms(machine: Any, X: Any) -> tuple[Any, np.ndarray, np.ndarray, Sequence[str] | None]:
    if len(machine.classes_) > 2 and getattr(machine, "multi_class", "") == "ovo":
        raise ValueError("Models of pairs vote: no one score is made of contributions.")
    rows = machine.kernel_.block(X, machine.support_vectors_)
    if machine.kernel_.name == "precomputed":
        rows = np.asarray(X)[:, machine.support_]
    named = [f"training row {row}" for row in machine.support_.tolist()]
    return rows, machine.dual_coef_, np.asarray(machine.intercept_), named


# ---- what a fitted model is as plain weights: ``W x + b``, and how its scores become a class


@dataclass(frozen=True, eq=False)
class LinearForm:
    """Weights, a row a machine; `pairs` are the classes (against, for) of each where they vote.

    Of two classes the second is predicted where the score is above the threshold. Where mistakes
    have `costs`, the class of least expected cost is predicted: weights alone do not tell it.
    """

    classes: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    pairs: tuple[tuple[int, int], ...] | None = None
    threshold: float = 0.0
    costs: np.ndarray | None = None

    def decided_by_weights(self, program: str) -> LinearForm:
        """Return itself, or refuse to write for a program that knows no costs of mistakes."""
        if self.costs is None:
            return self
        raise ValueError(
            f"This model predicts the class of least expected cost, and {program} would predict "
            "that of the largest score. Export it to ONNX, or predict with `separatrix predict`."
        )

    @property
    def at_zero(self) -> LinearForm:
        """The same rule with the threshold in the intercept, for programs that decide by the sign.

        >>> LinearForm(np.array([0, 1]), np.ones((1, 1)), np.ones(1), None, 3.0).at_zero.intercepts
        array([-2.])
        """
        moved = self.intercepts - self.threshold
        return LinearForm(self.classes, self.weights, moved, self.pairs, costs=self.costs)

    @property
    def titles(self) -> list[str]:
        """What each row of weights speaks for.

        >>> LinearForm(np.array(["a", "b"]), np.zeros((1, 2)), np.zeros(1)).titles
        ['b']
        """
        names = [str(name) for name in self.classes.tolist()]
        if self.pairs is not None:
            return [f"{names[for_]} against {names[against]}" for against, for_ in self.pairs]
        return names[1:] if len(self.weights) == 1 else names


def linear_form(model: Any) -> LinearForm:
    """Return the weights of a linear model, or say why it has none.

    >>> import separatrix as sx
    >>> form = linear_form(sx.Kozinec().fit([[0.0], [2.0]], ["low", "high"]))
    >>> form.classes.tolist(), form.titles
    (['high', 'low'], ['low'])
    """
    steps = [step for _, step in getattr(model, "steps", [])]
    if steps:
        form = linear_form(steps[-1])
        for step in reversed(steps[:-1]):
            form = _unscaled(form, step)
        return form
    if hasattr(model, "estimators_"):
        return _of_wrapper(model)
    if not hasattr(model, "classes_"):
        raise ValueError(
            f"{type(model).__name__} does not classify: it has no weights for classes."
        )
    if hasattr(model, "kernel_"):
        return _of_kernel_machine(model)
    coef = getattr(model, "coef_", None)
    if coef is None or getattr(model, "reject_cost", None) is not None:
        raise ValueError(
            f"This {type(model).__name__} does not decide by the sign, or the largest, of w.x + b."
        )
    pairs = getattr(getattr(model, "certificate_", None), "pairs", None)
    votes = isinstance(model, VotingModel)
    threshold, costs = (float(model.threshold_), model.costs_) if votes else (0.0, None)
    intercepts = np.atleast_1d(model.intercept_)
    return LinearForm(model.classes_, coef, intercepts, pairs, threshold, costs)


def _unscaled(form: LinearForm, step: Any) -> LinearForm:
    name = type(step).__name__
    if name == "StandardScaler":
        shift = step.mean_ if step.with_mean else None
        scale = step.scale_ if step.with_std else None
    elif name == "MinMaxScaler" and not step.clip:
        scale = 1.0 / step.scale_
        shift = -step.min_ * scale
    elif name == "MaxAbsScaler" and not getattr(step, "clip", False):
        shift, scale = None, step.scale_
    else:
        raise ValueError(
            f"{name} changes the features otherwise than by shifting and scaling: the model is "
            "linear in what it makes of them, and has no weights for the raw ones."
        )
    weights = form.weights if scale is None else form.weights / scale
    moved = 0.0 if shift is None else weights @ shift
    return replace(form, weights=weights, intercepts=form.intercepts - moved)


def _of_wrapper(model: Any) -> LinearForm:
    forms = [linear_form(one) for one in model.estimators_]
    if any(len(form.weights) != 1 for form in forms):
        raise ValueError("The models inside do not have one row of weights each.")
    weights = np.vstack([form.weights for form in forms])
    intercepts = np.concatenate([form.intercepts for form in forms])
    pairs = getattr(model, "pairs_", None) if len(forms) > 1 else None
    return LinearForm(model.classes_, weights, intercepts, pairs)


def _of_kernel_machine(model: Any) -> LinearForm:
    if model.kernel_.name != "linear":
        raise ValueError(
            f"The {model.kernel_.name} kernel has no weights for the features. Use the linear one, "
            "or export the model with its support vectors (LIBSVM, ONNX)."
        )
    weights = np.asarray(model.dual_coef_ @ model.support_vectors_)
    many = len(model.classes_) > 2 and model.multi_class == "ovo"
    if many and type(model).__name__ == "LibsvmMachine":
        raise ValueError("A model of LIBSVM votes by other rules; it has no linear form here.")
    pairs = pairs_of(len(model.classes_)) if many else None
    return LinearForm(model.classes_, weights, model.intercept_, pairs)
