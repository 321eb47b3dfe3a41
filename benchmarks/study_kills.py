"""kill -9 at random moments of a study: no finished fold is lost, no half file is left.

    python -m benchmarks.study_kills --kills 50

A study of made-up rows is started, killed after a random time, looked at, and started again, until
it finishes; then the next one. Looked at means: every finished fold of before is there and whole,
every file under its final name is whole, and in the end all files equal, byte for byte, those of a
study that was never disturbed.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from separatrix.report.facts import Facts
from separatrix.report.study import OUTPUTS
from separatrix.storage.model_file import read_model, unseal

LAST = "study.json"


def make_data(path: Path, rows: int = 1200, columns: int = 24, seed: int = 0) -> None:
    """Write two overlapping clouds, so that the path has something to choose."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = X @ rng.normal(size=columns) + 2.0 * rng.normal(size=rows) > 0
    names = [f"x{k}" for k in range(columns)]
    lines = [",".join([*names, "label"])]
    lines += [
        ",".join([*(f"{value:.6g}" for value in row), "yes" if label else "no"])
        for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def command(data: Path, folder: Path, folds: int, costs: int) -> list[str]:
    return [
        sys.executable, "-m", "separatrix", "study", str(data), "--target", "label",
        "--folds", str(folds), "--Cs", str(costs), "--no-times", "-o", folder.name,
    ]  # fmt: skip


def finished_folds(folder: Path) -> dict[str, str]:
    """Return the finished folds by name and digest; one that is not whole is an error."""
    found = {}
    for path in sorted(folder.glob(".work/*/cell_*")):
        if path.suffix == ".part":
            continue
        contents = path.read_bytes()
        unseal(b"SXCELL_1", contents)
        found[path.name] = hashlib.sha256(contents).hexdigest()
    return found


def require_whole(folder: Path) -> None:
    """Read every file that stands under its final name."""
    for name in OUTPUTS:
        path = folder / name
        if not path.exists():
            continue
        if name == "model.sx":
            read_model(path)
        elif name == LAST:
            Facts.from_json(path.read_text())
        else:
            assert path.stat().st_size > 0, name
            if name == "report.html":
                assert path.read_text().rstrip().endswith("</html>"), name


def leftovers(folder: Path) -> list[str]:
    kept = {*OUTPUTS, ".work", "seals"}
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.name not in kept and path.parent.name != "seals"
    ]


def disturb(data: Path, folder: Path, rng, folds: int, costs: int, longest: float) -> tuple:
    """Start, kill after a random time, look: did it finish, folds before, folds after."""
    before = finished_folds(folder)
    process = subprocess.Popen(
        command(data, folder, folds, costs),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder.parent,
    )
    moment = rng.uniform(0.0, longest)
    try:
        _, said = process.communicate(timeout=moment)
        finished = True
        assert process.returncode == 0, said.decode()
        told = re.search(rb"Went on from (\d+) finished folds", said)
        assert int(told.group(1) if told else 0) == len(before), (said, len(before))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        finished = False
    require_whole(folder)
    after = finished_folds(folder)
    if not finished and not (folder / LAST).exists():
        lost = {name for name, digest in before.items() if after.get(name) != digest}
        assert not lost, f"lost {lost}"
    return finished, len(before), len(after)


def run(
    kills: int, seed: int = 0, folds: int = 6, costs: int = 12, rows: int = 5000, say=print
) -> dict:
    rng = np.random.default_rng(seed)
    place = Path(tempfile.mkdtemp(prefix="study_kills_"))
    try:
        # The report names its folder: all are called the same, each in a place of its own.
        data, calm = place / "data.csv", place / "calm" / "study"
        make_data(data, rows)
        calm.parent.mkdir()
        begun = time.perf_counter()
        subprocess.run(
            command(data, calm, folds, costs), check=True, capture_output=True, cwd=calm.parent
        )
        calm_seconds = time.perf_counter() - begun
        wanted = {name: (calm / name).read_bytes() for name in OUTPUTS}
        done, studies, in_path, kept = 0, 0, 0, 0
        while done < kills:
            folder = place / str(studies) / "study"
            folder.parent.mkdir()
            finished = False
            while not finished:
                longest = 1.1 * calm_seconds if done < kills else 1e4
                finished, before, after = disturb(data, folder, rng, folds, costs, longest)
                if not finished:
                    done += 1
                    in_path += after > 0
                    kept += after - before if after > before else 0
                    say(f"kill {done}: {before} folds before, {after} after", flush=True)
            for name, contents in wanted.items():
                assert (folder / name).read_bytes() == contents, f"{name} differs"
            assert not leftovers(folder), leftovers(folder)
            studies += 1
        return {
            "kills": done, "studies": studies, "kills with folds on disk": in_path,
            "folds kept across kills": kept, "seconds undisturbed": round(calm_seconds, 1),
        }  # fmt: skip
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    print(run(chosen.kills, chosen.seed))
    print("no finished fold was lost, no half file left, all final files equal byte for byte")
