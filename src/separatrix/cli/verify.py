"""``separatrix verify``: check a certificate against the data, in exact arithmetic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import _reading as reading

_ENTRIES = 2_000_000


def verify(
    certificate: Annotated[Path, typer.Argument(help="The certificate, as JSON.")],
    data: reading.Data,
    target: reading.Target = None,
    kind: reading.Kind = None,
    no_header: reading.NoHeader = False,
    drop: reading.Drop = None,
    encoding: reading.Encoding = None,
    option: reading.Option = None,
    positive: Annotated[
        str | None, typer.Option(help="This class against all others, where there are several.")
    ] = None,
    as_json: reading.AsJson = False,
) -> None:
    """Prove a certificate again from the data; exit with 1 if it is refused."""
    from separatrix.certificates import checker
    from separatrix.cli.separable import two_labels

    whole = json.loads(certificate.read_text(encoding="utf-8"))
    if isinstance(whole, dict) and isinstance(whole.get("certificate"), dict):
        whole = whole["certificate"]  # a verdict holds its certificate
    table = reading.read_data(data, target, kind, no_header, drop, encoding, None, option)
    labels = two_labels(table, positive)
    try:
        proved, sentence = True, _check(whole, table.X, labels)
    except checker.Refused as reason:
        proved, sentence = False, str(reason)
    if as_json:
        typer.echo(json.dumps({"proved": proved, "sentence": sentence}, indent=1))
    else:
        typer.echo(f"{'proved' if proved else 'refused'}: {sentence}")
    if not proved:
        raise typer.Exit(1)


def _check(whole: Any, X: Any, labels: Any) -> str:
    """Ask the trusted checker; for large data, the same check in NumPy with exact integers."""
    from separatrix.certificates import checker
    from separatrix.certificates.canonical import as_checker_data
    from separatrix.certificates.reading import certificate_from_json, duality_gap_from_json
    from separatrix.certificates.separation import problem_from
    from separatrix.problem.decimals import times_powers_of_ten

    about = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(about, dict) or type(about.get("intercept")) is not bool:
        raise checker.Refused("not a well-formed certificate")
    if whole.get("kind") == "duality-gap":
        gap = duality_gap_from_json(whole)
        if not gap.check(X, labels):
            raise checker.Refused("the claim does not hold for these data")
        return str(gap).removeprefix("proved: ")
    if getattr(X, "nnz", X.size) > _ENTRIES and whole.get("kind") != "margin-bounds":
        proof = certificate_from_json(whole)
        if not proof.check(X, labels):
            raise checker.Refused("the claim does not hold for these data")
        return f"{whole['kind']}, checked on {X.shape[0]} rows"
    if about.get("decimals"):
        try:
            X = times_powers_of_ten(problem_from(X, labels, True).X, tuple(about["decimals"]))
        except ValueError as error:
            raise checker.Refused(str(error)) from error
    return checker.check(whole, as_checker_data(problem_from(X, labels, about["intercept"])))
