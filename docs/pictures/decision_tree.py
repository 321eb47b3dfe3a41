"""Draw the decision tree of docs/choose.md: ``python docs/pictures/decision_tree.py``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _boxes import Drawing

# Question -> the answers if yes: (what to use, a word on it).
SPINE: list[tuple[str, str, list[tuple[str, str]]]] = [
    (
        "Is the question only whether",
        "a hyperplane can separate them?",
        [("sx.separability", "yes or no, proved; what is infinite")],
    ),
    (
        "Do rows keep coming,",
        "or pass only once?",
        [("sx.SGD · separatrix stream", "line by line; survives kill -9")],
    ),
    (
        "More rows than memory,",
        "or on a cluster?",
        [
            ("sx.open_partitions", "rows on disk"),
            ("separatrix.distributed", "rows on a Dask cluster"),
        ],
    ),
    (
        "Is a straight boundary too stiff?",
        "(it often is not: try it first)",
        [
            ("sx.KernelSVMCV", "up to some 50,000 rows"),
            ("sx.lift + sx.LinearSVMCV", "more rows; or named products"),
        ],
    ),
    (
        "Are probabilities wanted,",
        "or odds to report?",
        [("sx.LogisticRegressionCV", "and which coefficients are infinite")],
    ),
    (
        "Do errors cost unlike amounts,",
        "and are classes near to Gaussian?",
        [("sx.GaussianPlugIn · sx.Fisher", "losses, minimax, Neyman-Pearson")],
    ),
    (
        "Must training errors be fewest,",
        "on some hundred rows?",
        [("sx.ZeroOne", "attained and proved unavoidable")],
    ),
    (
        "Is it for teaching,",
        "or to watch a rule work?",
        [
            ("sx.Perceptron · sx.Kozinec", "with sx.replay: every update"),
            ("separatrix lab", "the same in the browser"),
        ],
    ),
]
LAST = ("sx.LinearSVMCV", "C chosen, gap proved; columns as they are")

_LEFT, _QUESTION, _GAP, _ANSWER, _ROW = 16.0, 292.0, 74.0, 336.0, 58.0


def drawn() -> str:
    """Return the picture."""
    tall = sum(_height(answers) + 26.0 for _, _, answers in SPINE) + _ROW + 20.0
    width = _LEFT + _QUESTION + _GAP + _ANSWER + 16.0
    title = "Which method when: a chain of questions"
    steps = [f"{a} {b} Yes: {', '.join(n for n, _ in found)}." for a, b, found in SPINE]
    picture = Drawing(width, tall, title, " ".join([*steps, f"Otherwise {LAST[0]}."]))
    y, right = 10.0, _LEFT + _QUESTION + _GAP
    middle = _LEFT + _QUESTION / 2
    for first, second, answers in SPINE:
        height = _height(answers)
        centre = y + height / 2
        picture.box(_LEFT, centre - 25, _QUESTION, 50)
        picture.words(middle, centre - 5, first, "middle")
        picture.words(middle, centre + 14, second, "middle")
        for k, (name, remark) in enumerate(answers):
            top = y + k * (_ROW + 4)
            at = top + _ROW / 2 - 4
            picture.line((_LEFT + _QUESTION, centre), (right - 22, centre))
            picture.line((right - 22, centre), (right - 22, at))
            picture.line((right - 22, at), (right - 2, at), arrow=True)
            _answer(picture, right, top, name, remark)
        picture.words(_LEFT + _QUESTION + 8, centre - 6, "yes", "soft")
        y += height + 26.0
        picture.line((middle, centre + 25), (middle, y + _next_gap(answers)), arrow=True)
        picture.words(middle + 8, y - 8, "no", "soft")
    _answer(picture, _LEFT, y, *LAST)
    return picture.text()


def _height(answers: list[tuple[str, str]]) -> float:
    return len(answers) * (_ROW + 4) - 12.0


def _next_gap(answers: list[tuple[str, str]]) -> float:
    """How far below a row's top the next question's box begins."""
    place = [found for _, _, found in SPINE].index(answers) + 1
    return _height(SPINE[place][2]) / 2 - 25 if place < len(SPINE) else 0.0


def _answer(picture: Drawing, x: float, y: float, name: str, remark: str) -> None:
    picture.box(x, y, _ANSWER, _ROW - 8, "answer")
    picture.words(x + 14, y + 21, name, "code bold")
    picture.words(x + 14, y + 40, remark, "soft")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(drawn(), encoding="utf-8")
