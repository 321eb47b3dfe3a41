"""Every ``separatrix`` command that the README and the first pages show is run."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.command import separatrix

from separatrix._compiled import is_interpreted
from separatrix.data.embedded import breast_cancer

pytestmark = pytest.mark.skipif(is_interpreted(), reason="the pages show compiled runs")

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/start.md")
# What would not end, or needs a browser, a cluster or another file than those made here.
LEFT_OUT = ("lab", "stream --follow")


def commands(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"```console\n([\s\S]*?)```", text):
        for line in block.split("\n"):
            match = re.match(r"\$ (?:\.venv/bin/)?separatrix (.*)", line.split("   #")[0].rstrip())
            if match and not match[1].startswith(LEFT_OUT):
                yield match[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the file that the pages speak of, and later what the commands leave."""
    place = tmp_path_factory.mktemp("pages")
    table = breast_cancer()
    names = [name.replace(" ", "_") for name in table.feature_names[:6]]
    lines = [",".join([*names, "diagnosis"])]
    lines += [
        ",".join([*map(repr, map(float, row[:6])), label])
        for row, label in zip(table.X, table.y, strict=True)
    ]
    (place / "cells.csv").write_text("\n".join(lines) + "\n")
    (place / "new.csv").write_text("\n".join([lines[0], *lines[1:11]]) + "\n")
    return place


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_from_top_to_bottom(page, folder):
    told = list(commands(page))
    assert len(told) >= 4
    for command in told:
        outcome = separatrix(*shlex.split(command), cwd=folder)
        assert outcome.returncode == 0, f"separatrix {command}: {outcome.stderr}"
        assert outcome.stdout or (folder / shlex.split(command)[-1]).exists()
