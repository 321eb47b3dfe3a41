"""What the path says of bias and variance, and what to try next: rules that name their figures."""

from __future__ import annotations

from typing import Any

from separatrix.report import facts as f

__all__ = ["next_steps", "reading_of"]

_FAR = 2.0  # standard errors
_RARE = 0.15
_MANY_TWINS = 0.02


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


def reading_of(path: f.Path) -> f.Reading:
    """Say what the two ends of the path show, and on which side the chosen C lies."""
    rows = path.rows
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
            ": too stiff to fit even the rows it trains on (underfitting)."
            if low_worse
            else ": no worse than the best within its spread."
        )
    )
    gap = last.validation_error - (last.training_error or 0.0)
    high_end = (
        f"At C = {last.C:g} the training error is {_percent(last.training_error or 0.0)} and the "
        f"validation error {_percent(last.validation_error)}, {_percent(gap)} apart"
        + (
            ": it learns the training rows by heart (overfitting)."
            if high_worse
            else ": no sign of overfitting."
        )
    )
    if not low_worse and not high_worse:
        kind = "flat"
        sentence = "C hardly matters here: every value tried is as good as the best, within spread."
    elif chosen.C == last.C and low_worse:
        kind = "underfitting"
        sentence = "The error still falls at the largest C: the machine may be too stiff yet."
    elif chosen.C == first.C and high_worse:
        kind = "overfitting"
        sentence = "The error grows from the smallest C on: the machine may be too free yet."
    else:
        kind = "balanced"
        sentence = (
            f"C = {chosen.C:.4g} lies between the ends: training error "
            f"{_percent(chosen.training_error or 0.0)}, validation error "
            f"{_percent(chosen.validation_error)}."
        )
    return f.Reading(kind, sentence, low_end, high_end)


def next_steps(facts: f.Facts, kind: str, settings: Any) -> tuple[str, ...]:
    """Return what to try next, the most promising first."""
    path, verdict, data, test = facts.path, facts.verdict, facts.data, facts.test
    if path is None or verdict is None or data is None or test is None:
        return ()
    chosen = next(row for row in path.rows if path.chosen == row.C)
    training, validation = chosen.training_error or 0.0, chosen.validation_error
    steps = []
    if facts.reading is not None and facts.reading.kind in ("underfitting", "overfitting"):
        side = "larger" if facts.reading.kind == "underfitting" else "smaller"
        steps.append(f"The best C is at the end of the path: try {side} ones with --Cs.")
    counts = [part.count for part in data.classes]
    if min(counts) < _RARE * sum(counts) and not settings.balanced:
        rare = min(data.classes, key=lambda part: part.count)
        steps.append(
            f"Only {_percent(rare.count / sum(counts))} of the rows are {rare.name}: with "
            "--balanced both classes weigh alike."
        )
    if validation - training > max(0.05, 4.0 * chosen.validation_spread):
        more = "tf-idf (-O weighting=tfidf) or fewer words (-O max_features=...)"
        steps.append(
            f"Validation error exceeds training error by {_percent(validation - training)}: more "
            f"rows would help most; else {more if kind == 'text' else 'fewer features'}."
        )
    elif validation > 0.02:
        more = "pairs of words (-O ngrams=1,2)" if kind == "text" else "products of features"
        steps.append(
            f"Training and validation error are close ({_percent(training)} and "
            f"{_percent(validation)}): a hyperplane in these features can do little more. "
            f"Give it more to see: {more}."
        )
    if test.duplicates and test.duplicates > _MANY_TWINS * test.n:
        steps.append(
            f"{test.duplicates} of {test.n} test rows also stand in the training data: drop "
            "repeated rows before splitting."
        )
    if verdict.kind == "separable" and path.chosen < path.rows[-1].C:
        steps.append(
            "The training rows are separable, yet a softer margin does better on rows it has not "
            "seen: keep it."
        )
    if settings.loss != "logistic":
        steps.append("For probabilities that are fitted, not calibrated: --loss logistic.")
    return tuple(steps[:4])
