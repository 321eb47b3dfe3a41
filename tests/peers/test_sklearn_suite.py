"""scikit-learn's own tests, run from the installed package with our estimators in place of its.

`sklearn_stand_ins.py` puts ours where theirs are; `sklearn_differences.py` lists what is expected
to fail, with the reason. A failure that is not listed is a defect of ours. An entry that no failure
matches is out of date.
"""

import fnmatch
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import sklearn
from tests.peers.sklearn_differences import DIFFERENCES, FILES, LACKING, MAY_PASS

ROOT = Path(__file__).parents[2]


def outcomes_of(file, folder, *chosen):
    """Run one of their files, and return a record a test."""
    written = folder / "outcomes.jsonl"
    (folder / "pytest.ini").write_text("[pytest]\n")
    module = "sklearn." + file.removesuffix(".py").replace("/", ".")
    command = [
        sys.executable, "-m", "pytest", "-q", "--tb=no", "--pyargs", module, *chosen,
        "-c", str(folder / "pytest.ini"), "--rootdir", str(folder),
        "-p", "tests.peers.sklearn_stand_ins", "-p", "no:cacheprovider", "-p", "no:xdist",
    ]  # fmt: skip
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    about = {"PYTHONPATH": paths, "PEERS_OUTCOMES": str(written), "MPLBACKEND": "Agg"}
    ran = subprocess.run(
        command, cwd=folder, env=os.environ | about, capture_output=True, text=True, check=False
    )
    assert ran.returncode in (0, 1), ran.stdout[-2000:] + ran.stderr[-2000:]
    return [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]


def is_lacking(record):
    """Whether the test needs a parameter that is on the list of those we do not have."""
    found = re.match(r"Lacking: (.*) is not ours", record["why"])
    return found is not None and any(fnmatch.fnmatchcase(found[1], name) for name in LACKING)


def unexpected(records, listed):
    """Return the failures beyond the list, and the entries of the list that are out of date."""
    failed = [one for one in records if one["outcome"] == "failed" and not is_lacking(one)]
    cases = Counter(one["test"].partition("[")[0] for one in failed)
    ours = [
        f"{one['test']}: {one['why']}"
        for one in failed
        if cases[name := one["test"].partition("[")[0]] > listed.get(name, (0, ""))[0]
    ]
    return ours, sorted(set(listed) - set(cases) - MAY_PASS)


@pytest.mark.long
@pytest.mark.apart
@pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."),
    reason="the list is of scikit-learn 1.9: `make run` installs it",
)
@pytest.mark.parametrize("file", FILES)
def test_their_tests_pass_but_for_the_listed_differences(file, tmp_path):
    records = outcomes_of(file, tmp_path)
    listed = {name: entry for name, entry in DIFFERENCES.items() if name.startswith(f"{file}::")}
    ours, out_of_date = unexpected(records, listed)
    assert not ours, "\n".join(ours)
    assert not out_of_date
    assert sum(one["outcome"] == "passed" and one["used"] for one in records) >= FILES[file]


@pytest.mark.long
def test_a_sample_of_their_tests_passes(tmp_path):
    chosen = "-k", "test_decision_function or test_weight or test_immutable_coef"
    records = outcomes_of("svm/tests/test_svm.py", tmp_path, *chosen)
    assert unexpected(records, {}) == ([], [])
    assert sum(one["outcome"] == "passed" and one["used"] for one in records) >= 4


def test_what_is_not_listed_and_what_is_out_of_date_is_found():
    failed = {"test": "a.py::test_one[x]", "outcome": "failed", "why": "ValueError: no"}
    lacking = failed | {"why": "Lacking: penalty='l1' is not ours"}
    other = failed | {"why": "Lacking: shape='round' is not ours"}
    assert unexpected([failed], {}) == (["a.py::test_one[x]: ValueError: no"], [])
    assert unexpected([failed, failed], {"a.py::test_one": (1, "")})[0] != []
    assert unexpected([failed], {"a.py::test_one": (1, "")}) == ([], [])
    assert unexpected([lacking], {}) == ([], [])
    assert unexpected([other], {})[0] != []
    assert unexpected([], {"a.py::test_one": (1, "")}) == ([], ["a.py::test_one"])


def test_every_difference_has_a_reason_of_one_line():
    reasons = [*LACKING.values(), *(reason for _, reason in DIFFERENCES.values())]
    assert all(10 <= len(reason) <= 90 and "\n" not in reason for reason in reasons)
    assert {name.partition("::")[0] for name in DIFFERENCES} <= set(FILES)
    assert set(DIFFERENCES) >= MAY_PASS
    assert sum(FILES.values()) >= 1400
