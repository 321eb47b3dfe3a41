"""What a newcomer meets first: the help, and a shell that completes."""

import os
import re
import subprocess
import sys

import pytest

from separatrix._compiled import is_interpreted
from tests.cli.command import separatrix

COMMANDS = ("study", "info", "convert", "separable", "fit", "path", "predict", "export")
COMMANDS += ("stream", "trace", "lab", "verify")


def test_help_says_where_to_begin_and_names_every_command():
    text = separatrix("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", text)
    assert "separatrix study" in text, "an example to copy"
    assert "Traceback" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_shows_how_it_is_used(command):
    outcome = separatrix(command, "--help")
    assert outcome.returncode == 0
    assert f"separatrix {command}" in outcome.stdout


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_flags_are_shown_without_a_value_and_other_options_with_theirs(command):
    text = separatrix(*([] if command is None else [command]), "--help").stdout
    assert "--help" in text
    assert "bool" not in text.lower()
    if command == "fit":
        assert re.search(r"--json +Print", text)
        assert re.search(r"--tol +-e +<?float>? ", text, re.IGNORECASE)


@pytest.mark.skipif(is_interpreted(), reason="the shell knows nothing of loops")
@pytest.mark.parametrize(
    ("words", "place", "found"),
    [("separatrix st", 1, {"study", "stream"}), ("separatrix fit --lo", 2, {"--loss"})],
)
def test_the_shell_completes(words, place, found):
    environment = dict(
        os.environ, _SEPARATRIX_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(place)
    )
    outcome = subprocess.run(
        [sys.executable, "-m", "separatrix"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert set(outcome.stdout.split()) == found, outcome.stderr


@pytest.mark.skipif(is_interpreted(), reason="the shell knows nothing of loops")
def test_completion_can_be_installed(tmp_path):
    environment = dict(
        os.environ, HOME=str(tmp_path), _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    outcome = subprocess.run(
        [sys.executable, "-m", "separatrix", "--install-completion", "bash"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    assert "separatrix" in (tmp_path / ".bashrc").read_text()
