"""Linear classification with proof: find a hyperplane, certify it exactly, see why.

>>> import separatrix as sx
>>> X, y = [[0, 2], [1, 3], [2, 0], [3, 1]], ["up", "up", "down", "down"]
>>> sx.separability(X, y).kind                      # can a hyperplane separate them? with proof
'separable'
>>> model = sx.LinearSVM(C=1.0).fit(X, y)         # within tol of the optimum, proved
>>> model.predict([[0, 5]]).tolist(), model.certificate_.check(X, y)
(['up'], True)

Where to begin:

    sx.read             a CSV, LIBSVM, Parquet or text file becomes a sx.Table; open_partitions:
                        more rows than memory
    sx.separability     separable, quasi-separable or overlapping: a sx.Verdict with its proof
    sx.Study            the whole journey for a frame, an array or a file: candidates compared, the
                        best proved and tested once, a report; ``separatrix study`` in Python
    sx.LinearSVMCV      a support vector machine, C chosen by cross-validation over the whole path;
                        LogisticRegressionCV and KernelSVMCV likewise; LogisticRegressionPath:
                        sparse weights for many values of C
    sx.split            rows for training and test; SealedTest: a test set that opens once
    sx.save, sx.load    a model file that runs no code and carries its proof; exchange, to_sklearn:
                        other programs

All classifiers are scikit-learn estimators; after a fit, ``certificate_.check(X, y)`` proves the
answer again and ``print(model)`` says it in words:

    margins        LinearSVM, LogisticRegression, KernelSVM; OneVsRest, OneVsOne for many classes
    updates        Perceptron, Kozinec, DeltaRule, KernelPerceptron, KernelKozinec, SGD; replay
                   yields every update; novikoff bounds the mistakes of a perceptron
    closed forms   LeastSquares, Fisher, GaussianPlugIn; FiniteTable: strategies on a table
    programs       LinearProgramHalfspace, and ZeroOne: the fewest training errors of any hyperplane
    columns        Encoder: what sx.read learns of a frame, as a transformer for pipelines
    lift           basis functions: products, bumps, random features
    inference      estimates of logistic regression with errors, intervals and tests, enclosed
    theory         bounds: Vapnik's and margin bounds; shatter: every labeling of a few points
    teaching       lectures: the data of five lectures on linear classification, and exercises;
                   plot: their pictures; losses: what a row costs by its margin
    errors         DataError, DeviceError, NotSeparableError, ContaminatedTestError,
                   ModelFileError, ScaleWarning, SeparationWarning

On the command line: ``separatrix --help``. Every name is imported on first use, so that
``import separatrix`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> the module that holds it, or that is it.
_HOME = {
    "ContaminatedTestError": "separatrix.errors",
    "DataError": "separatrix.errors",
    "DeltaRule": "separatrix.estimators.delta_rule",
    "DeviceError": "separatrix.errors",
    "Encoder": "separatrix.estimators.encoder",
    "FiniteTable": "separatrix.core.finite_table",
    "Fisher": "separatrix.estimators.fisher",
    "GaussianPlugIn": "separatrix.estimators.gaussian_plug_in",
    "KernelKozinec": "separatrix.estimators.kernel_perceptron",
    "KernelPerceptron": "separatrix.estimators.kernel_perceptron",
    "KernelSVM": "separatrix.estimators.kernel_svm",
    "KernelSVMCV": "separatrix.selection.kernel_svm_cv",
    "Kozinec": "separatrix.estimators.kozinec",
    "LeastSquares": "separatrix.estimators.least_squares",
    "LinearProgramHalfspace": "separatrix.estimators.linear_program",
    "LinearSVM": "separatrix.estimators.linear_svm",
    "LinearSVMCV": "separatrix.selection.linear_cv",
    "LogisticRegression": "separatrix.estimators.logistic_regression",
    "LogisticRegressionCV": "separatrix.selection.linear_cv",
    "LogisticRegressionPath": "separatrix.selection.logistic_regression_path",
    "ModelFileError": "separatrix.errors",
    "NotSeparableError": "separatrix.errors",
    "OneVsOne": "separatrix.estimators.many_classes",
    "OneVsRest": "separatrix.estimators.many_classes",
    "Perceptron": "separatrix.estimators.perceptron",
    "SGD": "separatrix.estimators.sgd",
    "ScaleWarning": "separatrix.errors",
    "SealedTest": "separatrix.selection.sealed_test",
    "SeparationWarning": "separatrix.errors",
    "Study": "separatrix.report.python_study",
    "Table": "separatrix.data.table",
    "Verdict": "separatrix.core.verdict",
    "ZeroOne": "separatrix.estimators.zero_one",
    "bounds": "separatrix.selection.bounds",
    "exchange": "separatrix.storage.exchange",
    "inference": "separatrix.infer.inference",
    "lectures": "separatrix.lectures",
    "lift": "separatrix.estimators.lift",
    "load": "separatrix.storage.model_file",
    "losses": "separatrix.core.losses",
    "novikoff": "separatrix.estimators.perceptron",
    "open_partitions": "separatrix.data.partitions",
    "plot": "separatrix.plots.plot",
    "read": "separatrix.data.table",
    "replay": "separatrix.estimators.replay",
    "save": "separatrix.storage.model_file",
    "separability": "separatrix.estimators.separability",
    "shatter": "separatrix.estimators.separability",
    "split": "separatrix.selection.split",
    "to_sklearn": "separatrix.storage.sklearn_model",
}

__all__ = ["__version__"]
__all__ += list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    home = import_module(_HOME[name])
    value = getattr(home, name, home)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
