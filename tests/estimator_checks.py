"""scikit-learn's own checks of an estimator, with nothing excused."""

import os
import subprocess
import sys

_SCRIPT = """
import warnings
import separatrix as sx
from sklearn.utils.estimator_checks import check_estimator

warnings.simplefilter("ignore")
for machine in [{machines}]:
    outcomes = check_estimator(machine, on_skip=None, on_fail=None)
    bad = [(o["check_name"], o["status"]) for o in outcomes if o["status"] != "passed"]
    assert len(outcomes) > 40 and not bad, (machine, bad)
"""


def assert_nothing_to_excuse(*machines: str) -> None:
    """In a process of its own, since one check wants SciPy's array API switched on at import."""
    script = _SCRIPT.format(machines=", ".join(f"sx.{maker}" for maker in machines))
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
