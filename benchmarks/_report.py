"""What every benchmark prints first, and how it measures."""

import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def header(title: str, packages: list[str]) -> None:
    """Name the machine and the versions, so that figures can be compared later."""
    print(f"# {title}\n")
    processor = platform.processor() or platform.machine()
    try:
        listing = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
        names = [line for line in listing.splitlines() if line.startswith("Model name")]
        processor = names[0].split(":", 1)[1].strip() if names else processor
    except (OSError, subprocess.CalledProcessError):
        pass
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(
        f"{platform.system()} {platform.machine()}, {processor}; Python {platform.python_version()}"
    )
    print(f"{versions}; {time.strftime('%Y-%m-%d')}\n")


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of a piece of work, after one run that is not counted."""
    work()
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def bandwidth() -> float:
    """Return the bytes per second that one core reads from memory, by a sum over 400 MB."""
    block = np.ones(50_000_000)
    return block.nbytes / seconds(block.sum)
