"""The answer to "is it separable?", with its proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.certificates.canonical import problem_from
from separatrix.certificates.partition import Partition, proves_gordan
from separatrix.certificates.separation import Separation
from separatrix.core.verdict_fields import fields_follow
from separatrix.problem.exact import times_powers_of_ten
from separatrix.problem.signed import SignedProblem

__all__ = ["Verdict", "Witness"]

FORMAT = "separatrix-verdict-1"
KINDS = {"separation": "separable", "quasi": "quasi-separable", "overlap": "overlapping"}
_ROWS_SHOWN = 6
_DIGITS_SHOWN = 7


@dataclass(frozen=True)
class Witness:
    """Rows whose positive integer multiples ``y_i [1, x_i]`` sum to zero: no w separates them."""

    rows: tuple[int, ...]
    multipliers: tuple[int, ...]

    def __str__(self) -> str:
        """Say it in words."""
        terms = [
            f"{_short(m)} x row {r}"
            for m, r in zip(self.multipliers[:_ROWS_SHOWN], self.rows, strict=False)
        ]
        more = len(self.rows) - len(terms)
        if more > 0:
            terms.append(f"{more} more")
        return f"{_listed(self.rows)} cannot be separated: {' + '.join(terms)} = 0"


def _short(number: int) -> str:
    """Write a long integer by its first digits."""
    bits = number.bit_length()
    if bits <= 64:
        return f"{number}" if len(str(number)) <= _DIGITS_SHOWN else f"{number:.3g}"
    digits = round(bits * 0.30103)
    return f"about 1e{digits}"


def _listed(rows: tuple[int, ...]) -> str:
    if len(rows) == 1:
        return f"Row {rows[0]}"
    shown = [str(row) for row in rows[:_ROWS_SHOWN]]
    if len(rows) > _ROWS_SHOWN:
        return f"Rows {', '.join(shown)} and {len(rows) - _ROWS_SHOWN} more"
    return f"Rows {', '.join(shown[:-1])} and {shown[-1]}"


class Verdict:
    """Whether two classes can be separated by a hyperplane, proved.

    Attributes
    ----------
    kind : "separable", "quasi-separable", "overlapping" or "undecided"
    weights, intercept : array and float, or None
        The hyperplane of a separable or quasi-separable set; positive for ``classes[1]``.
    margin : float or None
        The least distance of a row from the hyperplane found, if it separates.
    witness : Witness or None
        Few rows that no hyperplane separates strictly, with integer multipliers.
    boundary : array of row numbers
        The rows on the boundary of every halfspace that holds all rows.
    infinite : array over [intercept, features]
        Where logistic regression without penalty runs: -inf, 0 (finite), +inf; NaN where the
        coefficient is not identifiable (its column depends on those before), or past 1200 columns.
    bound : float or None
        When undecided: how far from zero the best multipliers were.
    certificate : Partition or Separation, or None
        The proof, with the fingerprint of the data; ``certificate.check(X, y)`` is exact.
    note : str
        A remark, such as that the stored floats and the written decimals differ.

    Examples
    --------
    >>> import separatrix as sx
    >>> verdict = sx.separability([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    >>> verdict.kind, verdict.witness.rows, verdict.witness.multipliers
    ('overlapping', (0, 1, 2), (1, 2, 1))
    >>> again = sx.Verdict.from_json(verdict.to_json())
    >>> again.check([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    True
    """

    def __init__(
        self,
        kind: str,
        *,
        weights: np.ndarray | None = None,
        intercept: float | None = None,
        margin: float | None = None,
        witness: Witness | None = None,
        boundary: np.ndarray | None = None,
        infinite: Callable[[], np.ndarray | None] = lambda: None,
        certificate: Callable[[], Partition | Separation | None] = lambda: None,
        bound: float | None = None,
        classes: tuple[str, ...] = (),
        n_rows: int = 0,
        note: str = "",
    ) -> None:
        self.kind, self.weights, self.intercept, self.margin = kind, weights, intercept, margin
        self.witness, self.bound, self.classes = witness, bound, classes
        self.boundary = np.zeros(0, dtype=np.int64) if boundary is None else boundary
        self.n_rows, self.note = n_rows, note
        self._infinite, self._certificate = infinite, certificate
        self._sentence: str | None = None  # as a file has it

    @cached_property
    def infinite(self) -> np.ndarray | None:
        """Where the logistic coefficients run; worked out when first needed."""
        return self._infinite()

    @cached_property
    def certificate(self) -> Partition | Separation | None:
        """The proof; the data's fingerprint is taken when first needed."""
        return self._certificate()

    def __bool__(self) -> bool:
        """Refuse to be taken for a yes: three answers do not fit into two."""
        raise TypeError("a verdict is not true or false: ask verdict.kind == 'separable'")

    def check(self, X: Any, y: Any) -> bool:
        """Prove kind, certificate and witness again from the data, exactly.

        Of a verdict from a file everything else that it says is compared with the data too.
        """
        proof = self.certificate
        if proof is None or not proof.check(X, y):
            return False
        kind = proof.kind if isinstance(proof, Partition) else "separation"
        if KINDS[kind] != self.kind:
            return False
        from_file = self._sentence is not None
        if from_file and not (self._sentence == str(self) and fields_follow(self, X, y)):
            return False
        return self.witness is None or self.witness_holds(X, y)

    def witness_holds(self, X: Any, y: Any) -> bool:
        """Whether the witness is one: positive multiples of its rows sum to zero, exactly."""
        assert self.witness is not None, "only called with a witness"
        proof = self.certificate
        problem = problem_from(X, y, True if proof is None else proof.intercept)
        rows, multipliers = self.witness.rows, self.witness.multipliers
        if not rows or not len(set(rows)) == len(rows) == len(multipliers):
            return False
        if min(rows) < 0 or max(rows) >= problem.n_samples:
            return False
        part = problem.X[list(rows)]
        if isinstance(proof, Partition) and proof.decimals:
            part = times_powers_of_ten(part, proof.decimals)
        if not isinstance(problem, SignedProblem):
            return False
        small = SignedProblem(part, problem.signs[list(rows)], problem.fit_intercept)
        return proves_gordan(small, multipliers)

    # ---- telling

    def __str__(self) -> str:
        """Say the verdict in words."""
        off = self.n_rows - len(self.boundary)
        sentence = {
            "separable": f"Separable: a hyperplane puts all {self.n_rows} rows strictly on their "
            f"own side{self._margin_words()}.",
            "quasi-separable": f"Quasi-separable: a hyperplane puts {off} of {self.n_rows} rows "
            "strictly on their own side and none on the wrong one, and no hyperplane does better. "
            f"{self.witness}.",
            "overlapping": "Overlapping: no hyperplane has any row on its own side without "
            f"another on the wrong one. {self.witness}.",
            "undecided": f"Undecided: no proof was found either way (residual {self.bound})."
            if self.witness is None
            else f"Not separable; quasi-separable or overlapping, undecided. {self.witness}.",
        }[self.kind]
        return f"{sentence} {self.note}".rstrip()

    def _margin_words(self) -> str:
        return "" if self.margin is None else f" (margin {self.margin:.6g})"

    def __repr__(self) -> str:
        """Return kind and the figures that matter."""
        parts = [repr(self.kind)]
        if self.margin is not None:
            parts.append(f"margin={self.margin:.6g}")
        if self.kind == "quasi-separable":
            parts.append(f"boundary={len(self.boundary)} of {self.n_rows} rows")
        if self.witness is not None:
            parts.append(f"witness={len(self.witness.rows)} rows")
        if self.bound is not None:
            parts.append(f"bound={self.bound:.3g}")
        return f"Verdict({', '.join(parts)})"

    # ---- as JSON

    def to_json(self) -> str:
        """Write the verdict with its certificate; floats in hexadecimal, unrounded."""
        certificate, witness = self.certificate, self.witness
        whole = {
            "format": FORMAT,
            "kind": self.kind,
            "sentence": str(self),
            "rows": self.n_rows,
            "classes": list(self.classes),
            "weights": None if self.weights is None else [v.hex() for v in self.weights.tolist()],
            "intercept": None if self.intercept is None else self.intercept.hex(),
            "margin": None if self.margin is None else self.margin.hex(),
            "witness": witness
            and {"rows": list(witness.rows), "multipliers": [hex(m) for m in witness.multipliers]},
            "boundary": self.boundary.tolist() if self.kind == "quasi-separable" else [],
            "infinite": None if self.infinite is None else [str(v) for v in self.infinite.tolist()],
            "bound": None if self.bound is None else self.bound.hex(),
            "note": self.note,
            "certificate": None if certificate is None else json.loads(certificate.to_json()),
        }
        return json.dumps(whole, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """Read a verdict; ``check(X, y)`` says whether its proof holds."""
        from separatrix.certificates.reading import VERDICTS, from_json

        whole = json.loads(text)
        if not isinstance(whole, dict) or whole.get("format") != FORMAT:
            raise ValueError(f"not a verdict: the format must be {FORMAT!r}")
        witness, infinite, proof = whole["witness"], whole["infinite"], whole["certificate"]

        def number(key: str) -> float | None:
            return None if whole[key] is None else float.fromhex(whole[key])

        certificate = None if proof is None else from_json(proof, *VERDICTS)
        array = None if infinite is None else np.array([float(v) for v in infinite])
        verdict = cls(
            whole["kind"],
            weights=whole["weights"] and np.array([float.fromhex(v) for v in whole["weights"]]),
            intercept=number("intercept"),
            margin=number("margin"),
            witness=witness
            and Witness(
                tuple(int(row) for row in witness["rows"]),
                tuple(int(m, 16) for m in witness["multipliers"]),
            ),
            boundary=np.array(whole["boundary"], dtype=np.int64),
            infinite=lambda: array,
            certificate=lambda: certificate,
            bound=number("bound"),
            classes=tuple(whole["classes"]),
            n_rows=whole["rows"],
            note=whole["note"],
        )
        verdict._sentence = str(whole["sentence"])
        return verdict
