"""What a study chooses by, the threshold of its model, and what both came to.

A threshold comes from the pooled scores of held-out folds: the best one for the measure. Where a
share of false alarms must not be exceeded it comes from rows that are set apart from training
(`core.thresholds`), since only such rows can promise anything of the model that predicts.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.checker.exact import at_least, at_most
from separatrix.core.thresholds import (
    CONFIDENCE,
    AlarmBound,
    as_written,
    check_level,
    room_of_scores,
    rows_apart,
    rows_needed,
)
from separatrix.data.table import AS_READ
from separatrix.errors import DataError
from separatrix.report import facts as f
from separatrix.report.advice import in_time
from separatrix.selection import bounds
from separatrix.selection.opening import interval_of
from separatrix.selection.scores import SCORINGS, WITH_THRESHOLD, Costs, Measure, parse_costs
from separatrix.selection.sealed_test import matching_rows
from separatrix.selection.split import Parts, split

if TYPE_CHECKING:
    from separatrix.report.study import Settings, Study

__all__ = [
    "alarm_bound",
    "imbalance_facts",
    "measure_of",
    "scoring_facts",
    "set_apart",
    "settled",
    "threshold_facts",
    "thresholded",
]

_RARE = 0.2  # of two classes; of more, as much less as each has fewer rows
# Rule of the threshold -> why it is this one.
_WHY = {
    "false_alarms": "the least that keeps its promise",
    "minimax": "where the larger of the two classes' error rates is least",
    "cost": "of least cost",
}


def settled(settings: Settings) -> Settings:
    """Return the settings with the measure by name; refuse those that contradict each other."""
    scoring, costs, level = settings.scoring, settings.costs, settings.at_most_false_alarms
    rules = [
        name
        for name, given in (
            ("costs", costs is not None),
            ("at_most_false_alarms", level is not None),
            ("minimax", settings.minimax),
        )
        if given
    ]
    if len(rules) > 1:
        raise DataError(f"{' and '.join(rules)} each choose a threshold: give one of them.")
    if scoring is not None and scoring not in SCORINGS:
        raise DataError(f"scoring must be one of {', '.join(SCORINGS)}. Got {scoring!r}.")
    if (scoring == "cost") != (costs is not None) and (scoring == "cost" or scoring is not None):
        raise DataError(
            "scoring by cost needs the costs of both mistakes, such as --costs 5:1, and costs are "
            "for no other scoring."
        )
    if costs is not None:
        parse_costs(costs)
    if level is not None:
        check_level(level)
    by_rule = {"costs": "cost", "at_most_false_alarms": "misses", "minimax": "minimax"}
    usual = by_rule[rules[0]] if rules else "balanced" if settings.balanced else None
    return dataclasses.replace(settings, scoring=scoring or usual)


def measure_of(settings: Settings, names: list[str]) -> Measure | None:
    """Return what the study chooses by; None for the error.

    The positive class is the one named, or the second.
    """
    positive = names.index(settings.positive) if settings.positive in names else 1
    costs = Costs() if settings.costs is None else parse_costs(settings.costs)
    costs = costs.of_classes(names, positive)
    measure = Measure(
        settings.scoring or "error", costs, positive, settings.at_most_false_alarms or 0.0
    )
    measure.check_classes(len(names))
    needs_two = settings.minimax or settings.at_most_false_alarms is not None
    if needs_two and len(names) > 2:
        raise DataError(
            f"such a threshold needs two classes, and there are {len(names)}. Name one with "
            "--positive to set it against all others."
        )
    return None if measure.scoring == "error" else measure


def set_apart(
    parts: Parts,
    codes: np.ndarray,
    names: list[str],
    settings: Settings,
    times: np.ndarray | None = None,
) -> Parts:
    """Take rows from training for a threshold that bounds false alarms; in time, the latest."""
    level = settings.at_most_false_alarms
    if level is None:
        return parts
    train, positive = parts.train, _positive(settings, names)
    own = codes[train]
    count = rows_apart(
        int(np.count_nonzero(own != positive)), len(train), level, names[1 - positive]
    )
    if settings.group is not None:
        raise DataError(
            "a bound on false alarms is for rows drawn one by one, and those of a group belong "
            "together: leave group or at_most_false_alarms out."
        )
    if times is not None:
        taken = np.sort(np.argsort(times[train], kind="stable")[len(train) - count :])
        how = "the last of the others"
    else:
        taken = split(own, test=count, seed=settings.seed).test
        how = "drawn from the others, each class in proportion"
    apart = train[taken]
    negative = int(np.count_nonzero(codes[apart] != positive))
    if negative < (needed := rows_needed(level)):
        raise DataError(
            f"the {count:,} rows set apart for the threshold hold {negative:,} of class "
            f"{names[1 - positive]}, and {needed:,} are needed. Give more rows, or allow more "
            "false alarms."
        )
    rest = np.delete(train, taken)
    said = f"{parts.how}. {count:,} rows, {how}, choose the threshold alone"
    return Parts(rest, apart, parts.test, said)


def _positive(settings: Settings, names: list[str]) -> int:
    return names.index(settings.positive) if settings.positive in names else 1


# ---- the threshold


def thresholded(work: Study, model: Any, scores: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Give the model its threshold, from held-out scores; return what is known of it.

    Nothing is known, and nothing changed, where the model decides by the sign.
    """
    settings = work.settings
    if work.measure is not None and work.measure.costs.matrix and hasattr(model, "predict_proba"):
        model.costs_ = np.array(work.measure.costs.matrix)
        return {}
    positive = _positive(settings, work.names)
    if settings.at_most_false_alarms is not None:
        rows, rule = work.parts.validation, "false_alarms"
        X = work.encoded.X[rows]
        scores, codes = model.decision_function(X), work.codes[rows]
        bound = work.alarm_bound
        assert bound is not None, "there is one where rows were set apart"
        room = room_of_scores(X, model.coef_[0], float(model.intercept_[0]))
        value = bound.threshold(scores, codes, work.names, room)
        assert value is not None, "the rows are enough: `set_apart` counted them"
    else:
        rule = "minimax" if settings.minimax else settings.scoring or "error"
        if rule not in WITH_THRESHOLD or scores.shape[1] != 1 or not len(codes):
            return {}
        measure = dataclasses.replace(work.measure or Measure(), scoring=rule)
        value, scores = measure.threshold(scores, codes), scores[:, 0]
    model.threshold_ = float(value)
    called = np.where(scores > value, 1, 0) == positive
    own = codes == positive
    return {
        "value": float(value),
        "rule": rule,
        "missed": [int(np.count_nonzero(own & ~called)), int(own.sum())],
        "false_alarms": [int(np.count_nonzero(~own & called)), int((~own).sum())],
    }


def threshold_facts(work: Study, test_scores: np.ndarray) -> f.Threshold | None:
    """Tell the threshold, what it promises, and its mistakes on held-out rows and on the test."""
    known = work.threshold
    if not known:
        return None
    positive = _positive(work.settings, work.names)
    name, other = work.names[positive], work.names[1 - positive]
    called = np.where(test_scores > known["value"], 1, 0) == positive
    own = work.codes_test == positive
    bound = work.alarm_bound
    rule = known["rule"]
    where = "rows set apart" if bound is not None else "held-out folds"
    why = _WHY[rule] if rule in _WHY else f"best for {Measure(rule).title}"
    side = "above" if positive == 1 else "at or below"
    return f.Threshold(
        value=known["value"],
        rule=rule,
        positive=name,
        sentence=(
            f"{name} is predicted where the score is {side} {known['value']:.4g}. That threshold "
            f"is {why}, on the scores of {where}."
        ),
        guarantee=_guarantee(work, bound, other),
        confidence=None if bound is None else bound.confidence,
        level=None if bound is None else bound.level,
        missed=_share(*known["missed"]),
        false_alarms=_share(*known["false_alarms"]),
        test_missed=_share(int(np.count_nonzero(own & ~called)), int(own.sum())),
        test_false_alarms=_share(int(np.count_nonzero(~own & called)), int((~own).sum())),
        rows=known["missed"][1] + known["false_alarms"][1],
    )


def _guarantee(work: Study, bound: AlarmBound | None, other: str) -> str:
    if bound is None:
        return (
            "The threshold was chosen on the scores of the folds' models, so their errors are "
            "optimistic. Report the sealed test."
        )
    alarms, negative = work.threshold["false_alarms"]
    called = "1 is a false alarm" if alarms == 1 else f"{alarms:,} are false alarms"
    more = (
        "; the rows set apart come before those of the test"
        if work.folding.times is not None
        else ""
    )
    if work.settings.features == AS_READ and work.table.encoding is not None:
        more += "; the encoding of the columns was learned on these rows too, without their labels"
    twins = int((matching_rows(work.table.X[bound.rows], work.X_train) >= 0).sum())
    if twins:
        more += (
            f"; {twins:,} of the rows set apart are also training rows, and if they are copies, "
            "not independent draws, the guarantee does not hold (--dedupe drops copies)"
        )
    return (
        f"With {at_least(100 * as_written(bound.confidence), 6)} % confidence at most "
        f"{at_most(100 * as_written(bound.level), 6)} % of new rows of {other} are predicted as "
        f"{bound.positive}. The guarantee is exact: it uses the order of {negative:,} "
        f"scores, of which {called}. "
        "The model was fitted without these rows. It is assumed that new rows are drawn as they "
        f"were{more}."
    )


def _share(count: int, n: int) -> f.Share:
    if not n:
        return f.Share(0.0, 0, 0.0, 1.0)
    found = bounds.binomial(count, n)
    return f.Share(count / n, n, found.lower, found.upper)


def alarm_bound(settings: Settings, parts: Parts, names: list[str]) -> AlarmBound | None:
    """Return the promise about false alarms that the settings ask for."""
    if settings.at_most_false_alarms is None:
        return None
    positive = names[_positive(settings, names)]
    return AlarmBound(settings.at_most_false_alarms, CONFIDENCE, positive, parts.validation)


# ---- the measure


def scoring_facts(
    work: Study, path: Any, test_scores: np.ndarray, probabilities: np.ndarray, threshold: float
) -> f.Scoring | None:
    """Tell the measure that chose, on held-out folds and on the test; None for the error."""
    if (measure := work.measure) is None:
        return None
    columns = test_scores[:, None] if test_scores.ndim == 1 else test_scores
    codes = work.codes_test
    loss = measure.loss(columns, codes, threshold, probabilities)
    low, high, how = interval_of(measure, columns, codes, threshold, probabilities)
    costs = measure.costs if measure.scoring == "cost" and not measure.costs.matrix else None
    return f.Scoring(
        name=measure.scoring,
        title=measure.title,
        larger_is_better=measure.larger_is_better,
        value=float(path["validation_score"][path.chosen]),
        standard_error=float(path["score_error"][path.chosen]),
        test=float(measure.shown(loss)),
        low=low,
        high=high,
        how=how,
        positive=work.names[measure.positive] if len(work.names) == 2 else None,
        missed=None if costs is None else costs.missed,
        false_alarm=None if costs is None else costs.false_alarm,
    )


# ---- classes of unequal size


def imbalance_facts(work: Study, test_scores: np.ndarray, threshold: float) -> f.Imbalance | None:
    """Tell where a class is rare: balanced accuracy, and the study that chooses by it."""
    counts = np.bincount(work.codes, minlength=len(work.names))
    share = float(counts.min() / counts.sum())
    if share >= _RARE * 2.0 / len(counts):
        return None
    name = work.names[int(counts.argmin())]
    columns = test_scores[:, None] if test_scores.ndim == 1 else test_scores
    balanced = Measure("balanced")
    loss = balanced.loss(columns, work.codes_test, threshold)
    low, high, how = interval_of(balanced, columns, work.codes_test, threshold)
    command = _balanced_command(work) if work.measure is None else ""
    option = "--scoring balanced" if work.commands else "scoring='balanced'"
    advice = "" if work.measure is not None else f"; {option} chooses the model by it"
    return f.Imbalance(
        name=name,
        share=share,
        balanced_accuracy=1.0 - loss,
        low=low,
        high=high,
        how=how,
        sentence=(
            f"Only {100.0 * share:.1f} % of the rows are of class {name}: the error says little "
            f"about them. Balanced accuracy on the test is {100.0 * (1.0 - loss):.1f} % "
            f"(95 %: {100.0 * low:.1f} to {100.0 * high:.1f} %){advice}."
        ),
        command=command,
    )


def _balanced_command(work: Study) -> str:
    """Return the study again, by balanced accuracy, with test rows and a folder of its own."""
    if work.again is None:
        return ""
    changes: dict[str, str | None] = {"--scoring": "balanced"}
    if not in_time(work.settings):
        changes["--seed"] = str(work.settings.seed + 1)
    return work.again("rare", changes)
