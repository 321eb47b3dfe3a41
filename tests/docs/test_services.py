"""What the pages start and leave running: a server, the lab, a cluster, a stream that goes on."""

import asyncio
import doctest
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import warnings

import httpx
import numpy as np
import pytest
from tests.cli.command import separatrix
from tests.docs.blocks import blocks, commands, scripts
from tests.docs.test_shell import SAME
from tests.lab.browsing import running_lab
from tests.optional import module

import separatrix as sx
from separatrix._compiled import is_interpreted

pytestmark = pytest.mark.skipif(is_interpreted(), reason="the pages show compiled runs")

SCHEDULER = "tcp://scheduler:8786"
PATIENCE = 120  # seconds: the machine may be busy


async def posted(app, path, rows):
    """Send rows to a server that runs in this process."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        return await client.post(path, json=rows)


@pytest.fixture
def app(folder, monkeypatch):
    """The server of the page on deployment, with the model that the page's session trains."""
    module("fastapi", "make docs")
    session, script = [
        block.text for block in blocks("python") if block.page == "docs/howto/deploy.md"
    ][:2]
    names = {}
    for line in doctest.DocTestParser().get_examples(session):
        exec(compile(line.source, "docs/howto/deploy.md", "exec"), names)
    monkeypatch.chdir(names["folder"])
    exec(compile(script, "serve.py", "exec"), names)
    return names["app"]


@pytest.mark.parametrize("command", commands("server"), ids=str)
def test_the_server_answers_what_the_page_says(command, app):
    words = shlex.split(command.line)
    assert words[:3] == ["curl", "-X", "POST"]
    assert words[words.index("-H") + 1] == "Content-Type: application/json"
    rows = json.loads(words[words.index("-d") + 1])
    answer = asyncio.run(posted(app, words[3].removeprefix("localhost:8000"), rows))
    assert doctest.OutputChecker().check_output(command.printed, answer.text + "\n", SAME)
    assert sum(answer.json()[0]["probabilities"].values()) == pytest.approx(1)


def test_the_server_refuses_a_row_without_a_column(app):
    refused = asyncio.run(posted(app, "/predict", [{"job": "cook"}]))
    assert refused.status_code == 422
    assert "age" in refused.json()["detail"]


@pytest.mark.long
@pytest.mark.parametrize("command", commands("lab"), ids=str)
def test_the_lab_starts_answers_and_ends(command):
    words = shlex.split(command.line)[2:]
    with running_lab(*words) as address:
        shape = r"http://127\.0\.0\.1:\d+/\?token="
        assert re.match(shape, address)
        assert not command.printed or re.search(shape, command.printed)
        transport = httpx.HTTPTransport(retries=8)  # it may not listen yet
        with httpx.Client(transport=transport, timeout=PATIENCE) as client:
            answer = client.get(address, follow_redirects=True)
        assert answer.status_code == 200
        assert "<title>" in answer.text


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster with one worker, on this machine alone."""
    from dask.distributed import LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own, of sockets and loops that it closes later
        with LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://",
            host="127.0.0.1", dashboard_address=None,
        ) as made:  # fmt: skip
            yield made.scheduler_address


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", commands("cluster"), ids=str)
def test_a_fit_on_a_cluster_prints_its_proof(command, folder, scheduler):
    outcome = separatrix(*shlex.split(command.line.replace(SCHEDULER, scheduler))[1:], cwd=folder)
    assert outcome.returncode == 0, outcome.stderr
    assert "No hyperplane lowers the objective" in outcome.stdout


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "block", [block for block in scripts() if SCHEDULER in block.text], ids=str
)
def test_a_script_on_a_cluster_fits(block, folder, scheduler, monkeypatch):
    import dask.array
    from dask.distributed import default_client

    monkeypatch.chdir(folder)
    rows = np.random.default_rng(0).normal(size=(60, 3))
    names = {"X": dask.array.from_array(rows), "y": dask.array.from_array(rows[:, 0] > 0)}
    script = block.text.replace(SCHEDULER, scheduler)
    assert sum(map(bool, block.text.splitlines())) == 3, "from a laptop to a cluster in three lines"
    exec(compile(script, str(block), "exec"), names)
    default_client().close()
    assert type(names["model"]) is sx.LinearSVM
    assert names["model"].gap_ <= 1e-4


@pytest.mark.long
@pytest.mark.parametrize("command", commands("endless"), ids=str)
def test_a_stream_learns_what_is_added_until_it_is_interrupted(command, folder, path):
    """The file grows while the command runs; Ctrl-C, as a terminal sends it, keeps the model."""
    grows = folder / next(word for word in shlex.split(command.line) if word in os.listdir(folder))
    lines = grows.read_bytes().splitlines(keepends=True)
    model = folder / re.search(r"-m (\S+)", command.line)[1]
    line = f"{command.line} --checkpoint 0 --every 10 --json"
    with subprocess.Popen(
        ["bash", "-c", line], cwd=folder, env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        guard = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
        guard.start()
        try:
            first = reported(process, 1)
            with grows.open("ab") as file:
                file.write(b"".join(lines[:20]))
            assert reported(process, first + 10) > first
        finally:
            ended = interrupted(process)
            guard.cancel()
        # A pipe whose other end was interrupted first has simply come to its end.
        assert ended in ((0, 130, 143, -signal.SIGTERM) if "|" in command.line else (130,))
    assert sx.load(model).n_iter_ >= first + 10


def interrupted(process):
    """Press Ctrl-C. A shell that was between two commands may miss it: then end the pipe."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        return process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        return process.wait()


def reported(process, rows):
    """Return how many rows were learned, as soon as there are so many."""
    for line in process.stdout:
        learned = json.loads(line)["rows"]
        if learned >= rows:
            return learned
    raise AssertionError(f"it ended before row {rows}")
