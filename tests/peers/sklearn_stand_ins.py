"""Our estimators under the names and parameters of scikit-learn's, for scikit-learn's own tests.

A pytest plugin: ``python -m pytest -p tests.peers.sklearn_stand_ins --pyargs sklearn.svm``. Every
stand-in inherits from one of ours. It has the parameters of the estimator it replaces, and fits
with their translation. A parameter that none of ours corresponds to raises `Lacking`. The outcome
of every test goes to the file named by PEERS_OUTCOMES: whether it passed, whether a stand-in was
used in it, and why it failed.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.svm
from sklearn.model_selection import StratifiedKFold

import separatrix as sx

# What binds their classes when it is imported keeps them: only the tests are to meet ours.
_BINDING = (
    "calibration", "ensemble", "feature_selection", "inspection", "metrics", "model_selection",
    "multiclass", "multioutput", "pipeline", "semi_supervised", "tree", "utils.estimator_checks",
)  # fmt: skip
for _name in _BINDING:
    importlib.import_module(f"sklearn.{_name}")

CURRENT = {"test": ""}
# Their tolerances are of gradients; a gap goes with the square of the gradient.
_GAP = 1e-10
USED: set[str] = set()


class Lacking(ValueError):
    """A parameter that we do not have."""


def stands_for(theirs: type) -> Any:
    """Give a class the parameters of `theirs`, and let `fit` run with their translation."""

    def decorate(cls: Any) -> Any:
        signature = inspect.signature(theirs.__init__)

        def __init__(self: Any, *values: Any, **named: Any) -> None:
            bound = signature.bind(self, *values, **named)
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        for name, ours in inspect.signature(cls.__init__).parameters.items():
            if name not in signature.parameters and name not in vars(cls):
                setattr(cls, name, ours.default)  # what only we have
        cls.__init__ = __init__
        cls._stand_in = cls
        cls.__name__ = cls.__qualname__ = theirs.__name__
        for name in ("fit", "partial_fit"):
            if hasattr(cls, name):
                setattr(cls, name, _translating(getattr(cls, name), name == "partial_fit"))
        return cls

    return decorate


def _translating(method: Any, streams: bool) -> Any:
    @functools.wraps(method)
    def run(self: Any, X: Any, y: Any, *values: Any, **named: Any) -> Any:
        USED.add(CURRENT["test"])
        self._streams = streams
        with _translated(self, X, y):
            fitted = method(self, X, y, *values, **named)
        self._after_fit()
        return fitted

    return run


@contextmanager
def _translated(model: Any, X: Any, y: Any) -> Any:
    """Put our parameters in the place of theirs, and theirs back; what only we have stays."""
    theirs = model.get_params(deep=False)
    vars(model).update(model._translation(X, y))
    try:
        yield
    finally:
        vars(model).update(theirs)


def _refuse(model: Any, **expected: Any) -> None:
    """Raise `Lacking` where a parameter has another value than those that we have too."""
    for name, values in expected.items():
        got = getattr(model, name)
        if not any(got is value or (np.isscalar(got) and got == value) for value in values):
            raise Lacking(f"{name}={got!r} is not ours")


def _as_translated(name: str) -> Any:
    """Return a method of ours that is there where our parameters say so."""

    def get(self: Any) -> Any:
        with _translated(self, np.zeros((1, 1)), None):
            return getattr(super(type(self)._stand_in, self), name)

    return property(get)


class _StandIn:
    _streams = False

    def __new__(cls, *values: Any, **named: Any) -> Any:
        USED.add(CURRENT["test"])
        return super().__new__(cls)

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        """Return our parameters for theirs."""
        return {}

    def _after_fit(self) -> None:
        """Give what was fitted the shape that theirs has."""


@stands_for(sklearn.svm.SVC)
class SVC(_StandIn, sx.KernelSVM):
    """The kernel machine; what concerns LIBSVM's way of solving has no counterpart."""

    max_seconds, multi_class, n_jobs, device = None, "ovo", None, "cpu"
    _inside = False

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        # Ties are always broken here; LIBSVM's tolerance is one of the gradient.
        return {"probability": self.probability is True, "tol": min(self.tol, 1e-3)}

    @property
    def dual_coef_(self) -> Any:
        """Dual variables, of the kind of the rows, as theirs are."""
        if "_dual" not in vars(self):
            raise AttributeError("dual_coef_")
        sparse = sp.issparse(self.support_vectors_) and not self._inside
        return sp.csr_matrix(self._dual) if sparse else self._dual

    @dual_coef_.setter
    def dual_coef_(self, value: Any) -> None:
        self._dual = value

    @property
    def coef_(self) -> Any:
        self._inside = True
        try:
            coef = super().coef_
        finally:
            self._inside = False
        return sp.csr_matrix(coef) if sp.issparse(self.support_vectors_) else coef

    def _machine_scores(self, X: Any) -> Any:
        self._inside = True
        try:
            return super()._machine_scores(X)
        finally:
            self._inside = False

    predict_proba = _as_translated("predict_proba")
    predict_log_proba = _as_translated("predict_log_proba")


@stands_for(sklearn.svm.LinearSVC)
class LinearSVC(_StandIn, sx.LinearSVM):
    """The linear machine; ``intercept_scaling`` is a penalty of the intercept."""

    solver, max_seconds, max_passes, warm_start = "auto", None, None, False
    probability, n_jobs, device, intercept_penalty = False, None, "cpu", 0.0

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        ways = {"ovr": "ovr", "crammer_singer": "direct"}
        sparse = self.penalty == "l1"
        return {
            "l1_ratio": float(sparse),
            "multi_class": ways.get(self.multi_class, self.multi_class),
            "loss": "hinge" if self.multi_class == "crammer_singer" else self.loss,
            "intercept_penalty": 0.0 if sparse else self.intercept_scaling**-2.0,
        }


@stands_for(sklearn.linear_model.LogisticRegression)
class LogisticRegression(_StandIn, sx.LogisticRegression):
    """Logistic regression: all classes at once, but with LIBLINEAR each against the rest."""

    max_seconds, max_passes, device = None, None, "cpu"
    multi_class, intercept_penalty = "multinomial", 0.0

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        _refuse(self, dual=[False])
        alone = self.solver == "liblinear"
        several = y is not None and len(np.unique(np.asarray(y))) > 2
        named = {"l1": 1.0, "l2": 0.0, None: 0.0}
        ratio = named.get(self.penalty, 0.0 if self.l1_ratio is None else self.l1_ratio)
        if ratio and several and not alone:
            raise Lacking(f"l1_ratio={ratio!r} with several classes is not ours")
        return {
            "solver": "auto",
            "C": np.inf if self.penalty is None else self.C,
            "tol": 1e-9 if ratio else _GAP,
            "l1_ratio": ratio,
            "multi_class": "multinomial" if several and not alone else "ovr",
            "intercept_penalty": self.intercept_scaling**-2.0 if alone and not ratio else 0.0,
        }


@stands_for(sklearn.linear_model.LogisticRegressionCV)
class LogisticRegressionCV(_StandIn, sx.LogisticRegressionCV):
    """Logistic regression over a grid of C, without refinement; attributes in their shapes."""

    max_seconds, device, rule, refine = None, "cpu", "best", False
    multi_class, intercept_penalty = "multinomial", 0.0

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        _refuse(self, penalty=["deprecated", "l2"], dual=[False])
        given = () if self.l1_ratios is None or isinstance(self.l1_ratios, str) else self.l1_ratios
        if np.any(given):
            raise Lacking(f"l1_ratios={self.l1_ratios!r} is not ours")
        alone = self.solver == "liblinear"
        several = y is not None and len(np.unique(np.asarray(y))) > 2
        Cs = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, int) else self.Cs
        folds = self.cv if self.cv is not None else 5
        scoring = None if isinstance(self.scoring, str) and self.scoring == "warn" else self.scoring
        return {
            "solver": "auto",
            "tol": _GAP,
            "n_jobs": self.n_jobs or 1,  # None is one there: scorers are called one at a time
            "Cs": Cs,
            "cv": StratifiedKFold(folds) if isinstance(folds, int) else folds,
            "scoring": scoring,
            "l1_ratios": None,
            "store_cv_results": True,
            "multi_class": "multinomial" if several and not alone else "ovr",
            "intercept_penalty": self.intercept_scaling**-2.0 if alone else 0.0,
        }

    def _after_fit(self) -> None:
        rows = len(self.coef_)
        self.Cs_, self.l1_ratios_ = self.path_["C"], np.array([0.0])
        if not self.use_legacy_attributes:
            self.l1_ratio_ = 0.0
            self.scores_ = self.scores_[:, None, :]
            self.coefs_paths_ = self.coefs_paths_.transpose(0, 1, 2, 3)[:, None]
            return
        names = self.classes_[-1:] if rows == 1 else self.classes_
        self.scores_ = dict.fromkeys(names, self.scores_)
        paths = np.moveaxis(self.coefs_paths_, 2, 0)
        self.coefs_paths_ = dict(zip(names, paths, strict=True))
        self.C_, self.l1_ratio_ = np.full(rows, self.C_), np.zeros(rows)


@stands_for(sklearn.linear_model.SGDClassifier)
class SGDClassifier(_StandIn, sx.SGD):
    """Stochastic gradient descent; ``alpha = 1 / (C n)``.

    The step of `optimal` needs the number of rows: a stream has the rule without a step size.
    """

    C, scale, order, max_passes, max_seconds = 1.0, False, "random", 16, None

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        losses = {"log_loss": "logistic", "squared_error": "squared"}
        same = ["hinge", "squared_hinge", "perceptron", "modified_huber"]
        _refuse(self, penalty=["l2", None], loss=[*same, *losses])
        _refuse(self, learning_rate=["optimal", "constant", "invscaling"])
        free = self._streams and self.learning_rate == "optimal"
        return {
            "loss": losses.get(self.loss, self.loss),
            "learning_rate": "free" if free else self.learning_rate,
            "C": np.inf if self.penalty is None else 1.0 / (self.alpha * np.shape(X)[0]),
            "max_passes": min(self.max_iter, max(64, 100_000 // np.shape(X)[0])),
            "tol": 1e-3 if self.tol is None else self.tol,
            "order": "random" if self.shuffle else "cyclic",
            "average": bool(self.average),
        }

    def _after_fit(self) -> None:
        self.n_iter_ = int(np.ceil(self.n_passes_))

    predict_proba = _as_translated("predict_proba")
    predict_log_proba = _as_translated("predict_log_proba")


@stands_for(sklearn.linear_model.Perceptron)
class Perceptron(_StandIn, sx.Perceptron):
    """The perceptron."""

    update, batch_size, decay, init, scale, pocket = "single", 32, 0.0, "zeros", False, False
    average, max_updates, max_seconds, patience = False, None, None, None
    learning_rate, order, max_passes = 1.0, "cyclic", None

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        _refuse(self, penalty=[None], class_weight=[None], early_stopping=[False])
        return {
            "learning_rate": self.eta0,
            "max_passes": self.max_iter,
            "tol": None,
            "order": "random" if self.shuffle else "cyclic",
        }


@stands_for(sklearn.linear_model.Ridge)
class Ridge(_StandIn, sx.LeastSquares):
    """Least squares with a penalty, for regression."""

    task, max_passes, device = "regression", None, "cpu"

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        if np.ndim(self.alpha) > 0:
            raise Lacking("alpha of every target is not ours")
        return {"ridge": self.alpha, "tol": min(self.tol, 1e-9)}

    def _after_fit(self) -> None:
        self.solver_ = self.solver


@stands_for(sklearn.linear_model.RidgeClassifier)
class RidgeClassifier(_StandIn, sx.LeastSquares):
    """Least squares with a penalty."""

    task, max_passes, device = "classification", None, "cpu"

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        return {"ridge": self.alpha, "tol": min(self.tol, 1e-9)}


@stands_for(sklearn.discriminant_analysis.LinearDiscriminantAnalysis)
class LinearDiscriminantAnalysis(_StandIn, sx.GaussianPlugIn):
    """Gaussian classes of one covariance."""

    covariance, loss_matrix, reject_cost, reject_label = "shared", None, None, "reject"
    task, bound, bounded_class = "bayes", 0.05, None

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        _refuse(self, covariance_estimator=[None], n_components=[None])
        return {"shrinkage": {None: 0.0, "auto": "ledoit-wolf"}.get(self.shrinkage, self.shrinkage)}


@stands_for(sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis)
class QuadraticDiscriminantAnalysis(_StandIn, sx.GaussianPlugIn):
    """Gaussian classes, each with a covariance of its own."""

    covariance, loss_matrix, reject_cost, reject_label = "full", None, None, "reject"
    task, bound, bounded_class = "bayes", 0.05, None

    def _translation(self, X: Any, y: Any) -> dict[str, Any]:
        _refuse(self, covariance_estimator=[None], reg_param=[0.0])
        return {"shrinkage": {None: 0.0, "auto": "ledoit-wolf"}.get(self.shrinkage, self.shrinkage)}


# ---- the plugin

PUBLIC = {
    sklearn.svm: (SVC, LinearSVC),
    sklearn.linear_model: (
        LogisticRegression, LogisticRegressionCV, Perceptron, Ridge, RidgeClassifier, SGDClassifier,
    ),
    sklearn.discriminant_analysis: (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis),
}  # fmt: skip
# Tests import from these too; what runs in them afterwards is their own code again.
PRIVATE = {
    sklearn.svm._classes: (SVC, LinearSVC),
    sklearn.linear_model._logistic: (LogisticRegression, LogisticRegressionCV),
}


def _put(modules: dict[Any, Any]) -> dict[Any, Any]:
    """Put stand-ins into modules, and return what was there."""
    before = {}
    for module, classes in modules.items():
        before[module] = [getattr(module, cls.__name__) for cls in classes]
        for cls in classes:
            setattr(module, cls.__name__, cls)
    return before


def pytest_configure(config: Any) -> None:
    """Put the stand-ins where test modules import from."""
    _put(PUBLIC)
    config.peers_before = _put(PRIVATE)
    Path(os.environ["PEERS_OUTCOMES"]).write_text("", encoding="utf-8")


def pytest_collection_finish(session: Any) -> None:
    """Give private modules their own classes back."""
    for module, classes in session.config.peers_before.items():
        for cls in classes:
            setattr(module, cls.__name__, cls)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    """Note which test runs."""
    CURRENT["test"] = item.nodeid


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Write down how the test ended."""
    report = yield
    if call.when == "call" or report.outcome != "passed":
        error = call.excinfo
        file, name = str(item.path).rpartition("sklearn/")[2], item.nodeid.rpartition("::")[2]
        line = {
            "test": f"{file}::{name}",
            "outcome": report.outcome,
            "used": item.nodeid in USED,
            "why": "" if error is None else f"{error.typename}: {error.value}"[:300],
        }
        with open(os.environ["PEERS_OUTCOMES"], "a", encoding="utf-8") as written:
            written.write(json.dumps(line) + "\n")
    return report
