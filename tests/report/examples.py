"""Facts as a study would find them, for the page to be tried on."""

import math
from dataclasses import replace

from separatrix.report.facts import (
    Baseline,
    Bin,
    Bound,
    Calibration,
    Candidate,
    ClassCount,
    ClassMeasures,
    Coefficient,
    Command,
    Curve,
    Data,
    Facts,
    Feature,
    Features,
    Imbalance,
    LearningCurve,
    LearningPoint,
    Machine,
    MadeWith,
    Margins,
    MarginsOf,
    Measure,
    Mistake,
    OpenedTest,
    Path,
    PathRow,
    Reading,
    Regression,
    Replay,
    ReplayRun,
    Scoring,
    Share,
    Split,
    Step,
    Support,
    Threshold,
    Verdict,
    WitnessRow,
)

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted\" 'names' & <b>bold</b>",
    "</svg></style></title><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }} {% raw %} ${jndi} $x_1$ javascript:alert(1) http://example.org/x.js",
    "W" * 10_000,
    "\u202eesrever\u2066 שלום \u200f 😀👩‍👩‍👧 漢字 \x00\x07\ud800",
    "",
)


def counts(names):
    return tuple(ClassCount(name, 50 + k, 40, 10 + k) for k, name in enumerate(names))


def curve(name):
    rising = tuple(k / 10 for k in range(11))
    return Curve(
        name, rising, tuple(math.sqrt(v) for v in rising), 0.91, rising, rising[::-1], 0.8, 0.4
    )


def path():
    rows = [
        PathRow(C, 0.1 + 0.02 * abs(k - 2), 0.01, 0.12 - 0.02 * k, 90 - 9 * k, 1.0 / C, 1e-7, 0.1)
        for k, C in enumerate((0.01, 0.1, 1.0, 10.0, 100.0))
    ]
    return Path(tuple(rows), 1.0, "C = 1 had the least validation error.", 5, best=1.0, seconds=2.5)


def replay(names, feature):
    """Return a run of two steps for each machine, on four points a class."""
    K = min(len(names), 6)
    run = ReplayRun(
        (0, 1), ((0.0, 0.0, 0.0), (-1.5, 1.0, 0.25)), (K, 1), (0.0, -0.5), (4.0, math.inf),
        (0.0, 1.9), (1.0, 0.05), (0, 3),
    )  # fmt: skip
    machines = 1 if K == 2 else K
    points = tuple((float(k % 4), k / 4) for k in range(4 * K))
    return Replay(
        (f"{feature} 0", f"{feature} 1"), points, tuple(k // 4 for k in range(4 * K)),
        (run,) * machines, ((-1.5, 1.0, 0.25),) * machines, 1, "hinge", 1.0, 40 * len(names), 9, 7,
    )  # fmt: skip


def verdict(names):
    rows = tuple(WitnessRow(k, f"{3 + k}", names[k % len(names)], "a row") for k in range(3))
    if len(names) == 2:
        return Verdict("overlapping", "No hyperplane separates them.", "", None, rows, 3, True)
    each = tuple(
        Verdict("separable", "yes", name, 0.25)
        if k == 0
        else Verdict("overlapping", "no", name, None, rows, 3)
        for k, name in enumerate(names)
    )
    return Verdict("overlapping", "One of them can be cut off.", each=each)


def facts_of(names=("no", "yes"), text="row 7 of the file", feature="width, cm"):
    """Return facts with every part there is, in which names and texts are those given."""
    K = len(names)
    edges = tuple(-2.0 + 0.5 * k for k in range(11))
    parts = [
        MarginsOf(part, name, tuple(range(10))) for part in ("train", "test") for name in names
    ]
    bins = (Bin(0.1, 0.0, 12, 0.0, 0.26), Bin(0.8, 0.75, 20, 0.5, 0.92))
    groups = names[1:] if K == 2 else names
    weights = tuple(Feature(f"{feature} {k}", (-1) ** k / (k + 1), 0.5 / (k + 1)) for k in range(9))
    return Facts(
        title=f"A study of {text}",
        question=f"Can they be told apart: {text}?",
        made_with=MadeWith("0.1.0", "15 November 2026"),
        data=Data(
            text, 50 * K, 9, counts(names), "ab" * 32, "table", feature, (text, "A note.")
        ),
        split=Split(40 * K, 10 * K, "Drawn class by class.", 7),
        verdict=verdict(names),
        candidates=(
            Candidate("standard", "squared_hinge", 0.1, 0.12, 0.01, 4, 40 * K, False, 0.4),
            Candidate("ranks", "hinge", 1.0, 0.1, 0.01, 8, 40 * K, True, 0.9),
            Candidate("kernel", "hinge", 10.0, 0.11, 0.01, 4, 40 * K, seconds=0.7, gamma=0.25),
        ),
        baseline=Baseline(names[0], 0.45, 0.01),
        path=path(),
        reading=Reading("balanced", "In between.", "Underfits.", "Overfits."),
        machine=Machine(
            "LinearSVM", "hinge", 1.0, 12.5, 12.4999, 1e-7, 1e-4, "optimal", 31, 40 * K, 0.4, 3,
            1 if K == 2 else K, "none", "cd" * 32, "proved: nothing is better", True, 0.02,
        ),
        scoring=Scoring(
            "cost", "cost a row", False, 0.4, 0.02, 0.38, 0.2, 0.5, "exact", names[1], 5.0, 1.0
        ),
        threshold=Threshold(
            -0.4, "false_alarms", names[1], "Above -0.4.", "With 95 % confidence at most 5 %.",
            Share(0.3, 10, 0.1, 0.6), Share(0.05, 40, 0.01, 0.2), Share(0.2, 10, 0.05, 0.5),
            Share(0.04, 40, 0.0, 0.1), 50, 0.05, 0.95,
        ),
        imbalance=Imbalance(
            names[0], 0.1, 0.7, 0.5, 0.9, "exact", "Only 10 % of the rows.", "separatrix study x"
        ),
        replay=replay(names, feature),
        test=OpenedTest(
            10 * K, 3, 0.15, 0.03, 0.38, 0.95,
            tuple(tuple(8 if i == j else 1 for j in range(K)) for i in range(K)),
            2, (4, 9), 0.5, "Opened once.",
        ),
        measures=(
            Measure("balanced_accuracy", 0.84, 0.7, 0.93, "2,000 draws"),
            Measure("log_loss", 0.4),
        ),
        per_class=tuple(
            ClassMeasures(
                name, 10 + k, None if k == 1 else Measure("precision", 0.8, 0.5, 0.95),
                Measure("recall", 0.7 + k / 100, 0.4, 0.9), Measure("f1", 0.75),
            )
            for k, name in enumerate(names)
        ),
        chosen_by="Chosen by the least error on held-out rows.",
        curve_gains=("An RBF kernel: the gain of this curve is -1.00 points.",),
        learning=LearningCurve(
            tuple(LearningPoint(10 * k, 0.3 / k, 0.02) for k in (1, 2, 3, 4)),
            "helps", "Doubling the rows from 20 to 40 lowered the error: more rows would help.",
        ),
        bounds=(
            Bound("VC", 1.4, ("rows are independent",), 0.95),
            Bound("margin", 0.4, (text,), 0.95, text),
        ),
        features=tuple(
            Features(name, weights, names[0] if K == 2 else "", 0.1, 9, 8) for name in groups
        ),
        regression=Regression(
            (
                Coefficient("intercept", -0.4, -1.2, 0.3, 0.31),
                Coefficient(text, 1.25, 0.5, 2.1, 0.00002),
            ),
            names[1], "firth", 40, 0.95, "local", "quasi-separable", (text,),
        ),
        support=tuple(Support(k, names[k % K], 1.0, 0.3, text) for k in range(20)),
        curves=tuple(curve(name) for name in groups),
        calibration=tuple(Calibration(name, bins, "By Platt.", 0.1, 0.03) for name in groups),
        margins=Margins(edges, tuple(parts)),
        mistakes=tuple(Mistake(k, names[0], names[1], -0.5, text) for k in range(20)),
        next_steps=(
            Step("rare", text, f"separatrix study '{text}' --balanced"),
            Step("again", "Try another split."),
        ),
        commands=(Command("Once more", f"separatrix study '{text}'"),),
    )  # fmt: skip


def hostile(word):
    """Return facts in which every text is `word`; the classes still differ."""
    facts = facts_of((f"{word}a", f"{word}b"), word, word)
    # The figures left out hold no text of the data, and take their time.
    path = replace(facts.path, rows=facts.path.rows[2:3])
    return replace(facts, answer=word, path=path, margins=replace(facts.margins, edges=()))
