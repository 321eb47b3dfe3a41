"""What a command does not load, so that it starts at once: each in a process of its own."""

import json
import subprocess
import sys

import pytest

from tests.cli.command import separatrix

HEAVY = ("matplotlib", "numba", "pandas", "scipy.stats", "sklearn", "torch")
# What SciPy and numba load beside their needs; tests themselves load them, so these stand apart.
BESIDE = ("coverage", "numpy.f2py.crackfortran", "scipy.spatial._kdtree", "yaml")
RUN = """
import json, sys
from separatrix.cli.main import main
sys.argv = ["separatrix", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
loaded = [name for name in {heavy!r} if sys.modules.get(name) is not None]
print(json.dumps(loaded), file=sys.stderr)
"""


def loaded(*arguments):
    """Return the heavy packages that a command has loaded."""
    code = RUN.format(heavy=HEAVY + BESIDE)
    words = json.dumps([str(each) for each in arguments])
    run = subprocess.run(
        [sys.executable, "-c", code, words], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("startup") / "points.csv"
    rows = [f"{x},{10 - x},{'high' if x > 5 else 'low'}" for x in range(11)]
    path.write_text("a,b,class\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["fit", "--help"]])
def test_help_loads_nothing(words):
    assert loaded(*words) == set()


def test_info_of_data(table):
    assert loaded("info", table, "--target", "class") == set()


def test_separable(table, tmp_path):
    proof = tmp_path / "proof.json"
    words = ["separable", table, "--target", "class", "--certificate", proof]
    assert loaded(*words) <= {"numba"}
    assert loaded("verify", proof, table, "--target", "class") == set()


def test_separable_of_classes_that_overlap(table):
    mixed = table.with_name("mixed.csv")
    mixed.write_text(table.read_text() + "3,7,high\n")
    assert loaded("separable", mixed, "--target", "class") <= {"numba"}


LONG = pytest.mark.long  # each case starts one command or more


@pytest.mark.parametrize(
    "loss", ["hinge", *(pytest.param(name, marks=LONG) for name in ("squared_hinge", "logistic"))]
)
def test_fit(table, tmp_path, loss):
    out = tmp_path / "model.sx"
    words = ["fit", table, "--target", "class", "--loss", loss, "-o", out]
    assert loaded(*words) <= {"numba"}


def test_modules_that_are_postponed_work(tmp_path):
    code = """
import sys
from separatrix.cli.main import light_imports
with light_imports():
    import numpy
    import scipy.optimize
    assert "scipy.spatial._kdtree" not in sys.modules
    assert not scipy.optimize.nnls([[1.0]], [-1.0])[0].any()
    from scipy.spatial.distance import cdist
    assert cdist([[0.0, 0.0]], [[3.0, 4.0]])[0, 0] == 5.0
    assert numpy.testing.assert_equal(1, 1) is None
import numpy.f2py
assert numpy.f2py.get_include()
import yaml
assert not any(type(each).__name__ == "_Postponing" for each in sys.meta_path)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_path(table):
    words = ["path", table, "--target", "class", "--folds", 2, "--Cs", "1,10"]
    assert loaded(*words) <= {"numba"}


def test_study(table, tmp_path):
    words = ["study", table, "--target", "class", "--folds", 2, "--Cs", "1,10", "-o", tmp_path]
    assert loaded(*words) <= {"numba"}


OTHERS = ("logistic", "scaled", "liblinear")


@pytest.fixture(
    scope="module", params=["hinge", *(pytest.param(name, marks=LONG) for name in OTHERS)]
)
def model(request, table):
    """A model file of the table."""
    path = table.parent / f"{request.param}.sx"
    words = {"logistic": ["--loss", "logistic"], "scaled": ["--scale", "standard"]}
    command = ["fit", table, "--target", "class", "-o", path, *words.get(request.param, [])]
    separatrix(*command)
    if request.param == "liblinear":
        other = path.with_suffix(".model")
        separatrix("export", path, "--to", "liblinear", "--number-classes", "-o", other)
        return other
    return path


def test_predict(table, model):
    data = table
    if model.suffix == ".model":
        data = table.with_suffix(".libsvm")
        data.write_text("0 1:3 2:7\n1 1:9 2:1\n")
    assert loaded("predict", "-m", model, data) == set()


def test_info_of_a_model(model):
    if model.suffix == ".sx":
        assert loaded("info", model) == set()


def test_verify_of_a_model(table, model):
    if model.stem in ("hinge", "logistic"):
        assert loaded("verify", model, table) == set()
