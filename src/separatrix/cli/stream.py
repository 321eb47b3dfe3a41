"""``separatrix stream -m model.sx DATA``: learn line by line, and know how well, as lines come."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from separatrix.cli import _reading as reading

if TYPE_CHECKING:
    from separatrix.storage.stream_checkpoint import Checkpoint


class Loss(StrEnum):
    """What a row that falls short costs."""

    HINGE = "hinge"
    SQUARED_HINGE = "squared_hinge"
    LOGISTIC = "logistic"
    PERCEPTRON = "perceptron"


def stream(
    model: Annotated[Path, typer.Option("--model", "-m", help="The model file: made, or gone on.")],
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Files, one after another; '-' (the default) is standard input."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="What lines are: libsvm, csv or text (label, tab, text).")
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
    no_header: reading.NoHeader = False,
    encoding: reading.Encoding = None,
    max_features: Annotated[
        int, typer.Option("--max-features", help="The most features; each takes 64 bytes.")
    ] = 1 << 22,
    quiet: Annotated[bool, typer.Option("-q", help="Print nothing but errors.")] = False,
    as_json: reading.AsJson = False,
) -> None:
    """Learn from lines as they come; every row is predicted first, so the error shown is honest."""
    from separatrix.cli._stream_run import StreamRun
    from separatrix.cli._stream_telling import Teller
    from separatrix.data.sources.line_feed import LineFeed, Place

    _require_sensible(kind, window, every, checkpoint, skip_bad, bits, ngrams)
    paths = data or ["-"]
    state = None if fresh or not model.exists() else _resumed(model, max_features)
    known = {} if state is None else {place.path: place for place in state.places}
    places = [known.get(path) or Place(path) for path in paths]
    for place in places:
        if os.path.exists(place.path):
            place.require_unchanged()
    teller = Teller(quiet, as_json, every)
    declared = None if classes is None else [name.strip() for name in classes.split(",")]
    if state is not None:
        state.places = places
        teller.resumed(state)
        if declared is not None:
            _declare(state, declared)
    run = StreamRun(model, state, LineFeed(places, follow), teller, skip_bad, checkpoint, window)
    run.settings = {
        "kind": kind, "target": target, "no_header": no_header, "zero_based": zero_based,
        "characters": encoding, "bits": bits, "ngrams": ngrams,
    }  # fmt: skip
    run.machine = {"loss": loss.value, "C": _cost(cost), "average": average}
    run.declared = declared
    run.max_features = max_features
    run.go()


def _require_sensible(
    kind: str | None,
    window: int,
    every: int | None,
    checkpoint: float,
    skip_bad: int,
    bits: int,
    ngrams: int,
) -> None:
    if kind not in (None, "libsvm", "csv", "text"):
        raise typer.BadParameter(f"--kind must be libsvm, csv or text. Got {kind!r} instead.")
    if window < 1 or (every is not None and every < 1):
        raise typer.BadParameter("--window and --every must be 1 or more.")
    if checkpoint < 0 or skip_bad < 0:
        raise typer.BadParameter("--checkpoint and --skip-bad must be 0 or more.")
    if not 1 <= bits <= 30 or not 1 <= ngrams <= 9:
        raise typer.BadParameter("--bits must be from 1 to 30, and --ngrams from 1 to 9.")


def _cost(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise typer.BadParameter(f"--cost must be a number or inf. Got {written!r}.") from None


def _resumed(model: Path, max_features: int) -> Checkpoint:
    from separatrix.storage.stream_checkpoint import read_checkpoint

    return read_checkpoint(model, max_features)


def _declare(state: Checkpoint, declared: list[str]) -> None:
    from separatrix.data.encodings.labels import tidy_labels

    labels = tidy_labels(declared)
    if (labels.dtype.kind == "U") != (state.learner.classes.dtype.kind == "U"):
        names = ", ".join(str(name) for name in state.learner.classes.tolist()[:8])
        raise typer.BadParameter(f"--classes are not of the kind of the model's: {names}.")
    state.learner.declare(labels)
