"""What the commands that fit have in common, and the rows that `fit` works with.

Rows in memory may be scaled and lifted first. Rows in partitions are read block by block here, or
on a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli._output import say, write_certificate
from separatrix.cli._reading import Source

if TYPE_CHECKING:
    from separatrix.data.table import Table

_DEFAULT_MEMORY = "1GB"
_NAMES_SHOWN = 10
_MOST_VALUES = 200  # of C that a bare number may count


class Loss(StrEnum):
    """What a row that falls short costs."""

    HINGE = "hinge"
    SQUARED_HINGE = "squared_hinge"
    LOGISTIC = "logistic"


class Rule(StrEnum):
    """How C is chosen on the path."""

    BEST = "best"
    ONE_STANDARD_ERROR = "one_standard_error"


class KernelName(StrEnum):
    """The kernels of the command line."""

    RBF = "rbf"
    POLY = "poly"
    LINEAR = "linear"


class FixedFeatures(StrEnum):
    """What the columns, or the texts, become before a model is fitted."""

    RAW = "raw"
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


class Scale(StrEnum):
    """How columns are scaled."""

    STANDARD = "standard"
    MIN_MAX = "min-max"


ChosenLoss = Annotated[
    Loss | None, typer.Option(help="The loss; hinge, but logistic on large narrow data.")
]
Tolerance = Annotated[float, typer.Option("--tol", "-e", help="The relative gap to prove.")]
Balanced = Annotated[
    bool, typer.Option("--balanced", help="Weigh the classes alike, however many rows.")
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        "--class-weight",
        help="Factors on the cost by class, as good=1,bad=5 (others: 1); or balanced.",
    ),
]
L1Ratio = Annotated[
    float | None,
    typer.Option(
        "--l1", min=0.0, max=1.0, help="Sparse weights: 1 for the lasso, less for the elastic net."
    ),
]
MaxSeconds = Annotated[float | None, typer.Option(help="Stop after so long.")]
ScaleOption = Annotated[
    Scale | None,
    typer.Option("--scale", help="Scale the columns first; the model file does so too."),
]
StandardOption = Annotated[
    Scale | None,
    typer.Option("--scale", help="standard: standardised columns alone, as --features standard."),
]
FeaturesOption = Annotated[
    FixedFeatures,
    typer.Option("--features", help="Columns or words as they are, or what they become."),
]
Lift = Annotated[
    str | None,
    typer.Option(
        "--lift",
        help="Lift the rows first: polynomial:2, radial:50, sigmoid:50, fourier:300 or "
        "nystrom:300 (a degree, or how many features).",
    ),
]
Device = Annotated[
    str,
    typer.Option(
        "--device", help="Where dense rows are worked on: cpu, cuda, cuda:N, or auto (extra gpu)."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", help="Read the data block by block within this, for example 1GB (out of core)."
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", help="Fit on a Dask cluster: tcp://host:port, or local."),
]
CheckpointFile = Annotated[
    Path | None, typer.Option("--checkpoint", help="Keep where the fit stands, and go on from it.")
]


def cost_of(written: str, end: str = " instead.") -> float:
    """Return C, a number or inf."""
    try:
        return float(written)
    except ValueError:
        said = f"--cost must be a number or inf. Got {written!r}{end}"
        raise typer.BadParameter(said) from None


def loss_of_sparse(loss: Loss | None) -> Loss:
    """Return the loss of sparse weights: logistic unless another is given, never the hinge."""
    if loss is Loss.HINGE:
        raise typer.BadParameter("--l1 has --loss logistic or squared_hinge, not the hinge.")
    return loss or Loss.LOGISTIC


def standard_only(scale: Scale | None) -> str | None:
    """Return "standard" or None; refuse a scaling that no fold learns."""
    if scale is Scale.MIN_MAX:
        raise typer.BadParameter("--scale min-max is an option of fit; here it is standard.")
    return None if scale is None else scale.value


def values_of(written: str | None) -> Any:
    """Return None, how many values of C to try, or the values; a comma says that it is a value.

    >>> values_of("20"), values_of("1000,"), values_of("1, 10")
    (20, (1000.0,), (1.0, 10.0))
    """
    if written is None:
        return None
    parts = [part.strip() for part in written.split(",")]
    try:
        numbers = tuple(float(part) for part in (parts[:-1] if parts[-1] == "" else parts))
    except ValueError:
        numbers = ()
    if not numbers:
        said = "--Cs must be numbers with commas between them, or how many."
        raise typer.BadParameter(f"{said} Got {written!r}.")
    if len(parts) > 1:
        return numbers
    if parts[0].isdigit() and int(parts[0]) <= _MOST_VALUES:
        return int(parts[0])
    raise typer.BadParameter(
        f"--Cs {parts[0]} may mean a count or a value: --Cs 20 tries 20 values (at most "
        f"{_MOST_VALUES}), and --Cs {parts[0]}, with a comma at its end, or --Cs 1,10,100 gives "
        "the values of C."
    )


def class_weight_of(written: str | None, balanced: bool, classes: Any) -> Any:
    """Return None, "balanced", or the factor of each class named, as ``bad=5,good=1``."""
    if written is None:
        return "balanced" if balanced else None
    if balanced:
        raise typer.BadParameter("--balanced and --class-weight both weigh the classes: give one.")
    if written == "balanced":
        return written
    known = {str(name): name for name in classes.tolist()}
    pairs = re.findall(r"(.+?)=([^=,]+)(?:,|$)", written)  # names may hold commas
    if ",".join(f"{name}={factor}" for name, factor in pairs) != written:
        said = "--class-weight must be balanced, or factors by class, as good=1,bad=5."
        raise typer.BadParameter(f"{said} Got {written!r}.")
    weights: dict[Any, float] = {}
    for name, factor in ((name.strip(), factor) for name, factor in pairs):
        if name not in known:
            shown = ", ".join(list(known)[:12])
            raise typer.BadParameter(f"--class-weight: no class {name!r}; the classes are {shown}.")
        try:
            weights[known[name]] = float(factor)
        except ValueError:
            raise typer.BadParameter(
                f"--class-weight: the factor of {name!r} must be a number. Got {factor!r}."
            ) from None
    return weights


def gamma_of(written: str | None) -> float | str:
    """Return the gamma of a kernel: a number, scale or auto."""
    if written is None or written in ("scale", "auto"):
        return written or "scale"
    try:
        return float(written)
    except ValueError:
        said = f"--gamma must be a number, scale or auto. Got {written!r}."
        raise typer.BadParameter(said) from None


def machine_facts(machine: Any) -> dict[str, Any]:
    """Return what a fit found, as plain data, wherever its rows are."""
    import numpy as np

    facts: dict[str, Any] = {
        "machine": type(machine).__name__,
        "C": machine.C,
        "status": str(machine.status_),
        "solver": getattr(machine, "solver_", "working sets"),
        "iterations": int(np.max(machine.n_iter_)),
        "passes": float(machine.n_passes_),
        "objective": np.asarray(machine.objective_).tolist(),
        "lower_bound": np.asarray(machine.dual_objective_).tolist(),
        "gap": float(machine.gap_),
        "classes": [str(name) for name in machine.classes_],
        "intercept": machine.intercept_.tolist(),
    }
    if hasattr(machine, "support_"):
        facts["support_vectors"] = [int(count) for count in machine.n_support_]
    return facts


class Rows:
    """The rows of a fit: what fits to them, and what is written and said of the machine."""

    steps: Sequence[Any] = ()  # scaling and lifting, fitted
    classes: Any
    n_rows: int

    def fit(self, machine: Any) -> Any:
        """Return the machine, fitted."""
        raise NotImplementedError

    def write(self, machine: Any, certificate: Path | None, out: Path | None) -> None:
        """Write the proof, and the model or a picture."""
        raise NotImplementedError

    def facts(self, machine: Any) -> dict[str, Any]:
        """Return what was found, as data."""
        raise NotImplementedError

    def more(self, facts: dict[str, Any]) -> list[str]:
        """Return the lines that only rows of this kind have."""
        raise NotImplementedError

    def tell(self, machine: Any, certificate: Path | None) -> None:
        """Say what was found."""
        facts = self.facts(machine)
        say(f"{machine.status_}: {machine.status_.cause} ({facts['solver']}).")
        say(str(machine.certificate_).removeprefix("proved: ").capitalize() + ".")
        share = facts["training_error"]
        wrong = f"{round(share * self.n_rows)} of {self.n_rows} rows ({100 * share:.2f} %)"
        say(f"Training errors: {wrong}.")
        for line in self.more(facts):
            say(line)
        if certificate is not None:
            say(f"Certificate: {certificate}")


# ---- in memory

_LIFTS = {
    "polynomial": ("Polynomial", "degree", 2),
    "radial": ("RadialBasis", "centres", 50),
    "sigmoid": ("Sigmoid", "centres", 50),
    "fourier": ("RandomFourier", "n_components", 300),
    "nystrom": ("Nystrom", "n_components", 300),
}


class InMemory(Rows):
    """A table as it was read, and as scaling and lifting make it."""

    def __init__(
        self,
        source: Source,
        features: FixedFeatures,
        scale: Scale | None,
        lift: str | None,
        quiet: bool,
    ) -> None:
        self.data, self.table = source.data, in_features(source.read_to_train(quiet), features)
        self.steps = [*_scaling(scale, self.table.X), *lifting(lift)]
        self.prepared = _prepared(self.table, self.steps)
        self.classes, self.n_rows = self.table.classes, self.table.X.shape[0]

    def fit(self, machine: Any) -> Any:
        return machine.fit(self.prepared.X, self.prepared.y)

    def write(self, machine: Any, certificate: Path | None, out: Path | None) -> None:
        if certificate is not None:
            write_certificate(certificate, machine.certificate_, self.table, self.data)
        if out is not None and out.suffix == ".sx":
            from separatrix.storage.model_file import save

            save(self._whole(machine), out, table=self.table)
        elif out is not None:
            from separatrix.plots.regions import save_machine

            names = [str(name) for name in self.table.feature_names]
            save_machine(machine, self.table.X, self.table.y, out, names)

    def _whole(self, machine: Any) -> Any:
        """Return the machine with its steps before it, as a model file keeps them."""
        if not self.steps:
            return machine
        from sklearn.pipeline import Pipeline

        return Pipeline([*self.steps, ("machine", machine)])

    def facts(self, machine: Any) -> dict[str, Any]:
        import numpy as np

        facts = machine_facts(machine) | {
            "training_error": float(np.mean(machine.predict(self.prepared.X) != self.prepared.y)),
            "heaviest": self._heaviest(machine),
        }
        if hasattr(machine, "kernel_"):
            named = ("name", "gamma", "degree", "coef0")
            facts["kernel"] = {name: getattr(machine.kernel_, name) for name in named}
        elif hasattr(machine, "support_"):
            facts["margin"] = np.asarray(machine.margin_).tolist()
        return facts

    def _heaviest(self, machine: Any) -> list[dict[str, float]]:
        """Return each machine's weights of most effect: weight times the spread of its column."""
        if hasattr(machine, "kernel_"):
            return []
        from separatrix.core.explanation import weights_by_name
        from separatrix.data.encodings.column_features import deviations

        names, spreads = self.prepared.feature_names, deviations(self.prepared.X)
        heaviest = (
            weights_by_name(machine, names, spreads=spreads, machine=k, most=_NAMES_SHOWN)
            for k in range(len(machine.coef_))
        )
        return [{one.name: one.weight for one in each} for each in heaviest]

    def more(self, facts: dict[str, Any]) -> list[str]:
        lines = []
        if "support_vectors" in facts:
            counts = list(zip(facts["support_vectors"], facts["classes"], strict=True))
            shown = ", ".join(f"{count} of {name}" for count, name in counts[:_NAMES_SHOWN])
            lines.append(f"Support vectors: {sum(facts['support_vectors'])} ({shown}).")
        if len(facts["heaviest"]) == 1:
            weights = facts["heaviest"][0].items()
            heaviest = ", ".join(f"{name} {weight:+.4g}" for name, weight in weights)
            lines.append(f"Heaviest weights towards {facts['classes'][1]}: {heaviest}.")
        return lines


def in_features(table: Table, features: FixedFeatures) -> Table:
    """Return the table in features that all its rows teach; the encoding makes them again."""
    if features is FixedFeatures.RAW:
        return table
    import numpy as np

    from separatrix.data.raw_rows import RawRows

    _, codes = np.unique(table.y, return_inverse=True)
    learned = RawRows(table).learn(features.value, np.arange(len(codes)), codes)
    names, encoding = learned.feature_names, learned.encoding
    return replace(table, X=learned.X, encoding=encoding, feature_names=names)


def _scaling(scale: Scale | None, X: Any) -> list[tuple[str, Any]]:
    if scale is None:
        return []
    import scipy.sparse as sp
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    sparse = sp.issparse(X)  # zeros stay zeros: nothing is subtracted
    if scale is Scale.STANDARD:
        return [("scale", StandardScaler(with_mean=not sparse))]
    return [("scale", MaxAbsScaler() if sparse else MinMaxScaler())]


def lifting(lift: str | None) -> list[tuple[str, Any]]:
    if lift is None:
        return []
    from separatrix.estimators import lift as lifts

    name, _, written = lift.partition(":")
    if name not in _LIFTS or (written and not written.isdigit()):
        known = ", ".join(f"{each}:{count}" for each, (_, _, count) in _LIFTS.items())
        raise typer.BadParameter(f"--lift takes a lift and a number, as {known}. Got {lift!r}.")
    kind, parameter, usual = _LIFTS[name]
    settings = {parameter: int(written) if written else usual}
    if name != "polynomial":
        settings["random_state"] = 0
    return [("lift", getattr(lifts, kind)(**settings))]


def _prepared(table: Table, steps: Sequence[Any]) -> Table:
    """Fit the steps and return the table as they make it; the one given stays as it is."""
    if not steps:
        return table
    import numpy as np

    X: Any = table.X
    names: Any = table.feature_names
    for _, step in steps:
        X = step.fit_transform(X)
        names = step.get_feature_names_out(np.array([str(name) for name in names], dtype=object))
    return replace(table, X=X, feature_names=names)


# ---- in partitions


def opened(
    source: Source,
    memory: str | None,
    checkpoint: Path | None = None,
    cache: Path | None = None,
) -> Any:
    """Open what the command line names as partitions; None keeps blocks beside the data."""
    from separatrix.data.partitions import open_partitions

    data: Any = source.data[0] if len(source.data) == 1 else source.data
    memory = memory or _DEFAULT_MEMORY
    return open_partitions(data, source.target, memory=memory, cache=cache, checkpoint=checkpoint)


class InPartitions(Rows):
    """Rows that do not fit memory, read block by block; or on a cluster."""

    def __init__(self, handle: Any, cluster: str | None) -> None:
        self.handle, self.cluster = handle, cluster
        self.classes, self.n_rows = handle.classes, handle.n_rows

    def fit(self, machine: Any) -> Any:
        if self.cluster is None:
            return machine.fit(self.handle)
        try:
            from dask.distributed import Client, LocalCluster

            from separatrix import distributed
        except ImportError:
            said = "--cluster needs Dask: pip install 'dask[distributed]'."
            raise typer.BadParameter(said) from None
        where = None
        if self.cluster == "local":
            where = LocalCluster(threads_per_worker=1, dashboard_address="127.0.0.1:0")
        try:
            with Client(where or self.cluster) as client:
                kind = getattr(distributed, type(machine).__name__)
                return kind(client=client, **machine.get_params(deep=False)).fit(self.handle)
        finally:
            if where is not None:
                where.close()

    def write(self, machine: Any, certificate: Path | None, out: Path | None) -> None:
        from separatrix._write_aside import write_whole
        from separatrix.storage.certificate_files import json_pieces

        if certificate is not None:
            extra = {"zero_based": True} if self.handle.zero_based else {}
            write_whole(certificate, json_pieces(machine.certificate_, extra))
        if out is None:
            return
        if out.suffix != ".sx":
            raise typer.BadParameter("with partitions --out is a model file, .sx")
        from separatrix.storage.model_file import save

        save(machine, out, table=Described(self.handle))

    def facts(self, machine: Any) -> dict[str, Any]:
        wrong = 0
        for X, codes in self.handle.blocks():
            wrong += int((machine.predict(X) != machine.classes_[codes]).sum())
        return machine_facts(machine) | {
            "rows": self.n_rows,
            "features": self.handle.n_features,
            "blocks": len(self.handle.stored),
            "training_error": wrong / self.n_rows,
        }

    def more(self, facts: dict[str, Any]) -> list[str]:
        support = facts.get("support_vectors")
        counted = [] if support is None else [f"Support vectors: {sum(support)}."]
        return [*counted, f"Read in {facts['blocks']} blocks, {facts['passes']:.0f} passes."]


class Described:
    """What a model file says about its data: how a file gives features, and their names."""

    def __init__(self, handle: Any) -> None:
        from separatrix.data.encodings.encoding import IndexEncoding

        classes, first = tuple(handle.classes.tolist()), 0 if handle.zero_based else 1
        indexed = handle.kind == "libsvm"
        self.encoding = IndexEncoding(handle.n_features, first, "", classes) if indexed else None
        self.feature_names, self.kind = handle.feature_names, handle.kind
        self.target = handle.target
        self.source, self.sha256 = handle.files[0], handle.known.get("sha256", "")
