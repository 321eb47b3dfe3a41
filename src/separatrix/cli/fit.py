"""``separatrix fit``: a linear or kernel model, with proof of how close to the best it is."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import _fitting as fitting
from separatrix.cli import _reading as reading
from separatrix.cli._fitting import KernelName, Loss
from separatrix.cli._output import say, tell_warnings, tell_written
from separatrix.cli._reading import ColumnGroups, column_groups_of, require_l1

# LIBLINEAR's numbers for the models that are here too (its bias is penalised: -B 1 there).
_LIBLINEAR = {
    0: Loss.LOGISTIC,
    1: Loss.SQUARED_HINGE,
    2: Loss.SQUARED_HINGE,
    3: Loss.HINGE,
    5: Loss.SQUARED_HINGE,
    6: Loss.LOGISTIC,
    7: Loss.LOGISTIC,
}
_LASSO = (5, 6)  # of these, those of sparse weights


@reading.with_source(*reading.READ)
def fit(
    source: reading.Source,
    features: fitting.FeaturesOption = fitting.FixedFeatures.RAW,
    scale: fitting.ScaleOption = None,
    lift: fitting.Lift = None,
    cost: Annotated[
        str, typer.Option("--cost", "--C", "-c", help="C: what a row costs; inf: hard margin.")
    ] = "1",
    given: Annotated[
        Loss | None, typer.Option("--loss", help="The loss; hinge, or logistic with --l1.")
    ] = None,
    kernel: Annotated[
        KernelName | None,
        typer.Option(help="A kernel SVM (hinge) in place of a hyperplane over the columns."),
    ] = None,
    gamma: Annotated[
        str | None, typer.Option(help="Of the kernel: a number, scale or auto; scale if absent.")
    ] = None,
    degree: Annotated[
        int | None, typer.Option(min=1, help="Of the poly kernel; 3 if absent.")
    ] = None,
    coef0: Annotated[
        float | None, typer.Option("--coef0", help="Added inside the poly kernel; 0 if absent.")
    ] = None,
    tol: fitting.Tolerance = 1e-4,
    liblinear: Annotated[
        int | None,
        typer.Option("-s", help="The loss by LIBLINEAR's number: 0 to 3, 5, 6 or 7."),
    ] = None,
    l1: fitting.L1Ratio = None,
    column_groups: ColumnGroups = None,
    penalise_bias: Annotated[
        bool, typer.Option("--penalise-bias", help="LIBLINEAR's objective: b costs as a weight.")
    ] = False,
    balanced: fitting.Balanced = False,
    class_weight: fitting.ClassWeight = None,
    max_seconds: fitting.MaxSeconds = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the proof here (two classes).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The model file, .sx; or a picture of two features, .svg .png .pdf."
        ),
    ] = None,
    memory: fitting.Memory = None,
    cluster: fitting.Cluster = None,
    checkpoint: fitting.CheckpointFile = None,
    device: fitting.Device = "cpu",
    quiet: reading.Quiet = False,
    as_json: reading.AsJson = False,
) -> None:
    """Fit a support vector machine or a logistic regression, and prove how good it is."""
    loss = given or Loss.HINGE if liblinear is None else _by_number(liblinear)
    ratio = 1.0 if l1 is None and liblinear in _LASSO else l1 or 0.0
    if ratio:
        loss = fitting.loss_of_sparse(loss if liblinear is not None else given)
    in_blocks = memory is not None or cluster is not None or checkpoint is not None
    is_learned = features is not fitting.FixedFeatures.RAW
    if is_learned and scale is not None:
        raise typer.BadParameter("--features and --scale both change the columns: give one.")
    is_prepared = scale is not None or lift is not None or is_learned
    _refuse_together(in_blocks, certificate, out, is_prepared, device)
    curve = {"gamma": gamma, "degree": degree, "coef0": coef0}
    _refuse_with_kernel(
        kernel, curve, loss, penalise_bias or liblinear is not None or bool(ratio), lift
    )
    if kernel is not None and (in_blocks or (out is not None and out.suffix != ".sx")):
        raise typer.BadParameter("--kernel is for data in memory and a model file, -o model.sx.")
    require_l1(column_groups, ratio)
    if column_groups is not None and (in_blocks or lift is not None or is_learned):
        raise typer.BadParameter("--column-groups is for the columns as they are read, in memory.")
    rows: fitting.Rows
    if in_blocks:
        rows = fitting.InPartitions(fitting.opened(source, memory, checkpoint), cluster)
    else:
        rows = fitting.InMemory(source, features, scale, lift, quiet)
    if certificate is not None and len(rows.classes) > 2:
        raise typer.BadParameter("--certificate needs two classes: there is one for each model.")
    settings = {
        "C": fitting.cost_of(cost),
        "tol": tol,
        "class_weight": fitting.class_weight_of(class_weight, balanced, rows.classes),
        "max_seconds": max_seconds,
        "device": device,
    }
    if kernel is not None:
        model = _kernel_model(kernel, curve, settings)
    else:
        settings |= {"intercept_penalty": float(penalise_bias), "l1_ratio": ratio}
        if column_groups is not None:
            assert isinstance(rows, fitting.InMemory)
            settings["groups"] = column_groups_of(column_groups, rows.table)
        model = _machine(loss, settings, is_plain=not (in_blocks or rows.steps or device != "cpu"))
        model.verbose = sys.stderr.isatty() and not quiet
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = rows.fit(model)
    tell_warnings(caught)
    rows.write(model, certificate, out)
    if as_json and not (in_blocks and quiet):
        say(json.dumps(rows.facts(model), indent=1))
    elif not quiet:
        rows.tell(model, certificate)
        tell_written(out)
    if model.status_ in ("budget", "unproved"):
        raise typer.Exit(4)


def _by_number(number: int) -> Loss:
    if number not in _LIBLINEAR:
        known = ", ".join(map(str, _LIBLINEAR))
        raise typer.BadParameter(f"-s {number} is not among the models here: {known}.")
    return _LIBLINEAR[number]


def _refuse_together(
    in_blocks: bool, certificate: Path | None, out: Path | None, is_prepared: bool, device: str
) -> None:
    """Refuse options that do not go together, saying what does."""
    reading.check_ending(out, ".sx", *reading.PICTURES)
    if in_blocks and is_prepared:
        raise typer.BadParameter(
            "--features, --scale and --lift are for data in memory, not for partitions."
        )
    if in_blocks and device != "cpu":
        raise typer.BadParameter("--device is for data in memory, not for partitions.")
    if out is not None and out.suffix != ".sx" and is_prepared:
        raise typer.BadParameter(
            "a picture shows the columns as read: leave --features, --scale, --lift out."
        )
    if certificate is not None and is_prepared:
        raise typer.BadParameter(
            "--certificate speaks of the columns as they are read. With --features, --scale or "
            "--lift the proof is kept in the model: -o model.sx, then separatrix verify model.sx "
            "DATA."
        )


def _refuse_with_kernel(
    kernel: KernelName | None, curve: dict[str, Any], loss: Loss, others: bool, lift: str | None
) -> None:
    """Refuse options of kernels without one, and those that a kernel SVM does not have."""
    given = [f"--{name}" for name, value in curve.items() if value is not None]
    if kernel is None:
        if given:
            raise typer.BadParameter(f"only kernels have {', '.join(given)}: add --kernel rbf.")
        return
    takes = {KernelName.RBF: ["--gamma"], KernelName.LINEAR: []}.get(kernel, given)
    if left := [name for name in given if name not in takes]:
        raise typer.BadParameter(f"the {kernel.value} kernel has no {', '.join(left)}.")
    if loss is not Loss.HINGE or others:
        raise typer.BadParameter(
            "--kernel fits the hinge: leave --loss, -s, --l1, --penalise-bias out."
        )
    if lift is not None:
        raise typer.BadParameter("--lift and --kernel both bend the boundary: give one.")


def _kernel_model(kernel: KernelName, curve: dict[str, Any], settings: dict[str, Any]) -> Any:
    import separatrix as sx

    given = {name: value for name, value in curve.items() if value is not None}
    gamma = fitting.gamma_of(given.pop("gamma", None))
    return sx.KernelSVM(kernel=kernel.value, gamma=gamma, **given, **settings)


def _machine(loss: Loss, settings: dict[str, Any], is_plain: bool) -> Any:
    """Return the model to fit: the plain one, or the estimator where more than rows is needed."""
    import separatrix as sx
    from separatrix.core import machine as plain

    kinds: Any = plain if is_plain else sx
    if loss is Loss.LOGISTIC:
        return kinds.LogisticRegression(**settings)
    return kinds.LinearSVM(loss=loss.value, **settings)
