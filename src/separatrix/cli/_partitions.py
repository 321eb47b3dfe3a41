"""``separatrix fit`` on rows that do not fit memory, or on a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli._machine_facts import machine_facts
from separatrix.cli._say import say

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

_DEFAULT = "1GB"


def opened(data: list[str], target: str | None, memory: str | None, checkpoint: Path | None) -> Any:
    """Open what the command line names as partitions."""
    from separatrix.data.partitions import open_partitions

    source: Any = data[0] if len(data) == 1 else data
    return open_partitions(source, target, memory=memory or _DEFAULT, checkpoint=checkpoint)


def fitted(machine: Any, handle: Any, cluster: str | None) -> Any:
    """Fit here, or on a cluster."""
    if cluster is None:
        return machine.fit(handle)
    try:
        from dask.distributed import Client, LocalCluster

        from separatrix import distributed
    except ImportError:
        raise typer.BadParameter("--cluster needs Dask: pip install 'separatrix[dask]'.") from None
    where = (
        LocalCluster(threads_per_worker=1, dashboard_address="127.0.0.1:0")
        if cluster == "local"
        else None
    )
    try:
        with Client(where or cluster) as client:
            kind = getattr(distributed, type(machine).__name__)
            return kind(client=client, **machine.get_params(deep=False)).fit(handle)
    finally:
        if where is not None:
            where.close()


def write(machine: Any, handle: Any, certificate: Path | None, out: Path | None) -> None:
    """Write the proof and the model."""
    from separatrix._write_aside import write_whole
    from separatrix.certificates.about_data import json_pieces

    if certificate is not None:
        extra = {"zero_based": True} if handle.zero_based else {}
        write_whole(certificate, json_pieces(machine.certificate_, extra))
    if out is None:
        return
    if out.suffix != ".sx":
        raise typer.BadParameter("with partitions --out is a model file, .sx")
    from separatrix.data.encodings.index_encoding import IndexEncoding
    from separatrix.storage.model_file import save

    classes = tuple(handle.classes.tolist())
    first = 0 if handle.zero_based else 1
    save(
        machine, out, table=_Described(handle, IndexEncoding(handle.n_features, first, "", classes))
    )


class _Described:
    """What a model file says about its data."""

    def __init__(self, handle: Any, encoding: Any) -> None:
        indexed = handle.kind == "libsvm"
        self.encoding = encoding if indexed else None
        self.feature_names, self.kind, self.target = (
            handle.feature_names,
            handle.kind,
            handle.target,
        )
        self.source, self.sha256 = handle.files[0], handle.known.get("sha256", "")


def facts(machine: Any, handle: Any) -> dict[str, Any]:
    """Return what was found, as data."""
    wrong = 0
    for X, codes in handle.blocks():
        wrong += int((machine.predict(X) != machine.classes_[codes]).sum())
    return machine_facts(machine) | {
        "rows": handle.n_rows,
        "features": handle.n_features,
        "blocks": len(handle.stored),
        "training_error": wrong / handle.n_rows,
    }


def tell(machine: Any, handle: Any, certificate: Path | None, as_json: bool) -> None:
    """Print what was found."""
    found = facts(machine, handle)
    if as_json:
        say(json.dumps(found, indent=1))
        return
    say(f"{machine.status_}: {machine.status_.cause} ({found['solver']}).")
    say(str(machine.certificate_).removeprefix("proved: ").capitalize() + ".")
    wrong, rows = round(found["training_error"] * handle.n_rows), handle.n_rows
    say(f"Training errors: {wrong} of {rows} rows ({100 * wrong / rows:.2f} %).")
    if "support_vectors" in found:
        say(f"Support vectors: {sum(found['support_vectors'])}.")
    say(f"Read in {len(handle.stored)} blocks, {found['passes']:.0f} passes.")
    if certificate is not None:
        say(f"Certificate: {certificate}")
