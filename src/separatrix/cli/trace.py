"""``separatrix trace``: every update of a run, as a table, as data or as a picture."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix._terminal import cleansed
from separatrix.checker.exact import at_least, at_most
from separatrix.cli import _reading as reading
from separatrix.cli._output import certificate_of_file, progress_bar, say

if TYPE_CHECKING:
    from separatrix.data.table import Table

_ROWS_SHOWN = 24
_WEIGHTS = "weights: b, w1, ..."


class Method(StrEnum):
    """The methods that can be watched."""

    PERCEPTRON = "perceptron"
    KOZINEC = "kozinec"
    DELTA_RULE = "delta-rule"


class Order(StrEnum):
    """How rows are visited."""

    CYCLIC = "cyclic"
    RANDOM = "random"
    WORST = "worst"


class Update(StrEnum):
    """How many rows correct the weights at once."""

    SINGLE = "single"
    MINIBATCH = "minibatch"
    BATCH = "batch"


def trace(
    data: Annotated[
        Path | None,
        typer.Argument(help="CSV with a header or LIBSVM text; a pair of irises if left out."),
    ] = None,
    method: Annotated[Method, typer.Option("--method", "-m", help="What to watch.")] = (
        Method.KOZINEC
    ),
    target: Annotated[
        str | None, typer.Option(help="The column of labels; the last one if left out.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Use these columns only, e.g. --features height,weight.")
    ] = None,
    positive: reading.Positive = None,
    order: Annotated[Order | None, typer.Option(help="How rows are visited.")] = None,
    update: Annotated[Update | None, typer.Option(help="How many rows correct at once.")] = None,
    rate: Annotated[float | None, typer.Option(min=1e-300, help="The learning rate.")] = None,
    init: Annotated[
        str | None, typer.Option(help="The first weights, intercept first, e.g. --init 0,1,0.5.")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Rows that correct at once, with --update minibatch.")
    ] = None,
    thresholded: Annotated[
        bool, typer.Option("--thresholded", help="Delta rule: compare signs, not values.")
    ] = False,
    lift: Annotated[
        str | None,
        typer.Option(help="Lift the rows first: polynomial:2, radial:50 and so on, as `fit` does."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(min=1e-300, help="Kozinec: how close to the largest margin to come."),
    ] = None,
    max_updates: Annotated[int, typer.Option(min=1, help="Stop after so many updates.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="For the random order.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write a picture: .svg, .png, .pdf; or .gif, .html to play."
        ),
    ] = None,
    storyboard: Annotated[
        bool, typer.Option("--storyboard", help="With -o: one numbered panel an update.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show every update of a method, and prove what it found."""
    _check_out(out, storyboard)
    if data is None and target is not None:
        raise typer.BadParameter("--target needs DATA: the embedded irises have their labels.")
    options = {
        "order": order and order.value,
        "update": update and update.value,
        "learning_rate": rate,
        "epsilon": epsilon,
        "init": None if init is None else _numbers(init),
        "batch_size": batch_size,
        "thresholded": thresholded or None,
    }
    machine = _machine(method, options, max_updates, seed)
    plane = _of_two(_chosen(_read(data, target), features), positive, method)
    table, lifted = _lifted(plane, lift)
    frames, machine = _watch(machine, table)
    if out is not None:
        _draw(frames, machine, plane, method, out, lifted, storyboard)
    if as_json:
        facts = _as_data(frames, machine, table, method)
        facts["certificate"] = None  # of lifted rows, which no file holds
        if lifted is None:
            facts["certificate"] = certificate_of_file(
                machine.certificate_, table, [] if data is None else [str(data)]
            )
        say(json.dumps(facts, indent=1, allow_nan=False))
    else:
        _print(frames, machine, table, method)
        if out is not None:
            say(f"Picture: {out}")
    if not machine.status_.is_final:
        raise typer.Exit(4)


def _check_out(out: Path | None, storyboard: bool) -> None:
    if out is None:
        if storyboard:
            raise typer.BadParameter("--storyboard needs a file to draw into: -o steps.svg.")
        return
    endings = [".svg", ".png", ".pdf"] + ([] if storyboard else [".gif", ".html"])
    if out.suffix.lower() not in endings:
        known = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise typer.BadParameter(f"the picture must end in {known}. Got {out}.")


def _numbers(written: str) -> list[float]:
    try:
        return [float(part) for part in written.split(",")]
    except ValueError as error:
        raise typer.BadParameter(
            f"--init takes numbers, commas between them, as 0,1,0.5. Got {written!r}."
        ) from error


def _lifted(table: Table, lift: str | None) -> tuple[Table, Any]:
    """Return the table as a lift makes it, and the lift."""
    if lift is None:
        return table, None
    import dataclasses

    from separatrix.cli._fitting import lifting

    ((_, step),) = lifting(lift)
    X = step.fit_transform(table.X)
    names = [str(name) for name in step.get_feature_names_out(list(table.feature_names))]
    return dataclasses.replace(table, X=X, feature_names=names), step


def _machine(method: Method, options: dict[str, Any], max_updates: int, seed: int) -> Any:
    import separatrix as sx

    kinds: dict[Method, Any] = {
        Method.PERCEPTRON: sx.Perceptron,
        Method.KOZINEC: sx.Kozinec,
        Method.DELTA_RULE: sx.DeltaRule,
    }
    machine = kinds[method](max_updates=max_updates, random_state=seed)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in machine.get_params():
            option = "--rate" if name == "learning_rate" else f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{option} does not go with {method.value}.")
    return machine.set_params(**given)


def _read(data: Path | None, target: str | None) -> Table:
    if data is None:
        from separatrix.data.lectures import two_irises

        return two_irises()
    from separatrix.data.table import read

    return read(str(data), target=target)


def _of_two(table: Table, positive: str | None, method: Method) -> Table:
    """Return one class against all others where one is named; refuse several classes otherwise."""
    import dataclasses

    import numpy as np

    if positive is not None:
        y = reading.two_labels(table, positive)  # 1 and 0, as `verify --positive` has them
        return dataclasses.replace(table, y=y, classes=np.unique(y))
    if len(table.classes) > 2 and method is not Method.PERCEPTRON:
        known = ", ".join(str(name) for name in list(table.classes)[:8])
        raise typer.BadParameter(
            f"{method.value} separates two classes, and there are {len(table.classes)} ({known}): "
            "name one against all others with --positive NAME, or watch --method perceptron."
        )
    return table


def _chosen(table: Table, features: str | None) -> Table:
    if features is None:
        return table
    import dataclasses

    names = [name.strip() for name in features.split(",")]
    missing = [name for name in names if name not in table.feature_names]
    if missing:
        known = ", ".join(table.feature_names[:20])
        raise typer.BadParameter(f"no column {missing[0]!r}; the columns are {known}.")
    columns = [list(table.feature_names).index(name) for name in names]
    return dataclasses.replace(table, X=table.X[:, columns], feature_names=names)


def _watch(machine: Any, table: Table) -> tuple[list[Any], Any]:
    """Replay and fit, with a progress bar where someone watches."""
    import warnings

    import numpy as np

    import separatrix as sx

    frames = []
    with progress_bar("updates", total=machine.max_updates) as tick:
        for frame in sx.replay(machine, table.X, table.y):
            frames.append(frame)
            tick(frame.update)
    with warnings.catch_warnings():
        # What a warning would say is printed below, in full.
        warnings.simplefilter("ignore")
        machine.fit(table.X, table.y)
    machine.feature_names_in_ = np.array(table.feature_names, dtype=object)
    return frames, machine


def _title(machine: Any, method: Method) -> str:
    name = {"kozinec": "Kozinec's algorithm", "delta-rule": "The delta rule"}.get(
        method.value, "The perceptron"
    )
    return f"{name}: {machine.status_.cause}"


def _subtitle(proof: Any) -> str:
    """Say the proof in one line short enough for a picture."""
    separation = getattr(proof, "separation", proof)
    words = (
        f"Proved: all {separation.n_rows} rows lie strictly on their own side"
        if proof.holds
        else f"Row {separation.worst_row} is on the wrong side, exactly"
    )
    if proof is separation:
        return f"{words}."
    if proof.holds:
        return (
            f"{words}; the largest margin is between {at_least(proof.lower, 4)} and "
            f"{at_most(proof.upper, 4)}."
        )
    return f"{words}; no hyperplane has a margin above {at_most(proof.upper, 3)}."


def _draw(
    frames: list[Any],
    machine: Any,
    table: Table,
    method: Method,
    out: Path,
    lift: Any,
    storyboard: bool,
) -> None:
    import numpy as np
    import scipy.sparse as sp

    from separatrix.plots.storyboard import lifted_score, linear_score, save_storyboard
    from separatrix.plots.trace import save_trace

    X = table.X.toarray() if sp.issparse(table.X) and table.X.shape[1] <= 2 else table.X
    codes = np.searchsorted(machine.classes_, table.y)
    names = [str(name) for name in machine.classes_]
    columns, title = list(table.feature_names), _title(machine, method)
    score = None if lift is None else lifted_score(lift)
    if out.suffix.lower() == ".html":
        from separatrix.plots.player.page import save_replay_page

        if lift is not None:
            raise typer.BadParameter("--lift has no .html: use --storyboard -o steps.svg.")
        words = method.value.replace("-", "_"), title, str(machine.certificate_)
        save_replay_page(frames, machine, X, codes, names, columns, *words, out)
        return
    if storyboard:
        save_storyboard(frames, X, codes, names, columns, title, out, score or linear_score)
        return
    with progress_bar("drawing", total=100) as tick:
        save_trace(
            frames,
            X,
            codes,
            names,
            table.feature_names,
            _title(machine, method),
            _subtitle(machine.certificate_),
            out,
            progress=lambda share: tick(round(100 * share)),
            score=score,
        )


def _print(frames: list[Any], machine: Any, table: Table, method: Method) -> None:
    from rich.console import Console
    from rich.table import Table as Sheet

    say(f"{method.value} on {table.source}")
    names = [cleansed(str(name)) for name in machine.classes_]
    sheet = Sheet()
    for heading in _headings(names):
        sheet.add_column(heading, justify="right" if heading[0] != "w" else "left")
    for frame in frames[: _ROWS_SHOWN // 2]:
        sheet.add_row(*_cells(frame, names))
    if len(frames) > _ROWS_SHOWN:
        blank = [""] * (len(sheet.columns) - 2)
        sheet.add_row("...", *blank, f"{len(frames) - _ROWS_SHOWN:,} more")
    for frame in frames[max(_ROWS_SHOWN // 2, len(frames) - _ROWS_SHOWN // 2) :]:
        sheet.add_row(*_cells(frame, names))
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    with console.capture() as captured:
        console.print(sheet)
    # rich would end the program itself where the reader of a pipe has gone.
    typer.echo(captured.get().rstrip("\n"))
    rival = "; rival: the class that it was to beat" if len(names) > 2 else ""
    say(f"row: the row of the data used, counted from 0{rival}.")
    say(str(machine))


def _headings(names: list[str]) -> list[str]:
    rival = ["rival"] if len(names) > 2 else []
    return ["update", "row", *rival, "visits", "errors", "step", "margin", "bound", _WEIGHTS]


def _cells(frame: Any, names: list[str]) -> list[str]:
    from rich.markup import escape

    shown = ", ".join(f"{value:.5g}" for value in frame.weights[:4])
    more = f", ... ({len(frame.weights)})" if len(frame.weights) > 4 else ""
    row = "" if frame.row < 0 else str(frame.row)
    rival = escape(names[frame.rival]) if frame.rival >= 0 else ""
    bound = f"{frame.bound:.5g}" if frame.bound < float("inf") else "-"
    return [
        str(frame.update),
        row,
        *([rival] if len(names) > 2 else []),
        f"{frame.visits:,}",
        str(frame.errors),
        f"{frame.step:.4g}",
        f"{frame.margin:.5g}",
        bound,
        f"[{shown}{more}]".replace("[", r"\["),
    ]


def _as_data(frames: list[Any], machine: Any, table: Table, method: Method) -> dict[str, Any]:
    proof = machine.certificate_
    names = [str(name) for name in machine.classes_]
    return {
        "method": method.value,
        "source": table.source,
        "features": list(table.feature_names),
        "classes": names,
        "status": str(machine.status_),
        "cause": machine.status_.cause,
        "updates": machine.n_iter_,
        "passes": machine.n_passes_,
        "frames": [
            {
                "update": frame.update,
                "row": frame.row if frame.row >= 0 else None,
                "rival": names[frame.rival] if frame.rival >= 0 else None,
                "visits": frame.visits,
                "errors": frame.errors,
                "errors_before": frame.errors_before if frame.errors_before >= 0 else None,
                "step": frame.step if isfinite(frame.step) else None,
                "criterion": frame.criterion if isfinite(frame.criterion) else None,
                "radius": frame.radius if isfinite(frame.radius) else None,
                "margin": frame.margin if isfinite(frame.margin) else None,
                "bound": frame.bound if isfinite(frame.bound) else None,
                "weights": [w if isfinite(w) else None for w in frame.weights.tolist()],
            }
            for frame in frames
        ],
        "proved": proof.holds,
        "in_words": str(proof),
    }
