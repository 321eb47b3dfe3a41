"""scikit-learn's own tests, run from the installed package with our estimators in place of its.

`sklearn_stand_ins.py` puts ours where theirs are; `sklearn_differences.py` lists what is expected
to fail, with the reason. A failure that is not listed is a defect of ours. An entry of the list
that no failure matches is out of date.
"""

import fnmatch
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn
from tests.peers.sklearn_differences import DIFFERENCES, FILES, LACKING

ROOT = Path(__file__).parents[2]
# The list belongs to these versions; others add tests and rename them.
VERSIONS = ("1.9",)


def outcomes_of(file, folder, *chosen):
    """Run one of their files, and return a record a test."""
    written = folder / "outcomes.jsonl"
    (folder / "pytest.ini").write_text("[pytest]\n")
    module = "sklearn." + file.removesuffix(".py").replace("/", ".")
    command = [
        sys.executable, "-m", "pytest", "-q", "-x" if chosen else "-q", "--tb=no",
        "-c", str(folder / "pytest.ini"), "--rootdir", str(folder),
        "-p", "tests.peers.sklearn_stand_ins", "-p", "no:cacheprovider", "-p", "no:xdist",
        "--pyargs", module, *chosen,
    ]  # fmt: skip
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    about = {"PYTHONPATH": paths, "PEERS_OUTCOMES": str(written), "MPLBACKEND": "Agg"}
    ran = subprocess.run(
        command, cwd=folder, env=os.environ | about, capture_output=True, text=True, check=False
    )
    assert ran.returncode in (0, 1), ran.stdout[-2000:] + ran.stderr[-2000:]
    return [json.loads(line) for line in written.read_text().splitlines()]


def is_lacking(record):
    """Whether the test uses a parameter that is on the list of those we do not have."""
    found = re.match(r"Lacking: (.*) is not ours", record["why"])
    return found is not None and any(fnmatch.fnmatch(found[1], pattern) for pattern in LACKING)


def matches(pattern, test):
    """Whether a pattern is the whole name, or the name before the parameters in brackets."""
    return (
        test == pattern
        or test.partition("[")[0] == pattern
        or (
            "*" in pattern
            and fnmatch.fnmatchcase(test.replace("[", "("), pattern.replace("[", "("))
        )
    )


@pytest.mark.long
@pytest.mark.skipif(
    not sklearn.__version__.startswith(VERSIONS),
    reason="the list is of scikit-learn 1.9: `make run` installs it",
)
@pytest.mark.parametrize("file", FILES)
def test_their_tests_pass_but_for_the_listed_differences(file, tmp_path):
    records = outcomes_of(file, tmp_path)
    failed = [record for record in records if record["outcome"] == "failed"]
    listed = {name: reason for name, reason in DIFFERENCES.items() if name.startswith(f"{file}::")}
    ours, met = [], set()
    for record in failed:
        found = [name for name in listed if matches(name, record["test"])]
        met.update(found)
        if not found and not is_lacking(record):
            ours.append(f"{record['test']}: {record['why']}")
    assert not ours, "\n".join(ours)
    assert met == set(listed), f"no longer a difference: {sorted(set(listed) - met)}"
    passed = sum(record["outcome"] == "passed" and record["used"] for record in records)
    assert passed >= FILES[file]


def test_a_sample_of_their_tests_passes(tmp_path):
    chosen = "-k", "test_decision_function or test_weight or test_svc_clone"
    records = outcomes_of("svm/tests/test_svm.py", tmp_path, *chosen)
    assert [record for record in records if record["outcome"] == "failed"] == []
    assert sum(record["used"] for record in records) >= 3


def test_every_difference_has_a_reason_of_one_line():
    for name, reason in (DIFFERENCES | LACKING).items():
        assert 10 <= len(reason) <= 120, name
        assert "\n" not in reason
    assert {name.partition("::")[0] for name in DIFFERENCES} <= set(FILES)
