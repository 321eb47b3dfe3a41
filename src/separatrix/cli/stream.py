"""``separatrix stream -m model.sx DATA``: learn line by line, and know how well, as lines come."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli import _reading as reading

if TYPE_CHECKING:
    import numpy as np

    from separatrix.data.line_feed import Chunk, LineFeed
    from separatrix.data.stream_rows import Batch, Parser
    from separatrix.storage.stream_checkpoint import Checkpoint

_WARM_UP_LINES = 1000
_FIRST_REPORT = 1000


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
    """Learn from lines as they come; every row is predicted first, so the error told is honest."""
    from separatrix.data.line_feed import LineFeed, Place

    _require_sensible(kind, window, every, checkpoint, skip_bad, bits, ngrams)
    paths = data or ["-"]
    state = None if fresh or not model.exists() else _resumed(model, max_features)
    known = {} if state is None else {place.path: place for place in state.places}
    places = [known.get(path) or Place(path) for path in paths]
    for place in places:
        if os.path.exists(place.path):
            place.require_unchanged()
    teller = _Teller(quiet, as_json, every)
    declared = None if classes is None else [name.strip() for name in classes.split(",")]
    if state is not None:
        state.places = places
        teller.resumed(state)
        if declared is not None:
            _declare(state, declared)
    run = _Run(model, state, LineFeed(places, follow), teller, skip_bad, checkpoint, window)
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
    from separatrix.data.labels import tidy_labels

    labels = tidy_labels(declared)
    if (labels.dtype.kind == "U") != (state.learner.classes.dtype.kind == "U"):
        names = ", ".join(str(name) for name in state.learner.classes.tolist()[:8])
        raise typer.BadParameter(f"--classes are not of the kind of the model's: {names}.")
    state.learner.declare(labels)


class _Teller:
    """Prints what a run has come to: lines for people, or one JSON object a line."""

    def __init__(self, quiet: bool, as_json: bool, every: int | None) -> None:
        self.quiet, self.as_json, self.every = quiet, as_json, every
        self.begun = time.monotonic()

    def next_report(self, rows: int) -> int:
        """Return after which row the next report is due."""
        if self.every is not None:
            return (rows // self.every + 1) * self.every
        due = _FIRST_REPORT
        while due <= rows:
            due *= 2
        return due

    def say(self, sentence: str) -> None:
        if not self.quiet:
            typer.echo(sentence, err=True)

    def resumed(self, state: Checkpoint) -> None:
        for place in state.places:
            if place.offset:
                where = "standard input" if place.path == "-" else place.path
                self.say(
                    f"Going on in {where} after line {place.lines:,} (byte {place.offset:,})"
                    + (f": feed it line {place.lines + 1} on." if place.path == "-" else ".")
                )

    def report(self, state: Checkpoint, event: str = "rows") -> None:
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
            typer.echo(json.dumps(facts))
            return
        typer.echo(
            f"{progress.rows:>12,} rows  error {100 * progress.error:6.2f} %  "
            f"last {recent:,}: {100 * progress.recent_error:6.2f} %"
        )

    def drift(self, state: Checkpoint, row: int) -> None:
        if self.quiet:
            return
        progress = state.progress
        if self.as_json:
            facts = {"event": "drift", "row": row, "test": "Page-Hinkley"}
            facts |= {"error": progress.error, "recent_error": progress.recent_error}
            typer.echo(json.dumps(facts))
            return
        typer.echo(
            f"{row:>12,} drift: the error has gone up (Page-Hinkley); last {len(progress.recent):,}"
            f": {100 * progress.recent_error:.2f} %, all: {100 * progress.error:.2f} %"
        )


class _Run:
    """The loop: read, score and learn, count, tell, and now and then write the model."""

    settings: dict[str, Any]
    machine: dict[str, Any]
    declared: list[str] | None
    max_features: int

    def __init__(
        self,
        path: Path,
        state: Checkpoint | None,
        feed: LineFeed,
        teller: _Teller,
        skip_bad: int,
        seconds: float,
        window: int,
    ) -> None:
        self.path, self.feed, self.teller = path, feed, teller
        self.state: Any = state
        self.skip_bad, self.seconds, self.window = skip_bad, seconds, window
        self.skipped, self.waiting, self.stopped = 0, False, False
        self.due, self.saved = time.monotonic() + seconds, -1

    def go(self) -> None:
        """Run to the end of the feed; however it ends, what was learned is on the disk."""
        with self._signals():
            try:
                for chunk in self._chunks():
                    self._digest(chunk)
                    if self.stopped:
                        raise KeyboardInterrupt
                    if time.monotonic() >= self.due:
                        self._save()
            except KeyboardInterrupt:
                self._save()
                self._say_where()
                raise
            except Exception:
                self._save()
                raise
        if self.state is None:
            from separatrix.errors import DataError

            raise DataError("there are no rows", file=self.feed.places[0].path, line=1, column=1)
        self._save()
        self.teller.report(self.state, "end")
        self._say_where()

    # ---- reading

    def _chunks(self) -> Iterator[Chunk]:
        chunks = self._waited_for(iter(self.feed))
        for chunk in chunks:
            if self.state is None and chunk.data:
                chunk, next_file = self._warmed_up(chunk, chunks)
                yield self._begin(chunk)
                if next_file is not None:
                    yield next_file
            else:
                yield chunk

    def _waited_for(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        while True:
            self.waiting = True
            try:
                chunk = next(chunks, None)
            finally:
                self.waiting = False
            if chunk is None:
                return
            yield chunk

    def _warmed_up(self, chunk: Chunk, chunks: Iterator[Chunk]) -> tuple[Chunk, Chunk | None]:
        """Gather the lines on which columns and classes are settled."""
        from dataclasses import replace

        settled = self.declared is not None and self.settings["kind"] in ("libsvm", "text")
        while not settled and chunk.data.count(b"\n") < _WARM_UP_LINES:
            more = next(chunks, None)
            if more is None or not more.data:
                break
            if more.place is not chunk.place:
                return chunk, more
            chunk = replace(chunk, data=chunk.data + more.data)
        return chunk, None

    def _begin(self, chunk: Chunk) -> Chunk:
        """Settle how to read and which classes there are; return the chunk without a header."""
        import numpy as np

        from separatrix.data.labels import tidy_labels
        from separatrix.data.line_feed import passed
        from separatrix.data.stream_rows import parser_for
        from separatrix.estimators.sgd import SGD
        from separatrix.estimators.stream_learner import Progressive, StreamLearner
        from separatrix.storage.stream_checkpoint import Checkpoint

        parser, header = parser_for(chunk, **self.settings)
        chunk = _without(chunk, header)
        sample = None
        if self.declared is None or parser.kind == "csv":
            sample = _readable(parser, _first_lines(chunk, _WARM_UP_LINES))
        if self.declared is not None:
            labels = tidy_labels(self.declared)
        else:
            labels = np.zeros(0) if sample is None else np.unique(sample.labels)
        learner = StreamLearner.fresh(SGD(**self.machine), labels, self.max_features)
        if sample is not None and parser.kind == "csv":
            learner.centre_on(sample.X)
        self.state = Checkpoint(learner, parser, Progressive(self.window), self.feed.places)
        passed(chunk, 0)
        return chunk

    # ---- learning

    def _digest(self, chunk: Chunk) -> None:
        """Learn all lines of a chunk; a bad one is left out, or ends the run after those before."""
        from separatrix.data.line_feed import passed
        from separatrix.errors import DataError

        while chunk.data:
            try:
                batch, codes = self._parsed(chunk)
            except DataError as error:
                begin, end = _span_of(chunk, error.line or 0)
                if begin < 0:
                    raise
                if begin:
                    self._digest(_part(chunk, 0, begin))
                if self.skipped >= self.skip_bad:
                    raise
                self.skipped += 1
                self.teller.say(f"left out: {error}")
                passed(chunk, end)
                chunk = _part(chunk, end, len(chunk.data))
                continue
            if batch is not None:
                self._learn(batch.X, codes)
            passed(chunk, len(chunk.data))
            return

    def _parsed(self, chunk: Chunk) -> tuple[Any, Any]:
        from separatrix.errors import DataError
        from separatrix.estimators.stream_learner import UnknownClass, refuse_beyond

        parser, learner = self.state.parser, self.state.learner
        batch = parser.parse(chunk)
        if batch is None:
            return None, None
        try:
            codes = learner.codes(batch.labels)
        except UnknownClass as error:
            line = parser.line_of(chunk, error.row)
            raise DataError(error.message, chunk.name, line, 1) from None
        row = refuse_beyond(batch.X)
        if row >= 0:
            line = parser.line_of(chunk, row)
            raise DataError("a value is no number, or beyond 1e100", chunk.name, line, 1)
        return batch, codes

    def _learn(self, X: Any, codes: np.ndarray) -> None:
        state = self.state
        missed = state.learner.learn(X, codes)
        state.width = max(state.width, X.shape[1])
        begin = 0
        while begin < len(missed):
            due = self.teller.next_report(state.progress.rows)
            end = min(len(missed), begin + due - state.progress.rows)
            for row in state.progress.add(missed[begin:end]):
                self.teller.drift(state, row)
            if state.progress.rows == due:
                self.teller.report(state)
            begin = end

    # ---- keeping

    def _save(self) -> None:
        from separatrix.storage.stream_checkpoint import write_checkpoint

        self.due = time.monotonic() + self.seconds
        if self.state is None or self.state.progress.rows == self.saved:
            return
        write_checkpoint(self.path, self.state)
        self.saved = self.state.progress.rows

    def _say_where(self) -> None:
        if self.state is None:
            return
        places = ", ".join(
            f"{'standard input' if place.path == '-' else place.path} line {place.lines:,} "
            f"(byte {place.offset:,})"
            for place in self.state.places
        )
        left_out = f" {self.skipped} bad lines left out." if self.skipped else ""
        self.teller.say(f"Model: {self.path}, learned up to {places}.{left_out}")

    def _signals(self) -> Any:
        return _Signals(self)


class _Signals:
    """Ctrl-C and SIGTERM end a run between two chunks, so that model and places agree."""

    def __init__(self, run: _Run) -> None:
        self.run, self.before = run, dict[int, Any]()

    def __enter__(self) -> None:
        import threading

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self._heard)

    def _heard(self, number: int, frame: Any) -> None:
        if self.run.waiting or self.run.stopped:
            raise KeyboardInterrupt
        self.run.stopped = True

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def _readable(parser: Parser, chunk: Chunk) -> Batch | None:
    """Return the rows of the lines that can be read; those that cannot are dealt with later."""
    from dataclasses import replace

    from separatrix.errors import DataError

    while True:
        try:
            return parser.parse(chunk)
        except DataError as error:
            begin, end = _span_of(chunk, error.line or 0)
            if begin < 0 or end - begin == len(chunk.data):
                raise
            chunk = replace(chunk, data=chunk.data[:begin] + chunk.data[end:])


def _part(chunk: Chunk, begin: int, end: int) -> Chunk:
    from dataclasses import replace

    return replace(
        chunk,
        offset=chunk.offset + begin,
        line=chunk.line + chunk.data.count(b"\n", 0, begin),
        data=chunk.data[begin:end],
    )


def _without(chunk: Chunk, header: int) -> Chunk:
    return _part(chunk, header, len(chunk.data)) if header else chunk


def _first_lines(chunk: Chunk, count: int) -> Chunk:
    end = 0
    for _ in range(count):
        after = chunk.data.find(b"\n", end)
        if after < 0:
            return chunk
        end = after + 1
    return _part(chunk, 0, end)


def _span_of(chunk: Chunk, line: int) -> tuple[int, int]:
    """Return the bytes of a line of the chunk; -1 where it is not there."""
    begin = 0
    for _ in range(line - chunk.line):
        after = chunk.data.find(b"\n", begin)
        if after < 0:
            return -1, -1
        begin = after + 1
    if line < chunk.line or begin >= len(chunk.data):
        return -1, -1
    after = chunk.data.find(b"\n", begin)
    return begin, len(chunk.data) if after < 0 else after + 1
