"""``separatrix info``: what data or a model file are, and what to try next."""

from __future__ import annotations

import json
import shlex
from typing import Any

from separatrix.cli import _reading as reading
from separatrix.cli._say import say


def info(
    data: reading.Data,
    target: reading.Target = None,
    kind: reading.Kind = None,
    no_header: reading.NoHeader = False,
    drop: reading.Drop = None,
    encoding: reading.Encoding = None,
    max_bytes: reading.MaxBytes = None,
    option: reading.Option = None,
    labels: reading.Labels = None,
    as_json: reading.AsJson = False,
) -> None:
    """Say what a data file, or a model file (.sx), holds, and which command to try next."""
    from separatrix.data.summary import summarise

    if len(data) == 1 and data[0].endswith(".sx"):
        _tell_model(data[0], as_json)
        return

    options = (kind, no_header, drop, encoding, max_bytes, option, labels)
    table = reading.read_data(data, target, *options)
    found = summarise(table)
    given = {"--kind": kind, "--encoding": encoding, "--labels": labels}
    lists = {"--drop": drop, "-O": option}
    found["next"] = _next_command(found, data, target, given, lists, no_header)
    if as_json:
        say(json.dumps(found, ensure_ascii=False, allow_nan=False))
        return
    names = table.feature_names
    for line in _lines(found, names):
        say(line)


def _tell_model(path: str, as_json: bool) -> None:
    from separatrix.storage.model_file import read_model
    from separatrix.storage.model_summary import describe, lines

    facts = describe(read_model(path, plain=True), path)
    if as_json:
        say(json.dumps(facts, ensure_ascii=False))
        return
    for line in lines(facts):
        say(line)


def _next_command(
    found: dict[str, Any],
    data: list[str],
    target: str | None,
    given: dict[str, str | None],
    lists: dict[str, list[str] | None],
    no_header: bool,
) -> str:
    """Return the command to try next, which reads the data as they were read here."""
    chosen = found["target"] if target is None else target
    words = ["separatrix", "separable" if len(found["classes"]) == 2 else "study", *data]
    words += ["--target", chosen] if chosen else []
    words += [word for name, value in given.items() if value for word in (name, value)]
    for name, values in lists.items():
        words += [word for each in values or () for word in (name, each)]
    return shlex.join([*words, *(["--no-header"] if no_header else [])])


def _lines(found: dict[str, Any], names: Any) -> list[str]:
    """Put the summary into plain words."""
    rows, features = found["rows"], found["features"]
    shape = f"{rows:,} rows, {features:,} features"
    density = f"{found['density']:.2%} of the values are not zero"
    lines = [f"{found['source']}: {found['kind']}, {shape}; {density}"]
    classes = sorted(found["classes"].items(), key=lambda item: -item[1])
    shown = ", ".join(f"{label} {count:,} ({count / rows:.1%})" for label, count in classes[:10])
    more = f" and {len(classes) - 10} more" if len(classes) > 10 else ""
    lines.append(f"{len(classes)} classes: {shown}{more}")
    if found["constant_columns"]:
        examples = ", ".join(names[at] for at in found["constant_examples"])
        such = f", as {examples}" if examples else ""
        lines.append(f"constant columns: {found['constant_columns']:,}{such}")
    if found["duplicate_columns"]:
        pairs = ", ".join(f"{names[a]} = {names[b]}" for a, b in found["duplicate_column_examples"])
        lines.append(f"columns that repeat another: {found['duplicate_columns']:,}, as {pairs}")
    if found["duplicate_rows"]:
        lines.append(f"rows that repeat another: {found['duplicate_rows']:,}")
    if found["opposed_rows"]:
        lines.append(
            f"rows with a twin of another label: {found['opposed_rows']:,} "
            "(no hyperplane gets them all right)"
        )
    if found["scale_spread"] > 1000:
        lines.append(
            f"the largest values of the columns differ by a factor of {found['scale_spread']:,.0f}:"
            " scaling would make weights comparable"
        )
    lines += [f"note: {note}" for note in found["notes"]]
    lines.append(f"next: {found['next']}")
    return lines
