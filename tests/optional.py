"""What some tests need and a bare machine lacks. Each is found here, or the test is skipped.

The reason of a skip names the command that brings what is missing, in backquotes; `conftest.py`
turns any other skip into a failure. Where a thing was promised (``SEPARATRIX_REQUIRE_SHARED``,
``..._BROWSER``, ``..._TORCH``), its absence is a failure too.
"""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
LECTURES = SHARED.with_name("lectures")


def _absent(what: str, command: str, promised: str = "") -> NoReturn:
    if promised and os.environ.get(f"SEPARATRIX_REQUIRE_{promised}") == "1":
        pytest.fail(f"{what} is required here and is not there")
    pytest.skip(f"{what} is not there: `{command}`", allow_module_level=True)


def shared_file(name: str) -> Path:
    """Return the path of a shared file."""
    path = SHARED / name
    if not path.exists():
        _absent(f"../shared/data/{name}", "ls ../shared/data", "SHARED")
    return path


def lecture_file(number: str) -> Path:
    """Return the path of the text of a lecture."""
    for path in LECTURES.glob(f"{number}_*.txt"):
        return path
    _absent(f"../shared/lectures/{number}_*.txt", "ls ../shared/lectures", "SHARED")


def chromium() -> str:
    """Return the path of Chromium."""
    found = os.environ.get("SEPARATRIX_CHROMIUM") or shutil.which("chromium")
    if found is None:
        _absent("Chromium", "make browser", "BROWSER")
    return found


def module(name: str, command: str, promised: str = "") -> ModuleType:
    """Return an imported module of a package that `make run` and `make test` do not install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        _absent(name, command, promised)


def torch() -> ModuleType:
    """Return torch."""
    return module("torch", "make torch", "TORCH")


def peer(name: str) -> ModuleType:
    """Return a module of a peer that is built where it is installed."""
    return module(name, "make peers")
