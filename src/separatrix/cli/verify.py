"""``separatrix verify``: check a certificate against the data, in exact arithmetic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import _partitions as partitions
from separatrix.cli import _reading as reading
from separatrix.cli._say import say


def verify(
    certificate: Annotated[Path, typer.Argument(help="The certificate, as JSON, or a model file.")],
    data: reading.Data,
    target: reading.Target = None,
    kind: reading.Kind = None,
    no_header: reading.NoHeader = False,
    drop: reading.Drop = None,
    encoding: reading.Encoding = None,
    option: reading.Option = None,
    labels: reading.Labels = None,
    positive: Annotated[
        str | None, typer.Option(help="This class against all others, where there are several.")
    ] = None,
    memory: partitions.Memory = None,
    as_json: reading.AsJson = False,
) -> None:
    """Prove a certificate again from the data; exit with 1 if it is refused."""
    from separatrix.certificates.reading import NOT_THESE, prove_again
    from separatrix.checker import Refused
    from separatrix.cli.separable import two_labels
    from separatrix.core.verdict import FORMAT as VERDICT_FORMAT
    from separatrix.data.sources.streams import open_source
    from separatrix.errors import DataError
    from separatrix.report.study_proof import STUDY_FORMAT, prove_study, prove_verdict

    if certificate.suffix == ".sx" and memory is not None:
        _verify_on_partitions(certificate, partitions.opened(data, target, memory, None), as_json)
        return
    if certificate.suffix == ".sx":
        _verify_model(certificate, data, encoding, no_header, labels, positive, as_json)
        return
    text = open_source(certificate).data
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError("this is no certificate: it is not JSON", file=str(certificate)) from None
    if memory is not None:
        from separatrix.certificates.reading import from_json

        if not isinstance(whole, dict) or whole.get("kind") != "duality-gap":
            raise typer.BadParameter("--memory is for the certificate of a machine (duality-gap).")
        rows = partitions.opened(data, target, memory, None)
        try:
            gap = from_json(whole, "duality-gap")
        except Refused as reason:
            _tell(False, str(reason), as_json)
        named = gap.classes == tuple(str(name) for name in rows.classes)
        proved = named and len(gap.data_sha256) == 64 and gap.check(rows)
        _tell(proved, str(gap).removeprefix("proved: ") if proved else NOT_THESE, as_json)
        return
    options = (kind, no_header, drop, encoding, None, option, labels)
    table = reading.read_data(data, target, *options)
    try:
        form = whole.get("format") if isinstance(whole, dict) else None
        if form == STUDY_FORMAT:
            proved, sentence = True, prove_study(whole, table.X, table.y)
        elif form == VERDICT_FORMAT:
            proved, sentence = True, prove_verdict(whole, table.X, two_labels(table, positive))
        else:
            proved, sentence = True, prove_again(whole, table.X, two_labels(table, positive))
    except Refused as reason:
        proved, sentence = False, str(reason)
    _tell(proved, sentence, as_json)


def _tell(proved: bool, sentence: str, as_json: bool) -> None:
    if as_json:
        say(json.dumps({"proved": proved, "sentence": sentence}, indent=1))
    else:
        say(f"{'proved' if proved else 'refused'}: {sentence}")
    if not proved:
        raise typer.Exit(1)


def _verify_on_partitions(path: Path, rows: Any, as_json: bool) -> None:
    """Prove the machine of a model file again from partitions, block by block."""
    from separatrix.storage.model_file import has_proof, read_model
    from separatrix.storage.model_proof import examine

    model = read_model(path).model
    if not has_proof(model) or not hasattr(model, "coef_"):
        raise typer.BadParameter(f"{path} does not hold a proof about partitions.")
    _tell_examined(examine(model, rows, rows.classes), as_json)


def _verify_model(
    path: Path,
    data: list[str],
    encoding: str | None,
    no_header: bool,
    beside: str | None,
    positive: str | None,
    as_json: bool,
) -> None:
    """Prove the machine of a model file again, on the rows it says it was trained on."""
    from separatrix.report.study_settings import labels_of
    from separatrix.storage.model_file import has_proof, needs_estimator, read_model
    from separatrix.storage.model_proof import examine_file

    whole = read_model(path, plain=True)
    if needs_estimator(whole.model):
        whole = read_model(path)
    if whole.encoding is None or not has_proof(whole.model):
        raise typer.BadParameter(f"{path} does not hold a proof about a data file.")
    source: Any = data[0] if len(data) == 1 else [Path(each) for each in data]
    options = {"encoding": encoding, "header": False if no_header else None, "labels": beside}
    table = whole.encoding.transform(source, **options)
    labels = labels_of(table.y, positive or whole.about.get("positive"))
    _tell_examined(examine_file(whole, table, labels, source, options), as_json)


def _tell_examined(found: Any, as_json: bool) -> None:
    """Say whether a model is proved, and which of its values nothing proves."""
    if as_json:
        facts = {"proved": found.proved, "sentence": found.sentence}
        say(json.dumps(facts | {"not_proved": list(found.not_proved)}, indent=1))
    else:
        say(f"{'proved' if found.proved else 'refused'}: {found.sentence}")
        if found.not_proved:
            say(f"not proved: {', '.join(found.not_proved)}")
    if not found.proved:
        raise typer.Exit(1)
