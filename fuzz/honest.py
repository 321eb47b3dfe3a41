"""Fit every estimator on nasty data and compare every number it claims with the exact value.

    python -m fuzz.honest --fits 5000 --seed 1 --only LinearSVM

The judge knows nothing of the library: it computes in rationals (python-flint), and in balls of
500 bits and more where there is an exp or a log. A fit may be refused with one of the documented
errors or end with a status that says that nothing is proved; what it claims must be true, and the
proof must be found again. A false number is printed with the command that makes it again.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from fuzz.exact_certificates import Book
from fuzz.exact_judge import exact
from fuzz.honest_fits import FITS

__all__ = ["attempt", "exact", "run"]

_OURS = (sx.DataError, sx.NotSeparableError, sx.DeviceError)
_HONEST = (ConvergenceWarning, sx.SeparationWarning)
_SLOW = 20.0


def attempt(kind: str, seed: int, number: int) -> tuple[str, int, list[str]]:
    """Make one fit; return how it ended, how many numbers were compared, and what is wrong."""
    rng = np.random.default_rng([seed, number, sorted(FITS).index(kind)])
    book, begun = Book(), time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            FITS[kind](rng, book)
            ended = "fits"
        except Exception as error:  # whatever it is, it is told
            ended = "refused"
            if not is_refusal(error):
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(last.filename).name}:{last.lineno}"
                book.false.append(f"{type(error).__name__} at {place}: {str(error)[:200]}")
    if any(is_leak(w) for w in said):
        ended += ", loud"
    if time.process_time() - begun > _SLOW:
        book.false.append(f"took {time.process_time() - begun:.0f} s of processor time")
    return ended, book.compared, book.false


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


def run(fits: int, seed: int, only: Any = None, first: int = 0, say: Any = print) -> Counter[Any]:
    """Make so many fits, shared out over the kinds; return the counts by kind and ending."""
    told: Counter[Any] = Counter()
    kinds = list(only or FITS)
    for kind in kinds:
        begun = time.process_time()
        for number in range(first, first + max(1, fits // len(kinds))):
            ended, compared, false = attempt(kind, seed, number)
            told[kind, ended.removesuffix(", loud")] += 1
            told[kind, "loud"] += ended.endswith("loud")
            told[kind, "numbers"] += compared
            told[kind, "false"] += bool(false)
            for text in false:
                again = (
                    f"python -m fuzz.honest --only {kind} --seed {seed} --first {number} --fits 1"
                )
                say(f"FALSE {kind}: {text}\n      {again}", flush=True)
        seconds = time.process_time() - begun
        say(
            f"{kind:24} {told[kind, 'fits']:7,} fits {told[kind, 'refused']:7,} refused "
            f"{told[kind, 'numbers']:9,} numbers {told[kind, 'false']:5,} false "
            f"{told[kind, 'loud']:4,} loud {seconds:6.0f} s",
            flush=True,
        )
    return told


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--fits", type=int, default=5_000, help="over all kinds together")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--first", type=int, default=0, help="number of the first fit")
    ask.add_argument("--only", nargs="+", choices=list(FITS))
    given = ask.parse_args()
    told = run(given.fits, given.seed, given.only, given.first)
    return int(any(count for (_, what), count in told.items() if what == "false"))


if __name__ == "__main__":
    sys.exit(main())
