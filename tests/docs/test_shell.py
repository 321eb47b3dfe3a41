"""Every ``separatrix`` command and every script that the pages show is run."""

import asyncio
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from safetensors.numpy import save_file
from tests.cli.command import separatrix
from tests.optional import module, shared_file

from separatrix._compiled import is_interpreted
from separatrix.checker.pack import pack
from separatrix.data.embedded import breast_cancer

pytestmark = pytest.mark.skipif(is_interpreted(), reason="the pages show compiled runs")

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "README.md", "docs/start.md", "docs/reading.md", "docs/methods/separability.md",
    "docs/diverged.md", "docs/study.md", "docs/predict.md", "docs/exchange.md", "docs/streams.md",
    "docs/out_of_core.md", "docs/howto/scale.md", "docs/howto/imbalance.md", "docs/howto/text.md",
    "docs/howto/migrate.md", "docs/howto/deploy.md", "docs/howto/verify.md",
)  # fmt: skip
SCRIPTS = ("docs/reading.md", "docs/howto/deploy.md")
# It would not end; tests/lab drives it.
LEFT_OUT = ("lab",)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page, kind):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n([\s\S]*?)^```", text, flags=re.MULTILINE)


def commands(page):
    """Give every command of a page, and what the page says it prints (nothing, mostly)."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, printed = part.partition("\n")
            words = shlex.split(line.split("   #")[0])
            if words[0] == "separatrix" and not words[1].startswith(LEFT_OUT):
                yield words[1:], printed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the pages speak of, and later what the commands leave."""
    place = tmp_path_factory.mktemp("pages")
    table = breast_cancer()
    names = [name.replace(" ", "_") for name in table.feature_names[:6]]
    lines = [",".join([*names, "diagnosis"])]
    lines += [
        ",".join([*map(repr, map(float, row[:6])), label])
        for row, label in zip(table.X, table.y, strict=True)
    ]
    (place / "cells.csv").write_text("\n".join(lines) + "\n")
    (place / "new.csv").write_text("\n".join(lines[:11]) + "\n")
    people = ["age,job,income"]
    people += [
        f"{20 + k},{('clerk', 'sales', '?')[k % 3]},{('low', 'high')[k > 20]}" for k in range(40)
    ]
    for name in ("adult.csv", "adult-train.csv", "adult-test.csv"):
        (place / name).write_text("\n".join(people) + "\n")
    patients = ["exposed,age,smoker,ill"]
    patients += [
        f"{int(k < 12)},{25 + 7 * k % 50},{('yes', 'no')[k % 3 > 0]},{int(k < 12 or k % 3 == 0)}"
        for k in range(40)
    ]
    (place / "study.csv").write_text("\n".join(patients) + "\n")
    _write_more(place)
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 8)).astype(np.float32), np.arange(60) % 2
    rows[:, 0] += labels
    np.save(place / "embeddings.npy", rows)
    np.save(place / "labels.npy", labels)
    np.save(place / "new.npy", rows[:5])
    save_file({"X": rows, "y": labels}, place / "embeddings.safetensors")
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), 8)
    table = pyarrow.table({"vector": lists, "label": labels})
    pyarrow.parquet.write_table(table, place / "embeddings.parquet")
    return place


def _write_more(place):
    """Loans of which few fail, reviews, and rows in LIBSVM's format, whole and in parts."""
    rng = np.random.default_rng(1)
    failed = rng.random(400) < 0.15
    loans = np.column_stack([rng.normal(size=400) + failed, rng.normal(size=400) - failed])
    pairs = list(zip(loans, failed.tolist(), strict=True))
    lines = [f"{a:.3f},{b:.3f},{('no', 'yes')[bad]}" for (a, b), bad in pairs]
    (place / "credit.csv").write_text("\n".join(["debt,income,default", *lines]) + "\n")
    words = {"good": ("fine", "warm", "short"), "bad": ("dull", "cold", "long")}
    reviews = [
        f"{kind}\ta {words[kind][k % 3]} film and {words[kind][k // 3 % 3]} talk number {k}"
        for k in range(30) for kind in words
    ]  # fmt: skip
    (place / "reviews.tsv").write_text("\n".join(reviews) + "\n")
    (place / "new.txt").write_text("a fine film\na dull and cold film\n")
    rows = [f"{(-1, 1)[bad]:+d} 1:{a:.3f} 2:{b:.3f}" for (a, b), bad in pairs]
    for name in ("heart.libsvm", "clicks.libsvm"):
        (place / name).write_text("\n".join(rows) + "\n")
    (place / "parts").mkdir()
    for part in range(2):
        (place / "parts" / f"{part}.libsvm").write_text("\n".join(rows[part::2]) + "\n")


@pytest.mark.parametrize("page", COMMANDS)
def test_the_commands_of_a_page_run_from_top_to_bottom(page, folder):
    if "separability" in page:
        shutil.copy(shared_file("endometrial.csv"), folder)
    told = list(commands(page))
    assert told
    for words, printed in told:
        outcome = separatrix(*words, cwd=folder)
        assert outcome.returncode == 0, f"separatrix {shlex.join(words)}: {outcome.stderr}"
        assert outcome.stdout or (folder / words[-1]).exists()
        if printed.strip():
            same = doctest.OutputChecker().check_output(printed, outcome.stdout, SAME)
            assert same, f"separatrix {shlex.join(words)} prints {outcome.stdout}"


def test_the_scripts_of_the_page_on_reading_run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    scripts = [block for block in blocks("docs/reading.md", "python") if ">>>" not in block]
    assert len(scripts) >= 3
    names = {}
    for script in scripts:
        exec(compile(script, "docs/reading.md", "exec"), names)
    assert names["w"].shape == (names["table"].X.shape[1],)


def test_no_script_of_another_page_goes_unrun():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        name = page.relative_to(ROOT).as_posix()
        if name not in SCRIPTS:
            assert all(">>>" in block for block in blocks(name, "python")), name
        shown = "".join(blocks(name, "console"))
        assert "$ separatrix" not in shown or name in (*COMMANDS, "docs/lab.md"), name


async def posted(app, rows):
    """Send rows to a server that runs in this process."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        return await client.post("/predict", json=rows)


def test_the_server_of_the_page_on_deployment_answers(folder, monkeypatch):
    """The page's own session trains the model, its script serves it, and a client asks."""
    module("fastapi", "make docs")
    monkeypatch.chdir(folder)
    session, script = blocks("docs/howto/deploy.md", "python")[:2]
    names = {}
    for line in doctest.DocTestParser().get_examples(session):
        exec(compile(line.source, "docs/howto/deploy.md", "exec"), names)
    shutil.copy(names["folder"] / "model.sx", folder / "model.sx")
    exec(compile(script, "serve.py", "exec"), names)
    (answer,) = asyncio.run(posted(names["app"], [{"age": 50, "job": "cook"}])).json()
    assert answer["class"] == "yes"
    assert sum(answer["probabilities"].values()) == pytest.approx(1)
    assert answer["probabilities"]["yes"] > 0.5
    refused = asyncio.run(posted(names["app"], [{"job": "cook"}]))
    assert refused.status_code == 422
    assert "age" in refused.json()["detail"]


def test_the_checker_runs_alone_as_the_page_on_certificates_says(folder):
    command, printed = (
        blocks("docs/certificates.md", "console")[0].removeprefix("$ ").split("\n", 1)
    )
    _, script, certificate, data = shlex.split(command)
    shutil.copy(shared_file("mushrooms.libsvm"), folder / data)
    pack(str(folder / script))
    made = separatrix("separable", data, "--certificate", certificate, cwd=folder)
    assert made.returncode == 0, made.stderr
    outcome = subprocess.run(
        [sys.executable, "-I", "-S", script, certificate, data],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert outcome.stdout == printed
