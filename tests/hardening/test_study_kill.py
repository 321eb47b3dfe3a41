"""The short version of `python -m benchmarks.study_kills`."""

import pytest
from benchmarks import study_kills

from separatrix._compiled import is_interpreted


@pytest.mark.skipif(is_interpreted(), reason="the study runs in a process of its own, compiled")
def test_three_kills_lose_nothing():
    told = study_kills.run(3, seed=1, folds=3, costs=4, rows=1500, say=lambda *_, **__: None)
    assert told["kills"] == 3
