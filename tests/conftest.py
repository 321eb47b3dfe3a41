"""What all tests share: the real data, and how much to do in this run."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data():
    """Give the folder of real data; where it is absent, say so and skip."""
    if not SHARED.is_dir():
        reason = f"the real data are not at {SHARED}"
        if os.environ.get("SEPARATRIX_REQUIRE_SHARED") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return SHARED


# The first call of a loop compiles it: no deadline can be fair.
settings.register_profile("separatrix", deadline=None, derandomize=True)
settings.load_profile("separatrix")
