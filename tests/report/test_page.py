import base64
import hashlib
import json
import math
import re
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from separatrix.plots._svg import COLOURS
from separatrix.plots.player.page import placed_script
from separatrix.report import page as page_module
from separatrix.report.conclusions import key_figures
from separatrix.report.facts import Data, Facts, Verdict
from separatrix.report.page import SECTIONS, render_report, write_report
from tests.report.examples import HOSTILE, facts_of, hostile

COPYING = (Path(page_module.__file__).parent / "templates" / "copy.js").read_text()
VOID = {"meta", "br", "img", "col", "hr", "input", "link"}


class Page(HTMLParser):
    """Reads a page and remembers its elements, ids, references and texts; tags must match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.targets, self.texts = [], [], [], [], []
        self.levels, self.attributes, self.scripts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        given = dict(attrs)
        assert len(given) == len(attrs), f"an attribute twice in <{tag}>"
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [given["id"]] if "id" in given else []
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        for name in ("href", "src", "xlink:href", "action", "data", "srcset", "poster"):
            if name in given:
                self.targets.append(given[name])
        for name in ("aria-labelledby", "aria-describedby"):
            self.targets += [f"#{part}" for part in given.get(name, "").split()]
        for value in given.values():
            self.targets += re.findall(r"url\(([^)]*)\)", value or "")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def check(text):
    """Assert what holds of every page, and return it read."""
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert len(text.encode()) < 1_000_000
    assert len(page.ids) == len(set(page.ids))
    assert all(target.startswith("#") and target[1:] in page.ids for target in page.targets)
    assert not {"iframe", "object", "embed", "link", "img", "form"} & set(page.tags)
    check_scripts(page, text)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    # Nothing is loaded: no address stands in the markup or the style.
    assert "@import" not in text
    assert page.levels[0] == 1
    assert page.levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(page.levels, page.levels[1:], strict=False))
    assert text.count('role="img"') == text.count("<desc")
    assert "None" not in page.text.replace("None of", "")
    return page


def check_scripts(page, text):
    """Assert that nothing can run but player and copying, known to the policy by fingerprint."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    known = (placed_script(), COPYING)
    running = [script for script in page.scripts if script in known]
    data = [script for script in page.scripts if script not in known]
    assert page.tags.count("script") == text.lower().count("<script") == len(page.scripts)
    assert text.lower().count("</script") == len(page.scripts)
    assert len(data) == (placed_script() in running)
    assert all(json.loads(part)["panes"] for part in data)
    digests = [hashlib.sha256(script.encode()).digest() for script in running]
    allowed = " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in digests)
    if running:
        assert f"script-src {allowed};" in policy
    else:
        assert "script-src" not in policy


@pytest.mark.parametrize(
    "names",
    [
        ("no", "yes"),
        ("a", "b", "c"),
        pytest.param(tuple(f"c{k}" for k in range(9)), marks=pytest.mark.long),
    ],
)
def test_a_whole_page(names):
    text = render_report(facts_of(names))
    page = check(text)
    assert set(SECTIONS) <= set(page.ids)
    assert "Content-Security-Policy" in text
    assert "default-src 'none'" in text
    namespace = "http://www.w3.org/2000/svg"  # a name in the player, never loaded
    assert text.count(namespace) == 1
    assert "http" not in text.replace('http-equiv="Content-Security-Policy"', "").replace(
        namespace, ""
    )
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    for words in ("3 errors in", "95 %", "C = 1", "15 November 2026", "Seed 7"):
        assert words in page.text
    # Figures follow the scheme: no colour of their own.
    drawings = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert not re.findall(r"(?:fill|stroke)[:=]\s*\"?#", drawings)
    assert "var(--ink)" in drawings


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_texts_stay_text(word):
    text = render_report(hostile(word))
    page = check(text)
    assert "<img" not in text
    assert "<" not in page.scripts[0]
    assert "49 " not in page.text[:2000]
    for forbidden in "\u202e\u2066\x00\x07\ud800":
        assert forbidden not in text
    text.encode("utf-8")
    if word.startswith(("<script", '"quoted', "</svg")):
        assert word in page.text
    # A word without end is cut, and what is left out is counted.
    assert ("more characters)" in text) == (len(word) > 1000)
    assert not re.search("W{1001}", text)


def test_the_same_facts_give_the_same_bytes(tmp_path):
    facts = facts_of(("a", "b", "c"))
    write_report(facts, tmp_path / "one.html")
    again = Facts.from_json(facts.to_json())
    assert write_report(again, tmp_path / "two.html") == tmp_path / "two.html"
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.html", "two.html"]


PARTS = [part for part in fields(Facts) if part.name != "title"]


def test_every_part_may_stand_alone():
    whole = facts_of()
    check(render_report(Facts("Nothing but a title")))
    for part in PARTS:
        alone = Facts("Alone", **{part.name: getattr(whole, part.name)})
        assert "Alone" in check(render_report(alone)).text


@pytest.mark.long
def test_every_part_may_be_absent():
    # Figures take their time, and are drawn in the other tests.
    whole = replace(facts_of(), curves=(), calibration=(), margins=None)
    whole = replace(whole, path=replace(whole.path, rows=whole.path.rows[:1]))
    for part in PARTS:
        without = replace(whole, **{part.name: part.default})
        assert "A study of" in check(render_report(without)).text


def test_a_proof_that_does_not_hold_is_not_claimed():
    whole = replace(facts_of(), curves=(), calibration=(), margins=None)
    held = check(render_report(whole)).text
    assert "No hyperplane does better by more than" in held
    assert "did not hold" not in held
    machine = replace(whole.machine, checked=False)
    verdict = replace(whole.verdict, checked=False)
    broken = check(render_report(replace(whole, machine=machine, verdict=verdict))).text
    assert "No hyperplane does better by more than" not in broken
    assert "certificate of the model did not hold" in broken
    assert "Treat this verdict as a guess" in broken
    assert "prove it exactly" not in broken
    assert "certificate.json holds them" not in held
    row = replace(whole.verdict.witness[0], multiplier="")
    long = replace(whole.verdict, witness=(row, *whole.verdict.witness[1:]))
    text = check(render_report(replace(whole, verdict=long))).text
    assert "too long for this page; certificate.json holds them" in text
    assert text.count("×") == held.count("×") - 1
    unbounded = replace(whole, machine=replace(machine, gap=math.inf, checked=None))
    assert "LinearSVM, without a proof" in check(render_report(unbounded)).text


def test_the_leaderboard_is_by_the_error_or_by_the_measure_that_chose():
    facts = replace(facts_of(), scoring=None, threshold=None, imbalance=None)
    text = check(render_report(facts)).text
    assert "The winner’s cross-validated error is optimistic" in text
    assert text.index("their ranks, hinge chosen 1 10.0") < text.index("squared hinge 0.1 12.0")
    two = tuple(
        replace(each, score=score, score_error=0.01)
        for each, score in zip(facts.candidates, (0.9, 0.8, 0.7), strict=True)
    )
    assert "gamma 0.25; measured only" in text
    assert "the gain of this curve is -1.00 points" in text
    scoring = replace(facts_of().scoring, title="balanced accuracy", larger_is_better=True)
    text = check(render_report(replace(facts, candidates=two, scoring=scoring))).text
    assert "cross-validated balanced accuracy is optimistic" in text
    assert "balanced accuracy 0.38 on 20 rows it had never seen" in text
    assert text.index("squared hinge 0.1 0.9 ± 0.01") < text.index("hinge chosen 1 0.8 ± 0.01")


def test_a_next_step_says_whether_its_test_rows_are_new():
    facts = facts_of()
    page = render_report(facts)
    assert (
        "complete command. It writes to a new folder. The test rows are new ones (another" in page
    )
    latest = render_report(replace(facts, split=replace(facts.split, seed=None)))
    assert "The test rows are new ones" not in latest
    assert "The latest rows are the test again" in latest
    in_python = render_report(replace(facts, commands=()))
    assert "Each line is a complete call, for the rows of this study. The test" in in_python
    alone = tuple(replace(step, line="") for step in facts.next_steps)
    said = render_report(replace(facts, commands=(), next_steps=alone))
    assert "The test rows are new ones" in said
    assert "Each line" not in said


def test_an_absent_part_has_neither_section_nor_place_in_the_contents():
    page = check(render_report(replace(facts_of(), curves=(), test=None, mistakes=())))
    assert not {"curves", "test", "errors"} & set(page.ids)
    assert "The sealed test" not in page.text
    assert "Ranking" not in page.text


@pytest.mark.parametrize("kind", ["separable", "quasi-separable", "overlapping", "undecided"])
def test_verdicts_in_words(kind):
    facts = Facts("t", data=Data("s", 4, 2), verdict=Verdict(kind, "As it is.", margin=0.5))
    text = check(render_report(facts)).text
    assert ("margin at least 0.5" in text) == (kind == "separable")
    assert ("undecided" in text.lower()) == (kind == "undecided")


@pytest.mark.long
def test_a_page_of_long_data_stays_small():
    words = "very long words in a long text " * 100
    names = tuple(f"class {k} {words}" for k in range(40))
    facts = facts_of(names, words, words)
    many = tuple(k / 5_000 for k in range(5_001))
    curves = tuple(
        replace(c, false_positive_rate=many, true_positive_rate=many) for c in facts.curves
    )
    path = replace(facts.path, rows=facts.path.rows * 100)
    facts = replace(
        facts, curves=curves, path=path, mistakes=facts.mistakes * 50, support=facts.support * 50
    )
    assert len(facts.to_json()) > 5_000_000
    check(render_report(facts))


def test_a_failed_writing_leaves_the_old_page(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_report(facts_of(), target)
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_read_in_light_and_dark():
    schemes = re.findall(r":root \{(.*?)\n *\}", render_report(Facts("t")), flags=re.DOTALL)
    themes = [dict(re.findall(r"(--[a-z0-9-]+): (#[0-9a-f]{6})", text)) for text in schemes[:2]]
    assert luminance(themes[0]["--paper"]) > 0.8 > 0.1 > luminance(themes[1]["--paper"])
    for theme in themes:
        assert {f"--{name}" for name in COLOURS} <= set(theme)
        grounds = [theme[name] for name in ("--paper", "--wash", "--accent-wash")]
        for name in ("--ink", "--soft", "--accent"):
            assert min(contrast(theme[name], ground) for ground in grounds) >= 4.5
        for number in range(6):
            assert contrast(theme[f"--class-{number}"], theme["--paper"]) >= 3.0


def test_the_error_beside_c_is_that_of_the_leaderboard():
    facts = facts_of()
    tried = [replace(each, error=0.123, standard_error=0.04) for each in facts.candidates]
    facts = replace(facts, candidates=tuple(tried))
    details = [each.detail for each in key_figures(facts) if each.label == "C chosen"]
    assert details == ["validation error 12.3\u202f%\u00a0±\u00a04\u202f%"]
    other = [replace(each, C=2.0 * each.C) for each in tried]  # on other rows: not of the path
    details = [e.detail for e in key_figures(replace(facts, candidates=tuple(other))) if e.detail]
    assert not any("12.3" in detail for detail in details)
