"""scikit-learn's own checks of an estimator; `EXCUSED` gives a reason for each one left out."""

import json
import os
import subprocess
import sys

_SCRIPT = """
import json, sys, warnings
import separatrix as sx
from sklearn.utils.estimator_checks import check_estimator

warnings.simplefilter("ignore")
found = {}
for made in json.loads(sys.argv[1]):
    outcomes = check_estimator(eval("sx." + made), on_skip=None, on_fail=None)
    found[made] = [f"{o['check_name']}: {o['status']}, {o['exception']}" for o in outcomes
                   if o["status"] != "passed"]
    assert len(outcomes) > 40, made
json.dump(found, sys.stdout)
"""


_EQUIVALENT = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
# Estimator -> checks that cannot pass. The equivalences are of copies in another order.
EXCUSED = {
    # The rule visits rows in their order, and ends elsewhere where the order is another.
    "Perceptron": _EQUIVALENT,
    # Any halfspace without error is an answer, and HiGHS finds another one in another order.
    "LinearProgramHalfspace": _EQUIVALENT,
    # Several labels a row are taken, and have no probabilities.
    "LeastSquares": ("check_classifiers_multilabel_output_format_predict_proba",),
}


def outcomes_of(*makers: str) -> dict[str, list[str]]:
    """Return, for each expression such as ``LinearSVM()``, the checks that it does not pass.

    In a process of its own, since one check wants SciPy's array API switched on at import.
    """
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps(makers)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, list[str]] = json.loads(run.stdout)
    return found


def not_passed(*makers: str) -> dict[str, list[str]]:
    """Return the checks that an expression does not pass, but for those that cannot pass."""
    found = outcomes_of(*makers)
    return {
        made: [
            one for one in failed if one.split(":")[0] not in EXCUSED.get(made.split("(")[0], ())
        ]
        for made, failed in found.items()
    }


def assert_nothing_to_excuse(*makers: str) -> None:
    found = not_passed(*makers)
    assert found == {made: [] for made in makers}
