"""Where machine code and page templates are kept between processes."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_home"]


def cache_home() -> Path:
    """Return the folder under which all versions keep what takes long to make."""
    chosen = os.environ.get("SEPARATRIX_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "separatrix"
