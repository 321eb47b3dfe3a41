"""``separatrix path``: which C, by cross-validation over the whole path."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.checker.exact import at_most
from separatrix.cli import _fitting as fitting
from separatrix.cli import _reading as reading
from separatrix.cli._fitting import FixedFeatures, Loss, Rule
from separatrix.cli._output import progress_bar, say, tell_warnings
from separatrix.cli._reading import ColumnGroups, column_groups_of, require_l1

if TYPE_CHECKING:
    from separatrix.data.table import Table


@reading.with_source(*reading.READ)
def path(
    source: reading.Source,
    Cs: Annotated[
        str | None,
        typer.Option(
            "--Cs",
            help="Values of C, as 0.1,1,10 (one: 10,), or how many; else 0.01 to 1000, refined.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", "-v", min=2, help="How many folds.")] = 5,
    features: Annotated[
        FixedFeatures,
        typer.Option(help="Columns or words as they are, or what each fold makes of them."),
    ] = FixedFeatures.RAW,
    scale: fitting.StandardOption = None,
    loss: fitting.ChosenLoss = None,
    l1: fitting.L1Ratio = None,
    column_groups: ColumnGroups = None,
    coefficients: Annotated[
        Path | None, typer.Option(help="Draw the weights against C: .svg, .png or .pdf.")
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
    tol: fitting.Tolerance = 1e-4,
    balanced: fitting.Balanced = False,
    seed: Annotated[int, typer.Option(help="For the folds.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores if not said.")] = None,
    max_seconds: fitting.MaxSeconds = None,
    device: fitting.Device = "cpu",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw it: .svg, .png, .pdf; or .csv.")
    ] = None,
    as_json: reading.AsJson = False,
) -> None:
    """Try many values of C on every fold, each machine proved, and say which to take."""
    reading.check_ending(out, *reading.PICTURES, ".csv")
    reading.check_ending(coefficients, *reading.PICTURES)
    if coefficients is not None and not l1:
        raise typer.BadParameter("--coefficients needs --l1: other weights are never zero.")
    require_l1(column_groups, l1)
    if scoring is not None:
        _check_scoring(scoring)
    if fitting.standard_only(scale) is not None:
        if features not in (FixedFeatures.RAW, FixedFeatures.STANDARD):
            raise typer.BadParameter("--features and --scale both change the columns: give one.")
        features = FixedFeatures.STANDARD
    in_folds = features is not FixedFeatures.RAW
    if in_folds:
        _refuse_with_features(scoring, max_seconds, device, column_groups)
    if l1:
        loss = fitting.loss_of_sparse(loss)
    table, grouped = _read(source, groups)
    loss = loss or _fitting_loss(table)
    settings: dict[str, Any] = {
        "cv": folds,
        "scoring": scoring,
        "rule": rule.value,
        "tol": tol,
        "class_weight": "balanced" if balanced else None,
        "random_state": seed,
        "n_jobs": threads,
        "device": device,
        "max_seconds": max_seconds,
    }
    if l1:
        settings["l1_ratios"] = [l1]
    if column_groups is not None:
        settings["groups"] = column_groups_of(column_groups, table)
    with warnings.catch_warnings(record=True) as caught, progress_bar("path") as tick:
        warnings.simplefilter("always")
        if in_folds:
            machine = _fitted_in_folds(
                table, grouped, features, loss, fitting.values_of(Cs), settings, tick
            )
            table = fitting.in_features(table, features)
        else:
            is_plain = scoring is None and device == "cpu"
            machine = _chooser(loss, fitting.values_of(Cs), settings, is_plain)
            machine.fit(table.X, table.y, groups=grouped, progress=tick)
    tell_warnings(caught)
    if out is not None:
        _write(machine, out)
    if coefficients is not None:
        _draw_coefficients(machine, table, loss, coefficients)
    if as_json:
        say(json.dumps(_facts(machine, table), indent=1))
    else:
        _tell(machine, out)
    short = not in_folds and (machine.path_["gap"] > tol).any()
    if machine.status_ in ("budget", "unproved") or short:
        raise typer.Exit(4)


def _read(source: reading.Source, groups: str | None) -> tuple[Table, Any]:
    """Return the table without the column of groups, and that column."""
    table = source.read_to_train(aside=() if groups is None else (groups,))
    return table, table.aside.get(groups) if groups is not None else None


def _fitting_loss(table: Table) -> Loss:
    from separatrix.selection.refinement import fitting_loss

    settled, remark = fitting_loss(table.X)
    if remark:
        say(f"separatrix: {remark}", err=True)
    return Loss(settled)


def _check_scoring(name: str) -> None:
    from sklearn.metrics import get_scorer_names

    if name not in get_scorer_names():
        usual = "accuracy, balanced_accuracy, f1, roc_auc, average_precision or neg_log_loss"
        raise typer.BadParameter(f"no score is named {name!r}. Use {usual}, or see scikit-learn's.")


def _chooser(loss: Loss, Cs: Any, settings: dict[str, Any], is_plain: bool) -> Any:
    """Return what chooses C: the plain one, or the estimator, which scorers and devices need."""
    import separatrix as sx
    from separatrix.selection import plain_path

    kinds = plain_path if is_plain else sx
    if loss is Loss.LOGISTIC:
        return kinds.LogisticRegressionCV(Cs, **settings)
    return kinds.LinearSVMCV(Cs, loss=loss.value, **settings)


def _draw_coefficients(machine: Any, table: Table, loss: Loss, out: Path) -> None:
    """Draw the weights of all rows against C, the columns by name."""
    from separatrix.core.checks import ratio_of
    from separatrix.plots.curves import save_coefficient_paths
    from separatrix.selection.logistic_regression_path import LogisticRegressionPath

    if loss is not Loss.LOGISTIC:
        raise typer.BadParameter("--coefficients is for the logistic loss.")
    kept = ("tol", "class_weight", "groups")
    settings = {name: getattr(machine, name) for name in kept}
    found = LogisticRegressionPath(machine.path_["C"], ratio_of(machine), **settings)
    found.fit(table.X, table.y)
    if len(table.feature_names) == len(found.names_):
        found.names_ = list(map(str, table.feature_names))
    save_coefficient_paths(found, out, chosen=machine.C)


def _refuse_with_features(
    scoring: str | None,
    max_seconds: float | None,
    device: str,
    column_groups: str | None,
) -> None:
    """Refuse what a path in features of each fold does not have."""
    given = {
        "--scoring": scoring is not None,
        "--max-seconds": max_seconds is not None,
        "--device": device != "cpu",
        "--column-groups": column_groups is not None,
    }
    if names := [name for name, is_given in given.items() if is_given]:
        raise typer.BadParameter(f"{', '.join(names)} cannot be given with --features.")


def _fitted_in_folds(
    table: Table,
    grouped: Any,
    features: FixedFeatures,
    loss: Loss,
    Cs: Any,
    settings: dict[str, Any],
    tick: Any,
) -> Any:
    """Walk the path in features that the training rows of each fold teach; fit on all rows."""
    import numpy as np

    from separatrix.data.raw_rows import RawRows
    from separatrix.selection.candidates import Search
    from separatrix.selection.chosen_machine import fitted_on
    from separatrix.selection.compared import Candidate
    from separatrix.selection.folds import Folding
    from separatrix.solvers.running.drive import cores

    classes, codes = np.unique(table.y, return_inverse=True)
    rows, raw = np.arange(len(codes)), RawRows(table)
    seed, weight = settings["random_state"], settings["class_weight"]
    search = Search(
        raw, rows, codes, np.arange(len(classes)), folds=Folding(settings["cv"], grouped),
        seed=seed, workers=settings["n_jobs"] or cores(), class_weight=weight, Cs=Cs,
        rule=settings["rule"], progress=lambda what, done, total: tick(done, total, what),
    )  # fmt: skip
    ratio = settings.get("l1_ratios", [0.0])[0]
    found = search.compare(Candidate(features.value, loss.value, ratio), rows)
    X = raw.learn(features.value, rows, codes).X
    common = {"tol": settings["tol"], "class_weight": weight, "random_state": seed}
    model = fitted_on(found, X, table.y, codes, device="cpu", **common)
    model.path_ = found.path
    model.path_.reason = (
        f"{found.candidate}: C = {found.C:.4g} is chosen, with the error {100.0 * found.error:.2f} "
        f"% on held-out rows. Each fold learned its own features."
    )
    return model


def _write(machine: Any, out: Path) -> None:
    if out.suffix.lower() == ".csv":
        machine.path_.to_csv(out)
    else:
        from separatrix.plots.curves import save_path

        save_path(machine.path_, out)


def _facts(machine: Any, table: Table) -> dict[str, Any]:
    import numpy as np

    facts: dict[str, Any] = json.loads(machine.path_.to_json())
    return facts | {
        "machine": type(machine).__name__,
        "status": str(machine.status_),
        "gap": float(machine.gap_),
        "solver": machine.solver_,
        "rows": facts["rows"],
        "n_rows": int(table.X.shape[0]),
        "classes": [str(name) for name in machine.classes_],
        "training_error": float(1.0 - np.mean(machine.predict(table.X) == table.y)),
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
        "n_nonzero": "nonzero",
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
    if name == "gap":
        return at_most(value, 2)
    formats = {
        "n_support": ".0f",
        "n_nonzero": ".0f",
        "seconds": ".2f",
        "validation_score": ".4f",
    }
    return format(value, formats.get(name, ".4g"))
