"""``separatrix study``: the whole journey in one command, and a report at its end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli import _fitting as fitting
from separatrix.cli import _reading as reading
from separatrix.cli._fitting import Rule
from separatrix.cli._output import progress_bar, say

if TYPE_CHECKING:
    from separatrix.data.table import Table
    from separatrix.report.facts import Facts

_INTERRUPTED = 130
_NAMED = 5  # features


class Features(StrEnum):
    """What the columns, or the texts, become before a model is fitted."""

    RAW = "raw"
    AUTO = "auto"
    STANDARD = "standard"
    RANKS = "ranks"
    SPLINES = "splines"
    PRODUCTS = "products"
    COSINES = "cosines"
    FINE_COSINES = "fine-cosines"
    WORDS = "words"
    RATIOS = "ratios"
    CHARACTERS = "characters"
    JOINED = "joined"


class Lift(StrEnum):
    """What may bend the boundary."""

    AUTO = "auto"


class Scoring(StrEnum):
    """What features, loss and C are chosen by."""

    ERROR = "error"
    BALANCED = "balanced"
    F1 = "f1"
    MCC = "mcc"
    AUC = "auc"
    LOG_LOSS = "log_loss"
    COST = "cost"


@reading.with_source(*reading.READ[2:], after="out")
def study(
    source: reading.Source,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="A file, a folder, or one file per class; breast cancer and iris if left out."
        ),
    ] = None,
    target: reading.Target = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder for the report and all else.")
    ] = Path("study"),
    positive: reading.Positive = None,
    loss: fitting.ChosenLoss = None,
    l1: fitting.L1Ratio = None,
    features: Annotated[
        Features,
        typer.Option(help="Columns or words as they are, or what they become; auto tries."),
    ] = Features.AUTO,
    scale: fitting.StandardOption = None,
    lift: Annotated[
        Lift | None,
        typer.Option(help="auto: also try products and random cosines of columns: a curve."),
    ] = None,
    kernel: Annotated[
        Lift | None,
        typer.Option(help="auto: also measure an RBF kernel, and say what it would gain."),
    ] = None,
    scoring: Annotated[
        Scoring | None,
        typer.Option(help="What chooses; if left out, the error, or on hard tables the log loss."),
    ] = None,
    mistakes: Annotated[
        str | None,
        typer.Option(
            "--costs", help='Of mistakes: "missed:false_alarm = 5:1"; "a>b = 5, a>c = 2".'
        ),
    ] = None,
    at_most_false_alarms: Annotated[
        float | None,
        typer.Option(help="The most false alarms, such as 0.01: bounds them with 95 % confidence."),
    ] = None,
    minimax: Annotated[
        bool, typer.Option("--minimax", help="The threshold of least error of the worse class.")
    ] = False,
    costs: Annotated[
        str | None,
        typer.Option(
            "--Cs", help="Values of C, as 1,10,100 (one: 1000,), or how many; 0.01 to 1000."
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of cross-validation.")] = 5,
    test_share: Annotated[
        float, typer.Option(help="The share of the rows kept for the test.")
    ] = 0.2,
    by_time: Annotated[
        bool, typer.Option("--by-time", help="Rows stand in order of time: test on the last.")
    ] = False,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="COLUMN", help="Test on the rows latest by this column, no feature."
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Rows of one value stay together, in test and folds; the column is no feature.",
        ),
    ] = None,
    dedupe: Annotated[
        bool, typer.Option("--dedupe", help="Drop repeated rows before the split.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="For the split and the folds.")] = 0,
    rule: Annotated[Rule, typer.Option(help="How C is chosen.")] = Rule.BEST,
    balanced: fitting.Balanced = False,
    tol: fitting.Tolerance = 1e-4,
    max_seconds: Annotated[
        float | None, typer.Option(help="The most seconds for the path and the last fit.")
    ] = None,
    verdict_seconds: Annotated[
        float, typer.Option(help="The most seconds for the verdict on large data.")
    ] = 60.0,
    device: fitting.Device = "cpu",
    title: Annotated[str, typer.Option(help="The title of the report.")] = "",
    no_times: Annotated[
        bool, typer.Option("--no-times", help="Leave times out: same data, same bytes.")
    ] = False,
    as_json: reading.AsJson = False,
) -> None:
    """Read, seal a test set, judge, choose C, fit, prove, test once, and write a report."""
    from separatrix.report.study import Settings

    if l1:
        loss = fitting.loss_of_sparse(loss)
    settings = Settings(
        loss="auto" if loss is None else loss.value,
        l1=l1,
        features=features.value,
        scale=fitting.standard_only(scale),
        lift=None if lift is None else lift.value,
        kernel=None if kernel is None else kernel.value,
        Cs=fitting.values_of(costs),
        folds=folds,
        test_share=_share(test_share),
        seed=seed,
        rule=rule.value,
        tol=tol,
        balanced=balanced,
        scoring=None if scoring is None else scoring.value,
        costs=mistakes,
        at_most_false_alarms=at_most_false_alarms,
        minimax=minimax,
        by_time=by_time,
        time=time,
        group=group,
        dedupe=dedupe,
        positive=positive,
        max_seconds=max_seconds,
        verdict_seconds=verdict_seconds,
        device=device,
        title=title,
        times=not no_times,
    )
    if source.data:
        table = source.read([name for name in (group, time) if name is not None])
        reading.check_labels(table)
        _one(table, out, settings, source.data, as_json)
        return
    if target is not None:
        raise typer.BadParameter("--target needs DATA: the embedded sets have their labels.")
    if group is not None or time is not None:
        raise typer.BadParameter("--group and --time need DATA: the embedded sets have no such.")
    from separatrix.data.lectures import breast_cancer, iris

    for table, name in ((breast_cancer(), "breast_cancer"), (iris(), "iris")):
        _one(table, out / name, settings, [], as_json)


def _one(table: Table, out: Path, settings: Any, data: list[str], as_json: bool) -> None:
    """Study one table, and say what came of it or how to go on."""
    from separatrix.report.study import Study

    work = Study(table, out, settings, _commands(table, out, data), None)
    try:
        with progress_bar("reading") as tick:
            work.progress = lambda what, done, total: tick(done, total, what)
            facts = work.run()
    except KeyboardInterrupt:
        kept = work.journal.kept if hasattr(work, "journal") else 0
        say(
            f"Interrupted: {kept} finished folds are kept in {out / '.work'}; the same command "
            "resumes from there.",
            err=True,
        )
        raise typer.Exit(_INTERRUPTED) from None
    if work.journal.before and not as_json:
        say(f"Went on from {work.journal.before} finished folds.", err=True)
    if as_json:
        say(facts.to_json())
        return
    from separatrix.report.study_facts import notes_of

    for line in _lines(facts, notes_of(work), out):
        say(line)


def _lines(facts: Facts, notes: Sequence[str], out: Path) -> list[str]:
    assert facts.data
    assert facts.verdict
    assert facts.path
    assert facts.machine
    assert facts.test
    test, machine = facts.test, facts.machine
    lines = [
        f"{facts.title}: {facts.data.n_rows:,} rows, {facts.data.n_features:,} features, "
        f"{len(facts.data.classes)} classes; {test.n:,} rows sealed for the test",
        *(f"note: {note}" for note in notes),
        f"verdict: {facts.verdict.sentence}",
        *_tried(facts),
        f"path: {facts.path.reason}",
        f"model: {machine.name}, C = {machine.C:.4g}; {machine.proof}",
        *_no_part(facts),
        *_threshold_lines(facts),
        *_tested(test),
    ]
    lines += _measure_lines(facts)
    if test.duplicates and test.new_rows is None:
        repeated = _counted(test.duplicates, "test row") + " also in the training data"
        lines.append(f"note: {repeated}")
    for step in facts.next_steps:
        lines.append(f"next: {step.sentence}")
        lines += [f"    {step.line}"] if step.line else []
    return [*lines, f"Report: {out / 'report.html'}"]


def _tried(facts: Facts) -> list[str]:
    """Say what was compared, the best first, and what naming the commonest class comes to."""
    if len(facts.candidates) < 2:
        return []
    scoring = facts.scoring
    parts = []
    for each in facts.candidates:
        by_error = each.score is None
        value = each.error if each.score is None else each.score
        order = -value if scoring is not None and scoring.larger_is_better else value
        figure = f"{100 * value:.2f} %" if by_error else f"{value:.4f}"
        name = f"{each.features} {each.model.replace(',', '')} {figure}"
        parts.append((order, name + (" (chosen)" if each.chosen else "")))
    said = [name for _, name in sorted(parts)]
    measure = facts.chosen_measure
    if facts.baseline is not None and not measure:
        said.append(f"always {facts.baseline.name} {100 * facts.baseline.error:.2f} %")
    lines = [f"candidates, {measure or 'error'} on held-out rows: {'; '.join(said)}"]
    if facts.chosen_by:
        lines.append(f"chosen by: {facts.chosen_by.removeprefix('Chosen by ')}")
    return [*lines, *(f"curve: {gain}" for gain in facts.curve_gains)]


def _no_part(facts: Facts) -> list[str]:
    """Say which features of sparse weights are proved to play no part."""
    lines = []
    for group in facts.no_part:
        names, zeros = group.proved_zero[:_NAMED], group.n_proved_zero or 0
        more = ", ..." if len(names) < zeros else ""
        of = "" if len(facts.features) == 1 else ", for every class"
        of = f", for {group.towards}" if len(facts.no_part) > 1 else of
        said = f"{zeros:,} of {group.total:,} features have the weight 0, proved{of}"
        lines.append(f"no part: {said}: {', '.join(names)}{more}" if names else f"no part: {said}")
    return lines


def _threshold_lines(facts: Facts) -> list[str]:
    if (found := facts.threshold) is None:
        return []
    label = "guarantee" if found.level is not None else "no guarantee"
    return [f"threshold: {found.sentence}", f"{label}: {found.guarantee}"]


def _measure_lines(facts: Facts) -> list[str]:
    """Say what the measure and the threshold came to on the test, and which class is rare."""
    from separatrix.selection.opening import TOO_FEW

    lines = []
    if (found := facts.scoring) is not None:
        held_out = f"{found.value:.4f} ± {found.standard_error:.4f} on held-out folds"
        span = f"95 %: {found.low:.4f} to {found.high:.4f}"
        if found.how == TOO_FEW:
            span = TOO_FEW
        lines.append(f"{found.title}: {found.test:.4f} on the test ({span}); {held_out}")
    if (cut := facts.threshold) is not None:
        missed, alarms = (
            f"{100 * part.value:.2f} % ({100 * part.low:.2f} to {100 * part.high:.2f} %)"
            for part in (cut.test_missed, cut.test_false_alarms)
        )
        lines.append(f"on the test: {missed} of {cut.positive} missed, {alarms} false alarms")
    if facts.imbalance is not None:
        lines.append(f"note: {facts.imbalance.sentence}")
    return lines


def _tested(test: Any) -> list[str]:
    """Say the error; where many test rows stand in training, first that on the others."""
    new, sure = test.new_rows, f"{100 * test.confidence:g} %"
    whole = (
        f"{_counted(test.errors, 'error')} in {test.n:,} rows, {100 * test.rate:.2f} % "
        f"({sure}: {100 * test.low:.2f} to {100 * test.high:.2f} %)"
    )
    if new is None:
        return [f"test, opened once: {whole}"]
    seen = f"{test.n - new.n:,} of {test.n:,} test rows also stand in training"
    if not new.n:
        said = "so it says nothing of new rows: try --dedupe"
        return [f"test, opened once: {seen}, {said}", f"on all test rows: {whole}"]
    return [
        f"test, opened once, on rows not seen before: {_counted(new.errors, 'error')} in "
        f"{new.n:,} rows, {100 * new.rate:.2f} % "
        f"({sure}: {100 * new.low:.2f} to {100 * new.high:.2f} %)",
        f"note: {seen}; with them {whole}",
    ]


def _counted(number: int, word: str) -> str:
    """Return a number and its word.

    >>> _counted(1, "error"), _counted(2, "error")
    ('1 error', '2 errors')
    """
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _commands(table: Table, out: Path, data: list[str]) -> tuple[Any, ...]:
    from separatrix.report.facts import Command

    said = sys.argv[1:] if sys.argv[1:2] == ["study"] else ["study", *data]
    again = Command("does this study again", shlex.join(["separatrix", *said]))
    if not data or table.encoding is None:
        return (again,)
    return (
        again,
        Command(
            "predicts new rows", f"separatrix predict -m {shlex.quote(str(out / 'model.sx'))} NEW"
        ),
        Command(
            "proves the model again from the data",
            shlex.join(["separatrix", "verify", str(out / "model.sx"), *data]),
        ),
    )


def _share(share: float) -> float | int:
    """Below 1 a share, from 2 on a count."""
    if 0.0 < share < 1.0:
        return share
    if share >= 2 and share == int(share):
        return int(share)
    raise typer.BadParameter(f"--test-share must lie between 0 and 1, or be a count. Got {share}.")
