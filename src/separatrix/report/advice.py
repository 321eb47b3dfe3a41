"""What to try next: the reason in a sentence, and the whole command or call that does it.

It is the one that was typed, with a few options changed. A command writes to a folder of its own.
Both take another seed: what is tried after looking at a test needs new test rows. (The latest rows
are the same with any seed, which the page says.) Advice that cannot help on these data is not
given.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from separatrix.data.encodings.column_features import MOST_MULTIPLIED
from separatrix.report import facts as f
from separatrix.report.conclusions import rare_class
from separatrix.report.words import fixed, plural
from separatrix.selection.path import OUT_OF_TIME

__all__ = ["Again", "changed_call", "changed_line", "in_time", "next_steps"]

_MOST = 4
_FOUND = 0.9  # recall of a rare class that needs no help
_MANY_TWINS = 0.02  # of the test rows
_OFF = 0.05  # probabilities off by so much on average
_WIDE = 0.05  # width of the interval of the test error
_SMALL = 0.02  # a validation error that leaves little to gain
_NEAR = 0.2  # of the validation error
_OF_TABLES = ("standard", "raw", "ranks", "splines")
_LONG = "600"  # seconds for a verdict
_FLAGS = frozenset({"--balanced", "--by-time", "--dedupe", "--no-times", "--json"})
_SHORT = {"--out": "-o"}

Changes = Mapping[str, str | None]
Again = Callable[[str, Changes], str]  # what was typed, for a kind of advice, with these changes


def next_steps(facts: f.Facts, settings: Any, again: Again | None) -> tuple[f.Step, ...]:
    """Return what to try next, the most promising first."""
    if facts.path is None or facts.verdict is None or facts.data is None or facts.test is None:
        return ()
    steps = []
    for kind, sentence, changes in _advice(facts, settings):
        more = changes if in_time(settings) else {**changes, "--seed": str(settings.seed + 1)}
        steps.append(f.Step(kind, sentence, again(kind, more) if again is not None else ""))
    return tuple(steps[:_MOST])


def _advice(facts: f.Facts, settings: Any) -> Iterator[tuple[str, str, Changes]]:
    """Yield a kind, a sentence and the options to change."""
    makers = (_dedupe, _rare, _features, _lift, _ends, _time, _verdict, _probabilities, _again)
    for make in makers:
        found = make(facts, settings)
        if found is not None:
            yield (make.__name__.lstrip("_"), *found)


def in_time(settings: Any) -> bool:
    """Whether the test rows are the latest: then no seed draws others."""
    return bool(settings.by_time or settings.time)


def _dedupe(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """Test rows that also stand in training."""
    assert facts.test is not None, "it was looked at"
    test = facts.test
    if settings.dedupe or (test.duplicates or 0) <= _MANY_TWINS * test.n:
        return None
    twins = "is also a training row" if test.duplicates == 1 else "are also training rows"
    return (
        f"{test.duplicates} of {plural(test.n, 'test row')} {twins}: drop repeated rows before "
        "the split.",
        {"--dedupe": ""},
    )


def _rare(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """A class of few rows, many of them missed."""
    assert facts.data is not None, "it was looked at"
    rare = rare_class(facts)
    if rare is None or settings.scoring is not None:
        return None
    recall = next((each.recall for each in facts.per_class if each.name == rare.name), None)
    if recall is None or recall.value >= _FOUND:
        return None
    total = sum(part.count for part in facts.data.classes)
    missed = fixed(100.0 * (1.0 - recall.value), 0)
    said = (
        f"Only {fixed(100.0 * rare.count / total, 1)} % of the rows are {rare.name}, and the model "
        f"misses {missed} % of those in the test"
    )
    return f"{said}: choose by balanced accuracy.", {"--scoring": "balanced"}


def _features(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """Features that were given, not compared."""
    if settings.features == "auto":
        return None
    kinds = list(dict.fromkeys(each.features for each in facts.candidates))
    tried = "One kind of features was tried"
    if len(kinds) > 1:
        tried = f"Only {' and '.join(kinds)} were tried as features"
    return (
        f"{tried}: compare several features and losses on the same folds.",
        {"--features": "auto", "--scale": None},
    )


def _lift(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """A hyperplane that fits its own training rows no better than others: it may be too stiff."""
    assert facts.path is not None, "it was looked at"
    assert facts.data is not None, "it was looked at"
    row = next((row for row in facts.path.rows if facts.path.chosen == row.C), None)
    columns = facts.data.n_features
    products = columns * (columns + 3) // 2
    is_table = any(each.features in _OF_TABLES for each in facts.candidates)
    if settings.lift is not None or settings.features == "raw" or not is_table or row is None:
        return None
    if not 1 < columns <= MOST_MULTIPLIED or products > facts.data.n_rows:
        return None
    training, validation = row.training_error or 0.0, row.validation_error
    near = max(_NEAR * validation, 2.0 * row.validation_spread)
    if validation < _SMALL or validation - training > near:
        return None
    little = "" if _may_gain(facts.path) else ": more rows or another C would help little"
    return (
        f"Training and validation error are close ({fixed(100.0 * training, 1)} and "
        f"{fixed(100.0 * validation, 1)} %){little}. Try a curved boundary, from products "
        "and cosines of columns.",
        {"--lift": "auto"},
    )


def _may_gain(path: f.Path) -> bool:
    """Whether a C that was not tried may be better: beyond the ends, or left out for its time."""
    tried = [row.C for row in path.rows]
    at_end = {path.chosen, path.best} & {min(tried), max(tried)}
    return bool(at_end) or OUT_OF_TIME in path.reason


def _ends(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """The best C at an end of the path."""
    assert facts.path is not None, "it was looked at"
    kind = facts.reading.kind if facts.reading is not None else ""
    if settings.features != "raw" or kind not in ("underfitting", "overfitting"):
        return None
    side, factor = ("larger", 10.0) if kind == "underfitting" else ("smaller", 0.1)
    values = sorted(float(f"{facts.path.chosen * factor**k:.4g}") for k in range(5))
    return (
        f"The best C lies at the end of the path: try {side} ones.",
        {"--Cs": ",".join(f"{value:g}" for value in values)},
    )


def _time(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """A fit that its time ended."""
    if facts.machine is None or facts.machine.status != "budget" or settings.max_seconds is None:
        return None
    return (
        "The time ran out before the tolerance was reached: allow ten times as long.",
        {"--max-seconds": f"{10.0 * settings.max_seconds:g}"},
    )


def _verdict(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """A verdict that its time ended."""
    assert facts.verdict is not None, "it was looked at"
    if facts.verdict.kind != "undecided" or settings.verdict_seconds >= float(_LONG):
        return None
    return (
        "Whether a hyperplane separates the classes was not decided in time: allow more time.",
        {"--verdict-seconds": _LONG},
    )


def _probabilities(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """Probabilities that are far from what was seen."""
    fitted = facts.machine is not None and facts.machine.loss == "logistic"
    off = [part.error for part in facts.calibration if part.error is not None and _is_off(part)]
    if fitted or not off or max(off) < _OFF:
        return None
    return (
        f"Predicted probabilities are off by {fixed(100.0 * max(off), 1)} percentage points on "
        "average: compare with the probabilities of the logistic loss.",
        {"--loss": "logistic"},
    )


def _is_off(part: f.Calibration) -> bool:
    """Whether more bins miss their predicted share than chance explains: two or more."""
    known = [(one.low, one.predicted, one.high) for one in part.bins]
    return (
        sum(
            low is not None and high is not None and not low <= at <= high
            for low, at, high in known
        )
        > 1
    )


def _again(facts: f.Facts, settings: Any) -> tuple[str, Changes] | None:
    """A test of so few rows that another split may say something else."""
    assert facts.test is not None, "it was looked at"
    test = facts.test
    ended = facts.machine is not None and facts.machine.status == "budget"
    if in_time(settings) or ended or test.high - test.low < _WIDE:
        return None
    ends = f"{fixed(100.0 * test.low, 1)} to {fixed(100.0 * test.high, 1)} %"
    return (
        f"The test has {plural(test.n, 'row')}, and its error may be {ends}: see what another "
        "split says.",
        {},
    )


# ---- commands and calls


def changed_call(rows: str, given: Mapping[str, str], kind: str, changes: Changes) -> str:
    """Return a call of ``sx.Study`` with options set, or left out where None; the rows as typed.

    >>> changed_call("X, y", {"folds": "3"}, "rare", {"--scoring": "balanced", "--seed": "1"})
    "sx.Study(X, y, folds=3, scoring='balanced', seed=1).run()"
    """
    names = {option: option.removeprefix("--").replace("-", "_") for option in changes}
    settings = {name: value for name, value in given.items() if name not in names.values()}
    for option, value in changes.items():
        if value is not None:
            settings[names[option]] = _in_python(value)
    words = [rows, *(f"{name}={value}" for name, value in settings.items())]
    return f"sx.Study({', '.join(words)}).run()"


def _in_python(value: str) -> str:
    """Return the value of an option as Python has it: a flag, numbers, or a text.

    >>> [_in_python(value) for value in ("", "600", "0.1,1", "balanced")]
    ['True', '600', '(0.1, 1)', "'balanced'"]
    """
    if not value:
        return "True"
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        return repr(value)
    return value if len(numbers) == 1 else f"({value.replace(',', ', ')})"


def changed_line(line: str, kind: str, changes: Changes) -> str:
    """Return a command with options set, or left out where None, and a folder of its own.

    >>> changed_line("separatrix study a.csv -o out", "rare", {"--balanced": "", "--seed": "1"})
    'separatrix study a.csv --balanced --seed 1 -o out-rare'
    """
    words = shlex.split(line)
    end = words.index("--") if "--" in words else len(words)
    options, rest = words[:end], words[end:]
    folder = _value(options, "--out") or "study"
    for name in (*changes, "--out"):
        options = _without(options, name)
    for name, value in changes.items():
        if value is not None:
            options += [name, value] if value else [name]
    return shlex.join([*options, "-o", f"{folder.rstrip('/')}-{kind}", *rest])


def _is(word: str, name: str) -> bool:
    return word in (name, _SHORT.get(name))


def _attached(word: str, name: str) -> str | None:
    """Return the value in ``--out=a`` or ``-oa``; None where there is none."""
    short = _SHORT.get(name, "")
    if word.startswith(f"{name}="):
        return word[len(name) + 1 :]
    if short and word.startswith(short) and word != short:
        return word[len(short) :]
    return None


def _value(words: list[str], name: str) -> str:
    found = ""
    for at, word in enumerate(words):
        if _is(word, name) and at + 1 < len(words):
            found = words[at + 1]
        found = _attached(word, name) or found
    return found


def _without(words: list[str], name: str) -> list[str]:
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif _is(word, name):
            skip = name not in _FLAGS
        elif _attached(word, name) is None:
            kept.append(word)
    return kept
