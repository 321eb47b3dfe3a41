"""``separatrix lab``: what it offers, what it asks for, and where it listens."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from separatrix.cli.lab import _listening, table_for_page
from separatrix.data.table import read
from separatrix.lab.server import Lab, application
from tests.cli.command import separatrix


def test_the_command_is_offered():
    done = separatrix("lab", "--help")
    assert done.returncode == 0
    assert "--port" in done.stdout
    assert "--no-browser" in done.stdout


def test_it_listens_on_this_machine_only_and_finds_a_free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        wanted = taken.getsockname()[1]
        with _listening(wanted) as found:
            host, port = found.getsockname()
            assert host == "127.0.0.1"
            assert port not in (0, wanted)


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(ValueError, match="pip install starlette uvicorn"):
        application(Lab(port=1))


def test_a_table_is_told_with_its_names(tmp_path):
    file = tmp_path / "leaves.csv"
    file.write_text("long,wide,kind\n1,2,a\n2,1.5,b\n")
    told = table_for_page(read(str(file), target="kind"))
    assert told == {
        "columns": ["long", "wide"],
        "rows": [[1.0, 2.0], [2.0, 1.5]],
        "labels": ["a", "b"],
        "source": "leaves.csv",
    }


def test_tokens_are_never_the_same():
    assert Lab(port=1).token != Lab(port=1).token
    assert len(Lab(port=1).token) >= 32


@pytest.mark.long
def test_ctrl_c_ends_it_without_a_word_of_its_workers(tmp_path):
    """The terminal sends Ctrl-C to the whole group; workers are in sessions of their own."""
    words = [sys.executable, "-m", "separatrix", "lab", "--no-browser", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, start_new_session=True, text=True, **pipes) as lab:
        assert lab.stdout is not None
        assert "The lab is at" in lab.stdout.readline()
        time.sleep(1.0)  # the workers are starting
        os.killpg(lab.pid, signal.SIGINT)
        _, said = lab.communicate(timeout=120)
    assert "Traceback" not in said
    assert said.strip() in ("", "Interrupted.")
