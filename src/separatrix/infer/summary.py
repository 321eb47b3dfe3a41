"""The table of coefficients in words that statisticians know: text, LaTeX, HTML."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

_TITLES = {
    "mle": "maximum likelihood",
    "firth": "Firth's penalised likelihood",
    "ridge": "ridge-penalised likelihood",
}
_WIDTH = 88


def digits(value: float) -> str:
    """Write a number with five significant digits, fixed where that is short.

    >>> digits(2.92927335), digits(float("inf")), digits(float("nan")), digits(1.5e-9)
    ('2.9293', 'inf', 'NA', '1.5000e-09')
    """
    if np.isnan(value):
        return "NA"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    size = abs(value)
    if size != 0.0 and not 1e-4 <= size < 1e6:
        return f"{value:.4e}"
    return f"{value:.4f}" if size < 100 else f"{value:.2f}"


def probability(value: float) -> str:
    """Write a p-value: four digits after the point, or that it is smaller."""
    if np.isnan(value):
        return "NA"
    return "<0.0001" if value < 1e-4 else f"{value:.4f}"


def _columns(result: Any) -> tuple[list[str], list[list[str]]]:
    percent = f"{100.0 * result.level:g}%"
    test = "LR" if result.intervals == "profile" else "z"
    head = ["estimate", "std. error", f"lower {percent}", f"upper {percent}", test, "p", "odds"]
    table = result.table
    rows = []
    for at in range(len(result.names)):
        statistic = table["lr" if result.intervals == "profile" else "z"][at]
        cells = [digits(table[key][at]) for key in ("estimate", "std_error", "lower", "upper")]
        cells += [digits(statistic), probability(table["p_value"][at])]
        rows.append([*cells, digits(table["odds_ratio"][at])])
    return head, rows


def as_text(result: Any) -> str:
    """Return the summary as lines of text."""
    head, rows = _columns(result)
    first = max([len("term"), *(len(name) for name in result.names)])
    widths = [max(len(h), *(len(row[k]) for row in rows)) for k, h in enumerate(head)]

    def line(name: str, cells: list[str]) -> str:
        right = "  ".join(cell.rjust(w) for cell, w in zip(cells, widths, strict=True))
        return f"{name.ljust(first)}  {right}"

    rule = "-" * len(line("", head))
    lines = [
        f"Logistic regression by {_TITLES[result.method]}: {result.n_rows} rows, "
        f"P({result.classes[1]})",
        result.sentence,
        "",
        line("term", head),
        rule,
        *(line(name, row) for name, row in zip(result.names, rows, strict=True)),
        rule,
        *figures(result),
    ]
    return "\n".join(lines)


def figures(result: Any) -> list[str]:
    """Return the figures of the fit, and how the numbers were made, in lines."""
    m = result.measures
    kind = "Profile-likelihood" if result.intervals == "profile" else "Wald"
    test = "likelihood-ratio" if result.intervals == "profile" else "Wald"
    lines = [
        f"Log-likelihood {m.log_likelihood:.4f}, deviance {m.deviance:.4f}, null deviance "
        f"{m.null_deviance:.4f}",
        f"AIC {m.aic:.4f}, BIC {m.bic:.4f}, McFadden {m.mcfadden:.4f}",
    ]
    if m.lr_freedom > 0:
        lines.append(
            f"All coefficients together: LR {m.lr:.4f} on {m.lr_freedom}, "
            f"p {probability(m.lr_p_value)}"
        )
    if m.hosmer_lemeshow_freedom > 0:
        lines.append(
            f"Hosmer-Lemeshow {digits(m.hosmer_lemeshow)} on {m.hosmer_lemeshow_freedom}, "
            f"p {probability(m.hosmer_lemeshow_p_value)}"
        )
    lines.append(f"{kind} intervals, {test} tests.{_proof_words(result)}")
    if result.aliased:
        lines.append(f"Not estimated, dependent on columns before: {', '.join(result.aliased)}")
    lines += [f"note: {note}" for note in result.notes]
    return lines


def _proof_words(result: Any) -> str:
    if result.proof == "global" and np.isinf(result.table["estimate"]).any():
        return " Enclosed: the supremum and every finite end are proved."
    words = {
        "global": " Enclosed: the maximum is proved to be the only one.",
        "local": " Enclosed: a maximum is proved; no better one was found.",
    }
    return words.get(result.proof, "")


def as_latex(result: Any) -> str:
    """Return a LaTeX table of the coefficients."""
    head, rows = _columns(result)
    lines = [rf"\begin{{tabular}}{{l{'r' * len(head)}}}", r"\hline"]
    lines.append(" & ".join(["", *map(_latex, head)]) + r" \\")
    lines.append(r"\hline")
    for name, row in zip(result.names, rows, strict=True):
        lines.append(" & ".join([_latex(name), *map(_latex_number, row)]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def _latex_number(cell: str) -> str:
    if cell in ("inf", "-inf"):
        return f"${'-' if cell[0] == '-' else ''}\\infty$"
    return f"${cell}$" if cell[0] in "-<" else _latex(cell)


def _latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def as_html(result: Any) -> str:
    """Return the table and the figures as HTML; names stay text."""
    head, rows = _columns(result)
    cells = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>"
        for name, row in zip(result.names, rows, strict=True)
    )
    under = "<br>".join(escape(line) for line in [result.sentence, *figures(result)])
    return (
        f'<table class="separatrix-inference"><thead><tr><th></th>{cells}</tr></thead>'
        f"<tbody>{body}</tbody></table><p>{under}</p>"
    )
