"""The short version of `python -m benchmarks.study_kills`."""

import pytest
from benchmarks import study_kills

from separatrix._compiled import is_interpreted


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="the study runs in a process of its own, compiled")
def test_a_kill_loses_nothing():
    told = study_kills.run(1, seed=1, folds=3, costs=4, rows=1500, say=lambda *_, **__: None)
    assert told["kills"] == 1
