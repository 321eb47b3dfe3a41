"""Files whose seal is right and whose values no model has: one plain refusal, never a fault."""

import numpy as np
import pytest
from fuzz.model_files import joined, parts

import separatrix as sx
from separatrix.storage.model_file import from_bytes, to_bytes

X = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 2.0], [4.0, 3.5], [0.5, 4.0], [1.5, 5.0]])
TWO, THREE = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])
ONE_CLASS = {"is": "texts", "of": "text", "shape": [1], "items": ["a"]}


@pytest.mark.parametrize(
    ("model", "name", "value", "words"),
    [
        (sx.LinearSVM(), "classes_", ONE_CLASS, "classes"),
        (sx.LinearSVM(), "feature_names_in_", 5, "feature_names_in_"),
        (sx.LinearSVM(), "feature_names_in_", ONE_CLASS, "feature_names_in_"),
        (sx.OneVsRest(sx.LinearSVM()), "certificates_", 5, "certificates_"),
        (sx.OneVsRest(sx.LinearSVM()), "certificates_", None, "certificates_"),
        (sx.LinearSVM(), "kernel_", 0, "kernel_"),
        (sx.KernelSVM(), "costs_", 0, "costs_"),
        (sx.Perceptron(max_updates=50), "costs_", 0, "costs_"),
    ],
)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_a_value_that_no_model_has_is_refused_by_name(model, name, value, words, plain):
    labels = THREE if isinstance(model, sx.OneVsRest) else TWO
    header, arrays = parts(to_bytes(model.fit(X, labels)))
    header["fitted"][name] = value
    with pytest.raises(sx.ModelFileError, match=words):
        from_bytes(joined(header, arrays), plain=plain)
