"""``separatrix verify``: check a certificate against the data, in exact arithmetic."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import _fitting as fitting
from separatrix.cli import _reading as reading
from separatrix.cli._examining import examined_model, examined_on_partitions, with_difference
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
    with _private_folder() as folder:
        source = _kept(source, folder)
        if certificate.suffix == ".sx":
            found = (
                examined_model(certificate, source, positive)
                if memory is None
                else examined_on_partitions(certificate, _converted(source, memory, folder))
            )
            proved, sentence, not_proved = found.proved, found.sentence, list(found.not_proved)
        elif memory is None:
            whole = _read(certificate)
            proved, sentence, read_as = _proved(whole, source, positive)
        else:
            whole = _read(certificate)
            proved, sentence = _proved_on_partitions(whole, source, memory, folder)
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


def _private_folder() -> Any:
    """Return a new folder that nobody else can write to, removed in the end."""
    from tempfile import TemporaryDirectory

    return TemporaryDirectory(prefix="separatrix-verify-", ignore_cleanup_errors=True)


def _kept(source: reading.Source, folder: str) -> reading.Source:
    """Return the data as files: a proof reads them more than once, and standard input ends."""
    from separatrix.data.sources.streams import STDIN

    if source.data != [STDIN]:
        return source
    place = Path(folder) / "standard-input"
    with open(place, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return replace(source, data=[str(place)])


def _converted(source: reading.Source, memory: str, folder: str) -> Any:
    """Convert the data anew: blocks that lie beside them may be those of other data."""
    return fitting.opened(source, memory, cache=Path(folder))


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
    from separatrix.checker import Refused

    said = whole.get("data", {}) if isinstance(whole, dict) else {}
    if not isinstance(said, dict):
        raise Refused("data must be a JSON object")
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
            said = prove_study(whole, table.X, table.y, _features(whole, source, table))
        else:
            prove = prove_verdict if form == VERDICT_FORMAT else prove_again
            said = prove(whole, table.X, reading.two_labels(table, positive))
    except Refused as reason:
        differs = ""
        if table is not None:
            differs = since_certificate(whole, table.X, reading.two_labels(table, positive))
        return False, with_difference(str(reason), differs), read_as
    return True, said, read_as


def _features(whole: Any, source: reading.Source, given: Any) -> Any:
    """Return the rows in the features that a study learned; None where it took them as read.

    `given` is the table as read. The training rows must teach the same features again.
    """
    import numpy as np

    from separatrix.checker import Refused
    from separatrix.data.table import encoding_from_dict, read_as
    from separatrix.errors import DataError
    from separatrix.report.study_proof import labels_of, training_rows
    from separatrix.storage.encoding_proof import require_columns_of, require_encoding
    from separatrix.storage.fitted_values import Mismatch

    if "encoding" not in whole:
        return None
    try:
        encoding = encoding_from_dict(whole["encoding"])
    except DataError as error:
        raise Refused(f"not a well-formed certificate: {error}") from error
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise Refused("not a well-formed certificate: the encoding") from error
    rows = training_rows(whole)
    if len(rows) and rows.max() >= len(given.y):
        raise Refused("these data have fewer rows than the study was made of")
    try:
        codes = np.unique(labels_of(given.y, whole.get("positive")), return_inverse=True)[1]
        require_columns_of(encoding, given, (rows, codes))
        table = read_as(source.place, encoding, **source.as_trained)
        require_encoding(encoding, table, source.place, source.as_trained, (rows, codes))
    except (Mismatch, DataError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise Refused(str(error)) from error
    return table.X


def _proved_on_partitions(
    whole: Any, source: reading.Source, memory: str, folder: str
) -> tuple[bool, str]:
    """Prove the certificate of a machine block by block."""
    from separatrix.certificates.reading import from_json
    from separatrix.checker import Refused
    from separatrix.checker.exact import is_fingerprint
    from separatrix.storage.certificate_files import NOT_THESE

    if not isinstance(whole, dict) or whole.get("kind") != "duality-gap":
        raise typer.BadParameter("--memory is for the certificate of a model (duality-gap).")
    rows = _converted(source, memory, folder)
    try:
        gap = from_json(whole, "duality-gap")
    except Refused as reason:
        return False, str(reason)
    named = gap.classes == tuple(str(name) for name in rows.classes)
    proved = named and is_fingerprint(gap.data_sha256) and gap.check(rows)
    return proved, gap.in_words().removeprefix("proved: ") if proved else NOT_THESE
