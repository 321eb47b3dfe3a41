"""The lab's form: every parameter of the library's methods is in it, or left out for a reason."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.lab.answering import run
from separatrix.lab.methods import METHODS
from separatrix.lab.parameters import LIFTS, BadRequest
from separatrix.lab.presets import preset_catalogue

PRESETS = {preset["name"]: preset for preset in preset_catalogue()}
BUDGETS = "the lab has its own bounds on time and updates"
THREADS = "the answer does not depend on it"
NEXT_FIT = "it is about fits that follow one another"
LEFT_OUT = {
    **{
        (name, "device"): "the lab's points are too few for a device"
        for name in ("LinearSVM", "LogisticRegression", "KernelSVM", "LeastSquares", "Fisher")
    },
    ("Perceptron", "max_passes"): BUDGETS,
    ("Perceptron", "max_seconds"): BUDGETS,
    ("DeltaRule", "max_passes"): BUDGETS,
    ("DeltaRule", "max_seconds"): BUDGETS,
    ("Kozinec", "max_passes"): BUDGETS,
    ("Kozinec", "max_seconds"): BUDGETS,
    ("SGD", "max_seconds"): BUDGETS,
    **{
        ("SGD", name): "the lab shows the rule without a step size"
        for name in ("learning_rate", "eta0", "power_t")
    },
    **{
        ("SGD", name): "the lab's points are too few to set some aside"
        for name in ("early_stopping", "validation_fraction", "n_iter_no_change")
    },
    ("LinearSVM", "l1_ratio"): "the plane has two columns to choose from",
    ("LogisticRegression", "l1_ratio"): "the plane has two columns to choose from",
    ("LinearSVM", "groups"): "the plane has two columns to choose from",
    ("LogisticRegression", "groups"): "the plane has two columns to choose from",
    ("LinearSVM", "max_passes"): BUDGETS,
    ("LinearSVM", "max_seconds"): BUDGETS,
    ("LinearSVM", "multi_class"): "the control for many classes sets it",
    ("LinearSVM", "n_jobs"): THREADS,
    ("LinearSVM", "warm_start"): NEXT_FIT,
    ("LinearSVM", "verbose"): "the page shows more",
    ("LinearSVM", "probability"): "the plane shows decisions",
    ("LogisticRegression", "max_passes"): BUDGETS,
    ("LogisticRegression", "max_seconds"): BUDGETS,
    ("LogisticRegression", "multi_class"): "the control for many classes sets it",
    ("LogisticRegression", "n_jobs"): THREADS,
    ("LogisticRegression", "warm_start"): NEXT_FIT,
    ("LogisticRegression", "verbose"): "the page shows more",
    ("LogisticRegression", "random_state"): "its solvers draw nothing",
    ("KernelSVM", "max_seconds"): BUDGETS,
    ("KernelSVM", "cache_size"): "the lab's points fit any cache",
    ("KernelSVM", "multi_class"): "the control for many classes sets it",
    ("KernelSVM", "n_jobs"): THREADS,
    ("KernelSVM", "decision_function_shape"): "it is about decision_function",
    ("KernelSVM", "probability"): "the plane shows decisions",
    ("KernelPerceptron", "max_seconds"): BUDGETS,
    ("KernelPerceptron", "cache_size"): "the lab's points fit any cache",
    ("KernelKozinec", "max_seconds"): BUDGETS,
    ("KernelKozinec", "cache_size"): "the lab's points fit any cache",
    ("LeastSquares", "task"): "regression is not about classes",
    ("LeastSquares", "tol"): "systems of a few columns are solved directly",
    ("LeastSquares", "max_passes"): "systems of a few columns are solved directly",
    ("Fisher", "n_components"): "it is about transform",
    ("Fisher", "store_covariance"): "it is about an attribute",
    ("GaussianPlugIn", "store_covariance"): "it is about an attribute",
    **{
        ("LeastSquares", name): "the lab shows the least sum of squares alone"
        for name in ("positive", "cv", "scoring", "class_weight")
    },
    ("GaussianPlugIn", "reject_label"): "the page paints what is rejected",
    ("GaussianPlugIn", "components"): "the page draws quadratic borders of Gaussian classes",
}
NOT_METHODS = {
    "Encoder": "points are numbers already",
    "KernelSVMCV": "a search over parameters, not a method to watch",
    "LinearSVMCV": "a search over parameters, not a method to watch",
    "LogisticRegressionCV": "a search over parameters, not a method to watch",
    "OneVsOne": "the control for many classes is it",
    "OneVsRest": "the control for many classes is it",
}
LIFTS_LEFT_OUT = {
    ("Polynomial", "interaction_only"): "with two columns there is one interaction",
    ("Polynomial", "include_bias"): "the methods have a bias of their own",
    ("Sigmoid", "offset"): "centres and slope move the sigmoids already",
    ("Nystrom", "kernel"): "the kernel methods show other kernels",
    ("Nystrom", "degree"): "it is of another kernel",
    ("Nystrom", "coef0"): "it is of another kernel",
}


def estimators():
    for name in sx.__all__:
        found = getattr(sx, name)
        if isinstance(found, type) and issubclass(found, BaseEstimator):
            yield name, found


def test_every_estimator_is_a_method_or_says_why_not():
    offered = {method.estimator for method in METHODS.values()}
    for name, _ in estimators():
        assert (name in offered) != (name in NOT_METHODS), name
    assert {name for name, _ in estimators()} == offered | set(NOT_METHODS)


def test_every_parameter_is_in_the_form_or_left_out_for_a_reason():
    kinds = dict(estimators())
    for (name, parameter), reason in LEFT_OUT.items():
        assert parameter in kinds[name]().get_params(), (name, parameter)
        assert reason
    for name in {method.estimator for method in METHODS.values()}:
        shown = {
            parameter
            for method in METHODS.values()
            if method.estimator == name
            for parameter in (*(p.name for p in method.parameters), *method.fixed)
        }
        left_out = {parameter for kind, parameter in LEFT_OUT if kind == name}
        assert shown | left_out == set(kinds[name]().get_params()), name
        assert not shown & left_out, name


def test_every_parameter_of_a_lift_too():
    for _, kind, parameters in LIFTS.values():
        if kind:
            shown = {parameter.name for parameter in parameters} | {"random_state"}
            left_out = {parameter for name, parameter in LIFTS_LEFT_OUT if name == kind}
            known = set(getattr(sx.lift, kind)().get_params()) | {"random_state"}
            assert shown | left_out == known, kind


def values_of(parameter):
    """Return every choice, or both ends of a number."""
    if parameter.kind == "choice":
        return [name for name, _ in parameter.choices]
    if parameter.kind == "switch":
        return [False, True]
    if parameter.kind == "losses":
        return [None, (3.0 * (1.0 - np.eye(6))).tolist()]
    ends = [parameter.low, parameter.high]
    if parameter.name in ("max_updates", "max_passes", "max_seconds", "tol"):
        ends = [parameter.default or 0.01]  # the other end costs time and shows no more
    return ends + ([None] if parameter.absent else [])


QUICK = ["perceptron", "fisher", "gaussian"]


@pytest.mark.parametrize("method", QUICK if is_interpreted() else list(METHODS))
def test_every_value_of_every_control_is_answered(method):
    preset = PRESETS["separable"]
    for parameter in METHODS[method].parameters:
        for value in values_of(parameter):
            chosen = {parameter.name: value}
            if parameter.when is not None:
                chosen[parameter.when[0]] = parameter.when[1][-1]
            message = {"points": preset["points"], "classes": preset["classes"], "method": method}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = run({**message, "parameters": chosen})
            told = answer.get("refused")
            reasons = ("solver", "hard margin", "diverged")
            assert told is None or any(word in told for word in reasons), (chosen, told)
            if told is None and value is not None and parameter.name != "max_seconds":
                assert answer["facts"]["points"] == len(preset["points"])


def test_what_errors_cost_moves_the_boundary_and_some_points_are_rejected():
    preset = PRESETS["overlapping"]
    message = {"points": preset["points"], "classes": preset["classes"], "method": "gaussian"}
    dear = (1.0 - np.eye(6)).tolist()
    dear[0][1] = 20.0  # to take the second class for the first
    decided = []
    for parameters in ({}, {"loss_matrix": dear}, {"reject_cost": 0.2}):
        answer = run({**message, "parameters": parameters})
        space = {"print": lambda *words: None}
        exec(answer["code"], space)
        decided.append(space["machine"].predict(np.array(preset["points"])))
        wrong = decided[-1] != np.array(preset["classes"])
        rejected = np.array([str(one) == "reject" for one in decided[-1]])
        assert answer["facts"]["errors"] == (wrong & ~rejected).sum()
    assert (decided[1] == 1).sum() > (decided[0] == 1).sum()
    assert 0 < rejected.sum() < len(rejected)
    assert ["rejected", f"{rejected.sum()} of {len(rejected)}"] in answer["facts"]["figures"]
    assert answer["rule"]["decide"] == "losses"


def test_losses_are_read_with_care():
    preset = PRESETS["three"]
    message = {"points": preset["points"], "classes": preset["classes"], "method": "gaussian"}
    for losses in ([[1.0]], "none", [[0.0] * 6] * 5, [[-1.0] * 6] * 6, [[float("nan")] * 6] * 6):
        with pytest.raises(BadRequest, match="Cost of errors"):
            run({**message, "parameters": {"loss_matrix": losses}})
    plain = (1.0 - np.eye(6)).tolist()
    with pytest.raises(BadRequest, match="all classes at once"):
        run({**message, "many": "ovo", "parameters": {"loss_matrix": plain}})
