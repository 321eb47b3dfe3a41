"""Without torch: nothing asks for it but a device, and then it is said how to get it."""

import subprocess
import sys

import numpy as np
import pytest

import separatrix as sx
from separatrix._device import resolve


class Absent:
    """Finds no torch; to set its module to None would confuse SciPy, which looks for it there."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])


def test_a_device_asks_for_it(no_torch):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = X[:, 0] > 0
    assert resolve("cpu", X) is None
    assert resolve("auto", X) is None
    for machine in (sx.LinearSVM(device="cuda"), sx.LogisticRegressionCV(device="cuda")):
        with pytest.raises(sx.DeviceError, match="pip install torch"):
            machine.fit(X, y)
        assert not [name for name in vars(machine) if name.endswith("_")]
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda', 'cuda:N' or 'auto'"):
        sx.LogisticRegression(device="gpu").fit(X, y)


@pytest.mark.parametrize("place", ["cpu", "auto"])
def test_the_processor_does_without(no_torch, place):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = X[:, 0] > 0
    assert sx.LogisticRegression(device=place).fit(X, y).certificate_.check(X, y)


def test_plain_fits_never_import_it():
    code = (
        "import sys, numpy as np, separatrix as sx\n"
        "X = np.random.default_rng(0).normal(size=(30, 2)); y = X[:, 0] > 0\n"
        "for machine in (sx.LinearSVM(), sx.LogisticRegression()):\n"
        "    machine.fit(X, y).certificate_.check(X, y); machine.predict(X)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
