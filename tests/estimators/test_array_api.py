"""Tensors under scikit-learn's array API: taken by every estimator, and given back by it."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.metaestimators import available_if
from tests import optional

import separatrix as sx

SCRIPT = """
import warnings
import numpy as np, sklearn, torch
import separatrix as sx
from sklearn.datasets import load_iris

warnings.simplefilter("ignore")
X, y = load_iris(return_X_y=True)
X, y = X[y != 2], y[y != 2]
made = [
    sx.DeltaRule(max_updates=20), sx.Fisher(), sx.GaussianPlugIn(), sx.KernelKozinec(),
    sx.KernelPerceptron(), sx.KernelSVM(), sx.Kozinec(), sx.LeastSquares(),
    sx.LinearProgramHalfspace(), sx.LinearSVM(), sx.LogisticRegression(),
    sx.OneVsOne(sx.LinearSVM()), sx.OneVsRest(sx.LinearSVM()), sx.Perceptron(),
    sx.SGD(max_passes=2), sx.ZeroOne(), sx.lift.Polynomial(), sx.lift.RadialBasis(random_state=0),
    sx.lift.RandomFourier(random_state=0), sx.lift.Nystrom(random_state=0), sx.lift.Sigmoid(),
]
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "transform")
made += [sx.LinearSVM(probability=True), sx.SGD(loss="logistic", max_passes=2),
         sx.GaussianPlugIn("full"), sx.KernelSVMCV(Cs=[1.0]), sx.LinearSVMCV(Cs=[0.1, 1.0]),
         sx.LogisticRegressionCV(Cs=[0.1, 1.0]), sx.LeastSquares(task="regression")]
rows, labels = torch.asarray(X), torch.asarray(y)
for plain in made:
    plain.fit(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        model = sklearn.base.clone(plain).fit(rows, labels)
    found = 0
    for name in METHODS:
        if not hasattr(plain, name):
            continue
        want = getattr(plain, name)(X)
        with sklearn.config_context(array_api_dispatch=True):
            answer = getattr(model, name)(rows)
            assert isinstance(getattr(model, name)(X), np.ndarray), (plain, name)
        assert isinstance(answer, torch.Tensor) and answer.device == rows.device, (plain, name)
        said = f"{type(plain).__name__}.{name}"
        np.testing.assert_allclose(answer.numpy(), want, atol=1e-6, err_msg=said)
        # Without the dispatch NumPy answers, as ever.
        assert isinstance(getattr(model, name)(rows), np.ndarray), (plain, name)
        found += 1
    assert found > 0, plain
    if hasattr(plain, "predict"):
        with sklearn.config_context(array_api_dispatch=True):
            assert abs(model.score(rows, labels) - plain.score(X, y)) < 1e-9, plain
# Classes that mix in other rules keep them: votes, and a threshold.
three, kinds = load_iris(return_X_y=True)
for plain in (sx.LinearSVM(multi_class="ovo"), sx.LogisticRegression(multi_class="ovo")):
    want = plain.fit(three, kinds).predict(three)
    assert (want == kinds).mean() > 0.95 and plain.decision_function(three).shape == (150, 3)
    with sklearn.config_context(array_api_dispatch=True):
        found = plain.fit(torch.asarray(three), torch.asarray(kinds)).predict(torch.asarray(three))
    np.testing.assert_array_equal(found.numpy(), want)
# Names have no tensors.
named = np.array(["a", "b"])[y]
with sklearn.config_context(array_api_dispatch=True):
    model = sx.LinearSVM().fit(rows, named)
    assert isinstance(model.predict(rows), np.ndarray)
    assert isinstance(model.decision_function(rows), torch.Tensor)
    lifted = sx.lift.Polynomial().set_output(transform="pandas").fit_transform(rows)
    assert type(lifted).__name__ == "DataFrame"
"""


@pytest.mark.long
def test_every_estimator_takes_tensors_and_gives_them_back():
    optional.torch()
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_descriptors_of_a_subclass_are_left_alone():
    class Shown(sx.LinearSVM):
        @property
        def predict_proba(self):
            return lambda X: "mine"

        @available_if(lambda self: self.C > 1)
        def transform(self, X):
            return "moved"

    X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    model = Shown(C=2.0).fit(X, y)
    assert model.predict_proba(X) == "mine"
    assert model.transform(X) == "moved"
    assert not hasattr(Shown(C=1.0).fit(X, y), "transform")
