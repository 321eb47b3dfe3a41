"""The verdict on separability, within a time: large data are judged by a process that can be ended.

Where the time is over, a seeded sample is judged instead. Rows of it that no hyperplane separates
are a proof for the whole set too; which kind of overlap it is stays open, and is said to be.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import threading
import time
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.core.verdict import Verdict, Witness, separability_of
from separatrix.report import facts as f
from separatrix.report.evaluation import Excerpts

__all__ = ["joined_verdicts", "verdict_facts", "verdict_within"]

_QUICK_ENTRIES = 3_000_000
_SAMPLE = 4000
_WITNESS_ROWS = 8
_WORST_FIRST = ("overlapping", "undecided", "quasi-separable", "separable")


def verdict_within(X: Any, y: Any, seconds: float, problems: int = 1) -> Verdict:
    """Return the verdict on two classes; past the time, what a sample proves.

    `problems` is how many such verdicts there are to be in all.
    """
    entries = problems * (X.nnz if sparse.issparse(X) else X.size)
    if entries <= _QUICK_ENTRIES:
        verdict = separability_of(X, y)
    else:
        text = _judged_apart(X, y, seconds)
        verdict = _of_sample(X, y) if text is None else Verdict.from_json(text)
    if problems > 1 or (X.shape[1] > 1 and entries > _QUICK_ENTRIES):
        # Where coefficients run takes longer than the verdict itself. It is left out for many
        # entries, and for several classes, of which the report shows no regression.
        verdict.infinite = None
    return verdict


def _judged_apart(X: Any, y: Any, seconds: float) -> str | None:
    """Judge in a process of its own; None if the time was over first."""
    if seconds <= 0.0:
        return None
    import multiprocessing  # slow to load, and needed for large data alone

    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_judge, args=(sender, X, y, os.getpid()), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return None
        return str(receiver.recv())
    except EOFError:  # it died: of memory, most likely
        return None
    finally:
        process.kill()
        process.join()
        receiver.close()


def _judge(sender: Any, X: Any, y: Any, parent: int) -> None:
    """What the process does: judge, send, and end early if nobody waits any more."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    verdict = separability_of(X, y)
    verdict.infinite = None
    sender.send(verdict.to_json())


def _of_sample(X: Any, y: Any) -> Verdict:
    rows = np.sort(np.random.default_rng(0).choice(len(y), min(_SAMPLE, len(y)), replace=False))
    found = separability_of(X[rows], y[rows])
    witness = None
    if found.witness is not None:
        witness = Witness(
            tuple(int(rows[row]) for row in found.witness.rows), found.witness.multipliers
        )
    return Verdict(
        "undecided",
        witness=witness,
        bound=0.0,
        classes=tuple(str(name) for name in np.unique(y)),
        n_rows=len(y),
        note="The search for more was ended when its time was over.",
    )


# ---- what is reported


def verdict_facts(
    verdict: Any, rows: np.ndarray, labels: np.ndarray, excerpts: Excerpts, checked: bool | None
) -> f.Verdict:
    """Tell a verdict on training rows by their numbers in the table."""
    witness = verdict.witness
    listed: list[f.WitnessRow] = []
    sentence = str(verdict) if checked is False else verdict.in_words()
    if witness is not None:
        numbers = tuple(int(rows[row]) for row in witness.rows)
        sentence = sentence.replace(str(witness), str(type(witness)(numbers, witness.multipliers)))
        for row, multiplier in list(zip(numbers, witness.multipliers, strict=True))[:_WITNESS_ROWS]:
            listed.append(f.WitnessRow(row, _short(multiplier), str(labels[row]), excerpts.of(row)))
    proof = verdict.certificate
    return f.Verdict(
        kind=verdict.kind,
        sentence=sentence,
        margin=verdict.margin,
        witness=tuple(listed),
        witness_rows=0 if witness is None else len(witness.rows),
        checked=checked,
        certificate="" if proof is None else digest(proof.to_json()),
    )


def _short(number: int) -> str:
    """Return a multiplier that can be read; "" of a longer one, which the certificate holds."""
    text = str(number) if number.bit_length() <= 64 else ""
    return text if len(text) <= 12 else ""


def joined_verdicts(each: list[f.Verdict]) -> f.Verdict:
    """Tell the verdicts of all classes, each against all others, as one; of two there is one."""
    if len(each) == 1:
        return dataclasses.replace(each[0], name="")
    kinds = [one.kind for one in each]
    alone = [one.name for one in each if one.kind == "separable"]
    worst = next(kind for kind in _WORST_FIRST if kind in kinds)
    sentence = f"{len(alone)} of {len(each)} classes can be separated from all others"
    sentence += f": {', '.join(alone)}." if alone else "."
    return f.Verdict(kind=worst, sentence=sentence, each=tuple(each))


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
