"""Facts become one HTML page: a summary, then parts that fold; no network; light, dark, on paper.

Texts from the data are escaped by the template engine, everywhere and without exception; the only
markup it lets through are the figures, which are drawn here and hold no text of the data but their
descriptions, escaped too. A policy in the page forbids outside loads and every script but the
player and the copying of commands, which it knows by their SHA-256, as a second wall. Without
scripts the page tells the same.

Templates of pages in byte code, kept on disk: to compile them takes a quarter of a second.

Nothing about the cache can break a page. A read-only home, a full disk, an altered file: each is a
miss, and the template is compiled in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from separatrix._write_aside import cache_home, write_whole
from separatrix.plots._drawing import CLASS_COLOURS
from separatrix.plots.player.page import placed_script, theme
from separatrix.report import words
from separatrix.report.conclusions import FEATURES, answer, choice, key_figures
from separatrix.report.facts import Candidate, Facts, Feature, Features
from separatrix.report.headings import headings, nearly_all_support, strength
from separatrix.report.pictures import draw_pictures
from separatrix.report.replay import (
    draw_still,
    fingerprint_of,
    replay_json,
    replay_sentence,
    still_note,
)

__all__ = [
    "Bar",
    "BarTable",
    "Cell",
    "KeptTemplates",
    "render_report",
    "tables_of",
    "write_report",
]


CASES_SHOWN = 10
_COLOURS = len(CLASS_COLOURS)
_TWO_SIDED, _FEW_CLASSES, _MANY_CLASSES = 12, 10, 5
_GROUPS_SHOWN = 20
_PAIRS_SHOWN = 8
_MATRIX_SHOWN = 26
_FAR_BASELINE = 2.5  # times the worst candidate: further, it would squeeze the rest

# Section -> the few words that name it in the contents.
SECTIONS = {
    "candidates": "Leaderboard",
    "test": "The sealed test",
    "threshold": "Measure and threshold",
    "measures": "Measures",
    "next": "Next",
    "errors": "Mistakes",
    "curves": "Ranking",
    "calibration": "Calibration",
    "learning": "More rows",
    "features": "Weights",
    "regression": "Coefficients",
    "support": "Support vectors",
    "margins": "Margins",
    "path": "The path over C",
    "machine": "The model",
    "replay": "Replay",
    "separation": "Separation",
    "data": "The data",
    "commands": "Reproduce",
}
# What stands open when the page is opened; all else unfolds at a click, and on paper.
OPENED = ("candidates", "test", "threshold", "measures", "next", "commands")
MEASURES = {
    "balanced_accuracy": "Balanced accuracy",
    "mcc": "Matthews correlation",
    "auc": "Area under ROC",
    "log_loss": "Log loss",
    "brier": "Brier score",
}


def write_report(facts: Facts, path: str | os.PathLike[str]) -> Path:
    """Write the page of a study; the file appears under its name only when it is whole."""
    write_whole(path, render_report(facts).encode("utf-8"))
    return Path(path)


def render_report(facts: Facts) -> str:
    """Return the page; the same facts give the same text."""
    pictures = {
        section: [picture._replace(svg=Markup(picture.svg)) for picture in found]
        for section, found in draw_pictures(facts).items()
    }
    conclusions = headings(facts)
    sections = {name: words_ for name, words_ in SECTIONS.items() if name in conclusions}
    return (
        _templates()
        .get_template("page.html")
        .render(
            facts=facts,
            answer=answer(facts),
            figures=key_figures(facts),
            headings=conclusions,
            sections=sections,
            opened=OPENED,
            pictures=pictures,
            tables=tables_of(facts),
            candidate_words=FEATURES,
            measure_words=MEASURES,
            choice=choice(facts),
            style=_style(),
            replay=_replay(facts),
            scripts=_scripts(facts),
        )
    )


def _replay(facts: Facts) -> dict[str, Any] | None:
    if (replay := facts.replay) is None:
        return None
    return {
        "sentence": replay_sentence(replay),
        "note": still_note(replay),
        "still": Markup(draw_still(facts, replay)),
        "data": Markup(replay_json(facts, replay)),
    }


def _scripts(facts: Facts) -> list[dict[str, str]]:
    """Return the scripts that the page may run, each with its fingerprint."""
    texts = [placed_script()] if facts.replay is not None else []
    if facts.commands or any(step.line for step in facts.next_steps):
        texts.append(_asset("copy.js"))
    return [{"text": Markup(text), "fingerprint": fingerprint_of(text)} for text in texts]


@cache
def _templates() -> Environment:
    engine = Environment(
        loader=PackageLoader("separatrix.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
        bytecode_cache=KeptTemplates(),
    )
    engine.filters.update({name: getattr(words, name) for name in words.__all__})
    return engine


def _finalize(value: Any) -> Any:
    """Make every text that goes into the page one that a page can hold."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return words.clean(value)
    return value


@cache
def _style() -> Markup:
    return Markup(theme() + _asset("style.css"))


@cache
def _asset(name: str) -> str:
    source, _, _ = PackageLoader("separatrix.report").get_source(_templates(), name)
    return source


# ---- tables and bars: shares, shades, and the few rows that are worth a look


class Bar(NamedTuple):
    """One feature: its share of the longest bar, and whether it speaks against."""

    feature: Feature
    share: float
    against: bool


class BarTable(NamedTuple):
    """The features that speak for one class, in the class's colour."""

    name: str
    colour: int
    bars: list[Bar]


class Cell(NamedTuple):
    """One cell of the confusion matrix: its rows, their share of the true class, its shade."""

    rows: int
    share: float
    right: bool
    shade: float


def tables_of(facts: Facts) -> dict[str, Any]:
    """Return all tables of a page."""
    names = [part.name for part in facts.data.classes] if facts.data else []
    return {
        "leaderboard": _leaderboard(facts),
        "nearly_all_support": nearly_all_support(facts),
        "bars": _bars(facts, names),
        "standardised": any(
            part.standardised is not None for group in facts.features for part in group.features
        ),
        "places": _places(facts),
        "path_places": _path_places(facts),
        "confusion": _confusion(facts),
        "pairs": _pairs(facts, names),
        "support": facts.support[:CASES_SHOWN],
        "most_alpha": max((row.alpha for row in facts.support), default=0.0),
        "mistakes": facts.mistakes[:CASES_SHOWN],
        "colours": {name: k for k, name in enumerate(names)} if len(names) <= _COLOURS else {},
    }


def _leaderboard(facts: Facts) -> dict[str, Any]:
    """Return the candidates, the best first, and a scale from 0 to 1 that shows them apart."""
    scoring, measure = facts.scoring, facts.chosen_measure
    rows = [(each, *_validated(each)) for each in facts.candidates]
    rows.sort(key=lambda row: -row[1] if scoring and scoring.larger_is_better else row[1])
    low, top = 0.0, 1.1 * max((value + spread for _, value, spread in rows), default=0.0)
    if measure and rows:
        low = min(
            0.0 if value < 2.0 * spread else value - 2.0 * spread for _, value, spread in rows
        )
    elif facts.baseline is not None and (not rows or facts.baseline.error <= _FAR_BASELINE * top):
        top = max(top, 1.05 * facts.baseline.error)
    scale = top - low or 1.0
    return {
        "rows": [each for each, _, _ in rows],
        "drawn": [
            [(end - low) / scale for end in (value, value - spread, value + spread)]
            for _, value, spread in rows
        ],
        "baseline": None if facts.baseline is None else (facts.baseline.error - low) / scale,
        "places": 2 if any(0.0 < each.error < 0.1 for each in facts.candidates) else 1,
        "models": max(1, len(facts.features)),
        "sparse": any(each.n_nonzero is not None for each in facts.candidates),
        "timed": any(each.seconds is not None for each in facts.candidates),
        "most_rows": max((each.n_rows for each in facts.candidates), default=0),
        "measure": measure,
        "errors_at": facts.path.errors_at if facts.path is not None else "",
    }


def _validated(each: Candidate) -> tuple[float, float]:
    """Return what a candidate was chosen by, and its standard error."""
    if each.score is None:
        return each.error, each.standard_error
    return each.score, each.score_error or 0.0


def _bars(facts: Facts, names: list[str]) -> list[BarTable]:
    """Return the features of largest weight of each class on one scale."""
    every = [part for group in facts.features for part in group.features]
    longest = max((abs(strength(f.weight, f.standardised)) for f in every), default=0.0) or 1.0
    if len(facts.features) == 1:
        group = facts.features[0]
        sides = [(group.towards, 1.0), (group.against, -1.0)]
        made = [_side(group, name, sign, names, longest) for name, sign in sides]
        return [table for table in made if table.bars]
    most = _FEW_CLASSES if len(facts.features) <= _COLOURS else _MANY_CLASSES
    found = []
    for group in facts.features[:_GROUPS_SHOWN]:
        largest = _sorted(group.features)[:most]
        bars = [_bar(part, longest, part.weight < 0) for part in largest]
        found.append(BarTable(group.towards, _colour(group.towards, names), bars))
    return found


def _side(group: Features, name: str, sign: float, names: list[str], longest: float) -> BarTable:
    chosen = [part for part in _sorted(group.features) if sign * part.weight > 0][:_TWO_SIDED]
    bars = [_bar(part, longest, against=False) for part in chosen]
    return BarTable(name, _colour(name, names), bars)


def _sorted(features: tuple[Feature, ...]) -> list[Feature]:
    return sorted(features, key=lambda part: -abs(strength(part.weight, part.standardised)))


def _bar(part: Feature, longest: float, against: bool) -> Bar:
    share = abs(strength(part.weight, part.standardised)) / longest
    return Bar(part, round(100.0 * share, 1), against)


def _colour(name: str, names: list[str]) -> int:
    # More classes than colours: one tone for all says less, but nothing wrong.
    return names.index(name) if name in names and len(names) <= _COLOURS else _COLOURS


def _places(facts: Facts) -> int:
    """Return how many places show three digits of the longest bar."""
    every = [part for group in facts.features for part in group.features]
    longest = max((abs(strength(f.weight, f.standardised)) for f in every), default=0.0)
    if not 0.0 < longest < math.inf:
        return 3
    return min(9, max(0, 2 - math.floor(math.log10(longest))))


def _path_places(facts: Facts) -> int:
    """Return how many places tell the errors of the path apart."""
    rows = facts.path.rows if facts.path else ()
    return 2 if any(0.0 < row.validation_error < 0.01 for row in rows) else 1


def _confusion(facts: Facts) -> list[list[Cell]]:
    """Return the matrix with each row as shares of its class; too large a one is not shown."""
    counts = facts.test.confusion if facts.test else ()
    if not counts or len(counts) > _MATRIX_SHOWN:
        return []
    return [
        [_cell(count, count / max(1, sum(row)), i == j) for j, count in enumerate(row)]
        for i, row in enumerate(counts)
    ]


def _cell(count: int, share: float, right: bool) -> Cell:
    # Few mistakes must be seen too: they are shaded by the root of their share.
    return Cell(count, share, right, round(100.0 * (share if right else math.sqrt(share)), 1))


def _pairs(facts: Facts, names: list[str]) -> list[tuple[int, str, str]]:
    """Return the pairs most often confused, where the classes are too many to see at a glance."""
    counts = facts.test.confusion if facts.test else ()
    if len(counts) < 5 or len(names) != len(counts):
        return []
    pairs = [
        (count, names[i], names[j])
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    return sorted(pairs, key=lambda pair: -pair[0])[:_PAIRS_SHOWN]


# ---- templates of pages in byte code, kept on disk: to compile them takes a quarter of a second


_DIGEST = 32


class KeptTemplates(BytecodeCache):
    """One file a template: its own digest, then the byte code, which names the source it is of."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what was kept, if it is whole and of this source."""
        try:
            kept = self._path(bucket).read_bytes()
        except OSError:
            return
        if kept[:_DIGEST] == self._digest(kept[_DIGEST:]):
            bucket.load_bytecode(io.BytesIO(kept[_DIGEST:]))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template that was compiled."""
        made = bucket.bytecode_to_string()
        with contextlib.suppress(OSError):
            write_whole(self._path(bucket), self._digest(made) + made)

    def _path(self, bucket: Bucket) -> Path:
        return cache_home() / "pages" / bucket.key

    def _digest(self, made: bytes) -> bytes:
        return hashlib.sha256(self._filters + made).digest()

    @cached_property
    def _filters(self) -> bytes:
        """The source of the filters: compiled templates hold constants that went through them."""
        return Path(words.__file__).read_bytes()
