"""Real data beside the repository: absent, a test skips and says so, or fails if required."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared(name):
    """Return the path of a shared file."""
    path = SHARED / name
    if not path.exists():
        message = f"../shared/data/{name} is not here"
        if os.environ.get("SEPARATRIX_REQUIRE_SHARED"):
            pytest.fail(message)
        pytest.skip(message)
    return path
