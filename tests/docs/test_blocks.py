"""No code and no command of a page goes unrun: each is of a kind that some test runs.

Sessions (``>>>``) are run by ``tests/test_docs.py``, commands and scripts by ``test_shell.py`` and
``test_services.py``. What is only shown (output, formulas, trees of files) is a block of ``text``,
and may hold no command.
"""

import json
import re
import tomllib

import pytest
from tests.docs.blocks import FENCE, PAGES, ROOT, blocks, commands, scripts
from tests.docs.test_made import DOCS, module

from separatrix.checker.kinds import CLAIMS, FORMAT

KINDS = ("console", "json", "python", "text")
# The scripts, by the test that runs them.
SCRIPTS = {
    "README.md": "test_services.py, on a cluster",
    "docs/distributed.md": "test_services.py, on a cluster",
    "docs/howto/deploy.md": "test_services.py, a server",
    "docs/reading.md": "test_shell.py",
}
# Blocks without a prompt or with a command in them that no test of this folder runs, and why.
LISTED = {
    "README.md: make run": "`.ci/readme` runs these two in a fresh clone",
    "docs/study.md: candidates, error": "what `study` prints; tests/report/test_advice.py runs it",
}
CODE = re.compile(
    r"^\s*(\$ |>>> |separatrix (?!\[)|make \w|pip |python3? |git |curl |import \w|from \w+ import)",
    re.MULTILINE,
)
INLINE = re.compile(r"`((?:separatrix|make|pip install|python -m|python docs/) ?[^`]+)`")


def test_every_block_is_fenced_and_says_what_it_is():
    for block in blocks():
        assert block.kind in KINDS, block
        assert block.indent % 4 == 0, block
    for page in PAGES:
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        found = re.search(r"(?<=\n\n) {4,}\S.*", re.sub(r"^( *)([-*]|\d+\.) .*", "", text))
        assert not found, f"{page.name}: a block without a fence: {found and found[0]}"


def test_every_code_and_command_is_run_or_listed_with_its_reason():
    unrun = [block for block in blocks("console") if "$ " not in block.text]
    unrun += [block for block in blocks("text") if CODE.search(block.text)]
    assert sorted(f"{each.page}: {' '.join(each.text.split()[:2])}" for each in unrun) == sorted(
        LISTED
    )
    assert {block.page for block in scripts()} == set(SCRIPTS)
    assert not [str(command) for command in commands() if command.way is None]


def test_code_is_found_where_it_stands():
    for hidden in ("separatrix fit a.csv", "    make test", "import numpy as np", "$ ls"):
        assert CODE.search(f"a\n{hidden}\n")
    assert not CODE.search("src/separatrix/\n  made of parts\n1,000 rows  error  17.00 %")


def test_json_is_json():
    for block in blocks("json"):
        shown = json.loads(block.text)
        assert shown["format"] == FORMAT
        assert shown["kind"] in CLAIMS


def targets():
    """Give the names that `make` knows."""
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


def require_installable(line):
    """What sets up: the target is one of the Makefile, the extra one of the project."""
    name, _, rest = line.partition(" ")
    if name == "make":
        assert rest.split()[0] in targets() | {".venv/.ready"}, line
    elif name == "pip":
        assert set(re.findall(r"\.\[(\w+)\]", rest)) <= extras(), line


@pytest.mark.parametrize("command", commands("installed"), ids=str)
def test_what_sets_up_exists(command):
    require_installable(command.line)


def require_option(line):
    """The command exists, and so does every option it is given."""
    manual = module(DOCS / "made" / "man_page.py")
    known = {
        each.name or each.callback.__name__: each.callback
        for each in manual.app.registered_commands
    }
    known["train"] = known["fit"]
    name = line.split()[1]
    if not name[0].isalpha():  # an option of every command
        return
    assert name in known, line
    words = {word for names, _, _ in manual.options_of(known[name]) for word in names}
    for given in re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*", line):
        assert given in words, f"{line}: no {given}"


def require_module(line):
    """The module or script exists, and its source names every option."""
    name, module = re.match(r"python (-m )?([\w./]+)", line)[2], line.startswith("python -m ")
    path = name.replace(".", "/") if module else name.removesuffix(".py")
    homes = [
        base / f"{path}{end}" for base in (ROOT, ROOT / "src") for end in (".py", "/__main__.py")
    ]
    source = next((home for home in homes if home.exists()), None)
    assert source, line
    for option in re.findall(r"(?<!\S)--[\w-]+", line):
        assert f'"{option}"' in source.read_text(encoding="utf-8"), f"{line}: no {option}"


def inline():
    """Return every command within a line of text."""
    texts = [FENCE.sub("", page.read_text(encoding="utf-8")) for page in PAGES]
    lines = [line for text in texts for line in INLINE.findall(text)]
    return sorted({part for line in lines for part in line.split(" | ")})


@pytest.mark.parametrize("line", inline())
def test_a_command_within_a_line_exists(line):
    if line.startswith("separatrix "):
        require_option(line)
    elif line.startswith("python "):
        require_module(line)
    else:
        require_installable(line)
