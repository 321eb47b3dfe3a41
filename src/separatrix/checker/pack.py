"""``python -m separatrix.checker.pack separatrix-checker.pyz``: this folder as one file.

The same sources give the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile, ZipInfo

START = "import sys\nfrom checker.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"


def pack(path: str) -> None:
    """Write a file that ``python`` runs as it is, with nothing beside it."""
    sources = {f"checker/{file.name}": file for file in Path(__file__).parent.glob("*.py")}
    with ZipFile(path, "w") as packed:
        packed.writestr(ZipInfo("__main__.py"), START)
        for name in sorted(sources):
            packed.writestr(ZipInfo(name), sources[name].read_bytes())


if __name__ == "__main__":
    pack(sys.argv[1] if len(sys.argv) > 1 else "separatrix-checker.pyz")
