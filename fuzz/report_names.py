"""Hostile names and texts in the report and the lab: no script runs, no request leaves.

    python -m fuzz.report_names --texts 10000        through each page, in a real Chromium

Texts are put together at random from pieces of HTML, CSS, SVG, templates, addresses, control
characters and halves of surrogate pairs; each begins with a number of its own, by which it is
counted where it is shown. Many stand in one page, in every place that takes a name or a text of the
data. Of the page that the browser makes of them: no dialog opens, nothing is asked of any other
address, and its elements and attributes are those of a harmless page.
The report is also read without a browser (`run`), as the tests do where there is none.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.report.examples import facts_of
from tests.report.test_page import Page, check, check_scripts

import separatrix as sx
from separatrix.report.facts import Step
from separatrix.report.page import render_report

__all__ = ["PAGES", "Texts", "facts_with", "run"]

PIECES = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</style>", "</title>", "</svg>",
    "<svg onload=alert(1)>", "<svg><use href='//x.org#a'/></svg>", "<!--", "-->", "<![CDATA[",
    "]]>",
    "<base href=//x.org>", "<link rel=stylesheet href=//x.org/a.css>", "<meta http-equiv=refresh>",
    "<iframe srcdoc='<script>1</script>'>", "<a href=javascript:alert(1)>", "<form action=//x.org>",
    "\"", "'", "`", "&", "&lt;script&gt;", "&#x3c;script&#x3e;", "&amp;", "<", ">", "=", "/", "\\",
    " onmouseover=alert(1) ", "' onfocus='alert(1)' autofocus='", "\" style=\"x:url(//x.org)\"",
    "{{ 7*7 }}", "{% include '/etc/passwd' %}", "{{ ''.__class__ }}", "${7*7}", "#{7*7}",
    "<%= 1 %>",
    "expression(alert(1))", "url(http://x.org/a.png)", "@import '//x.org';", "behavior:url(x)",
    "javascript:alert(1)", "data:text/html,<script>1</script>", "http://x.org/a.js", "//x.org",
    "\x00", "\x07", "\x1b[31m", "\u202e", "\u2066", "\u2028", "\ufeff", "\ud800", "\udfff", "😀",
    "漢字", "שלום", "%s%n", "%00", "\r\n\r\n", "\t", "word", "x" * 40, "W" * 3000, "<xmp>",
    "<noscript>",
    "<plaintext>", "<template>", "<math><mtext>", "<title>", "<style>*{background:url(//x.org)}",
    "</script><script>alert(1)</script>", "<img srcset=//x.org/a.png>", "$& $` $'", "\\u003cscript",
    "<details open ontoggle=alert(1)>", "<video src=//x.org onerror=alert(1)>", "__proto__",
)  # fmt: skip
_MARK = re.compile(r"n(\d+)n")


class Texts:
    """Hostile texts without end, each with its number at the front."""

    def __init__(self, seed: int = 0, harmless: bool = False) -> None:
        self._draw, self._numbers, self._harmless = random.Random(seed), itertools.count(), harmless

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        draw = self._draw
        text = "".join(draw.choice(PIECES) for _ in range(draw.choice((1, 1, 2, 3, 5))))
        return f"n{next(self._numbers)}n{' name' if self._harmless else text}"

    def some(self, count: int) -> list[str]:
        """Return the next ones."""
        return list(itertools.islice(self, count))


def shown(page: str) -> set[int]:
    """Return the numbers of the texts that a page holds."""
    return {int(number) for number in _MARK.findall(page)}


def facts_with(texts: Iterator[str], classes: int = 5) -> Any:
    """Return facts of a study in which every name and text is another one."""

    def text() -> str:
        return next(texts)

    facts = facts_of(tuple(text() for _ in range(classes)), text(), text())
    data = replace(facts.data, notes=tuple(text() for _ in range(12)))
    features = tuple(
        replace(each, features=tuple(replace(feature, name=text()) for feature in each.features))
        for each in facts.features
    )
    return replace(
        facts, data=data, features=features, answer=text(), question=text(),
        path=replace(facts.path, rows=facts.path.rows[2:3], reason=text()),
        support=tuple(replace(each, excerpt=text()) for each in facts.support),
        mistakes=tuple(replace(each, excerpt=text()) for each in facts.mistakes),
        bounds=tuple(replace(each, assumptions=(text(), text())) for each in facts.bounds),
        baseline=replace(facts.baseline, name=text()),
        per_class=tuple(replace(each, name=text()) for each in facts.per_class),
        learning=replace(facts.learning, sentence=text()),
        next_steps=tuple(Step(text(), text(), text()) for _ in range(12)),
        commands=tuple(replace(each, does=text(), line=text()) for each in facts.commands * 6),
        margins=replace(facts.margins, edges=()),
    )  # fmt: skip


# what is rendered -> the page with texts in all its places
PAGES: dict[str, Callable[[Iterator[str]], str]] = {
    "report": lambda texts: render_report(facts_with(texts)),
}


def shape(page: Page) -> tuple[set[str], set[str]]:
    return set(page.tags), {name for name, _ in page.attributes}


def require_harmless(text: str, harmless: tuple[set[str], set[str]]) -> None:
    page = Page(text)
    check_scripts(page, text)
    tags, names = shape(page)
    assert tags <= harmless[0], tags - harmless[0]
    assert all(target.startswith("#") and target[1:] in page.ids for target in page.targets)
    assert not [name for name in names if name.startswith("on")]
    assert names <= harmless[1], names - harmless[1]
    for attribute, value in page.attributes:
        assert not re.match(r"\s*(javascript|data|vbscript):", value or "", re.I), attribute
    for style in re.findall(r"<style.*?</style>", text, flags=re.S):
        assert "url(" not in style.replace("url(#", "")
        assert "@import" not in style
    text.encode("utf-8")


def run(texts: int, seed: int = 0) -> int:
    """Read pages without a browser until they showed so many texts; return how many."""
    count = 0
    for name, render in PAGES.items():
        harmless = shape(check(render(Texts(harmless=True))))
        source, done = Texts(seed), 0
        while done < texts:
            page = render(source)
            require_harmless(page, harmless)
            found = len(shown(page))
            assert found, f"{name} shows none of the texts"
            done += found
        count += done
    return count


def main() -> None:
    from fuzz.pages_in_browser import run as run_in_browser

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    print(f"separatrix {sx.__version__}, {time.strftime('%Y-%m-%d')}, seed {told.seed}", flush=True)
    for name, count in run_in_browser(told.texts, told.seed):
        print(f"{name}: {count:,} texts in Chromium: no script ran, no request left", flush=True)


if __name__ == "__main__":
    main()
