"""Every command that ends by itself, and every script that needs no service, is run."""

import doctest
import os
import shlex
import shutil
import subprocess

import pytest
from tests.cli.command import Outcome, separatrix
from tests.docs.blocks import commands, scripts
from tests.optional import shared_file

from separatrix._compiled import is_interpreted

pytestmark = pytest.mark.skipif(is_interpreted(), reason="the pages show compiled runs")

ENDING = ("here", "shell", "checker")
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
REAL = ("endometrial.csv", "a9a.libsvm", "mushrooms.libsvm")  # data that the pages name
LONG = ("docs/streams.md", "docs/methods/sparse_weights.md")  # many processes, many fits
PAGES = [
    pytest.param(page, marks=[pytest.mark.long] * (page in LONG))
    for page in dict.fromkeys(command.page for command in commands() if command.way in ENDING)
]


def in_shell(line, folder, path):
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr)


def outcome_of(command, folder, path):
    if command.way == "here":
        return separatrix(*shlex.split(command.line)[1:], cwd=folder)
    # The checker needs the standard library alone: no environment, no site packages.
    line = command.line.replace("python ", "python -I -S ") if command.way == "checker" else None
    return in_shell(line or command.line, folder, path)


def require_as_told(command, outcome, folder):
    """It ends well and prints what the page says; an error that the page shows may end it."""
    if not command.printed.strip():
        assert outcome.returncode == 0, f"{command}: {outcome.stderr}"
        assert outcome.stdout or (folder / shlex.split(command.line)[-1]).exists()
        return
    out, err = outcome.stdout, outcome.stderr
    same = doctest.OutputChecker().check_output
    assert any(same(command.printed, printed, SAME) for printed in (out, out + err, err + out)), (
        f"{command} prints {err}{out}"
    )
    assert outcome.returncode == 0 or same(command.printed, err, SAME)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_from_top_to_bottom(page, folder, path):
    ending = [each for each in commands() if each.page == page and each.way in ENDING]
    for command in ending:
        for name in REAL:
            if name in command.line and not (folder / name).exists():
                shutil.copy(shared_file(name), folder)
        require_as_told(command, outcome_of(command, folder, path), folder)


def test_the_scripts_of_the_page_on_reading_run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = [block for block in scripts() if block.page == "docs/reading.md"]
    assert len(found) >= 3
    names = {}
    for block in found:
        exec(compile(block.text, str(block), "exec"), names)
    assert names["w"].shape == (names["table"].X.shape[1],)
