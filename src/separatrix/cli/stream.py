"""``separatrix stream -m model.sx DATA``: learn line by line, and know how well, as lines come."""

from __future__ import annotations

import json
import os
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from separatrix.cli import _reading as reading
from separatrix.cli._fitting import cost_of
from separatrix.cli._output import say

if TYPE_CHECKING:
    from separatrix.data.sources.line_feed import Place
    from separatrix.storage.stream_checkpoint import Checkpoint

_FIRST_REPORT = 1000


class Loss(StrEnum):
    """What a row that falls short costs."""

    HINGE = "hinge"
    SQUARED_HINGE = "squared_hinge"
    LOGISTIC = "logistic"
    PERCEPTRON = "perceptron"


@reading.with_source("no_header", "encoding", after="zero_based")
def stream(
    source: reading.Source,
    model: Annotated[
        Path, typer.Option("--model", "-m", help="The model file: created, or resumed.")
    ],
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Files, one after another; '-' (the default) is standard input."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="What lines are: libsvm, csv, text (label, tab, text), json or arff."),
    ] = None,
    target: reading.Target = None,
    classes: Annotated[
        str | None,
        typer.Option(help="All classes that may come, as a,b,c. Default: those of the first rows."),
    ] = None,
    loss: Annotated[Loss, typer.Option(help="The loss.")] = Loss.LOGISTIC,
    cost: Annotated[
        str, typer.Option("--cost", "--C", "-c", help="C: what a row costs; inf: no penalty.")
    ] = "inf",
    average: Annotated[
        bool, typer.Option("--average", help="Keep the mean of the weights, not the last ones.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="At the end of the files, wait for more.")
    ] = False,
    window: Annotated[int, typer.Option(help="How many rows are recent.")] = 1000,
    every: Annotated[
        int | None,
        typer.Option(help="Report every so many rows. Default: at 1000, 2000, 4000, ... rows."),
    ] = None,
    checkpoint: Annotated[
        float, typer.Option(help="Write the model every so many seconds.")
    ] = 10.0,
    skip_bad: Annotated[
        int, typer.Option("--skip-bad", help="Leave out up to so many bad lines.")
    ] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew, whatever the model file holds.")
    ] = False,
    bits: Annotated[int, typer.Option(help="Texts: words are hashed to 2^bits features.")] = 18,
    ngrams: Annotated[int, typer.Option(help="Texts: up to so many words together.")] = 1,
    zero_based: Annotated[
        bool, typer.Option("--zero-based", help="LIBSVM: features are counted from 0.")
    ] = False,
    max_features: Annotated[
        int, typer.Option("--max-features", help="The most features; each takes 64 bytes.")
    ] = 1 << 22,
    quiet: reading.Quiet = False,
    as_json: reading.AsJson = False,
) -> None:
    """Learn from lines as they come; every row is predicted first, so the error shown is honest."""
    from separatrix.cli._stream_run import Plan, StreamRun
    from separatrix.data.sources.line_feed import LineFeed

    _require_sensible(kind, window, every, checkpoint, skip_bad, bits, ngrams)
    state, places = _resumed(model, source.data or ["-"], fresh, max_features)
    teller = Teller(quiet, as_json, every)
    declared = None if classes is None else [name.strip() for name in classes.split(",")]
    if state is not None:
        teller.resumed(state)
        if declared is not None:
            _declare(state, declared)
    plan = Plan(
        reading={
            "kind": kind,
            "target": target,
            "no_header": source.no_header,
            "zero_based": zero_based,
            "characters": source.encoding,
            "bits": bits,
            "ngrams": ngrams,
        },
        machine={"loss": loss.value, "C": cost_of(cost, "."), "average": average},
        declared=declared,
        max_features=max_features,
        skip_bad=skip_bad,
        seconds=checkpoint,
        window=window,
    )
    StreamRun(model, state, LineFeed(places, follow), teller, plan).go()


def _require_sensible(
    kind: str | None,
    window: int,
    every: int | None,
    checkpoint: float,
    skip_bad: int,
    bits: int,
    ngrams: int,
) -> None:
    if kind not in (None, "libsvm", "csv", "text", "json", "arff"):
        raise typer.BadParameter(
            f"--kind must be libsvm, csv, text, json or arff. Got {kind!r} instead."
        )
    if window < 1 or (every is not None and every < 1):
        raise typer.BadParameter("--window and --every must be 1 or more.")
    if checkpoint < 0 or skip_bad < 0:
        raise typer.BadParameter("--checkpoint and --skip-bad must be 0 or more.")
    if not 1 <= bits <= 30 or not 1 <= ngrams <= 9:
        raise typer.BadParameter("--bits must be from 1 to 30, and --ngrams from 1 to 9.")


def _resumed(
    model: Path, paths: list[str], fresh: bool, max_features: int
) -> tuple[Checkpoint | None, list[Place]]:
    """Return what the model file holds, and where its reading of the files goes on."""
    from separatrix.data.sources.line_feed import Place
    from separatrix.storage.stream_checkpoint import read_checkpoint

    state = None if fresh or not model.exists() else read_checkpoint(model, max_features)
    known = {} if state is None else {place.path: place for place in state.places}
    places = [known.get(path) or Place(path) for path in paths]
    for place in places:
        if os.path.exists(place.path):
            place.require_unchanged()
    if state is not None:
        state.places = places
    return state, places


def _declare(state: Checkpoint, declared: list[str]) -> None:
    from separatrix.data.encodings.labels import tidy_labels

    labels = tidy_labels(declared)
    if (labels.dtype.kind == "U") != (state.learner.classes.dtype.kind == "U"):
        names = ", ".join(str(name) for name in state.learner.classes.tolist()[:8])
        raise typer.BadParameter(f"--classes are not of the kind of the model's: {names}.")
    state.learner.declare(labels)


class Teller:
    """Prints what a run has come to: lines for people, or one JSON object a line."""

    def __init__(self, quiet: bool, as_json: bool, every: int | None) -> None:
        self.quiet, self.as_json, self.every = quiet, as_json, every
        self.begun = time.monotonic()
        self.gone = False  # whether nobody reads any more

    def _print(self, line: str) -> None:
        """Print a line; where the reader has gone, remember it: rows are being counted now."""
        if self.gone:
            return
        try:
            say(line)
        except BrokenPipeError:
            self.gone = True

    def next_report(self, rows: int) -> int:
        """Return after which row the next report is due."""
        if self.every is not None:
            return (rows // self.every + 1) * self.every
        due = _FIRST_REPORT
        while due <= rows:
            due *= 2
        return due

    def say(self, sentence: str) -> None:
        """Say a sentence beside the report."""
        if not self.quiet:
            say(sentence, err=True)

    def resumed(self, state: Checkpoint) -> None:
        """Say where reading resumes."""
        for place in state.places:
            if place.offset:
                where = "standard input" if place.path == "-" else place.path
                self.say(
                    f"Resuming in {where} after line {place.lines:,} (byte {place.offset:,})"
                    + (f": feed it line {place.lines + 1:,} on." if place.path == "-" else ".")
                )

    def report(self, state: Checkpoint, event: str = "rows") -> None:
        """Tell the error so far, and of the recent rows."""
        if self.quiet:
            return
        progress = state.progress
        recent = len(progress.recent)
        if self.as_json:
            facts = {
                "event": event,
                "rows": progress.rows,
                "errors": progress.errors,
                "error": progress.error,
                "recent_rows": recent,
                "recent_error": progress.recent_error,
                "features": state.width,
                "seconds": round(time.monotonic() - self.begun, 3),
            }
            self._print(json.dumps(facts))
            return
        self._print(
            f"{progress.rows:>12,} rows  error {100 * progress.error:6.2f} %  "
            f"last {recent:,}: {100 * progress.recent_error:6.2f} %"
        )

    def drift(self, state: Checkpoint, row: int) -> None:
        """Tell that the error has gone up."""
        if self.quiet:
            return
        progress = state.progress
        if self.as_json:
            facts = {"event": "drift", "row": row, "test": "Page-Hinkley"}
            facts |= {"error": progress.error, "recent_error": progress.recent_error}
            self._print(json.dumps(facts))
            return
        self._print(
            f"{row:>12,} drift: the error has gone up (Page-Hinkley); last {len(progress.recent):,}"
            f": {100 * progress.recent_error:.2f} %, all: {100 * progress.error:.2f} %"
        )
