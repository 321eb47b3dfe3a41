"""What a fitted model is as plain weights: ``W x + b``, and how its scores become a class.

One row of weights decides between two classes by its sign; one a class by the largest; one a pair
of classes by votes. Scaling before the machine is folded into the weights, which then are in the
units of the raw columns:  w.((x - m) / s) + b  =  (w / s).x + (b - w.(m / s)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.core.linear_model import VotingModel, pairs_of


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
