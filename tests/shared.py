"""Where the real data lie, and what to do where they do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def shared_file(name: str) -> Path:
    """Return the path of a shared file; skip where it is absent, fail where it may not be."""
    path = FOLDER / name
    if not path.exists():
        if os.environ.get("SEPARATRIX_REQUIRE_SHARED") == "1":
            pytest.fail(f"the shared data are required here, and {name} is not there")
        pytest.skip(f"the shared data are not there: {name}")
    return path
