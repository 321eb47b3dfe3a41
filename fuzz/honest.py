"""Fit every estimator on nasty data and compare every number it claims with the exact value.

    python -m fuzz.honest --fits 5000 --seed 1 --only LinearSVM

The judge knows nothing of the library: it computes in rationals (python-flint), and in balls of
500 bits and more where there is an exp or a log. A fit may be refused with one of the documented
errors or end with a status that says that nothing is proved; what it claims must be true, and the
proof must be found again. A false number is printed with the command that makes it again.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from fuzz.exact_certificates import Book
from fuzz.exact_judge import exact
from fuzz.honest_fits import FITS, PLACES
from fuzz.workers import Followed, interleaved, pool_of

__all__ = ["attempt", "exact", "run"]

_OURS = (sx.DataError, sx.NotSeparableError, sx.DeviceError)
_HONEST = (ConvergenceWarning, sx.SeparationWarning)
_SLOW = 20.0
_ENDLESS = 300  # seconds, the judge's included
_CHUNK = 50


def attempt(kind: str, seed: int, number: int) -> tuple[str, int, list[str]]:
    """Make one fit; return how it ended, how many numbers were compared, and what is wrong."""
    rng = np.random.default_rng([seed, number, PLACES[kind]])
    book = Book()
    with warnings.catch_warnings(record=True) as said, _fits_timed() as spent, _ended():
        warnings.simplefilter("always")
        try:
            FITS[kind](rng, book)
            ended = "fits"
        except Exception as error:  # whatever it is, it is reported
            ended = "refused"
            if not is_refusal(error):
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(last.filename).name}:{last.lineno}"
                book.false.append(f"{type(error).__name__} at {place}: {str(error)[:200]}")
    if any(is_leak(w) for w in said):
        ended += ", loud"
    if max(spent, default=0.0) > _SLOW:
        book.false.append(f"a fit took {max(spent):.0f} s of processor time")
    return ended, book.compared, book.false


@contextmanager
def _fits_timed() -> Iterator[list[float]]:
    """Note the processor time of every fit and verdict; the judge may take as long as it needs."""
    spent: list[float] = []

    def timed(work: Any) -> Any:
        @wraps(work)
        def inner(*args: Any, **options: Any) -> Any:
            begun = time.process_time()
            try:
                return work(*args, **options)
            finally:
                spent.append(time.process_time() - begun)

        return inner

    public = (getattr(sx, name) for name in sx.__all__)
    places = [(sx, "separability"), *((each, "fit") for each in public if hasattr(each, "fit"))]
    with ExitStack() as undone:
        for owner, name in places:
            undone.enter_context(patch.object(owner, name, timed(getattr(owner, name))))
        yield spent


@contextmanager
def _ended() -> Iterator[None]:
    """Raise an error in what goes on for too long, where Python is asked now and then."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"it went on for {_ENDLESS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_ENDLESS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_refusal(error: Exception) -> bool:
    """Whether it is one of the documented errors: of this library's types, or raised by it."""
    if isinstance(error, _OURS):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = "/separatrix/" in last.filename or "/sklearn/utils/" in last.filename
    return ours and type(error) is ValueError


def is_leak(warning: Any) -> bool:
    if issubclass(warning.category, _HONEST) or "/separatrix/" not in str(warning.filename):
        return issubclass(warning.category, RuntimeWarning)
    return issubclass(warning.category, RuntimeWarning | DeprecationWarning)


def run(
    fits: int, seed: int, only: Any = None, first: int = 0, workers: int = 1, say: Any = print
) -> Counter[Any]:
    """Make so many fits, shared out over the kinds; return the counts by kind and ending."""
    counted: Counter[Any] = Counter()
    kinds = list(only or FITS)
    each = max(1, fits // len(kinds))
    tasks = interleaved(
        [
            [
                (kind, seed, begin, min(_CHUNK, first + each - begin))
                for begin in range(first, first + each, _CHUNK)
            ]
            for kind in kinds
        ]
    )
    left = Counter(task[0] for task in tasks)
    with pool_of(workers) as pool, Followed(each * len(kinds)) as followed:
        for (kind, *_), (counts, words) in zip(tasks, pool.map(_some, tasks), strict=True):
            counted.update({(kind, name): count for name, count in counts.items()})
            for text in words:
                say(text, flush=True)
            left[kind] -= 1
            followed.add(kind, counts["fits"] + counts["refused"], counts["false"])
            if not left[kind]:
                say(_line(kind, counted), flush=True)
    return counted


def _some(task: tuple[str, int, int, int]) -> tuple[Counter[str], list[str]]:
    """Make the fits of one task; return the counts, and what is to be printed."""
    kind, seed, first, count = task
    counts: Counter[str] = Counter()
    words, begun = [], time.process_time()
    for number in range(first, first + count):
        ended, compared, false = attempt(kind, seed, number)
        counts[ended.removesuffix(", loud")] += 1
        counts["loud"] += ended.endswith("loud")
        counts["numbers"] += compared
        counts["false"] += bool(false)
        again = f"python -m fuzz.honest --only {kind} --seed {seed} --first {number} --fits 1"
        words += [f"FALSE {kind}: {text}\n      {again}" for text in false]
    counts["milliseconds"] = round(1000 * (time.process_time() - begun))
    return counts, words


def _line(kind: str, counted: Counter[Any]) -> str:
    seconds = max(counted[kind, "milliseconds"], 1) / 1000
    made = counted[kind, "fits"] + counted[kind, "refused"]
    return (
        f"{kind:24} {counted[kind, 'fits']:7,} fits {counted[kind, 'refused']:7,} refused "
        f"{counted[kind, 'numbers']:9,} numbers {counted[kind, 'false']:5,} false "
        f"{counted[kind, 'loud']:4,} loud {seconds:6.0f} s {made / seconds:6.1f} a second"
    )


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--fits", type=int, default=5_000, help="over all kinds together")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--first", type=int, default=0, help="number of the first fit")
    ask.add_argument("--only", nargs="+", choices=list(FITS))
    ask.add_argument("--workers", type=int, default=1, help="processes")
    given = ask.parse_args()
    counted = run(given.fits, given.seed, given.only, given.first, given.workers)
    whole = {name: sum(v for (_, n), v in counted.items() if n == name) for _, name in counted}
    made = whole.get("fits", 0) + whole.get("refused", 0)
    print(
        f"{made:,} fits ({whole.get('refused', 0):,} refused), {whole['numbers']:,} numbers, "
        f"{whole['false']} fits with a false one, {whole['loud']} with a warning of NumPy's"
    )
    return int(whole["false"] > 0)


if __name__ == "__main__":
    sys.exit(main())
