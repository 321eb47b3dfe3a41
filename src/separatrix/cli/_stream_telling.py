"""The report of a stream: lines for people, or one JSON object a line."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from separatrix.cli._say import say

if TYPE_CHECKING:
    from separatrix.storage.stream_checkpoint import Checkpoint

_FIRST_REPORT = 1000


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
        if not self.quiet:
            say(sentence, err=True)

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
            self._print(json.dumps(facts))
            return
        self._print(
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
            self._print(json.dumps(facts))
            return
        self._print(
            f"{row:>12,} drift: the error has gone up (Page-Hinkley); last {len(progress.recent):,}"
            f": {100 * progress.recent_error:.2f} %, all: {100 * progress.error:.2f} %"
        )
