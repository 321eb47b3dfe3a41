"""kill -9 at random moments of a save, a path, a study and a stream: nothing half under a name.

    python -m fuzz.kills --kills 500

Each command runs in a forked child of a process that has run it once, so that a kill costs what
the work itself does, and is killed after a random part of the time it takes. Then: every file under
its final name is whole (the old one or the new one), and after the next run that is let finish
there are no leftovers, and its files are what an undisturbed run writes; a stream's model is that
of an undisturbed one to the byte. Killing a study and a stream in processes of their own, with
every finished fold and row counted, is ``benchmarks.study_kills`` and ``benchmarks.stream_kills``.
A further command is one more line in ``COMMANDS``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.data.sources.line_feed import LineFeed
from separatrix.storage.model_file import read_model

__all__ = ["COMMANDS", "run"]

ROWS = 120
STREAMED = 40  # copies of the lines in the stream


def make_data(path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 6))
    y = X[:, 0] + rng.normal(size=ROWS) > 0
    lines = [",".join([*(f"c{k}" for k in range(6)), "label"])]
    lines += [",".join([*map(str, row), str(int(label))]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    path.with_name("lines.csv").write_text("\n".join(lines[:1] + lines[1:] * STREAMED) + "\n")


def command_line(*words: str) -> None:
    from separatrix.cli.main import main

    sys.argv = ["separatrix", *words]
    with contextlib.suppress(SystemExit):
        main()


def save(folder: Path) -> None:
    """Save two models in turns under one name, large enough to be caught in the middle."""
    for model, about in large_models():
        sx.save(model, folder / "out" / "model.sx", about=about)


@cache
def large_models() -> list[tuple[Any, dict[str, str]]]:
    """Return two models, made once and before any fork."""
    rng = np.random.default_rng(1)
    return [
        (sx.LinearSVM().fit([[0.0], [2.0 + k]], [0, 1]), {"filler": rng.bytes(400_000).hex()})
        for k in range(2)
    ]


def path_over_C(folder: Path) -> None:
    out = str(folder / "out" / "path.csv")
    command_line("path", str(folder / "data.csv"), "-t", "label", "--Cs", "4", "-v", "3", "-o", out)


def study(folder: Path) -> None:
    command_line(
        "study", str(folder / "data.csv"), "-t", "label", "--Cs", "3", "--folds", "3",
        "--no-times", "-o", str(folder / "out"),
    )  # fmt: skip


def stream(folder: Path) -> None:
    """Learn line by line in small chunks, and write the model after each.

    The model names its file: so by the same words, wherever the folder is.
    """
    from separatrix.data.sources import line_feed

    line_feed.LineFeed = partial(LineFeed, size=1 << 13)  # type: ignore[misc]
    with contextlib.chdir(folder):
        command_line(
            "stream", "lines.csv", "-t", "label", "--kind", "csv", "-q", "--checkpoint", "0",
            "-m", "out/model.sx",
        )  # fmt: skip
    line_feed.LineFeed = LineFeed  # type: ignore[misc]


def whole_model(path: Path) -> None:
    read_model(path)


def whole_text(path: Path) -> None:
    contents = path.read_bytes()
    last = b"</html>" if path.suffix == ".html" else b"\n"
    assert contents.endswith((last, last + b"\n")), path


# name -> what runs in the child
COMMANDS: dict[str, Callable[[Path], None]] = {
    "save": save,
    "path": path_over_C,
    "study": study,
    "stream": stream,
}
SAME_BYTES = ("stream",)  # whose files are the same to the byte, however often it was killed


def in_a_child(work: Callable[[Path], None], folder: Path) -> int:
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            work(folder)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return child


def finals(folder: Path) -> dict[str, Path]:
    """Return the files that stand under a final name."""
    out = folder / "out"
    return {
        str(path.relative_to(out)): path
        for path in out.rglob("*")
        if path.is_file() and ".work" not in path.parts and not path.name.endswith(".part")
        and path.parent.name != "seals"
    }  # fmt: skip


def require_whole(folder: Path) -> None:
    for path in finals(folder).values():
        (whole_model if path.suffix == ".sx" else whole_text)(path)


def leftovers(folder: Path) -> list[str]:
    return [str(path) for path in (folder / "out").rglob("*") if ".part" in path.name]


def disturb(name: str, kills: int, rng: Any) -> dict[str, Any]:
    """Kill a command so many times; return what was seen."""
    place = Path(tempfile.mkdtemp(prefix="kills_"))
    work = COMMANDS[name]
    large_models()
    try:
        calm = place / "calm"
        (calm / "out").mkdir(parents=True)
        make_data(calm / "data.csv")
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            work(calm)  # imports and compiles, once for all children
        for _ in range(2):
            shutil.rmtree(calm / "out")
            (calm / "out").mkdir()
            begun = time.perf_counter()
            status = os.waitpid(in_a_child(work, calm), 0)[1]
            assert status == 0, f"{name} fails undisturbed"
            seconds = time.perf_counter() - begun
        wanted = set(finals(calm))
        contents = {each: path.read_bytes() for each, path in finals(calm).items()}
        folder = place / "disturbed"
        done, finished, halves = 0, 0, 0
        while done < kills:
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "out").mkdir(parents=True)
            make_data(folder / "data.csv")
            for _ in range(5):
                child = in_a_child(work, folder)
                time.sleep(float(rng.uniform(0.0, 1.1 * seconds)))
                ended, _ = os.waitpid(child, os.WNOHANG)
                if not ended:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    done += 1
                halves += bool(leftovers(folder))
                require_whole(folder)
            assert os.waitpid(in_a_child(work, folder), 0)[1] == 0, "the next run fails"
            require_whole(folder)
            finished += 1
            assert not leftovers(folder), leftovers(folder)
            assert set(finals(folder)) == wanted, (finals(folder), wanted)
            if name in SAME_BYTES:
                found = {each: path.read_bytes() for each, path in finals(folder).items()}
                assert found == contents, "other bytes than those of an undisturbed run"
        return {"kills": done, "with a half file aside": halves, "runs let finish": finished,
                "seconds undisturbed": round(seconds, 2)}  # fmt: skip
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run(kills: dict[str, int], seed: int = 0, say: Any = print) -> dict[str, dict[str, Any]]:
    """Kill each command so many times."""
    rng = np.random.default_rng(seed)
    told = {}
    for name, count in kills.items():
        told[name] = disturb(name, count, rng)
        say(f"{name}: {told[name]}; every file whole, no leftovers", flush=True)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    print(f"separatrix {sx.__version__}, {time.strftime('%Y-%m-%d')}, seed {told.seed}")
    run(dict.fromkeys(COMMANDS, -(-told.kills // len(COMMANDS))), told.seed)


if __name__ == "__main__":
    main()
