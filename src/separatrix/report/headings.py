"""The headings of a report: each says what its section comes to."""

from __future__ import annotations

from separatrix.report.conclusions import KINDS, NAME, has_gap, is_refuted, words_of
from separatrix.report.facts import MOST_CLASSES, Facts, Margins
from separatrix.report.words import (
    cut,
    fixed,
    most,
    number,
    opened,
    percent,
    plural,
    share_at_least,
    share_at_most,
    spelled,
    whole,
)

__all__ = ["headings", "nearly_all_support", "share_below", "strength"]

NEARLY_ALL = 0.95  # of the training rows


def headings(facts: Facts) -> dict[str, str]:
    """Return the conclusion of every section that has something to tell."""
    makers = {
        "candidates": _candidates,
        "test": _test,
        "measures": _measures,
        "learning": lambda f: f.learning.sentence.rstrip(".") if f.learning else "",
        "data": _data,
        "separation": _separation,
        "path": _path,
        "machine": _machine,
        "threshold": _threshold,
        "replay": lambda f: "The method at work, step by step" if f.replay else "",
        "features": _features,
        "regression": _regression,
        "support": _support,
        "errors": _errors,
        "curves": _curves,
        "calibration": _calibration,
        "margins": _margins,
        "next": lambda f: "What to try next" if f.next_steps else "",
        "commands": lambda f: "Check it yourself" if f.commands else "",
    }
    found = {name: make(facts) for name, make in makers.items()}
    return {name: heading for name, heading in found.items() if heading}


def _data(facts: Facts) -> str:
    if (data := facts.data) is None:
        return ""
    shape = f"{plural(data.n_rows, 'row')}, {plural(data.n_features, 'feature')}"
    return f"{shape}, {spelled(len(data.classes))} classes" if data.classes else shape


def _separation(facts: Facts) -> str:
    if (verdict := facts.verdict) is None:
        return ""
    if verdict.each:
        kinds = [part.kind == "separable" for part in verdict.each]
        if all(kinds):
            return "Every class can be separated from the rest"
        count = spelled(sum(kinds)).capitalize()
        return f"{count} of {spelled(len(kinds))} classes can be separated from the rest"
    if is_refuted(verdict):
        return KINDS["overlapping"]
    return KINDS.get(verdict.kind, verdict.kind)


def _candidates(facts: Facts) -> str:
    chosen = [each for each in facts.candidates if each.chosen]
    if not chosen:
        return ""
    first = opened(words_of(chosen[0]))
    if len(facts.candidates) == 1:
        return f"{first}: the one candidate"
    return f"{first}: chosen from {plural(len(facts.candidates), 'candidate')}"


def _path(facts: Facts) -> str:
    if (path := facts.path) is None:
        return ""
    how = f", by {path.folds}\u2011fold cross-validation" if path.folds else ""
    return f"C = {number(path.chosen)}{how}"


def _machine(facts: Facts) -> str:
    if (machine := facts.machine) is None:
        return ""
    if not has_gap(machine):
        return f"{machine.name}, without a proof"
    if machine.checked is False:
        return "The certificate of the model did not hold"
    return f"No hyperplane does better by more than {most(machine.gap, 2)} of the objective"


def _threshold(facts: Facts) -> str:
    found = facts.threshold
    if found is not None and found.level is not None:
        sure = share_at_least(found.confidence)
        return f"At most {share_at_most(found.level)} false alarms, with {sure} confidence"
    if facts.scoring is not None:
        return f"Chosen by {facts.scoring.title}: {number(facts.scoring.test)} on the test"
    if found is not None:
        return f"{cut(found.positive, NAME)} where the score is beyond {number(found.value)}"
    if facts.imbalance is not None:
        rare = cut(facts.imbalance.name, NAME)
        return f"Only {percent(facts.imbalance.share)} of the rows are {rare}"
    return ""


def _test(facts: Facts) -> str:
    if (test := facts.test) is None:
        return ""
    errors = plural(test.errors, "error") if test.errors else "No error"
    return f"{errors} in {plural(test.n, 'row')} the model had never seen"


def _measures(facts: Facts) -> str:
    if not facts.measures and not facts.per_class:
        return ""
    recalls = [(part.recall.value, part.name) for part in facts.per_class if part.recall]
    if not recalls:
        return "Measures of the test"
    worst, name = min(recalls)
    if worst == max(recalls)[0]:
        return f"Every class has a recall of {percent(worst)}"
    return f"{opened(cut(name, NAME))} has the lowest recall: {percent(worst)}"


def _features(facts: Facts) -> str:
    if not facts.features or not any(group.features for group in facts.features):
        return ""
    if len(facts.features) > 1:
        return "The features with the largest weights, class by class"
    group = facts.features[0]
    largest = max(group.features, key=lambda part: abs(strength(part.weight, part.standardised)))
    for_whom = group.towards if largest.weight > 0 else group.against
    whom = f", towards {cut(for_whom, NAME)}" if for_whom else ""
    return f"“{cut(largest.name, NAME)}” has the largest weight{whom}"


def strength(weight: float, standardised: float | None) -> float:
    """Return what a feature is ranked by."""
    return weight if standardised is None else standardised


def _regression(facts: Facts) -> str:
    if (found := facts.regression) is None:
        return ""
    own = [each for each in found.coefficients if each.name != "intercept"]
    apart = sum(each.low > 0.0 or each.high < 0.0 for each in own)
    if len(own) == 1:
        return f"The interval of the coefficient {'excludes' if apart else 'includes'} zero"
    some = {0: "None of the intervals of"}.get(
        apart, f"{opened(spelled(apart))} of the intervals of"
    )
    does = "excludes" if apart < 2 else "exclude"
    return f"{some} {spelled(len(own))} coefficients {does} zero"


def _support(facts: Facts) -> str:
    if not facts.support:
        return ""
    machine = facts.machine
    if machine is None or machine.n_support is None:
        return "The rows that determine the hyperplane"
    rows = facts.split.train if facts.split else machine.n_rows
    if nearly_all_support(facts):
        every = "Every" if machine.n_support == rows else "Nearly every"
        found = f"{whole(machine.n_support)} of {whole(rows)}"
        return f"{every} training row is a support vector: {found}"
    of = f" of {whole(rows)}" if rows else ""
    what = "the hyperplanes" if machine.n_machines > 1 else "the hyperplane"
    return f"{whole(machine.n_support)}{of} rows determine {what}"


def nearly_all_support(facts: Facts) -> bool:
    """Whether so many rows are support vectors that the word says nothing."""
    machine = facts.machine
    if machine is None or machine.n_support is None:
        return False
    rows = facts.split.train if facts.split else machine.n_rows
    return bool(rows) and machine.n_support >= NEARLY_ALL * (rows or 0)


def _errors(facts: Facts) -> str:
    confusion = facts.test.confusion if facts.test else ()
    if not confusion:
        return "The hardest mistakes" if facts.mistakes else ""
    pairs = [
        (count, i, j)
        for i, row in enumerate(confusion)
        for j, count in enumerate(row)
        if i != j and count
    ]
    if not pairs:
        return "No mistakes on the test rows"
    most = max(pairs)
    names = [cut(part.name, NAME) for part in facts.data.classes] if facts.data else []
    if sum(pair[0] == most[0] for pair in pairs) > 1 or len(names) != len(confusion):
        return "Which classes are confused"
    return f"Most mistakes predict {names[most[2]]} where {names[most[1]]} is true"


def _curves(facts: Facts) -> str:
    areas = [curve.auc for curve in facts.curves if curve.auc is not None]
    if not facts.curves:
        return ""
    if len(areas) == 1:
        name = cut(facts.curves[0].name, NAME)
        return f"A row of {name} scores above another row in {percent(areas[0])} of pairs"
    if not areas or len(facts.curves) >= MOST_CLASSES:
        return "Ranking"
    return f"Area under the ROC curve: {number(min(areas))} or more"


def _calibration(facts: Facts) -> str:
    parts = [part.error for part in facts.calibration if part.error is not None]
    if not facts.calibration:
        return ""
    if not parts or len(facts.calibration) >= MOST_CLASSES:
        return "Predicted probability against observed frequency"
    points = fixed(100 * max(parts), 1)
    most = "at most " if len(parts) > 1 else ""  # of all classes
    return f"Predicted probabilities are off by {most}{points} percentage points on average"


def _margins(facts: Facts) -> str:
    if facts.margins is None:
        return ""
    inside = share_below(facts.margins, "test", 1.0)
    if inside is None:
        return "How far rows lie from the hyperplane"
    return f"{percent(inside)} of test rows lie inside the margin or on the wrong side"


def share_below(margins: Margins, part: str, limit: float) -> float | None:
    """Return the share of rows of a part below a limit, if a bin ends there."""
    if limit not in margins.edges:
        return None
    bins = margins.edges.index(limit)
    counts = [group.counts for group in margins.counts if group.part == part]
    total = sum(sum(group) for group in counts)
    return sum(sum(group[:bins]) for group in counts) / total if total else None
