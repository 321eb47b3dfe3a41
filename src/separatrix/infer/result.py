"""What `sx.inference` returns: a table of coefficients, figures of the fit, and what is proved.

The table of coefficients in words that statisticians know: text, LaTeX, HTML.

How well a model fits: deviances, AIC, BIC, McFadden's share, Hosmer and Lemeshow's test.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np
from scipy.special import expit

from separatrix.infer.likelihood import chi_squared_tail
from separatrix.infer.model import Design

COLUMNS = (
    "estimate", "std_error", "lower", "upper", "p_value", "z", "p_wald", "lr", "p_lr", "score",
    "p_score", "odds_ratio", "wald_lower", "wald_upper",
)  # fmt: skip
FORMAT = "separatrix-inference-1"


@dataclass(eq=False)
class Inference:
    """Estimates of a logistic regression with errors, intervals and tests.

    Attributes
    ----------
    names : list of str
        The coefficients: ``intercept``, then the features.
    table : dict of arrays
        One array for each of the columns of `to_frame`.
    method, level, intervals : str, float, str
        How it was made.
    aliased : list of str
        Columns that depend on those before them: no estimate, as in R. With a ridge there are none.
    separation : "separable", "quasi-separable", "overlapping" or "undecided"
        Decided exactly, on all columns.
    sentence : str
        What that means for the estimates.
    measures : Measures
        Log-likelihood, deviances, AIC, BIC, McFadden's share, Hosmer and Lemeshow's test.
    enclosures : dict of pairs of arrays
        Proved bounds on `estimate`, `std_error`, `lower`, `upper`, `lr` and `p_value`; NaN where
        there is no proof.
    proof : "global", "local" or "none"
        Whether the estimates are proved to be the maximum, one maximum, or are not proved.
    certificate : InferenceProof or None
        The proof; ``certificate.check(X, y)`` makes it again from the data.
    """

    names: list[str]
    table: dict[str, np.ndarray]
    method: str
    level: float
    intervals: str
    errors: str
    classes: tuple[str, str]
    n_rows: int
    aliased: list[str]
    separation: str
    sentence: str
    measures: Measures
    covariance: np.ndarray = field(repr=False)
    maxima: int = 1
    enclosures: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)
    proof: str = "none"
    certificate: Any = field(default=None, repr=False)
    notes: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        """Return a column of the table or a figure of the fit by its name."""
        if name.startswith("__") or "table" not in self.__dict__:
            raise AttributeError(name)
        if name in self.table:
            return self.table[name]
        figures = self.__dict__.get("measures")
        if figures is not None and name in figures.__dataclass_fields__:
            return getattr(figures, name)
        raise AttributeError(f"Inference has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> dict[str, float]:
        """Return the row of one coefficient."""
        if name not in self.names:
            raise KeyError(f"no coefficient {name!r}; there are {', '.join(self.names[:12])}")
        at = self.names.index(name)
        return {column: float(values[at]) for column, values in self.table.items()}

    def to_frame(self) -> Any:
        """Return the table as a pandas frame: a row for each coefficient."""
        import pandas as pd

        return pd.DataFrame(self.table, index=pd.Index(self.names, name="term"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; what is infinite or absent as text."""
        return {
            "format": FORMAT,
            "method": self.method,
            "level": self.level,
            "intervals": self.intervals,
            "errors": self.errors,
            "classes": list(self.classes),
            "rows": self.n_rows,
            "separation": self.separation,
            "sentence": self.sentence,
            "proof": self.proof,
            "maxima": self.maxima,
            "aliased": self.aliased,
            "coefficients": [
                {"name": name} | {key: _plain(value) for key, value in self[name].items()}
                for name in self.names
            ],
            "enclosures": {
                key: [[_plain(a), _plain(b)] for a, b in zip(low, high, strict=True)]
                for key, (low, high) in self.enclosures.items()
            },
            "measures": {key: _plain(value) for key, value in asdict(self.measures).items()},
            "notes": self.notes,
        }

    def to_json(self) -> str:
        """Return the same as JSON text."""
        return json.dumps(self.to_dict(), indent=1)

    def to_latex(self) -> str:
        """Return the table of coefficients for LaTeX."""
        return as_latex(self)

    def to_html(self) -> str:
        """Return the table of coefficients for a page."""
        return as_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def summary(self) -> str:
        """Return the table and the figures as text."""
        return as_text(self)

    def __str__(self) -> str:
        return self.summary()


def _plain(value: Any) -> Any:
    if isinstance(value, int | np.integer):
        return int(value)
    return float(value) if np.isfinite(value) else str(float(value))


# ---- the table of coefficients in words that statisticians know: text, LaTeX, HTML


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
        open_ends = [
            np.isfinite(result.table[side]) & np.isnan(result.enclosures[side][0])
            for side in ("lower", "upper")
        ]
        more = "is" if np.any(open_ends) else "and every finite end are"
        return f" Enclosed: the supremum {more} proved."
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


# ---- how well a model fits: deviances, AIC, BIC, McFadden's share, Hosmer and Lemeshow's test


_GROUPS = 10


@dataclass(frozen=True)
class Measures:
    """Figures of the whole model."""

    log_likelihood: float
    null_log_likelihood: float
    deviance: float
    null_deviance: float
    aic: float
    bic: float
    mcfadden: float
    lr: float  # of all coefficients but the intercept together
    lr_freedom: int
    lr_p_value: float
    hosmer_lemeshow: float
    hosmer_lemeshow_freedom: int
    hosmer_lemeshow_p_value: float


def measures(
    design: Design, log_likelihood: float, fitted: np.ndarray, parameters: int
) -> Measures:
    """Return the figures of a fit with so many parameters; weights are counts of rows."""
    null = null_log_likelihood(design)
    rows = float(design.weights.sum())
    freedom = parameters - int(design.intercept)
    lr = max(0.0, 2.0 * (log_likelihood - null))
    statistic, groups = hosmer_lemeshow(design, fitted)
    return Measures(
        log_likelihood=log_likelihood,
        null_log_likelihood=null,
        deviance=-2.0 * log_likelihood,
        null_deviance=-2.0 * null,
        aic=2.0 * parameters - 2.0 * log_likelihood,
        bic=parameters * float(np.log(rows)) - 2.0 * log_likelihood,
        mcfadden=1.0 - log_likelihood / null if null < 0.0 else np.nan,
        lr=lr,
        lr_freedom=freedom,
        lr_p_value=float(chi_squared_tail(lr, freedom)) if freedom > 0 else np.nan,
        hosmer_lemeshow=statistic,
        hosmer_lemeshow_freedom=groups - 2,
        hosmer_lemeshow_p_value=(
            float(chi_squared_tail(statistic, groups - 2)) if groups > 2 else np.nan
        ),
    )


def null_log_likelihood(design: Design) -> float:
    """Return the log-likelihood of the intercept alone, or of nothing where there is none."""
    w, y, offset = design.weights, design.y, design.offset
    eta = offset + (_null_intercept(w, y, offset) if design.intercept else 0.0)
    return -float(w @ np.logaddexp(0.0, np.where(y > 0.5, -eta, eta)))


def _null_intercept(w: np.ndarray, y: np.ndarray, offset: np.ndarray) -> float:
    """Return the intercept that maximises the likelihood where it is the only coefficient."""
    log_odds = float(np.log(w @ y) - np.log(w @ (1.0 - y)))
    # At these two the score is at least, and at most, zero: the offsets are all of one side.
    low, high = log_odds - float(offset.max()), log_odds - float(offset.min())
    while low < (middle := 0.5 * (low + high)) < high:
        score = float(w @ np.where(y > 0.5, expit(-middle - offset), -expit(middle + offset)))
        low, high = (middle, high) if score > 0.0 else (low, middle)
    return low


def hosmer_lemeshow(design: Design, fitted: np.ndarray) -> tuple[float, int]:
    """Return the statistic and the number of groups: ten by the quantiles of the probabilities."""
    order = np.argsort(fitted, kind="stable")
    p, y, w = fitted[order], design.y[order], design.weights[order]
    before = np.cumsum(w) - 0.5 * w
    cuts = np.minimum((before * (_GROUPS / w.sum())).astype(int), _GROUPS - 1)
    # Equal probabilities stay in one group.
    first = np.searchsorted(p, p, side="left")
    cuts = cuts[first]
    total, groups = 0.0, 0
    for group in np.unique(cuts):
        own = cuts == group
        n, seen, expected = (float(v) for v in (w[own].sum(), w[own] @ y[own], w[own] @ p[own]))
        groups += 1
        if 0.0 < expected < n:
            total += (seen - expected) ** 2 / (expected * (1.0 - expected / n))
        elif seen != expected:
            return np.inf, groups
    return total, groups
