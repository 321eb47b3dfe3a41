"""Pages of reference from the docstrings: what ``help(sx)`` says, as Markdown.

python docs/made/api_pages.py FOLDER     writes them, to look at; the site makes its own
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import separatrix as sx

# Page -> (title, what it is about, public names).
GROUPS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "verdicts": (
        "Verdicts and bounds",
        "Can a hyperplane do it, and what does an error on some rows say about others?",
        ("separability", "Verdict", "inference", "shatter", "bounds"),
    ),
    "rules": (
        "Rules that update",
        "One row at a time, every update to be watched.",
        ("Perceptron", "Kozinec", "DeltaRule", "KernelPerceptron", "KernelKozinec", "SGD")
        + (
            "novikoff",
            "replay",
        ),
    ),
    "machines": (
        "Regularised models",
        "Support vector machines and logistic regression, stopped by a proved gap.",
        ("LinearSVM", "LogisticRegression", "KernelSVM", "OneVsRest", "OneVsOne"),
    ),
    "selection": (
        "Choosing",
        "Which C, and a test set that opens once.",
        (
            "Study",
            "LinearSVMCV",
            "LogisticRegressionCV",
            "LogisticRegressionPath",
            "KernelSVMCV",
            "split",
            "SealedTest",
        ),
    ),
    "closed_forms": (
        "Closed forms and programs",
        "Answers without a penalty to choose.",
        (
            "LeastSquares",
            "Fisher",
            "GaussianPlugIn",
            "FiniteTable",
            "LinearProgramHalfspace",
            "ZeroOne",
        ),
    ),
    "lift": ("Feature maps", "New columns from old ones.", ("lift",)),
    "data": ("Data", "Files and frames in.", ("read", "Table", "Encoder", "open_partitions")),
    "lectures": (
        "Lectures",
        "The data of the lectures, their exercises, pictures and losses.",
        ("lectures", "plot", "losses"),
    ),
    "models": (
        "Models that travel",
        "Kept, loaded, and handed to other programs.",
        ("save", "load", "exchange", "to_sklearn"),
    ),
    "errors": (
        "Errors and warnings",
        "Each says in one sentence what to do.",
        ("DataError", "DeviceError", "NotSeparableError", "ContaminatedTestError", "ModelFileError")
        + (
            "ScaleWarning",
            "SeparationWarning",
        ),
    ),
}
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return every page of the reference, by its path within the documentation."""
    listed = {name for _, _, names in GROUPS.values() for name in names}
    missing = set(sx.__all__) - listed - {"__version__"}
    if missing:
        raise ValueError(f"no page of the reference holds {sorted(missing)}: add them to GROUPS")
    made = {f"api/{page}.md": _page(*GROUPS[page]) for page in GROUPS}
    return {"api/index.md": _index(), **made}


def _index() -> str:
    lines = [
        "# API",
        "",
        "Every public name, from its docstring: what `help(sx.NAME)` prints. All are attributes of "
        "`separatrix`, imported on first use: `import separatrix as sx` costs next to nothing.",
        "",
        "| name | what |",
        "|---|---|",
    ]
    for page, (_, _, names) in GROUPS.items():
        for name in names:
            said = _summary(getattr(sx, name)).replace("|", "\\|")
            lines.append(f"| [`sx.{name}`]({page}.md#{_anchor(f'sx.{name}')}) | {said} |")
    return "\n".join(lines) + "\n"


def _page(title: str, about: str, names: tuple[str, ...]) -> str:
    parts = [f"# {title}", about]
    for name in names:
        value = getattr(sx, name)
        if isinstance(value, ModuleType):
            parts += [f"## sx.{name}", _text(value)]
            for member in value.__all__:
                parts += _entry(f"sx.{name}.{member}", getattr(value, member), 3)
        else:
            parts += _entry(f"sx.{name}", value, 2)
    return "\n\n".join(parts) + "\n"


def _entry(name: str, value: Any, level: int) -> list[str]:
    if not callable(value):
        return [f"{'#' * level} {name}", f"`{value!r}`"]
    parts = [f"{'#' * level} {name}", f"```text\n{_signature(name, value)}\n```", _text(value)]
    if inspect.isclass(value):
        rows = [
            f"| `{method}{_arguments(function)}` | {_summary(function)} |"
            for method, function in _methods(value)
        ]
        if rows:
            parts.append("\n".join(["| method | what |", "|---|---|", *rows]))
    home = inspect.getmodule(value)
    if home is not None and home.__name__.startswith("separatrix."):
        parts.append(f"Source: `src/{home.__name__.replace('.', '/')}.py`")
    return parts


def _methods(kind: type) -> list[tuple[str, Any]]:
    """Return the public methods that are written in this library, each once."""
    found = {}
    for each in kind.__mro__:
        if not each.__module__.startswith("separatrix"):
            continue
        for name, value in vars(each).items():
            if not name.startswith("_") and inspect.isfunction(value) and name not in found:
                found[name] = value
    return sorted(found.items())


def _signature(name: str, value: Any) -> str:
    try:
        plain = _plain(inspect.signature(value))
    except (TypeError, ValueError):
        return name
    if len(str(plain)) <= 70:
        return f"{name}{plain}"
    lines, named = [], False
    for each in plain.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not named:
            lines.append("    *,\n")
            named = True
        lines.append(f"    {each},\n")
    return f"{name}(\n{''.join(lines)})"


def _arguments(function: Any) -> str:
    signature = _plain(inspect.signature(function))
    names = [str(each) for key, each in signature.parameters.items() if key not in ("self", "cls")]
    return f"({', '.join(names)})".replace("|", "\\|")


def _plain(signature: inspect.Signature) -> inspect.Signature:
    """Drop annotations: the text says what is meant."""
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return signature.replace(parameters=bare, return_annotation=signature.empty)


def _summary(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split())


def _anchor(heading: str) -> str:
    """Return the anchor that Python-Markdown gives a heading."""
    return re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-")


# ---- from numpydoc to Markdown


def _text(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    pieces = _SECTION.split(text)
    parts = [_prose(pieces[0])]
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        parts.append(f"**{title}**")
        parts.append(_prose(body) if title in ("Examples", "Notes") else _fields(body))
    return "\n\n".join(part for part in parts if part.strip())


def _fields(body: str) -> str:
    """Turn ``name : kind`` with an indented text below into a list."""
    lines: list[str] = []
    for line in body.rstrip().split("\n"):
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            names = ", ".join(f"`{each.strip()}`" for each in name.split(","))
            lines.append(f"- {names}" + (f" ({kind})" if kind else ""))
        elif line.strip():
            joint = "" if lines[-1].startswith("    ") else ":"
            lines[-1] += joint
            lines.append(f"    {line.strip()}")
    return "\n".join(lines)


def _prose(text: str) -> str:
    """Keep paragraphs; sessions and indented formulas become code, double ticks single ones."""
    parts = []
    for block in text.strip("\n").split("\n\n"):
        if block.lstrip().startswith(">>>"):
            parts.append(f"```python\n{inspect.cleandoc(block)}\n```")
        elif block.startswith("    "):
            parts.append(f"```text\n{inspect.cleandoc(block)}\n```")
        else:
            parts.append(block.replace("``", "`"))
    return "\n\n".join(parts)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for path, words in pages().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(words, encoding="utf-8")
