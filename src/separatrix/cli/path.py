"""``separatrix path``: which C, by cross-validation over the whole path."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli import _preparing as preparing
from separatrix.cli import _reading as reading
from separatrix.cli._say import say
from separatrix.cli.fit import Loss

if TYPE_CHECKING:
    from separatrix.data.table import Table


class Rule(StrEnum):
    """How C is chosen from the path."""

    BEST = "best"
    ONE_STANDARD_ERROR = "one_standard_error"


def path(
    data: reading.Data,
    target: reading.Target = None,
    kind: reading.Kind = None,
    no_header: reading.NoHeader = False,
    drop: reading.Drop = None,
    encoding: reading.Encoding = None,
    option: reading.Option = None,
    labels: reading.Labels = None,
    Cs: Annotated[
        str | None,
        typer.Option(
            "--Cs", help="Values of C to try, as 0.1,1,10, or how many; else 0.01 to 1000, refined."
        ),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", "-v", help="How many folds.")] = 5,
    loss: Annotated[
        Loss | None, typer.Option(help="The loss; hinge, but logistic on large narrow data.")
    ] = None,
    rule: Annotated[
        Rule, typer.Option(help="The best C, or the smallest within one standard error of it.")
    ] = Rule.BEST,
    scoring: Annotated[
        str | None, typer.Option(help="A scorer of scikit-learn, for example roc_auc; else errors.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="A column whose rows of one value stay in one fold.")
    ] = None,
    tol: Annotated[float, typer.Option("--tol", "-e", help="The relative gap to prove.")] = 1e-4,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weigh the classes alike, however many rows.")
    ] = False,
    seed: Annotated[int, typer.Option(help="For the folds.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores if not said.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after so long.")] = None,
    device: preparing.Device = "cpu",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw it: .svg, .png, .pdf; or .csv.")
    ] = None,
    as_json: reading.AsJson = False,
) -> None:
    """Try many values of C on every fold, each machine proved, and say which to take."""
    import warnings

    if out is not None:
        reading.check_ending(out, *reading.PICTURES, ".csv")
    if scoring is not None:
        _check_scoring(scoring)
    left_out = [*(drop or ()), *([groups] if groups else ())]
    read = (kind, no_header)
    table = reading.read_data(data, target, *read, left_out, encoding, None, option, labels)
    reading.check_labels(table)
    reading.tell_notes(table)
    grouped = None
    if groups is not None:
        grouped = reading.read_data(data, groups, *read, drop, encoding, None, option).y
    if loss is None:
        from separatrix.selection.refinement import fitting_loss

        settled, remark = fitting_loss(table.X)
        loss = Loss(settled)
        if remark:
            say(f"separatrix: {remark}", err=True)
    settings = (rule, scoring, tol, balanced, seed, threads, device)
    machine = _chooser(loss, _values(Cs), folds, *settings)
    machine.max_seconds = max_seconds
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(table.X, table.y, groups=grouped)
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            say(f"separatrix: {warning.message}", err=True)
    if out is not None:
        _write(machine, out)
    if as_json:
        say(json.dumps(_facts(machine, table), indent=1))
    else:
        _tell(machine, out)
    if machine.status_ in ("budget", "unproved") or (machine.path_["gap"] > tol).any():
        raise typer.Exit(4)


def _check_scoring(name: str) -> None:
    from sklearn.metrics import get_scorer_names

    if name not in get_scorer_names():
        usual = "accuracy, balanced_accuracy, f1, roc_auc, average_precision or neg_log_loss"
        raise typer.BadParameter(f"no score is named {name!r}. Use {usual}, or see scikit-learn's.")


def _values(written: str | None) -> Any:
    """Return None, a number of values, or the values."""
    if written is None:
        return None
    try:
        if "," not in written and written.strip().isdigit():
            return int(written)
        return [float(value) for value in written.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"--Cs must be numbers with commas between them, or how many. Got {written!r} instead."
        ) from None


def _chooser(
    loss: Loss,
    Cs: Any,
    folds: int,
    rule: Rule,
    scoring: str | None,
    tol: float,
    balanced: bool,
    seed: int,
    threads: int | None,
    device: str = "cpu",
) -> Any:
    import sys

    from separatrix.selection.linear_svm_cv import LinearSVMCV
    from separatrix.selection.logistic_regression_cv import LogisticRegressionCV

    settings: dict[str, Any] = {
        "cv": folds,
        "scoring": scoring,
        "rule": rule.value,
        "tol": tol,
        "class_weight": "balanced" if balanced else None,
        "random_state": seed,
        "n_jobs": threads,
        "verbose": sys.stderr.isatty(),
        "device": device,
    }
    if loss is Loss.LOGISTIC:
        return LogisticRegressionCV(Cs, **settings)
    return LinearSVMCV(Cs, loss=loss.value, **settings)


def _write(machine: Any, out: Path) -> None:
    if out.suffix.lower() == ".csv":
        machine.path_.to_csv(out)
    else:
        from separatrix.plots.path import save_path

        save_path(machine.path_, out)


def _facts(machine: Any, table: Table) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(machine.path_.to_json())
    return facts | {
        "machine": type(machine).__name__,
        "status": str(machine.status_),
        "gap": float(machine.gap_),
        "solver": machine.solver_,
        "rows": facts["rows"],
        "n_rows": int(table.X.shape[0]),
        "classes": [str(name) for name in machine.classes_],
        "training_error": float(1.0 - machine.score(table.X, table.y)),
    }


def _tell(machine: Any, out: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table as Grid

    path_ = machine.path_
    grid = Grid(box=None, padding=(0, 1), header_style="bold")
    heads = {
        "C": "C",
        "validation_error": "validation %",
        "standard_error": "+-",
        "validation_score": "score",
        "training_error": "training %",
        "n_support": "support",
        "margin": "margin",
        "gap": "gap",
        "seconds": "seconds",
    }
    logistic = path_.loss == "logistic"
    shown = [n for n in heads if n in path_.columns and not (logistic and n == "n_support")]
    grid.add_column("")
    for name in shown:
        grid.add_column(heads[name], justify="right")
    for number, row in enumerate(path_):
        chosen = number == path_.chosen
        cells = [_shown(name, row[name]) for name in shown]
        grid.add_row("*" if chosen else "", *cells, style="bold" if chosen else None)
    console = Console(highlight=False, soft_wrap=True)
    console.print(grid)
    folds = int(path_["n_folds"][0])
    say(f"* {path_.reason} {folds} folds; +- is the standard error over them.")
    for note in path_.notes:
        say(note)
    say(f"On all rows with this C: {machine.certificate_}.")
    if out is not None:
        say(f"Written: {out}")


def _shown(name: str, value: float) -> str:
    if name in ("validation_error", "standard_error", "training_error"):
        return f"{100.0 * value:.2f}"
    formats = {"n_support": ".0f", "gap": ".1e", "seconds": ".2f", "validation_score": ".4f"}
    return format(value, formats.get(name, ".4g"))
