"""``separatrix info``: what data or a model file are, and what to try next."""

from __future__ import annotations

import json
import shlex
from typing import Any

from separatrix._terminal import on_one_line
from separatrix.cli import _reading as reading
from separatrix.cli._output import say


@reading.with_source(*reading.READ_LIMITED)
def info(source: reading.Source, as_json: reading.AsJson = False) -> None:
    """Say what a data file, or a model file (.sx), holds, and which command to try next."""
    from separatrix.data.summary import summarise

    if len(source.data) == 1 and source.data[0].endswith(".sx"):
        _tell_model(source.data[0], as_json)
        return
    table = source.read()
    found = summarise(table)
    found["next"] = _next_command(found, source)
    if as_json:
        say(json.dumps(found, ensure_ascii=False, allow_nan=False))
        return
    for line in _lines(found, table.feature_names):
        say(line)


def _tell_model(path: str, as_json: bool) -> None:
    from separatrix.storage.model_file import read_model
    from separatrix.storage.model_summary import describe, lines

    facts = describe(read_model(path, plain=True), path)
    if as_json:
        say(json.dumps(facts, ensure_ascii=False))
        return
    for line in lines(facts):
        say(on_one_line(line))  # its texts are those of whoever wrote the file


def _next_command(found: dict[str, Any], source: reading.Source) -> str:
    """Return the command to try next, which reads the data as they were read here."""
    from separatrix.data.encodings.column_codes import advised_drop

    chosen = found["target"] if source.target is None else source.target
    words = ["separatrix", "separable" if len(found["classes"]) == 2 else "study", *source.data]
    given: dict[str, Any] = {
        "--target": [chosen],
        "--kind": [source.kind],
        "--encoding": [source.encoding],
    }
    advised = [advised_drop(note) for note in found["notes"]]
    given |= {"--labels": [source.labels], "-O": source.option or []}
    given["--drop"] = [*(source.drop or []), *advised]
    words += [
        word for name, all_ in given.items() for each in all_ if each for word in (name, each)
    ]
    return shlex.join([*words, *(["--no-header"] if source.no_header else [])])


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
