"""The blocks of the pages, and how each is run."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)(```+|~~~+) *(\w*).*\n([\s\S]*?)^ *\2 *$", re.MULTILINE)
# What a command of a page is, by words that stand in it; the first that fits. Anything else that
# begins with `separatrix` is run in this process.
WAYS = (
    ("installed", r"^(make|pip install|source) "),
    ("lab", r"^separatrix lab"),
    ("cluster", r"^separatrix .*--cluster "),
    ("endless", r"^tail -F |^separatrix .*--follow "),
    ("server", r"^curl "),
    ("checker", r"^python separatrix-checker\.pyz "),
    ("shell", r"\| separatrix "),
    ("here", r"^separatrix "),
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    indent: int
    kind: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command of a page, and what the page says that it prints (nothing, mostly)."""

    page: str
    line: str
    printed: str

    @property
    def way(self):
        """How it is run, or None where no rule says."""
        return next((way for way, rule in WAYS if re.search(rule, self.line)), None)

    def __str__(self):
        return f"{self.page}: {self.line}"


def blocks(kind=None):
    """Return every fenced block of every page, or those of one kind."""
    every = []
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for found in FENCE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            page = path.relative_to(ROOT).as_posix()
            every.append(Block(page, line, len(found[1]), found[3], found[4]))
    return [block for block in every if kind in (None, block.kind)]


def commands(way=None):
    """Return every command behind a prompt, page by page from top to bottom."""
    every = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, _, printed = part.partition("\n")
            every.append(Command(block.page, line.split("   #")[0].strip(), printed))
    return [command for command in every if way in (None, command.way)]


def scripts():
    """Give every block of Python that is no session."""
    return [block for block in blocks("python") if ">>>" not in block.text]
