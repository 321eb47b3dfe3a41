"""What mkdocs runs while it builds the site: pages that are made from the code, not written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))
import api_pages
import gallery_page
import mathematics


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the reference and the gallery to the files of the site."""
    made = {**api_pages.pages(), "gallery.md": gallery_page.page()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn the formulas of a page into MathML."""
    return mathematics.with_mathml(markdown)
