"""Regions of kernel machines are drawn, and other data refused."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

import separatrix as sx
from separatrix.plots.regions import save_kernel_regions


def test_two_and_three_classes_are_drawn(tmp_path):
    X, y = make_moons(30, noise=0.2, random_state=0)
    iris = load_iris()
    Z, names = iris.data[::5, 2:], iris.target_names[iris.target[::5]]
    panels = [
        ("moons", X, y, sx.KernelSVM().fit(X, y)),
        ("irises, $", Z, names, sx.KernelSVM().fit(Z, names)),
        ("irises, rest", Z, names, sx.KernelSVM(multi_class="ovr").fit(Z, names)),
    ]
    save_kernel_regions(panels, tmp_path / "regions.svg", ["a", "b"])
    text = (tmp_path / "regions.svg").read_text()
    assert text.count("<image") == 3


def test_other_data_are_refused(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 2
    with pytest.raises(ValueError, match="regions need two features"):
        save_kernel_regions([("three", X, y, sx.KernelSVM().fit(X, y))], tmp_path / "no.svg")
    assert not (tmp_path / "no.svg").exists()
