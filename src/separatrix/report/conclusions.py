"""What a study comes to, in plain words: the opening, and how to read the path over C."""

from __future__ import annotations

import math
from typing import NamedTuple

from separatrix.report import facts as f
from separatrix.report.facts import Facts, Machine, Verdict
from separatrix.report.words import (
    cut,
    least,
    listed,
    most,
    number,
    opened,
    percent,
    plural,
    spelled,
    whole,
)

__all__ = ["Figure", "answer", "choice", "key_figures", "reading_of"]

NAME = 40
_FAR = 2.0  # standard errors
RARE = 0.4  # of an equal share of the rows: with less, a class is rare
KINDS = {
    "separable": "A hyperplane separates the classes",
    "quasi-separable": "A hyperplane separates the classes, except for rows on its boundary",
    "overlapping": "No hyperplane can separate the classes",
    "undecided": "Whether a hyperplane separates the classes is undecided",
}
_SHORT_KINDS = {"quasi-separable": "almost separable"}


class Figure(NamedTuple):
    """One of the figures of the opening: a number, what it is, and how sure it is."""

    label: str
    value: str
    detail: str
    section: str
    interval: tuple[float, float, float] | None = None


def answer(facts: Facts) -> str:
    """Return the answer of the whole study in one sentence."""
    if facts.answer:
        return facts.answer
    names = [cut(part.name, NAME) for part in facts.data.classes] if facts.data else []
    bends = any(one.chosen and one.features == "splines" for one in facts.candidates)
    if len(names) == 2:
        what = "A sum of curves, one for each feature," if bends else "A hyperplane"
        who = f"{what} tells {names[0]} from {names[1]}"
    elif 2 < len(names) <= 4:
        what = "sums of curves, one for each feature," if bends else "hyperplanes"
        who = f"{spelled(len(names)).capitalize()} {what} tell {listed(names)} apart"
    elif names:
        who = f"A linear model distinguishes {spelled(len(names))} classes"
    else:
        who = "A linear model distinguishes the classes"
    if facts.test is not None and facts.test.new_rows is not None:
        return _on_new_rows(who, facts.test, facts.test.new_rows)
    if facts.test is not None:
        errors = plural(facts.test.errors, "error")
        rows = plural(facts.test.n, "row")
        if facts.scoring is not None:
            figure = f"{number(facts.scoring.test)} on {rows} it had never seen"
            return f"{who}: {facts.scoring.title} {figure}, with {errors}."
        if facts.baseline is not None and facts.test.rate >= (facts.test.baseline or 0.0) > 0.0:
            always = whole(round(facts.test.n * (facts.test.baseline or 0.0)))
            return (
                f"No better than always predicting {cut(facts.baseline.name, NAME)}: {errors} in "
                f"{rows} it had never seen, against {always}."
            )
        return (
            f"{who} with {errors if facts.test.errors else 'no error'} in {rows} it had never seen."
        )
    if facts.path is not None and facts.path.rows:
        best = min(row.validation_error for row in facts.path.rows)
        return f"{who} with a validation error of {percent(best)}."
    return f"{KINDS[facts.verdict.kind]}." if facts.verdict else f"{who}."


def _on_new_rows(who: str, test: f.OpenedTest, new: f.NewRows) -> str:
    """Say the error on rows not seen before; the others of the test are training rows too."""
    seen = f"{whole(test.n - new.n)} of the {plural(test.n, 'test row')} are also training rows"
    if not new.n:
        return (
            f"The test says nothing about new rows: all {plural(test.n, 'row')} are training rows."
        )
    errors = plural(new.errors, "error") if new.errors else "no error"
    rows = plural(new.n, "row")
    return f"{who} with {errors} in {rows} it had never seen; {seen} and are left out."


def key_figures(facts: Facts) -> list[Figure]:
    """Return up to four figures, each with its uncertainty."""
    found = []
    if (test := facts.test) is not None:
        span = f"{percent(test.low)} to {percent(test.high)}"
        sure = f"{span} with {percent(test.confidence)} confidence"
        ends = (test.rate, test.low, test.high)
        new = test.new_rows
        if new is not None and new.rate is not None and new.low is not None:
            span = f"{percent(new.low)} to {percent(new.high or 0.0)}"
            sure = f"{span}; {percent(test.rate)} with repeated rows"
            ends = (new.rate, new.low, new.high or 0.0)
            found.append(Figure("Error on new rows", percent(new.rate), sure, "test", ends))
        else:
            found.append(Figure("Test error", percent(test.rate), sure, "test", ends))
    if (scoring := facts.scoring) is not None:
        span = f"{number(scoring.low)} to {number(scoring.high)}; it chose the model"
        found.append(Figure(opened(scoring.title), number(scoring.test), span, "threshold"))
    elif (balanced := measure(facts, "balanced_accuracy")) is not None and rare_class(facts):
        found.append(_balanced(balanced))
    if (verdict := facts.verdict) is not None:
        found.append(_separable(verdict))
    if (path := facts.path) is not None:
        row = next((row for row in path.rows if path.chosen == row.C), None)
        tried = next((each for each in facts.candidates if each.chosen), None)
        detail = "" if row is None else _validated(row.validation_error, row.validation_spread)
        if tried is not None and path.chosen == tried.C:  # as the leaderboard has it
            detail = _validated(tried.error, tried.standard_error)
        found.append(Figure("C chosen", number(path.chosen), detail, "path"))
    if (machine := facts.machine) is not None and has_gap(machine):
        left = "of the objective: no hyperplane gains more"
        left += ", proved" if machine.checked is not False else "; the proof did not hold"
        found.append(Figure("Optimality gap", f"≤ {most(machine.gap, 2)}", left, "machine"))
    return found[:4]


def measure(facts: Facts, name: str) -> f.Measure | None:
    """Return a measure of the test by its name."""
    return next((part for part in facts.measures if part.name == name), None)


def rare_class(facts: Facts) -> f.ClassCount | None:
    """Return the smallest class where it is rare: then the error alone says little."""
    if facts.data is None or len(facts.data.classes) < 2:
        return None
    smallest = min(facts.data.classes, key=lambda part: part.count)
    total = sum(part.count for part in facts.data.classes)
    # Of two classes under 20 %; of more each is small, and a rare one has 0.4 of an equal share.
    return smallest if smallest.count < RARE / len(facts.data.classes) * total else None


def _balanced(part: f.Measure) -> Figure:
    detail = "mean recall of the classes"
    if part.low is None or part.high is None:
        return Figure("Balanced accuracy", percent(part.value), detail, "measures")
    span = f"{percent(part.low)} to {percent(part.high)}; {detail}"
    return Figure("Balanced accuracy", percent(part.value), span, "measures")


def choice(facts: Facts) -> str:
    """Return what was chosen, out of what, and beside what, in one sentence or two."""
    chosen = next((each for each in facts.candidates if each.chosen), None)
    if chosen is None:
        return ""
    what = f"{words_of(chosen)}, C\u00a0=\u00a0{number(chosen.C)}"
    of = (
        f", chosen from {plural(len(facts.candidates), 'candidate')}"
        if len(facts.candidates) > 1
        else ""
    )
    beside = ""
    if facts.baseline is not None:
        name = cut(facts.baseline.name, NAME)
        beside = f" Always predicting {name} has an error of {percent(facts.baseline.error)}."
    how = f" {facts.chosen_by}" if facts.chosen_by else ""
    return f"{what[:1].upper()}{what[1:]}{of}.{how}{beside}"


def words_of(candidate: f.Candidate) -> str:
    features = FEATURES.get(candidate.features, candidate.features)
    return f"{features}, {candidate.model}"


def _validated(error: float, spread: float) -> str:
    around = f"\u00a0±\u00a0{percent(spread)}" if spread else ""
    return f"validation error {percent(error)}{around}"


def has_gap(machine: Machine) -> bool:
    return machine.gap is not None and math.isfinite(machine.gap)


def _separable(verdict: Verdict) -> Figure:
    if verdict.each:
        kinds = [part.kind == "separable" for part in verdict.each]
        value, proof = f"{sum(kinds)} of {len(kinds)}", "classes against the rest, each proved"
        return Figure("Separable", value, proof, "separation")
    word = _SHORT_KINDS.get(verdict.kind, verdict.kind).capitalize()
    if is_refuted(verdict):
        word = "Not separable"
    return Figure("The classes are", word, _proof(verdict), "separation")


def is_refuted(verdict: Verdict) -> bool:
    """Whether rows prove that nothing separates, though the kind of overlap is open."""
    return verdict.kind == "undecided" and bool(verdict.witness_rows or verdict.witness)


def _proof(verdict: Verdict) -> str:
    if verdict.checked is False:
        return "but its proof did not hold"
    if verdict.margin is not None and verdict.kind == "separable":
        return f"margin at least {least(verdict.margin)}, proved exactly"
    if verdict.witness_rows or verdict.witness:
        return f"{plural(verdict.witness_rows or len(verdict.witness), 'row')} prove it exactly"
    return "proved exactly" if verdict.kind != "undecided" else "no proof either way"


# Features of a candidate -> what they are.
FEATURES = {
    "raw": "columns as read",
    "standard": "standardised columns",
    "ranks": "standardised columns and their ranks",
    "splines": "standardised columns and their linear splines",
    "products": "standardised columns, their products and squares",
    "cosines": "standardised columns and random cosines",
    "fine-cosines": "standardised columns and fast random cosines",
    "kernel": "RBF kernel of standardised columns",
    "words": "tf-idf of words and pairs of words",
    "characters": "tf-idf of words, pairs and characters",
    "ratios": "words and pairs by log-count ratio",
    "joined": "log-count ratios of words and pairs, and characters",
}


# ---- the path


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


def reading_of(path: f.Path) -> f.Reading:
    """Say what the two ends of the path show, and on which side the chosen C lies."""
    rows = path.rows
    if path.measure != "error":
        return _by_measure(path)
    best = min(rows, key=lambda row: row.validation_error)
    chosen = next(row for row in rows if path.chosen == row.C)
    first, last = rows[0], rows[-1]
    noise = _FAR * max(best.validation_spread, 1e-12)
    low_worse = first.validation_error - best.validation_error > noise
    high_worse = last.validation_error - best.validation_error > noise
    low_end = (
        f"At C = {first.C:g} the training error is {_percent(first.training_error or 0.0)} and the "
        f"validation error {_percent(first.validation_error)}"
        + (
            ": the model is too simple even for its training rows (underfitting)."
            if low_worse
            else ": within the spread of the best."
        )
    )
    gap = last.validation_error - (last.training_error or 0.0)
    high_end = (
        f"At C = {last.C:g} the training error is {_percent(last.training_error or 0.0)} and the "
        f"validation error {_percent(last.validation_error)}, {_percent(gap)} apart"
        + (
            ": the model memorises its training rows (overfitting)."
            if high_worse
            else ": no sign of overfitting."
        )
    )
    if not low_worse and not high_worse:
        kind = "flat"
        sentence = "C hardly matters here: every value tried is within the spread of the best."
    elif chosen.C == last.C and low_worse:
        kind = "underfitting"
        sentence = "The error still falls at the largest C tried: a larger C may be better."
    elif chosen.C == first.C and high_worse:
        kind = "overfitting"
        sentence = "The error is least at the smallest C tried: a smaller C may be better."
    else:
        kind = "balanced"
        sentence = (
            f"C = {chosen.C:.4g} lies between the ends: training error "
            f"{_percent(chosen.training_error or 0.0)}, validation error "
            f"{_percent(chosen.validation_error)}."
        )
    return f.Reading(kind, sentence, low_end, high_end)


def _by_measure(path: f.Path) -> f.Reading:
    """Say what chose, and what the errors are at the threshold that it takes."""
    row = next(row for row in path.rows if path.chosen == row.C)
    score = "" if row.score is None else f", {number(row.score)} on held-out rows"
    sentence = (
        f"C = {row.C:.4g} was chosen by {path.measure}{score}. At {path.errors_at} its "
        f"validation error is {_percent(row.validation_error)}"
    )
    if row.training_error is not None:
        sentence += f", its training error {_percent(row.training_error)}"
    return f.Reading("balanced", f"{sentence}.")
