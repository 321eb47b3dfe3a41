"""Search for claims that are false and accepted; exact rationals and balls are the judge.

    python -m fuzz.adversary --candidates 100000 --workers 2 [--kinds KIND ...] [--seed N]

A candidate is one claim presented to the library. It is made at a point of a small problem: data in
any dtype and sparse layout, scales over hundreds of powers of ten, costs tiny, huge, infinite or
mixed, weights and dual variables from any source. Claims by bounds are computed by the library
without slack, and are false if the exact value is on the other side of a bound. Then a bound is
forged to the nearest float that exact arithmetic refutes; neither `check`, nor a certificate file,
nor the stand-alone checker may accept it. Claims without rounding, of sparse weights (columns that
are zero) and of inference are altered until something accepts one, which must then be true. Model
files are altered and sealed again. The search climbs towards points whose bounds leave the least
room. It prints counts by kind; it exits with 1 where a false claim was accepted.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import separatrix as sx
from fuzz import adversary_inference
from fuzz.adversary_altered import with_one_altered
from fuzz.adversary_exact import EXACT as WITHOUT_ROUNDING
from fuzz.adversary_gaps import GAPS, Presented
from fuzz.adversary_kernels import KERNELS, SEVERAL
from fuzz.adversary_models import Sealed
from fuzz.adversary_points import Point, finite, moved
from fuzz.adversary_scatter import SCATTER
from fuzz.adversary_sparse import SPARSE
from fuzz.adversary_verdicts import VERDICTS
from fuzz.exact_certificates import Book, Facts, least_squares
from fuzz.honest_claims import of_certificate
from fuzz.scatter_claims import nonnegative_squares
from fuzz.workers import Followed, interleaved, pool_of
from separatrix.checker import Refused, check
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.storage.certificate_files import prove_again

__all__ = ["KINDS", "climb", "run"]

BOUNDS = GAPS | SPARSE | KERNELS | SCATTER
EXACT = WITHOUT_ROUNDING | SEVERAL | VERDICTS
KINDS = [
    *GAPS,
    *WITHOUT_ROUNDING,
    "model-files",
    *SPARSE,
    "inference",
    *KERNELS,
    *SCATTER,
    *SEVERAL,
    *VERDICTS,
]
# Slow kinds get fewer candidates, so that none takes much more time than the others.
_SHARE = {
    "softmax": 0.3,
    "fisher": 0.5,
    "partition": 0.5,
    "verdict": 0.1,
    "errors": 0.1,
    "model-files": 0.01,
    "inference": 0.01,
    "sparse-logistic": 0.5,
    "sparse-hinge": 0.5,
    "sparse-softmax": 0.2,
}
_LEAST = 300  # of a kind, in a run of many
_STEPS = 12  # of one climb, or as many more as it gets better
_REFUSALS = (Refused, sx.DataError, ValueError)
_CHUNK = 1_000
_FAR = 1.7e308


# ---- claims by bounds


def false_bounds(kind: Any, shown: Presented) -> Book:
    """Return what is claimed beside what is true."""
    book, proof, given = Book(), shown.proof, shown.given
    if type(proof).__name__ == "LeastSquaresOptimality":
        t, s = shown.beside
        least_squares(book, proof, Facts(given), t[:, None], s)
    elif type(proof).__name__ == "NonNegativeOptimality":
        nonnegative_squares(book, proof, Facts(given), *shown.beside)
    else:
        of_certificate(book, proof, given, given.weights)
    return book


def is_accepted(shown: Presented, false: str) -> bool:
    """Whether `check` accepts the claim, with the bound that is not the false one put far off."""
    proof: Any = shown.proof
    inner = getattr(proof, "inner", proof)
    if hasattr(inner, "dual"):
        far = {"primal": _FAR} if "dual" in false else {"dual": -_FAR}
        if not math.isfinite(inner.primal + inner.dual) or inner.dual > inner.primal:
            inner = replace(inner, **far)
            proof = replace(proof, inner=inner) if hasattr(proof, "inner") else inner
    return checked(proof, shown)


def checked(proof: Any, shown: Presented) -> bool:
    """Whether `check` accepts a claim of the data shown."""
    return bool(proof.check(shown.given.X, *(shown.beside or (shown.given.y,))))


def beside(kind: Any, point: Point, false: str) -> str:
    """Return what is false and accepted at the same point with the other bound out of the way.

    A lower bound needs no weights but some of which the objective is finite; an upper bound needs
    no dual variables.
    """
    left = ("weights", "bias", "biases") if "dual" in false else ("alpha",)
    other = point | {name: np.zeros_like(point[name]) for name in left if name in point}
    shown = kind.claim(finite(other))
    book = false_bounds(kind, shown)
    accepted = any(is_accepted(shown, words) for words in book.false)
    return "; ".join(book.false) if accepted else ""


def forged(kind: Any, proof: Any, book: Book, rng: Any) -> tuple[Any, str]:
    """Return the claim with one bound that is just false, and what was done; None if none is."""
    names = [name for name in kind.forged if _bare(book, name) is not None]
    if not getattr(proof, "is_convex", True):
        names = [name for name in names if name == "violation"]  # which alone is claimed then
    if not names:
        return None, ""
    claim = _bare(book, names[int(rng.integers(len(names)))])
    assert claim is not None
    field, value = claim.name.split(": ")[-1].split(" ")[0], claim.refuted()
    if not math.isfinite(value):
        return None, ""
    if isinstance(getattr(proof, field, None), int):
        value = math.floor(value) + 1 if claim.sense == "<=" else math.ceil(value) - 1
    words = f"accepted: {field} {value!r}, where the exact value is {claim.sense} it"
    if hasattr(proof, "inner"):
        return replace(proof, inner=replace(proof.inner, **{field: value})), words
    return replace(proof, **{field: value}), words


def _bare(book: Book, name: str) -> Any:
    """Return the claim of that name, whatever stands before it."""
    return next((c for n, c in book.claims.items() if n.split(": ")[-1] == name), None)


def tried_bounds(kind: Any, point: Point, rng: Any, counts: Counter[str]) -> tuple[str, float]:
    """Present the claims that a point makes; return what is false in words, and the room left."""
    shown = kind.claim(point)
    book = false_bounds(kind, shown)
    counts["presented"] += 1
    if book.false:
        if any(is_accepted(shown, words) for words in book.false):
            return "; ".join(book.false), -math.inf
        counts["stated"] += 1  # false as computed, and refused by `check`
        for words in book.false:
            if found := beside(kind, point, words):
                return found, -math.inf
    other, words = forged(kind, shown.proof, book, rng)
    if other is not None:
        counts["presented"] += 1
        counts["forged"] += 1
        if checked(other, shown):
            return words, -math.inf
        if rng.random() < 0.1 and hasattr(other, "to_json") and accepted_file(other, shown, counts):
            return f"as a file, {words}", -math.inf
    is_altered = hasattr(kind, "altered") or rng.random() < 0.3
    words = tried_altered(kind, shown, rng, counts) if is_altered else ""
    if words:
        return words, -math.inf
    return "", min((claim.room() for claim in book.claims.values()), default=math.inf)


def tried_altered(kind: Any, shown: Presented, rng: Any, counts: Counter[str]) -> str:
    """Present the claim with one field altered; return what is false of it and was accepted."""
    is_own = hasattr(kind, "altered")
    other = kind.altered(shown, rng) if is_own else with_one_altered(shown.proof, rng)
    counts["presented"] += 1
    accepted = checked(other, shown)
    if not accepted and not shown.beside and rng.random() < 0.2:
        accepted = accepted_file(other, shown, counts)
    if not accepted:
        return ""
    counts["true"] += 1
    book = false_bounds(kind, shown._replace(proof=other))
    bent = not getattr(other, "is_convex", True)  # then no bound on the objective is claimed
    words = "; ".join(words for words in book.false if not (bent and words.startswith("primal")))
    return f"altered and accepted: {words}" if words else ""


def accepted_file(proof: Any, shown: Presented, counts: Counter[str]) -> bool:
    """Whether the certificate, as a file, is accepted by the library or by the checker."""
    whole, given = json.loads(proof.to_json()), shown.given
    counts["presented"] += 2
    counts["files"] += 2
    for judge in (_by_library, _by_checker):
        try:
            judge(whole, given)
        except Refused:
            continue
        return True
    return False


def _by_library(whole: Any, given: Any) -> None:
    prove_again(whole, np.asarray(given.dense), given.y)


def _by_checker(whole: Any, given: Any) -> None:
    data = as_checker_data(problem_from(given.dense, given.y, True))
    check(whole, replace(data, classes=tuple(str(name) for name in np.unique(given.y))))


# ---- claims without rounding


def tried_exact(kind: Any, point: Point, rng: Any, counts: Counter[str]) -> tuple[str, float]:
    shown = kind.claim(point)
    counts["presented"] += 1
    accepted = shown.proof.check(shown.given.X, shown.given.y)
    if not accepted and rng.random() < 0.2 and hasattr(shown.proof, "spoken_of"):
        accepted = accepted_file(shown.proof, shown, counts)
    if accepted:
        counts["true"] += 1
        words = kind.false_if_accepted(shown.proof, shown.given)
        if words:
            return words, -math.inf
    return "", kind.room(shown.proof, shown.given)


# ---- the search


def climb(
    name: str, candidates: int, seed: Any, say: Any = print, until_false: bool = False
) -> Counter[str]:
    """Present so many candidates of a kind, or until a false one is accepted; return the counts."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    if name == "model-files":
        return Sealed().run(candidates, rng, say)
    if name == "inference":
        return adversary_inference.run(candidates, rng, say)
    kind = BOUNDS.get(name) or EXACT[name]
    tried = tried_bounds if name in BOUNDS else tried_exact
    step = moved if name in BOUNDS else kind.moved
    point: Any = None
    best, steps = math.inf, _STEPS
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while counts["presented"] < candidates and not (until_false and counts["false"]):
            fresh = steps >= _STEPS
            if fresh:
                best, steps = math.inf, 0
            here = finite(kind.start(rng)) if fresh else step(point, rng)
            steps += 1
            try:
                words, left = tried(kind, here, rng, counts)
            except _REFUSALS:
                counts["presented"] += 1
                counts["refused"] += 1
                words, left = "", math.inf
            except Exception as error:  # a fault as well: claims are accepted or refused
                counts["presented"] += 1
                words, left = f"{type(error).__name__}: {error}", math.inf
            if words:
                counts["false"] += 1
                say(f"FALSE {name}: {words}\n  {here}", flush=True)
                steps = _STEPS
            elif fresh or left <= best:
                steps = 0 if left < best < math.inf else steps
                point, best = here, left
    return counts


def run(
    candidates: int, kinds: Any = None, seed: int = 0, workers: int = 1, say: Any = print
) -> Counter[Any]:
    """Share the candidates out over kinds and processes; return the counts by kind."""
    shares, tasks = shared_out(candidates, list(kinds or KINDS)), []
    for kind, left in shares.items():
        chunk = max(5, round(_CHUNK * _SHARE.get(kind, 1.0)))
        tasks.append(
            [
                (kind, min(chunk, left - begin), [seed, KINDS.index(kind), part])
                for part, begin in enumerate(range(0, left, chunk))
            ]
        )
    say("shares: " + ", ".join(f"{kind} {count:,}" for kind, count in shares.items()), flush=True)
    totals: Counter[Any] = Counter()
    begun = Counter({kind: len(each) for kind, each in zip(shares, tasks, strict=True)})
    with pool_of(workers) as pool, Followed(sum(shares.values())) as followed:
        every = interleaved(tasks)
        for (kind, *_), (counts, seconds) in zip(every, pool.map(_task, every), strict=True):
            totals.update({(kind, name): count for name, count in counts.items()})
            totals[kind, "seconds"] += seconds
            begun[kind] -= 1
            followed.add(kind, counts["presented"], counts["false"])
            if not begun[kind]:
                say(_line(kind, totals), flush=True)
    return totals


def shared_out(candidates: int, kinds: list[str]) -> dict[str, int]:
    """Return how many candidates each kind gets: slow ones fewer, but some hundreds of many."""
    whole = sum(_SHARE.get(kind, 1.0) for kind in kinds)
    least = min(_LEAST, candidates // (10 * len(kinds)))
    return {
        kind: max(1, least, round(candidates * _SHARE.get(kind, 1.0) / whole)) for kind in kinds
    }


def _task(task: tuple[str, int, list[int]]) -> tuple[Counter[str], float]:
    begun = time.process_time()
    return climb(*task), time.process_time() - begun


def _line(kind: str, totals: Counter[Any]) -> str:
    shown = {name: totals[kind, name] for name in ("presented", "forged", "files", "refused")}
    seconds = max(totals[kind, "seconds"], 1e-9)
    return (
        f"{kind:18} {shown['presented']:9,} candidates {shown['forged']:9,} forged "
        f"{shown['files']:8,} as files {shown['refused']:8,} refused by name "
        f"{totals[kind, 'false']:4,} false {totals[kind, 'stated']:4,} false but refused "
        f"{shown['presented'] / seconds:6.0f} a second"
    )


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--candidates", type=int, default=10_000, help="over all kinds together")
    ask.add_argument("--kinds", nargs="+", choices=KINDS)
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--workers", type=int, default=1)
    given = ask.parse_args()
    totals = run(given.candidates, given.kinds, given.seed, given.workers)
    whole = {name: sum(v for (_, n), v in totals.items() if n == name) for _, name in totals}
    print(f"{whole['presented']:,} candidates, {whole.get('false', 0)} false claims accepted")
    return int(whole.get("false", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
