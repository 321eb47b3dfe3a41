"""Hostile names and texts in the report: no script runs, nothing is asked of the network.

    python -m fuzz.report_names --texts 10000

Every text of a report (names of columns and classes, rows, commands) is one hostile text, put
together at random from pieces of HTML, CSS, SVG, templates, addresses, control characters and
halves of surrogate pairs. The page is then read as a browser would: its elements and attributes
must be those of a harmless page, no attribute may be an event, no reference may leave the page.
A further page (the lab) is one more line in ``PAGES``.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.report.examples import hostile
from tests.report.test_page import Page, check, check_scripts

import separatrix as sx
from separatrix.report.page import render_report

__all__ = ["PAGES", "run"]

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
)  # fmt: skip


def hostile_text(draw: random.Random) -> str:
    return "".join(draw.choice(PIECES) for _ in range(draw.choice((1, 1, 2, 3, 5))))


# what is rendered -> the page for a text
PAGES: dict[str, Callable[[str], str]] = {"report": lambda text: render_report(hostile(text))}


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


def run(texts: int, seed: int = 0) -> None:
    draw = random.Random(seed)
    for render in PAGES.values():
        harmless = shape(check(render("name")))
        for _ in range(texts):
            word = hostile_text(draw)
            try:
                require_harmless(render(word), harmless)
            except AssertionError as error:
                raise AssertionError(f"{word!r}: {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    run(told.texts, told.seed)
    print(f"separatrix {sx.__version__}, {time.strftime('%Y-%m-%d')}, seed {told.seed}:")
    print(f"{told.texts:,} hostile texts in each of {', '.join(PAGES)}: none left its place")


if __name__ == "__main__":
    main()
