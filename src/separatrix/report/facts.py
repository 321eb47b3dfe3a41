"""Every fact of a study, as plain data: what the page tells and what ``--json`` prints.

A fact that a study has not found is None or empty, and the page leaves its part out. Texts are as
they stand in the data: escaping is the page's work. The file is long because it is a list: one
dataclass a part, and nothing else.

>>> facts = Facts(title="Iris", data=Data(source="iris", n_rows=150, n_features=4))
>>> Facts.from_json(facts.to_json()) == facts
True
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from separatrix.problem.sparse_penalty import penalty_words
from separatrix.report.words import from_plain, to_plain

FORMAT = "separatrix-facts-1"
MOST_CLASSES = 100  # that have a curve and a calibration of their own


@dataclass(frozen=True)
class MadeWith:
    """The program; the date is left out where the same facts must give the same bytes."""

    version: str
    date: str | None = None


@dataclass(frozen=True)
class ClassCount:
    """A class by name, and its rows: all of them, those trained on, those kept for the test."""

    name: str
    count: int
    train: int | None = None
    test: int | None = None


@dataclass(frozen=True)
class Data:
    """What was read. The order of the classes is that of every other part."""

    source: str
    n_rows: int
    n_features: int
    classes: tuple[ClassCount, ...] = ()
    sha256: str = ""
    kind: str = ""
    target: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """How rows were set aside; `how` is a sentence."""

    train: int
    test: int
    how: str = ""
    seed: int | None = None
    validation: int | None = None


@dataclass(frozen=True)
class WitnessRow:
    """One row of a proof that nothing separates.

    A multiplier of many digits is "" here: the certificate holds it.
    """

    row: int
    multiplier: str
    label: str = ""
    excerpt: str = ""


@dataclass(frozen=True)
class Verdict:
    """Can a hyperplane separate the classes? `name` says which against which, where there are many.

    `kind` is "separable", "quasi-separable", "overlapping" or "undecided". Of more than two
    classes, `each` holds a verdict for every class against all others.
    """

    kind: str
    sentence: str
    name: str = ""
    margin: float | None = None
    witness: tuple[WitnessRow, ...] = ()
    witness_rows: int = 0
    checked: bool | None = None
    certificate: str = ""
    each: tuple[Verdict, ...] = ()


@dataclass(frozen=True)
class PathRow:
    """One C of the path; errors are rates, and what the spread is, `Path.spread` says."""

    C: float
    validation_error: float
    validation_spread: float = 0.0
    training_error: float | None = None
    n_support: float | None = None
    margin: float | None = None
    gap: float | None = None
    seconds: float | None = None
    score: float | None = None
    score_error: float | None = None


@dataclass(frozen=True)
class Path:
    """The path over C and the choice made on it; `measure` names what chose.

    Where that is not the error, rows have its mean over the folds as `score`, and `errors_at` says
    at which threshold errors were counted.
    """

    rows: tuple[PathRow, ...]
    chosen: float
    reason: str = ""
    folds: int | None = None
    measure: str = "error"
    errors_at: str = ""
    spread: str = "one standard error"
    best: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Candidate:
    """Features and a loss that were tried, with the C that was best for them.

    `error` is the mean over the folds, `standard_error` its standard error. `score` and
    `score_error` are those of the measure that chose, where it was not the error.
    """

    features: str
    loss: str
    C: float
    error: float
    standard_error: float
    n_features: int
    n_rows: int
    chosen: bool = False
    seconds: float | None = None
    score: float | None = None
    score_error: float | None = None
    gamma: float | None = None  # of a kernel
    l1_ratio: float = 0.0
    n_nonzero: int | None = None  # columns with a weight, the mean over the folds
    cuts: int = 1  # of the rows into folds, whose errors are counted

    @property
    def model(self) -> str:
        """The loss and, of sparse weights, the penalty."""
        parts = (self.loss.replace("_", " "), penalty_words(self.l1_ratio))
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Baseline:
    """What naming the commonest class of the training rows, always, comes to on the same folds."""

    name: str
    error: float
    standard_error: float = 0.0


@dataclass(frozen=True)
class Machine:
    """The machine fitted at the end. `certificate` is its SHA-256, `proof` its one sentence.

    Of several machines (one a class), `gap` is the largest and the objectives are sums.
    """

    name: str
    loss: str
    C: float
    objective: float | None = None
    dual_objective: float | None = None
    gap: float | None = None
    tol: float | None = None
    status: str = ""
    n_support: int | None = None
    n_rows: int | None = None
    margin: float | None = None
    training_errors: int | None = None
    n_machines: int = 1
    scaling: str = ""
    certificate: str = ""
    proof: str = ""
    checked: bool | None = None
    seconds: float | None = None
    l1_ratio: float = 0.0

    @property
    def penalty(self) -> str:
        """The penalty of sparse weights; nothing for the ridge."""
        return penalty_words(self.l1_ratio)


@dataclass(frozen=True)
class Share:
    """A share of so many rows, with the ends of its exact 95 % interval."""

    value: float
    n: int
    low: float
    high: float


@dataclass(frozen=True)
class Scoring:
    """The measure that chose features, loss and C, where it was not the error.

    `value` is its mean over held-out folds. `low` and `high` are the ends of the 95 % interval of
    `test`; `how` says how it was made. `missed` and `false_alarm` are the costs of both mistakes.
    """

    name: str
    title: str
    larger_is_better: bool
    value: float
    standard_error: float
    test: float
    low: float
    high: float
    how: str = ""
    positive: str | None = None
    missed: float | None = None
    false_alarm: float | None = None


@dataclass(frozen=True)
class Threshold:
    """The score above which the second class is predicted, where it is not 0.

    `rule` is the measure it is best for, "minimax" or "false_alarms". `missed` and `false_alarms`
    are those of the `rows` that chose it. Where `level` is given, the share of false alarms on new
    rows is at most that, with the confidence given; `guarantee` says what is assumed.
    """

    value: float
    rule: str
    positive: str
    sentence: str
    guarantee: str
    missed: Share
    false_alarms: Share
    test_missed: Share
    test_false_alarms: Share
    rows: int
    level: float | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class Imbalance:
    """The smallest class, where it is rare, and the balanced accuracy on the test."""

    name: str
    share: float
    balanced_accuracy: float
    low: float
    high: float
    how: str
    sentence: str
    command: str = ""


@dataclass(frozen=True)
class NewRows:
    """Errors on the test rows that do not stand in the training data, with the exact interval.

    None of the rates where there is no such row.
    """

    n: int
    errors: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class OpenedTest:
    """The sealed test, opened once. Rows of `confusion` are the true classes, in order.

    `new_rows` is there where more than 5 % of the test rows also stand in the training data.
    """

    n: int
    errors: int
    rate: float
    low: float
    high: float
    confidence: float = 0.95
    confusion: tuple[tuple[int, ...], ...] = ()
    duplicates: int | None = None
    duplicate_rows: tuple[int, ...] = ()
    baseline: float | None = None
    sealed: str = ""
    new_rows: NewRows | None = None


@dataclass(frozen=True)
class Measure:
    """A figure on the test rows and its 95 % interval; `how` says what the interval rests on."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    how: str = ""


@dataclass(frozen=True)
class ClassMeasures:
    """Precision, recall and F1 of one class; None where no row decides. `support` counts rows."""

    name: str
    support: int
    precision: Measure | None = None
    recall: Measure | None = None
    f1: Measure | None = None


@dataclass(frozen=True)
class LearningPoint:
    """The mean error on held-out rows when so many rows train, and its standard error.

    Where another measure chose, `score` and `score_error` are those of the measure, and the error
    is None.
    """

    rows: int
    error: float | None
    standard_error: float = 0.0
    score: float | None = None
    score_error: float | None = None


@dataclass(frozen=True)
class LearningCurve:
    """Would more rows help? The same candidate and C on parts of the training rows, same folds.

    `kind` is "helps", "may help" or "no gain"; of data too large or too small, "" and no points.
    `measure` names what the points show.
    """

    points: tuple[LearningPoint, ...]
    kind: str
    sentence: str
    measure: str = "error"


@dataclass(frozen=True)
class Bound:
    """A bound on the error on new rows; at 1 or more it says nothing, and the page says so."""

    name: str
    value: float
    assumptions: tuple[str, ...] = ()
    confidence: float | None = None
    sentence: str = ""


@dataclass(frozen=True)
class Feature:
    """A weight; `standardised` is the weight times the column's standard deviation."""

    name: str
    weight: float
    standardised: float | None = None


@dataclass(frozen=True)
class Features:
    """The most telling features of one hyperplane: positive weights speak for `towards`.

    Of sparse weights, `n_proved_zero` features have the weight 0 in every optimum, which is proved;
    `proved_zero` names the first of them. They are the same for all classes fitted at once.
    """

    towards: str
    features: tuple[Feature, ...]
    against: str = ""
    intercept: float | None = None
    total: int | None = None
    nonzero: int | None = None
    n_proved_zero: int | None = None
    proved_zero: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of a logistic regression: its profile interval, the likelihood-ratio test."""

    name: str
    estimate: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Regression:
    """A logistic regression of the training rows without a ridge; `method` "mle" or "firth".

    Estimates are of the log odds of `positive`, for columns as they were read. `proof` is "global",
    "local" or "none". The columns `aliased` depend on others.
    """

    coefficients: tuple[Coefficient, ...]
    positive: str
    method: str
    rows: int
    level: float = 0.95
    proof: str = "none"
    separation: str = "overlapping"
    aliased: tuple[str, ...] = ()


@dataclass(frozen=True)
class Support:
    """A training row that holds the hyperplane; `margin` is y (w.x + b)."""

    row: int
    label: str
    alpha: float
    margin: float | None = None
    excerpt: str = ""


@dataclass(frozen=True)
class Curve:
    """ROC and precision-recall of one class against the rest, on the test rows."""

    name: str
    false_positive_rate: tuple[float, ...] = ()
    true_positive_rate: tuple[float, ...] = ()
    auc: float | None = None
    recall: tuple[float, ...] = ()
    precision: tuple[float, ...] = ()
    average_precision: float | None = None
    prevalence: float | None = None


@dataclass(frozen=True)
class Bin:
    """Test rows of like score: predicted probability, observed frequency, and its interval."""

    predicted: float
    observed: float
    count: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Calibration:
    """Do scores mean what they say? `how` says how scores became probabilities."""

    name: str
    bins: tuple[Bin, ...]
    how: str = ""
    brier: float | None = None
    error: float | None = None


@dataclass(frozen=True)
class MarginsOf:
    """Counts of one class in one part ("train" or "test"), one for each bin."""

    part: str
    name: str
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Margins:
    """How far rows lie from the hyperplane, on their own side (positive) or the wrong one.

    `unit` says what 1 is. Rows beyond the ends are counted in the first and the last bin.
    """

    edges: tuple[float, ...]
    counts: tuple[MarginsOf, ...]
    unit: str = "y (w.x + b)"


@dataclass(frozen=True)
class Mistake:
    """A test row on the wrong side; the hardest first. `row` counts as the data file does."""

    row: int
    true: str
    predicted: str
    score: float | None = None
    excerpt: str = ""


@dataclass(frozen=True)
class ReplayRun:
    """One machine, iteration by iteration: weights [b, w1, w2], both objectives, and its support.

    `support` numbers the points of the replay.
    """

    update: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]
    errors: tuple[int, ...]
    margin: tuple[float, ...]
    primal: tuple[float, ...]
    dual: tuple[float, ...]
    gap: tuple[float, ...]
    support: tuple[int, ...] = ()


@dataclass(frozen=True)
class Replay:
    """The method at work in the plane of two features: one run, or one for each class.

    `classes` numbers the class of every point, `weights` are those at the end, a row a machine.
    `n_rows` and `n_features` are the study's; `seed` drew the points where there are fewer.
    """

    features: tuple[str, ...]
    points: tuple[tuple[float, ...], ...]
    classes: tuple[int, ...]
    runs: tuple[ReplayRun, ...]
    weights: tuple[tuple[float, ...], ...]
    errors: int
    loss: str
    C: float
    n_rows: int
    n_features: int
    seed: int | None = None


@dataclass(frozen=True)
class Reading:
    """What the path says of bias and variance.

    `kind` is "underfitting", "overfitting", "balanced" or "flat"; the other two sentences are about
    the ends of the path.
    """

    kind: str
    sentence: str
    low_end: str = ""
    high_end: str = ""


@dataclass(frozen=True)
class Command:
    """A line to type, and what it does."""

    does: str
    line: str


@dataclass(frozen=True)
class Step:
    """What to try next: why, in a sentence, and the command or the call that does it."""

    kind: str
    sentence: str
    line: str = ""


@dataclass(frozen=True)
class Facts:
    """All that a study found."""

    title: str
    question: str = ""
    answer: str = ""
    made_with: MadeWith | None = None
    data: Data | None = None
    split: Split | None = None
    verdict: Verdict | None = None
    candidates: tuple[Candidate, ...] = ()
    chosen_by: str = ""
    curve_gains: tuple[str, ...] = ()
    baseline: Baseline | None = None
    path: Path | None = None
    reading: Reading | None = None
    machine: Machine | None = None
    scoring: Scoring | None = None
    threshold: Threshold | None = None
    imbalance: Imbalance | None = None
    replay: Replay | None = None
    test: OpenedTest | None = None
    measures: tuple[Measure, ...] = ()
    per_class: tuple[ClassMeasures, ...] = ()
    learning: LearningCurve | None = None
    bounds: tuple[Bound, ...] = ()
    features: tuple[Features, ...] = ()
    regression: Regression | None = None
    support: tuple[Support, ...] = ()
    curves: tuple[Curve, ...] = ()
    calibration: tuple[Calibration, ...] = ()
    margins: Margins | None = None
    mistakes: tuple[Mistake, ...] = ()
    next_steps: tuple[Step, ...] = ()
    commands: tuple[Command, ...] = ()

    @property
    def no_part(self) -> tuple[Features, ...]:
        """The features whose zeros are reported: once where one proof is about all classes."""
        groups = tuple(group for group in self.features if group.n_proved_zero is not None)
        return groups[:1] if self.machine is not None and self.machine.n_machines == 1 else groups

    @property
    def chosen_measure(self) -> str:
        """The measure that chose, by its name: the one given, or that of the path over C."""
        if self.scoring is not None:
            return self.scoring.title
        return "" if self.path is None or self.path.measure == "error" else self.path.measure

    def to_json(self) -> str:
        """Write all facts; numbers that JSON has no word for are the texts "inf", "-inf", "nan"."""
        whole = {"format": FORMAT, **to_plain(self)}
        return json.dumps(whole, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Facts:
        """Read facts; what is not one of them is refused by name."""
        whole = json.loads(text)
        if not isinstance(whole, dict) or whole.pop("format", None) != FORMAT:
            raise ValueError(f"not the facts of a study: the format must be {FORMAT!r}")
        facts = from_plain(cls, whole, "facts")
        assert isinstance(facts, cls), "from_plain makes the class given"
        return facts
