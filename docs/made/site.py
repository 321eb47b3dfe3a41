"""The book as a site: ``python docs/made/site.py`` builds it into ``site/``, warnings as errors.

The pages are copied to ``build/book``, those made from the code are added, formulas become MathML,
and Zensical reads all of it there, so that no made file ever stands among the written ones.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import api_pages
import commands_page
import gallery_page
import mathematics

ROOT = Path(__file__).resolve().parents[2]
STAGE = ROOT / "build" / "book"
LEFT_OUT = shutil.ignore_patterns("*.py", "__pycache__", "made", "separatrix.1", "_*")


def made() -> dict[str, str]:
    """Return the pages that are made from the code, by their path within the documentation."""
    return {
        **api_pages.pages(),
        "commands.md": commands_page.page(),
        "gallery.md": gallery_page.page(),
        "security.md": _of_root("SECURITY.md"),
        "changelog.md": _of_root("CHANGELOG.md"),
    }


def _of_root(name: str) -> str:
    """Return a page of the repository's root, with links as they are within the documentation."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"\]\((?:docs/)?([\w/]+\.md)", lambda found: f"]({found[1].lower()}", text)


def stage(folder: Path) -> None:
    """Write everything that the builder reads into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=LEFT_OUT)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    for path, text in made().items():
        target = folder / "docs" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for page in (folder / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(mathematics.with_mathml(text), encoding="utf-8")


def build(folder: Path = STAGE, site: Path = ROOT / "site") -> None:
    """Build the site; a warning ends it with an error."""
    stage(folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=folder, check=True)
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(folder / "site", site)


if __name__ == "__main__":
    build()
