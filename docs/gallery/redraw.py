"""Draw every picture of the gallery again: ``make pictures``."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

HERE = Path(__file__).resolve().parent
PICTURES = HERE.parent / "pictures" / "gallery"


def loaded(script: Path) -> ModuleType:
    """Return a script of the gallery as a module."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    spec = importlib.util.spec_from_file_location(f"gallery_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):  # the same picture, the same file
        for script in sorted(HERE.glob("[0-9]*.py")):
            loaded(script).draw(str(PICTURES / f"{script.stem.partition('_')[2]}.svg"))
