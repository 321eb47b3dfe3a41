"""Tensors under scikit-learn's array API: taken by every estimator, with the answers of NumPy."""

import os
import subprocess
import sys

import pytest
from tests import optional

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
for plain in made:
    name = "predict" if hasattr(plain, "predict") else "transform"
    want = getattr(plain.fit(X, y), name)(X)
    with sklearn.config_context(array_api_dispatch=True):
        model = sklearn.base.clone(plain).fit(torch.asarray(X), torch.asarray(y))
        found = getattr(model, name)(torch.asarray(X))
    np.testing.assert_allclose(np.asarray(found), want, atol=1e-6, err_msg=type(plain).__name__)
    if name == "predict":
        with sklearn.config_context(array_api_dispatch=True):
            assert model.score(torch.asarray(X), torch.asarray(y)) == plain.score(X, y), plain
"""


@pytest.mark.long
def test_every_estimator_takes_tensors():
    optional.torch()
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
