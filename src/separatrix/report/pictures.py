"""The figures of a page, each as an SVG element with a title and a description in words."""

from __future__ import annotations

import math
from typing import NamedTuple

from separatrix.plots._svg import Words
from separatrix.plots.panels import (
    Rate,
    draw_calibration,
    draw_error_rates,
    draw_learning_curve,
    draw_margin_histogram,
    draw_path_errors,
    draw_path_support,
    draw_precision_recall,
    draw_roc,
)
from separatrix.report.facts import Facts, Path
from separatrix.report.headings import nearly_all_support
from separatrix.report.words import clean, cut, number, opened, percent, plural, whole

__all__ = ["Picture", "draw_pictures"]

_CALIBRATIONS_SHOWN = 6
# A bound this far above all else would squeeze the rest into a corner.
_FAR, _FAR_BASELINE = 1.5, 4.0


class Picture(NamedTuple):
    """An SVG element, the words above it, and what stands below it."""

    svg: str
    title: str
    note: str = ""


def draw_pictures(facts: Facts) -> dict[str, list[Picture]]:
    """Return the pictures of every section that has any."""
    return {
        "path": _path(facts.path, not nearly_all_support(facts)) if facts.path else [],
        "test": _rates(facts),
        "learning": _learning(facts),
        "curves": _curves(facts),
        "calibration": _calibration(facts),
        "margins": _margins(facts),
    }


def _path(path: Path, with_support: bool) -> list[Picture]:
    rows = [row for row in path.rows if 0.0 < row.C < math.inf]
    rows.sort(key=lambda row: row.C)
    if len(rows) < 2 or not 0.0 < path.chosen < math.inf:
        return []
    at = [row.C for row in rows]
    training = [row.training_error for row in rows if row.training_error is not None]
    best = min(rows, key=lambda row: row.validation_error)
    description = (
        f"Validation error against C from {number(at[0])} to {number(at[-1])}: "
        f"{percent(rows[0].validation_error)} at the left end, least at C = {number(best.C)} with "
        f"{percent(best.validation_error)}, {percent(rows[-1].validation_error)} at the right end. "
        f"C = {number(path.chosen)} is marked as chosen."
    )
    title = "Error against C"
    drawn = draw_path_errors(
        at,
        [row.validation_error for row in rows],
        [row.validation_spread for row in rows],
        training if len(training) == len(rows) else None,
        path.chosen,
        Words("path-errors", title, description),
    )
    found = [Picture(drawn, title, f"Band: {path.spread}. Ring: the C chosen.")]
    support = [row.n_support for row in rows if row.n_support is not None]
    if with_support and len(support) == len(rows):
        title = "Support vectors against C"
        first, last = whole(support[0]), whole(support[-1])
        description = f"{first} at C = {number(at[0])}, {last} at the end."
        words = Words("path-support", title, description)
        drawn = draw_path_support(at, support, path.chosen, words)
        found.append(Picture(drawn, title, "The rows that determine the hyperplane."))
    return found


def _rates(facts: Facts) -> list[Picture]:
    if (test := facts.test) is None:
        return []
    rates = [Rate("test", test.rate, test.low, test.high, "main")]
    if facts.path is not None:
        row = next((row for row in facts.path.rows if facts.path.chosen == row.C), None)
        if row is not None:
            low = max(0.0, row.validation_error - row.validation_spread)
            high = row.validation_error + row.validation_spread
            rates.append(Rate("validation", row.validation_error, low, high))
    if facts.machine and facts.machine.training_errors is not None and facts.machine.n_rows:
        rates.append(Rate("training", facts.machine.training_errors / facts.machine.n_rows))
    largest = max(test.high, *(rate.value for rate in rates))
    near = test.baseline is not None and test.baseline <= _FAR_BASELINE * largest
    if test.baseline is not None and near:
        rates.append(Rate("largest class", test.baseline))
    scale = max(test.high, *(rate.value for rate in rates))
    for bound in facts.bounds:
        if bound.value < min(1.0, _FAR * scale):
            name = cut(bound.name, 16).removesuffix(" bound")
            rates.append(Rate(f"{name} bound", bound.value, weight="bound"))
    description = "; ".join(
        f"{rate.label} {percent(rate.value)}"
        + (f" ({percent(rate.low)} to {percent(rate.high)})" if rate.low is not None else "")
        for rate in rates
    )
    title = "Share of misclassified rows"
    note = f"The bar of the test is its exact {percent(test.confidence)} interval."
    if test.baseline is not None:
        always = "Always predicting the largest class has an error of"
        note += f" {always} {percent(test.baseline)}{'' if near else ', far to the right'}."
    drawn = draw_error_rates(rates, Words("test-rates", title, description))
    return [Picture(drawn, title, note)]


def _learning(facts: Facts) -> list[Picture]:
    points = facts.learning.points if facts.learning else ()
    if len(points) < 2:
        return []
    by_error = all(each.error is not None for each in points)
    name = "error" if facts.learning is None else facts.learning.measure
    title = f"{opened(name)} on held-out rows against the number of training rows"
    values = [(each.error if by_error else each.score) or 0.0 for each in points]
    figures = [percent(value) if by_error else number(value) for value in values]
    description = "; ".join(
        f"{whole(each.rows)} rows: {figure}" for each, figure in zip(points, figures, strict=True)
    )
    drawn = draw_learning_curve(
        [each.rows for each in points],
        values,
        [(each.standard_error if by_error else each.score_error) or 0.0 for each in points],
        Words("learning-curve", title, description),
        in_percent=by_error,
    )
    return [Picture(drawn, title, "Band: one standard error over the folds.")]


def _curves(facts: Facts) -> list[Picture]:
    found = []
    # Of two classes the one curve is that of the second, and takes its colour.
    first = 1 if len(facts.curves) == 1 else 0
    roc = [c for c in facts.curves if len(c.false_positive_rate) > 1]
    if roc:
        title = "ROC: true against false positive rate"
        description = "; ".join(f"{cut(c.name, 60)}: area {number(c.auc)}" for c in roc)
        points = [(c.false_positive_rate, c.true_positive_rate) for c in roc]
        words = Words("curves-roc", title, clean(description))
        found.append(Picture(draw_roc(points, words, first), title))
    recall = [c for c in facts.curves if len(c.recall) > 1]
    if recall:
        title = "Precision against recall"
        description = "; ".join(
            f"{cut(c.name, 60)}: average precision {number(c.average_precision)}" for c in recall
        )
        pairs = [_rising(c.recall, c.precision) for c in recall]
        guess = recall[0].prevalence if len(recall) == 1 else None
        words = Words("curves-recall", title, clean(description))
        drawn = draw_precision_recall(pairs, words, guess, first)
        found.append(Picture(drawn, title))
    return found


def _rising(
    recall: tuple[float, ...], precision: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the points in the order of recall, for some write them downwards."""
    return (recall, precision) if recall[0] <= recall[-1] else (recall[::-1], precision[::-1])


def _calibration(facts: Facts) -> list[Picture]:
    found = []
    for number_of, part in enumerate(facts.calibration[:_CALIBRATIONS_SHOWN]):
        bins = [one for one in part.bins if one.count > 0]
        if not bins:
            continue
        intervals = [
            (one.low, one.high) for one in bins if one.low is not None and one.high is not None
        ]
        name = cut(part.name, 60)
        description = "; ".join(
            f"predicted {percent(one.predicted)}, observed {percent(one.observed)} in "
            f"{plural(one.count, 'row')}"
            for one in bins
        )
        drawn = draw_calibration(
            [one.predicted for one in bins],
            [one.observed for one in bins],
            [one.count for one in bins],
            intervals if len(intervals) == len(bins) else None,
            1 if len(facts.calibration) == 1 else number_of,
            Words(f"calibration-{number_of}", f"Calibration of {name}", description),
        )
        found.append(Picture(drawn, name))
    return found


def _margins(facts: Facts) -> list[Picture]:
    if (margins := facts.margins) is None or len(margins.edges) < 2:
        return []
    found = []
    for part, title in (("train", "Training rows"), ("test", "Test rows")):
        counts = [group.counts for group in margins.counts if group.part == part]
        if not any(sum(group) for group in counts):
            continue
        total = sum(sum(group) for group in counts)
        ends = number(margins.edges[0]), number(margins.edges[-1])
        description = f"{plural(total, 'row')}, margins from {ends[0]} to {ends[1]}."
        words = Words(f"margins-{part}", f"Margins: {title.lower()}", description)
        drawn = draw_margin_histogram(margins.edges, counts, words, clean(margins.unit))
        found.append(Picture(drawn, title))
    return found
