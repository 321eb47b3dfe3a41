"""Hostile texts in the report and the lab, as a real Chromium makes pages of them.

Used by ``fuzz.report_names``; the texts are its. The lab meets them as a table that is opened
(names of columns and classes), as names and choices in a shared address, and in what it exports:
the page that replays by itself and the picture are opened too.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.lab.browsing import Browser, real_browser, running_lab
from tests.report.test_page import check

from fuzz.report_names import Texts, facts_with, require_harmless, shape, shown
from separatrix.report.page import render_report

__all__ = ["run"]

COLUMNS, CLASSES = 200, 6
SHAPE = """() => {
  const tags = new Set(), names = new Set(), events = [];
  for (const node of document.querySelectorAll("*")) {
    tags.add(node.localName);
    for (const { name, value } of node.attributes) {
      names.add(`${node.localName} ${name}`);
      if (/^on/i.test(name) || /^\\s*(javascript|vbscript):/i.test(value)) events.push(name);
    }
  }
  return { tags: [...tags], names: [...names], events };
}"""
WRITTEN = """() => {
  const parts = [document.documentElement.textContent];
  for (const node of document.querySelectorAll("*"))
    for (const { value } of node.attributes) parts.push(value);
  for (const node of document.querySelectorAll("textarea, input")) parts.push(node.value);
  return parts.join("\\n");
}"""


class Watched:
    """A page of the browser that notes every dialog, and every request beyond its own origin."""

    def __init__(self, context: Any, own: str) -> None:
        self.page, self.own, self.seen = context.new_page(), own, list[str]()
        self.page.on("request", self._asked)
        self.page.on("dialog", self._opened)
        self.page.on("popup", lambda page: self.seen.append(f"opened {page.url}"))
        self.page.on("websocket", lambda socket: self.seen.append(f"socket {socket.url}"))
        self.tags, self.names = set[str](), set[str]()

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.own, "data:", "blob:")):
            self.seen.append(f"asked {request.url}")

    def _opened(self, dialog: Any) -> None:
        self.seen.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def learn(self) -> None:
        """Take the page as it is for harmless."""
        found = self.page.evaluate(SHAPE)
        self.tags |= set(found["tags"])
        self.names |= set(found["names"])

    def require_harmless(self) -> set[int]:
        """Return the numbers of the texts that stand in the page."""
        found = self.page.evaluate(SHAPE)
        assert not self.seen, self.seen
        assert not found["events"], found["events"]
        assert set(found["tags"]) <= self.tags, set(found["tags"]) - self.tags
        assert set(found["names"]) <= self.names, set(found["names"]) - self.names
        return shown(self.page.evaluate(WRITTEN))


def reports(context: Any, count: int, seed: int) -> int:
    """Open reports until they showed so many texts."""
    met: set[int] = set()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        watched = Watched(context, path.as_uri())

        def visit(texts: Texts) -> str:
            written = render_report(facts_with(texts))
            path.write_text(written, encoding="utf-8")
            watched.page.goto(path.as_uri())
            return written

        harmless = shape(check(visit(Texts(harmless=True))))
        watched.learn()
        texts = Texts(seed)
        while len(met) < count:
            require_harmless(visit(texts), harmless)  # as the tests read it, without a browser
            met |= watched.require_harmless()
        watched.page.close()
    return len(met)


def table_of(texts: Texts) -> str:
    """Return a table whose names of columns and classes are hostile, as one would paste it."""

    def cell(text: str) -> str:
        plain = re.sub(r"[\r\n\t]", " ", text).encode("utf-8", "replace").decode()
        return '"' + plain.replace('"', '""') + '"'

    names = [cell(next(texts)) for _ in range(COLUMNS)]
    classes = [cell(next(texts)) for _ in range(CLASSES)]
    lines = ["\t".join([*names, "label"])]
    for row in range(2 * CLASSES):
        numbers = [str((row * 7 + j * 3) % 11) for j in range(COLUMNS)]
        lines.append("\t".join([*numbers, classes[row % CLASSES]]))
    return "\n".join(lines)


SHARE = """async (state) => {
  const { packed } = await import("/static/share.js");
  location.hash = await packed(state);
}"""


def in_the_lab(tab: Browser, watched: Watched, texts: Texts, check: Any) -> set[int]:
    """Paste a table, open it with two of its columns, and share hostile choices."""
    page = tab.page
    page.evaluate("document.querySelector('dialog[open]')?.close()")
    page.click("#data")
    table = table_of(texts)
    page.evaluate(
        "text => { const t = document.querySelector('#data-text'); t.value = text; "
        "t.dispatchEvent(new Event('input')); }",
        table,
    )
    met = check()
    page.click("#data-open")
    tab.settle()
    met |= check()
    word = [next(texts).encode("utf-8", "replace").decode() for _ in range(8)]
    choice = {
        "method": word[0], "parameters": {word[1]: word[2], "C": word[3]},
        "lift": {"name": word[4]}, "many": word[5],
    }  # fmt: skip
    state = {"points": [[0, 0], [1, 1], [2, 0]], "classes": [0, 1, 0], "names": word[6:8]}
    page.evaluate(SHARE, state | {"choices": [choice]})
    until = time.monotonic() + 60
    while tab.js("lab.store.points.length") != 3:  # the policy of the page allows no other waiting
        assert time.monotonic() < until, "the shared address was not taken"
        time.sleep(0.02)
    tab.settle()
    met |= check()
    page.evaluate("lab.forms[0].set({ method: 'perceptron' })")
    return met


def exports(context: Any, tab: Browser, folder: Path) -> None:
    """Open the page that replays by itself and the picture: they hold the names."""
    tab.choose("perceptron")
    for kind, name in (("html", "replay.html"), ("svg", "picture.svg")):
        path = folder / name
        path.write_bytes(tab.downloaded(kind, folder))
        watched = Watched(context, path.as_uri())
        watched.page.goto(path.as_uri())
        watched.page.wait_for_timeout(100)
        assert not watched.seen, watched.seen
        assert not watched.page.evaluate(SHAPE)["events"]
        watched.page.close()


def labs(context: Any, count: int, seed: int) -> int:
    """Open tables in the lab until it showed so many texts."""
    met: set[int] = set()
    with running_lab() as address, tempfile.TemporaryDirectory() as folder:
        own = "/".join(address.split("/")[:3])
        watched = Watched(context, own)
        tab = Browser(watched.page, address).open()

        def learned() -> set[int]:
            watched.learn()
            return set()

        in_the_lab(tab, watched, Texts(harmless=True), learned)
        texts, pages = Texts(seed), 0
        while len(met) < count:
            met |= in_the_lab(tab, watched, texts, watched.require_harmless)
            if pages % 8 == 0:
                exports(context, tab, Path(folder))
            pages += 1
        errors = [text for text in tab.complaints if "Content Security Policy" in text]
        assert not errors, errors
        watched.page.close()
    return len(met)


def run(texts: int, seed: int = 0) -> Iterator[tuple[str, int]]:
    """Show so many texts in each page; yield its name, and how many were met there."""
    with real_browser(viewport={"width": 1280, "height": 800}) as context:
        yield "report", reports(context, texts, seed)
        yield "lab", labs(context, texts, seed)
