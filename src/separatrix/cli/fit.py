"""``separatrix fit``: a linear machine, with proof of how close to the best it is."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli import _partitions as partitions
from separatrix.cli import _preparing as preparing
from separatrix.cli import _reading as reading
from separatrix.cli._machine_facts import machine_facts
from separatrix.cli._say import say

if TYPE_CHECKING:
    from separatrix.data.table import Table

_NAMES_SHOWN = 10


class Loss(StrEnum):
    """What a row that falls short costs."""

    HINGE = "hinge"
    SQUARED_HINGE = "squared_hinge"
    LOGISTIC = "logistic"


# LIBLINEAR's numbers for the machines that are here too (its bias is penalised: -B 1 there).
_LIBLINEAR = {
    0: Loss.LOGISTIC,
    1: Loss.SQUARED_HINGE,
    2: Loss.SQUARED_HINGE,
    3: Loss.HINGE,
    7: Loss.LOGISTIC,
}


def fit(
    data: reading.Data,
    target: reading.Target = None,
    kind: reading.Kind = None,
    no_header: reading.NoHeader = False,
    drop: reading.Drop = None,
    encoding: reading.Encoding = None,
    option: reading.Option = None,
    labels: reading.Labels = None,
    scale: preparing.ScaleOption = None,
    lift: preparing.Lift = None,
    cost: Annotated[
        str, typer.Option("--cost", "--C", "-c", help="C: what a row costs; inf: hard margin.")
    ] = "1",
    loss: Annotated[Loss, typer.Option(help="The loss.")] = Loss.HINGE,
    tol: Annotated[float, typer.Option("--tol", "-e", help="The relative gap to prove.")] = 1e-4,
    liblinear: Annotated[
        int | None,
        typer.Option("-s", help="The loss by LIBLINEAR's number: 0, 1, 2, 3 or 7."),
    ] = None,
    penalise_bias: Annotated[
        bool, typer.Option("--penalise-bias", help="LIBLINEAR's objective: b costs as a weight.")
    ] = False,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weigh the classes alike, however many rows.")
    ] = False,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after so long.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the proof here (two classes).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The model file, .sx; or a picture of two features, .svg .png .pdf."
        ),
    ] = None,
    memory: partitions.Memory = None,
    cluster: partitions.Cluster = None,
    checkpoint: partitions.CheckpointFile = None,
    device: preparing.Device = "cpu",
    quiet: Annotated[bool, typer.Option("-q", help="Print nothing but errors.")] = False,
    as_json: reading.AsJson = False,
) -> None:
    """Fit a support vector machine or a logistic regression, and prove how good it is."""
    import sys
    import warnings

    if liblinear is not None:
        if liblinear not in _LIBLINEAR:
            known = ", ".join(map(str, _LIBLINEAR))
            raise typer.BadParameter(f"-s {liblinear} is not among the machines here: {known}.")
        loss = _LIBLINEAR[liblinear]
    in_blocks = memory is not None or cluster is not None or checkpoint is not None
    _refuse_together(in_blocks, certificate, out, scale is not None or lift is not None, device)
    table: Any
    steps: list[Any] = []
    if in_blocks:
        table = met = partitions.opened(data, target, memory, checkpoint)
    else:
        options = (kind, no_header, drop, encoding, None, option, labels)
        table = reading.read_data(data, target, *options)
        reading.check_labels(table)
        if not quiet:
            reading.tell_notes(table)
        steps, met = preparing.prepared(table, scale, lift)
    if certificate is not None and len(table.classes) > 2:
        raise typer.BadParameter("--certificate needs two classes: there is one for each machine.")
    is_plain = not (in_blocks or steps or device != "cpu")
    settings = _settings(cost, tol, penalise_bias, balanced, max_seconds, device)
    machine = _machine(loss, settings, is_plain)
    machine.verbose = sys.stderr.isatty() and not quiet
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if in_blocks:
            machine = partitions.fitted(machine, table, cluster)
        else:
            machine.fit(met.X, met.y)
    for warning in caught:
        if not issubclass(warning.category, UserWarning):
            continue
        say(f"separatrix: {warning.message}", err=True)
    if in_blocks:
        partitions.write(machine, table, certificate, out)
        if not quiet:
            partitions.tell(machine, table, certificate, as_json)
            if not as_json:
                reading.tell_written(out)
    else:
        _write(machine, steps, table, data, certificate, out)
        _say(machine, met, certificate, out, quiet, as_json)
    if machine.status_ in ("budget", "unproved"):
        raise typer.Exit(4)


def _refuse_together(
    in_blocks: bool, certificate: Path | None, out: Path | None, is_prepared: bool, device: str
) -> None:
    """Refuse options that do not go together, saying what does."""
    if out is not None:
        reading.check_ending(out, ".sx", *reading.PICTURES)
    if in_blocks and is_prepared:
        raise typer.BadParameter("--scale and --lift are for data in memory, not for partitions.")
    if in_blocks and device != "cpu":
        raise typer.BadParameter("--device is for data in memory, not for partitions.")
    if out is not None and out.suffix != ".sx" and is_prepared:
        raise typer.BadParameter("a picture shows the columns as read: leave --scale, --lift out.")
    if certificate is not None and is_prepared:
        raise typer.BadParameter(
            "--certificate speaks of the columns as they are read. With --scale or --lift the "
            "proof is kept in the model: -o model.sx, then separatrix verify model.sx DATA."
        )


def _say(
    machine: Any,
    table: Table,
    certificate: Path | None,
    out: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    if as_json:
        say(json.dumps(_facts(machine, table), indent=1))
    elif not quiet:
        _tell(machine, table, certificate)
        reading.tell_written(out)


def _settings(
    cost: str,
    tol: float,
    penalise_bias: bool,
    balanced: bool,
    max_seconds: float | None,
    device: str,
) -> dict[str, Any]:
    try:
        C = float(cost)
    except ValueError:
        raise typer.BadParameter(f"--cost must be a number or inf. Got {cost!r} instead.") from None
    return {
        "C": C,
        "tol": tol,
        "intercept_penalty": float(penalise_bias),
        "class_weight": "balanced" if balanced else None,
        "max_seconds": max_seconds,
        "device": device,
    }


def _machine(loss: Loss, settings: dict[str, Any], is_plain: bool) -> Any:
    """Return the machine to fit: the plain one, or the estimator where more than rows is needed."""
    import separatrix as sx
    from separatrix.core import machine as core

    if loss is Loss.LOGISTIC:
        return (core if is_plain else sx).LogisticRegression(**settings)
    return (core if is_plain else sx).LinearSVM(loss=loss.value, **settings)


def _write(
    machine: Any,
    steps: list[Any],
    table: Table,
    data: list[str],
    certificate: Path | None,
    out: Path | None,
) -> None:
    from separatrix.cli._certificate import certificate_of_file, write_aside

    if certificate is not None:
        proof = certificate_of_file(machine.certificate_, table, data)
        write_aside(certificate, json.dumps(proof, indent=1))
    if out is not None and out.suffix == ".sx":
        from separatrix.storage.model_file import save

        save(preparing.saved_as(machine, steps), out, table=table)
    elif out is not None:
        from separatrix.plots.machine import save_machine

        save_machine(machine, table.X, table.y, out, [str(n) for n in table.feature_names])


def _heaviest(machine: Any, table: Table) -> list[dict[str, float]]:
    """Return each machine's weights of most effect: weight times the spread of its column."""
    from separatrix.core.explanation import weights_by_name
    from separatrix.data.scaling import deviations

    spreads, names = deviations(table.X), table.feature_names
    return [
        {
            one.name: one.weight
            for one in weights_by_name(
                machine, names, spreads=spreads, machine=k, most=_NAMES_SHOWN
            )
        }
        for k in range(len(machine.coef_))
    ]


def _facts(machine: Any, table: Table) -> dict[str, Any]:
    """Return what was found, as data."""
    import numpy as np

    facts = machine_facts(machine) | {
        "training_error": float(np.mean(machine.predict(table.X) != table.y)),
        "heaviest": _heaviest(machine, table),
    }
    if hasattr(machine, "support_"):
        facts["margin"] = np.asarray(machine.margin_).tolist()
    return facts


def _tell(machine: Any, table: Table, certificate: Path | None) -> None:
    facts = _facts(machine, table)
    say(f"{machine.status_}: {machine.status_.cause} ({facts['solver']}).")
    say(str(machine.certificate_).removeprefix("proved: ").capitalize() + ".")
    rows = table.X.shape[0]
    wrong = round(facts["training_error"] * rows)
    say(f"Training errors: {wrong} of {rows} rows ({100 * facts['training_error']:.2f} %).")
    if "support_vectors" in facts:
        counts = zip(facts["support_vectors"], facts["classes"], strict=True)
        shown = ", ".join(f"{count} of {name}" for count, name in list(counts)[:_NAMES_SHOWN])
        say(f"Support vectors: {sum(facts['support_vectors'])} ({shown}).")
    if len(machine.coef_) == 1:
        weights = facts["heaviest"][0].items()
        heaviest = ", ".join(f"{name} {weight:+.4g}" for name, weight in weights)
        say(f"Heaviest weights towards {facts['classes'][1]}: {heaviest}.")
    if certificate is not None:
        say(f"Certificate: {certificate}")
