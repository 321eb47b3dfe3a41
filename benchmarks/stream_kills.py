"""kill -9 at random moments of a stream: what the last checkpoint holds is never lost.

    python -m benchmarks.stream_kills --kills 50

A stream over made-up rows is started, killed at a random moment of its learning (one time in five,
of its start), looked at, and started again, until it finishes; then the next one. Looked at means:
the model file is whole or not there, it never goes back, no other file is left but one written
aside, and what is learned is what its places say.
In the end the model equals, byte for byte, that of a stream that was never disturbed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from separatrix.data.readers.libsvm import write_libsvm
from separatrix.storage.model_file import read_model


def make_data(path: Path, rows: int, columns: int = 60, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random(size=(rows, columns)) < 0.3)
    y = np.where(X @ rng.normal(size=columns) + rng.normal(size=rows) > 0, 1, -1)
    write_libsvm(path, np.round(X, 4), y)


def command(data: Path, model: Path, pace: float) -> list[str]:
    return [
        sys.executable, "-m", "separatrix", "stream", "-m", str(model), str(data), "--json",
        "--every", "1000", "--checkpoint", str(pace), "--classes", "-1,1",
    ]  # fmt: skip


def learned(model: Path, lines: list[int]) -> int:
    """Return how many rows the model holds; it must be whole and agree with its place."""
    if not model.exists():
        return 0
    whole = read_model(model)
    place = whole.about["stream"]["places"][0]
    rows = int(whole.model.n_iter_)
    assert rows == place["lines"] == whole.about["stream"]["progress"]["rows"]
    assert place["offset"] == lines[rows], "the place is not at the end of a line"
    return rows


def disturb(data: Path, model: Path, lines: list[int], moment: tuple, pace: float) -> tuple:
    """Start, kill after a while, look: did it finish, rows before, rows after."""
    before = learned(model, lines)
    process = subprocess.Popen(
        command(data, model, pace), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    in_start, seconds = moment
    if not in_start:
        process.stdout.readline()  # the first report: from here on it learns
    try:
        _, said = process.communicate(timeout=seconds)
        assert process.returncode == 0, said.decode()
        finished = True
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        finished = False
    after = learned(model, lines)
    assert after >= before, "what was written is lost"
    left = {path.name for path in model.parent.iterdir()} - {model.name, model.name + ".part"}
    assert not left, left
    return finished, before, after


def run(
    kills: int, seed: int = 0, rows: int = 400_000, pace: float = 0.0, calm_runs: int = 2, say=print
) -> dict:
    rng = np.random.default_rng(seed)
    place = Path(tempfile.mkdtemp(prefix="stream_kills_"))
    try:
        data, calm = place / "rows.libsvm", place / "calm" / "model.sx"
        make_data(data, rows)
        contents = data.read_bytes()
        lines = [0, *(np.flatnonzero(np.frombuffer(contents, dtype=np.uint8) == 10) + 1).tolist()]
        calm.parent.mkdir()
        for _ in range(calm_runs):  # the first may have to compile
            calm.unlink(missing_ok=True)
            begun = time.perf_counter()
            process = subprocess.Popen(command(data, calm, pace), stdout=subprocess.PIPE)
            process.stdout.readline()
            started = time.perf_counter()
            process.communicate()
            assert process.returncode == 0
            start, learning = started - begun, time.perf_counter() - started
        wanted, done, streams, in_between, kept = calm.read_bytes(), 0, 0, 0, 0
        while done < kills:
            model = place / str(streams) / "model.sx"
            model.parent.mkdir()
            finished = False
            while not finished:
                in_start = bool(rng.random() < 0.2)
                moment = in_start, rng.random() * (start if in_start else 0.7 * learning)
                if done == kills:
                    moment = True, 1e4
                finished, before, after = disturb(data, model, lines, moment, pace)
                if not finished:
                    done += 1
                    in_between += 0 < after < rows
                    kept += after - before
                    say(f"kill {done}: {before:,} rows before, {after:,} after", flush=True)
            assert model.read_bytes() == wanted, "the model differs from the undisturbed one"
            streams += 1
            shutil.rmtree(model.parent)
        return {
            "kills": done, "streams": streams, "kills in the middle of the rows": in_between,
            "rows kept across kills": kept, "seconds undisturbed": round(start + learning, 1),
        }  # fmt: skip
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    print(run(chosen.kills, chosen.seed))
    print("no checkpoint was lost, no half file stood under its name, all models equal bit for bit")
