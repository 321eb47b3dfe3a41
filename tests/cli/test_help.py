"""What a newcomer meets first: the help, and a shell that completes."""

import json
import os
import re
import subprocess
import sys

import pytest

from separatrix._compiled import is_interpreted
from tests.cli.command import separatrix

COMMANDS = ("study", "info", "convert", "separable", "fit", "path", "predict", "export")
COMMANDS += ("stream", "trace", "lab", "verify", "lecture-table")


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


IN_WAIT = ("sklearn.model_selection", "sklearn.metrics", "matplotlib", "torch", "dask", "starlette")
IN_WAIT += (
    "separatrix.solvers.linear.device.newton_side_by_side",
    "separatrix.solvers.many_classes.crammer_singer",
)
IN_WAIT += (
    "separatrix.solvers.linear.blocks.block_newton",
    "separatrix.solvers.many_classes.multinomial",
)


def loaded(*arguments):
    """Return the modules that a command has loaded at its end."""
    script = f"""
import json, sys
from separatrix.cli.main import main
sys.argv = {["separatrix", *map(str, arguments)]!r}
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
json.dump(sorted(sys.modules), sys.stderr)
"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    outcome = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    return set(json.loads(outcome.stderr.splitlines()[-1]))


@pytest.mark.skipif(is_interpreted(), reason="what is imported does not depend on it")
def test_commands_load_what_they_need_and_no_more(tmp_path):
    path = tmp_path / "points.libsvm"
    path.write_text("1 1:1 2:2\n-1 1:-1 2:1\n1 1:2 2:0.5\n-1 1:-2\n")
    certificate = tmp_path / "certificate.json"
    fitted = loaded("fit", path, "--certificate", certificate, "-o", tmp_path / "model.sx")
    assert "separatrix.solvers.linear.interior_point" in fitted
    assert not fitted & set(IN_WAIT)
    for light in (("info", path), ("verify", certificate, path)):
        assert "sklearn" not in loaded(*light)
