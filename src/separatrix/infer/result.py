"""What `sx.inference` returns: a table of coefficients, figures of the fit, and what is proved."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from separatrix.infer import summary
from separatrix.infer.measures import Measures

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
        Columns that depend on those before them: no estimate, as in R.
    separation : "separable", "quasi-separable", "overlapping" or "undecided"
        Decided exactly before anything is fitted.
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
        return summary.as_latex(self)

    def to_html(self) -> str:
        """Return the table of coefficients for a page."""
        return summary.as_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def summary(self) -> str:
        """Return the table and the figures as text."""
        return summary.as_text(self)

    def __str__(self) -> str:
        return self.summary()


def _plain(value: Any) -> Any:
    if isinstance(value, int | np.integer):
        return int(value)
    return float(value) if np.isfinite(value) else str(float(value))
