"""Facts become one HTML page: no network, light, dark and on paper; one script plays the replay.

Texts from the data are escaped by the template engine, everywhere and without exception; the only
markup it lets through are the figures, which are drawn here and hold no text of the data but their
descriptions, escaped too. A policy in the page forbids outside loads and every script but the
player, which it knows by its SHA-256, as a second wall.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from separatrix._write_aside import write_whole
from separatrix.plots.player.page import theme
from separatrix.report import words
from separatrix.report.conclusions import answer, headings, key_figures
from separatrix.report.facts import Facts
from separatrix.report.pictures import draw_pictures
from separatrix.report.replay_page import (
    draw_still,
    replay_json,
    replay_sentence,
    script_and_hash,
    still_note,
)
from separatrix.report.tables import tables_of

__all__ = ["render_report", "write_report"]

# Section -> the few words that name it in the contents.
SECTIONS = {
    "data": "The data",
    "separation": "Separation",
    "path": "The path over C",
    "machine": "The machine",
    "replay": "Replay",
    "test": "The sealed test",
    "features": "Weights",
    "support": "Support vectors",
    "errors": "Mistakes",
    "curves": "Ranking",
    "calibration": "Calibration",
    "margins": "Margins",
    "next": "Next",
    "commands": "Reproduce",
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
    return (
        _templates()
        .get_template("page.html")
        .render(
            facts=facts,
            answer=answer(facts),
            figures=key_figures(facts),
            headings=conclusions,
            sections={name: words_ for name, words_ in SECTIONS.items() if name in conclusions},
            pictures=pictures,
            tables=tables_of(facts),
            style=_style(),
            replay=_replay(facts),
        )
    )


def _replay(facts: Facts) -> dict[str, Any] | None:
    if (replay := facts.replay) is None:
        return None
    script, fingerprint = script_and_hash()
    return {
        "sentence": replay_sentence(replay),
        "note": still_note(replay),
        "still": Markup(draw_still(facts, replay)),
        "data": Markup(replay_json(facts, replay)),
        "script": Markup(script),
        "fingerprint": fingerprint,
    }


@cache
def _templates() -> Environment:
    engine = Environment(
        loader=PackageLoader("separatrix.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    engine.filters.update(
        number=words.number,
        percent=words.percent,
        whole=words.whole,
        plural=words.plural,
        seconds=words.seconds,
        spelled=words.spelled,
        listed=words.listed,
        cut=words.cut,
        fixed=words.fixed,
        opened=words.opened,
        rate=words.rate,
    )
    return engine


def _finalize(value: Any) -> Any:
    """Make every text that goes into the page one that a page can hold."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return words.clean(value)
    return value


@cache
def _style() -> Markup:
    source, _, _ = PackageLoader("separatrix.report").get_source(_templates(), "style.css")
    return Markup(theme() + source)
