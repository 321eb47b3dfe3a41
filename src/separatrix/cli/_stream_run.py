"""The loop of a stream: read, score and learn, count, tell, and now and then write the model."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from separatrix.cli.stream import Teller
    from separatrix.data.sources.line_feed import Chunk, LineFeed
    from separatrix.data.stream_rows import Batch, Parser
    from separatrix.storage.stream_checkpoint import Checkpoint

_WARM_UP_LINES = 1000


@dataclass(frozen=True)
class Plan:
    """How lines are read, what learns from them, and what is kept and reported."""

    reading: dict[str, Any]
    machine: dict[str, Any]
    declared: list[str] | None  # the classes, where they are named
    max_features: int
    skip_bad: int
    seconds: float  # between two checkpoints
    window: int


class StreamRun:
    """The loop: read, score and learn, count, tell, and now and then write the model."""

    def __init__(
        self, path: Path, state: Checkpoint | None, feed: LineFeed, teller: Teller, plan: Plan
    ) -> None:
        self.path, self.feed, self.teller, self.plan = path, feed, teller, plan
        self.state: Any = state
        self.skipped, self.waiting, self.stopped = 0, False, False
        self.due, self.saved = time.monotonic() + plan.seconds, -1

    def go(self) -> None:
        """Run to the end of the feed; however it ends, what was learned is on the disk."""
        with _Signals(self):
            try:
                for chunk in self._chunks():
                    self._digest(chunk)
                    if self.stopped:
                        raise KeyboardInterrupt
                    if self.teller.gone:
                        raise BrokenPipeError
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
        settled = self.plan.declared is not None and self.plan.reading["kind"] in ("libsvm", "text")
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

        from separatrix.data.encodings.labels import refuse_amounts, tidy_labels
        from separatrix.data.sources.line_feed import passed
        from separatrix.data.stream_rows import TABLES, parser_for
        from separatrix.estimators.sgd import SGD
        from separatrix.estimators.stream_learner import Progressive, StreamLearner
        from separatrix.storage.stream_checkpoint import Checkpoint

        parser, header = parser_for(chunk, **self.plan.reading)
        chunk = without(chunk, header)
        sample = None
        if self.plan.declared is None or parser.kind in TABLES:
            sample = readable(parser, first_lines(chunk, _WARM_UP_LINES))
        if self.plan.declared is not None:
            labels = tidy_labels(self.plan.declared)
        else:
            labels = np.zeros(0) if sample is None else np.unique(sample.labels)
            if sample is not None and parser.kind in TABLES:
                # Among the first rows many classes may have come once only.
                refuse_amounts(
                    parser.encoding.target, sample.labels, chunk.name, rows_of_a_class=1.1
                )
        learner = StreamLearner.fresh(SGD(**self.plan.machine), labels, self.plan.max_features)
        for note in parser.notes:
            self.teller.say(f"note: {note}")
        if sample is not None and parser.kind in TABLES:
            learner.centre_on(sample.X)
        self.state = Checkpoint(learner, parser, Progressive(self.plan.window), self.feed.places)
        passed(chunk, 0)
        return chunk

    # ---- learning

    def _digest(self, chunk: Chunk) -> None:
        """Learn all lines of a chunk; a bad one is left out, or ends the run after those before."""
        from separatrix.data.sources.line_feed import passed
        from separatrix.errors import DataError

        while chunk.data:
            try:
                batch, codes = self._parsed(chunk)
            except DataError as error:
                begin, end = span_of(chunk, error.line or 0)
                if begin < 0:
                    raise
                if begin:
                    self._digest(part(chunk, 0, begin))
                if self.skipped >= self.plan.skip_bad:
                    raise
                self.skipped += 1
                self.teller.say(f"left out: {error}")
                passed(chunk, end)
                chunk = part(chunk, end, len(chunk.data))
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
            used, is_drift = state.progress.add_until_drift(missed[begin:end])
            begin += used
            if is_drift:
                self.teller.drift(state, state.progress.rows)
            if state.progress.rows == due:
                self.teller.report(state)

    # ---- keeping

    def _save(self) -> None:
        from separatrix.errors import DataError
        from separatrix.storage.stream_checkpoint import write_checkpoint

        self.due = time.monotonic() + self.plan.seconds
        if self.state is None or self.state.progress.rows == self.saved:
            return
        try:
            write_checkpoint(self.path, self.state)
        except OSError as error:
            raise DataError(
                f"the model could not be written: {error.strerror}. What stood there before stands "
                "there still: make room, and the same command resumes from it",
                file=str(self.path),
            ) from error
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


class _Signals:
    """Ctrl-C and SIGTERM end a run between two chunks, so that model and places agree."""

    def __init__(self, run: StreamRun) -> None:
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


# ---- parts of a chunk of lines, as bytes with their place in the file


def readable(parser: Parser, chunk: Chunk) -> Batch | None:
    """Return the rows of the lines that can be read; those that cannot are dealt with later."""
    from separatrix.errors import DataError

    while True:
        try:
            return parser.parse(chunk)
        except DataError as error:
            begin, end = span_of(chunk, error.line or 0)
            if begin < 0 or end - begin == len(chunk.data):
                raise
            chunk = replace(chunk, data=chunk.data[:begin] + chunk.data[end:])


def part(chunk: Chunk, begin: int, end: int) -> Chunk:
    """Return the lines between two bytes of the chunk."""
    return replace(
        chunk,
        offset=chunk.offset + begin,
        line=chunk.line + chunk.data.count(b"\n", 0, begin),
        data=chunk.data[begin:end],
    )


def without(chunk: Chunk, header: int) -> Chunk:
    """Return the chunk without so many bytes at its beginning."""
    return part(chunk, header, len(chunk.data)) if header else chunk


def first_lines(chunk: Chunk, count: int) -> Chunk:
    """Return the first so many lines."""
    end = 0
    for _ in range(count):
        after = chunk.data.find(b"\n", end)
        if after < 0:
            return chunk
        end = after + 1
    return part(chunk, 0, end)


def span_of(chunk: Chunk, line: int) -> tuple[int, int]:
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
