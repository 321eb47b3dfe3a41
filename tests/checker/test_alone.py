"""The checker as one file, and as a folder, with nothing beside it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import separatrix.checker
from separatrix.certificates.separation import check_separation
from separatrix.checker.__main__ import main
from separatrix.checker.pack import pack
from separatrix.problem.signed import SignedProblem

FOLDER = Path(separatrix.checker.__file__).parent


@pytest.fixture
def files(tmp_path):
    X, y = np.array([[1.5, 0.0], [-1.0, 0.25]]), np.array([1.0, -1.0])
    proof = check_separation(SignedProblem(X, y), np.array([0.0, 1.0, 0.0]), ("-1", "1"))
    (tmp_path / "certificate.json").write_text(proof.to_json())
    (tmp_path / "good.libsvm").write_text("+1 1:1.5 # one\n\n-1 qid:3 1:-1 2:0.25\n")
    (tmp_path / "other.libsvm").write_text("+1 1:1.5\n-1 1:-1 2:0.5\n")
    (tmp_path / "label.libsvm").write_text("+1 1:1.5\n7 1:-1 2:0.25\n")
    (tmp_path / "broken.libsvm").write_text("+1 1:abc\n")
    (tmp_path / "good.csv").write_text("a,b,class\n1.5,0,1\n-1,0.25,-1\n")
    certificate = json.loads(proof.to_json())
    certificate["data"].update(columns=["a", "b"], target="class")
    (tmp_path / "csv.json").write_text(json.dumps(certificate))
    return tmp_path


@pytest.mark.parametrize(
    ("certificate", "data", "code", "words"),
    [
        ("certificate.json", "good.libsvm", 0, "proved: the weights separate all 2 rows"),
        ("csv.json", "good.csv", 0, "target: 'class' (by its name"),
        ("csv.json", "good.csv", 0, "columns: 2, a, b\nrows: all 2\nclasses: '-1' has the sign -1"),
        ("certificate.json", "good.csv", 0, "proved"),
        ("certificate.json", "other.libsvm", 1, "other data"),
        ("certificate.json", "label.libsvm", 1, "they are ('+1', '7')"),
        ("certificate.json", "broken.libsvm", 3, "row 0, column 0: 'abc' is not a number"),
        ("missing.json", "good.libsvm", 3, "cannot be read"),
        ("good.csv", "good.libsvm", 3, "cannot be read"),
    ],
)
def test_runs_alone(files, capfd, certificate, data, code, words):
    """As one file, with no package beside it and no site packages."""
    pack(str(files / "alone.pyz"))
    run = subprocess.run(
        [sys.executable, "-I", "-S", "alone.pyz", certificate, data],
        cwd=files,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == code
    assert words in run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    assert main([str(files / certificate), str(files / data)]) == code
    assert capfd.readouterr().out == run.stdout


def test_the_same_sources_give_the_same_file(tmp_path):
    pack(str(tmp_path / "one.pyz"))
    command = [sys.executable, "-m", "separatrix.checker.pack"]
    subprocess.run(command, cwd=tmp_path, check=True)
    made = tmp_path / "separatrix-checker.pyz"
    assert made.read_bytes() == (tmp_path / "one.pyz").read_bytes()


def test_usage(capsys):
    assert main([]) == 2
    assert main(["--help"]) == 0
    assert "--target" in capsys.readouterr().out


def test_uses_the_standard_library_alone():
    """And nothing of the rest of separatrix: names within the folder are relative."""
    files = list(FOLDER.glob("*.py"))
    assert len(files) > 10
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= sys.stdlib_module_names
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert (node.module or "").split(".")[0] in sys.stdlib_module_names
            elif isinstance(node, ast.ImportFrom):
                names = [node.module] if node.module else [alias.name for alias in node.names]
                assert all((FOLDER / f"{name}.py").exists() for name in names)


def test_the_package_imports_no_numpy():
    script = "import sys, separatrix.checker.__main__; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
