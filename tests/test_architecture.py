"""What docs/architecture.md draws: no circle of imports, one stem a solver, the way of a fit."""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import separatrix as sx

SOURCE = Path(sx.__file__).parent
MODULES = {
    ".".join(("separatrix", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in SOURCE.rglob("*.py")
}


@cache
def imported(name: str) -> set[str]:
    """The modules that this one imports, at once or within a function; not for types alone."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in for_types:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, node.module or ""]) if node.level else str(node.module)
            base = base.rstrip(".")
            names = {f"{base}.{alias.name}" for alias in node.names}
            found |= (names & MODULES.keys()) or ({base} & MODULES.keys())
    return found - {name}


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_one_another_in_a_circle():
    assert len(MODULES) > 300
    assert circle({name: imported(name) for name in MODULES}) == []


def test_a_circle_is_seen():
    graph = {name: imported(name) for name in MODULES}
    graph["separatrix.problem.signed"] = {"separatrix.core.machine"}
    assert "separatrix.core.machine" in circle(graph)


def test_no_two_solvers_have_the_same_stem():
    stems = Counter(path.stem for path in (SOURCE / "solvers").rglob("*.py"))
    del stems["__init__"]
    assert [stem for stem, count in stems.items() if count > 1] == []


def test_there_are_at_most_370_files():
    assert len(MODULES) <= 370


WALK = """
import sys
from sklearn.datasets import load_breast_cancer
import separatrix as sx

X, y = load_breast_cancer(return_X_y=True)
model = sx.LinearSVM(C=1.0).fit(X, y)  # which loads what is loaded late
files = set()


def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and "separatrix" in code.co_filename and code.co_name != "<module>":
        files.add(code.co_filename)


sys.setprofile(note)
model.fit(X, y)
sys.setprofile(None)
print(*sorted(files), sep="\\n")
"""


def test_a_fit_walks_through_25_files():
    run = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, check=True)
    files = run.stdout.split()
    assert any(file.endswith("certificates/duality_gap.py") for file in files)
    assert len(files) <= 25, "\n".join(files)
