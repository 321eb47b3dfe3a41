"""``separatrix verify``: check a certificate against the data, in exact arithmetic."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import _fitting as fitting
from separatrix.cli import _reading as reading
from separatrix.cli._output import say

_NAMED = 20  # columns that a line lists


@reading.with_source(*reading.READ, after="certificate")
def verify(
    source: reading.Source,
    certificate: Annotated[Path, typer.Argument(help="The certificate, as JSON, or a model file.")],
    positive: reading.Positive = None,
    memory: fitting.Memory = None,
    as_json: reading.AsJson = False,
) -> None:
    """Prove a certificate again from the data; exit with 1 if it is refused."""
    not_proved = read_as = whole = None
    if certificate.suffix == ".sx":
        found = (
            _examined_model(certificate, source, positive)
            if memory is None
            else _examined_on_partitions(certificate, fitting.opened(source, memory))
        )
        proved, sentence, not_proved = found.proved, found.sentence, list(found.not_proved)
    elif memory is None:
        whole = _read(certificate)
        proved, sentence, read_as = _proved(whole, source, positive)
    else:
        whole = _read(certificate)
        proved, sentence = _proved_on_partitions(whole, source, memory)
    settings = _settings(whole) if proved else []
    if as_json:
        facts = {"proved": proved, "sentence": sentence}
        facts |= {} if not_proved is None else {"not_proved": not_proved}
        facts |= read_as or {}
        facts |= {"settings": settings} if settings else {}
        say(json.dumps(facts, indent=1))
    else:
        say(f"{'proved' if proved else 'refused'}: {sentence}")
        if not_proved:
            say(f"not proved: {', '.join(not_proved)}")
        if read_as:
            say(_reading_line(read_as))
        for line in settings:
            say(line)
    if not proved:
        raise typer.Exit(1)


def _read(certificate: Path) -> Any:
    from separatrix.data.sources.streams import open_source
    from separatrix.errors import DataError

    text = open_source(certificate).data
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DataError("this is no certificate: it is not JSON", file=str(certificate)) from None


def _settings(whole: Any) -> list[str]:
    """Return the settings that a proved claim about a model speaks of, in lines."""
    from separatrix.checker import Refused, posed

    try:
        return posed(whole)
    except Refused:  # a verdict, a study or a model file
        return []


def _reading_line(read_as: dict[str, Any]) -> str:
    names = read_as["columns"]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    shown = ", ".join(names[:_NAMED])
    why = "as the certificate names it" if read_as["target_by_certificate"] else "as read"
    return f"read: target {read_as['target']!r} ({why}); {len(names)} columns: {shown}{more}"


def _table(whole: Any, source: reading.Source) -> tuple[Any, Any, dict[str, Any]]:
    """Read the data; target and columns are those that the certificate names, unless given.

    Return the source so read, the table, and what was read as what. A table read otherwise than
    the certificate says is refused.
    """
    from dataclasses import replace

    from separatrix.checker import Refused

    said = whole.get("data") if isinstance(whole, dict) else None
    said = said if isinstance(said, dict) else {}
    target, columns = said.get("target"), said.get("columns")
    if target is not None and not isinstance(target, str):
        raise Refused("not a well-formed certificate: target must be the name of a column")
    if columns is not None and not _are_names(columns):
        raise Refused("not a well-formed certificate: columns must be names of columns")
    by_certificate = target is not None and source.target is None
    if by_certificate:
        source = replace(source, target=target)
    table = source.read()
    used = table.columns_used
    if columns is not None and used is not None and not source.drop and set(columns) < set(used):
        source = replace(source, drop=[name for name in used if name not in columns])
        table = source.read()
        used = table.columns_used
    for name, claimed, found in (("target", target, table.target), ("columns", columns, used)):
        if None not in (claimed, found) and claimed != found:
            raise Refused(f"the certificate names the {name} {claimed!r}, and it is {found!r} here")
    if used is None or table.target is None:
        return source, table, {}
    known = {"target": table.target, "columns": used, "target_by_certificate": by_certificate}
    return source, table, known


def _are_names(columns: Any) -> bool:
    return isinstance(columns, list) and all(isinstance(name, str) for name in columns)


def _proved(
    whole: Any, source: reading.Source, positive: str | None
) -> tuple[bool, str, dict[str, Any]]:
    """Prove a certificate of any kind from the data in memory; say how they were read."""
    from separatrix.checker import Refused
    from separatrix.core.verdict import FORMAT as VERDICT_FORMAT
    from separatrix.report.study_proof import STUDY_FORMAT, prove_study, prove_verdict
    from separatrix.storage.certificate_files import prove_again, since_certificate

    form = whole.get("format") if isinstance(whole, dict) else None
    read_as: dict[str, Any] = {}
    table: Any = None
    try:
        source, table, read_as = _table(whole, source)
        if form == STUDY_FORMAT:
            said = prove_study(whole, table.X, table.y, _features(whole, source))
        else:
            prove = prove_verdict if form == VERDICT_FORMAT else prove_again
            said = prove(whole, table.X, reading.two_labels(table, positive))
    except Refused as reason:
        differs = ""
        if table is not None:
            differs = since_certificate(whole, table.X, reading.two_labels(table, positive))
        return False, _with(str(reason), differs), read_as
    return True, said, read_as


def _with(sentence: str, differs: str) -> str:
    return f"{sentence}. {differs}." if differs else sentence


def _features(whole: Any, source: reading.Source) -> Any:
    """Return the rows in the features that a study learned; None where it took them as read.

    The training rows must teach the same features again.
    """
    import numpy as np

    from separatrix.checker import Refused
    from separatrix.data.table import encoding_from_dict, read_as
    from separatrix.errors import DataError
    from separatrix.report.study_proof import labels_of, training_rows
    from separatrix.storage.fitted_values import Mismatch
    from separatrix.storage.model_proof import require_encoding

    if "encoding" not in whole:
        return None
    try:
        encoding = encoding_from_dict(whole["encoding"])
    except DataError as error:
        raise Refused(f"not a well-formed certificate: {error}") from error
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise Refused("not a well-formed certificate: the encoding") from error
    options = {"encoding": source.encoding, "header": source.header, "labels": source.labels}
    table = read_as(source.place, encoding, **options)
    rows = training_rows(whole)
    if len(rows) and rows.max() >= len(table.y):
        raise Refused("these data have fewer rows than the study was made of")
    try:
        codes = np.unique(labels_of(table.y, whole.get("positive")), return_inverse=True)[1]
        require_encoding(encoding, table, source.place, options, (rows, codes))
    except (Mismatch, LookupError, TypeError, ValueError, OverflowError) as error:
        raise Refused(str(error)) from error
    return table.X


def _proved_on_partitions(whole: Any, source: reading.Source, memory: str) -> tuple[bool, str]:
    """Prove the certificate of a machine block by block."""
    from separatrix.certificates.reading import from_json
    from separatrix.checker import Refused
    from separatrix.checker.exact import is_fingerprint
    from separatrix.storage.certificate_files import NOT_THESE

    if not isinstance(whole, dict) or whole.get("kind") != "duality-gap":
        raise typer.BadParameter("--memory is for the certificate of a model (duality-gap).")
    rows = fitting.opened(source, memory)
    try:
        gap = from_json(whole, "duality-gap")
    except Refused as reason:
        return False, str(reason)
    named = gap.classes == tuple(str(name) for name in rows.classes)
    proved = named and is_fingerprint(gap.data_sha256) and gap.check(rows)
    return proved, str(gap).removeprefix("proved: ") if proved else NOT_THESE


def _examined_on_partitions(path: Path, rows: Any) -> Any:
    """Prove the machine of a model file again from partitions, block by block."""
    from separatrix.storage.model_file import has_proof, read_model
    from separatrix.storage.model_proof import examine

    model = read_model(path).model
    if not has_proof(model) or "coef_" not in vars(model):
        raise typer.BadParameter(f"{path} does not hold a proof about partitions.")
    return examine(model, rows, rows.classes)


def _examined_pipeline(path: Path, whole: Any, source: reading.Source, positive: str | None) -> Any:
    """Prove a pipeline that begins with an encoder: the file must teach the same encoding again."""
    import numpy as np

    from separatrix.storage.fitted_values import Mismatch
    from separatrix.storage.model_file import as_encoded, taken_apart, with_target
    from separatrix.storage.model_proof import Examined, examine, require_encoding

    if source.target is None and source.labels is None:
        raise typer.BadParameter(
            f"{path} does not say which column holds the labels: name it with --target."
        )
    read = source.read()
    options = {"encoding": source.encoding, "header": source.header, "labels": source.labels}
    apart = taken_apart(whole, dense=False)
    columns = [str(name) for name in read.columns_used or ()]
    encoding = with_target(apart.encoding, read.target, read.classes.tolist(), columns)
    table = encoding.transform(source.place, **options)
    labels = reading.two_labels(table, positive)
    codes = np.unique(labels, return_inverse=True)[1]
    try:
        training = np.arange(len(labels)), codes
        require_encoding(encoding, table, source.place, options, training)
    except Mismatch as reason:
        return Examined(False, str(reason))
    return examine(apart.model, as_encoded(whole.model, table.X), labels)


def _examined_on_numbers(
    path: Path, whole: Any, source: reading.Source, positive: str | None
) -> Any:
    """Prove a model that was saved without a table: the file gives rows as it was given them."""
    from separatrix.errors import DataError
    from separatrix.storage.model_proof import examine

    if source.target is None and source.labels is None:
        raise typer.BadParameter(
            f"{path} was saved without its table, and does not say which column holds the labels: "
            "name it with --target."
        )
    table = source.read()
    X, names = table.X, [str(name) for name in table.feature_names]
    kept = getattr(whole.model, "feature_names_in_", None)
    needed = names if kept is None else [str(name) for name in kept]
    absent = [name for name in needed if name not in names]
    if absent:
        raise DataError(f"there is no feature {absent[0]!r}, which the model has", table.source)
    if needed != names:
        X = X[:, [names.index(name) for name in needed]]
    if X.shape[1] != whole.model.n_features_in_:
        raise DataError(
            f"the model has {whole.model.n_features_in_:,} features, and these data give "
            f"{X.shape[1]:,}; leave columns out with --drop, or give the numbers it was fitted to",
            table.source,
        )
    return examine(whole.model, X, reading.two_labels(table, positive))


def _examined_model(path: Path, source: reading.Source, positive: str | None) -> Any:
    """Prove the machine of a model file again, on the rows it says it was trained on."""
    from separatrix.report.study_proof import labels_of
    from separatrix.storage.certificate_files import since_model
    from separatrix.storage.model_file import (
        begins_with_encoder,
        has_proof,
        needs_estimator,
        read_model,
    )
    from separatrix.storage.model_proof import examine_file

    whole = read_model(path, plain=True)
    if needs_estimator(whole.model):
        whole = read_model(path)
    if whole.encoding is None and has_proof(whole.model) and begins_with_encoder(whole.model):
        return _examined_pipeline(path, whole, source, positive)
    if whole.encoding is None and has_proof(whole.model):
        return _examined_on_numbers(path, whole, source, positive)
    if whole.encoding is None or not has_proof(whole.model):
        raise typer.BadParameter(f"{path} does not hold a proof about a data file.")
    options = {"encoding": source.encoding, "header": source.header, "labels": source.labels}
    table = whole.encoding.transform(source.place, **options)
    labels = labels_of(table.y, positive or whole.about.get("positive"))
    found = examine_file(whole, table, labels, source.place, options)
    if found.proved:
        return found
    return replace(found, sentence=_with(found.sentence, since_model(whole, table, labels)))
