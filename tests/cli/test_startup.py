"""What a command does not load, so that it starts at once: each in a process of its own."""

import json
import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "numba", "pandas", "scipy.stats", "sklearn", "torch")
RUN = """
import json, sys
from separatrix.cli.main import main
sys.argv = ["separatrix", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
loaded = [name for name in {heavy!r} if name in sys.modules]
print(json.dumps(loaded), file=sys.stderr)
"""


def loaded(*arguments):
    """Return the heavy packages that a command has loaded."""
    code = RUN.format(heavy=HEAVY)
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
