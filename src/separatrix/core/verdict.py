"""The answer to "is it separable?", with its proof; and whether a file's answer follows from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.certificates.partition import Integers, Partition, proved_signs, proves_gordan
from separatrix.certificates.separation import (
    Separation,
    divide_down,
    least_margin,
    margin_at_most,
)
from separatrix.certificates.two_bounds import Said, from_file
from separatrix.checker.codec import (
    Claim,
    Reader,
    anything,
    count,
    integer,
    many,
    number,
    one_of,
    parsed,
    record,
    refusing,
    require,
    text,
)
from separatrix.checker.exact import at_least, at_most
from separatrix.core.separability import Widest, Witness, as_floats, decided_labels, decided_rows
from separatrix.problem.canonical import problem_from
from separatrix.problem.exact import times_powers_of_ten
from separatrix.problem.signed import SignedProblem, as_matrix

FORMAT = "separatrix-verdict-1"
KINDS = {"separation": "separable", "quasi": "quasi-separable", "overlap": "overlapping"}
_MOST_ROWS = 2**62
_ROUNDING, _DISTANCE = 1e-12, 1e-6


class Verdict(Said):
    """Whether two classes can be separated by a hyperplane, proved.

    Attributes
    ----------
    kind : {"separable", "quasi-separable", "overlapping", "undecided"}
        The answer.
    weights, intercept : array and float, or None
        The hyperplane of a separable or quasi-separable set; positive for ``classes[1]``.
    margin : float or None
        The least distance of a row from the hyperplane found, where that is close to the largest
        possible; None where it would take long to know.
    margin_bounds : pair of floats, or None
        The largest margin of any hyperplane lies between these, proved; the first is `margin`.
    witness : Witness or None
        Few rows that no hyperplane separates strictly, with integer multipliers.
    boundary : array of row numbers
        The rows on the boundary of every halfspace that holds all rows.
    infinite : array over [intercept, features]
        The logistic coefficients without a penalty: -inf, +inf, or 0 where they are finite; "open"
        where a coefficient is infinite but its sign is not determined (`weights` has the sign of
        the largest margin); "unknown" where the sign would take too long to compute. An array with
        such words holds objects. NaN where a coefficient is not identifiable (its column depends
        on those before), or beyond 1200 columns.
    bound : float or None
        When undecided: how far from zero the best multipliers were.
    certificate : Partition or Separation, or None
        The proof, with the fingerprint of the data; ``certificate.check(X, y)`` is exact.
    note : str
        A remark, such as that the stored floats and the written decimals differ.

    See Also
    --------
    separability : makes it.
    NotSeparableError : carries its witness.
    shatter : a verdict for every labeling.

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
        widest: Widest | None = None,
        witness: Witness | None = None,
        boundary: np.ndarray | None = None,
        infinite: Callable[[], np.ndarray | None] | None = None,
        certificate: Callable[[], Partition | Separation | None] | None = None,
        bound: float | None = None,
        classes: tuple[str, ...] = (),
        n_rows: int = 0,
        note: str = "",
    ) -> None:
        self.kind, self.weights, self.intercept, self.margin = kind, weights, intercept, margin
        self.witness, self.bound, self.classes = witness, bound, classes
        self.boundary = np.zeros(0, dtype=np.int64) if boundary is None else boundary
        self.n_rows, self.note, self.widest = n_rows, note, widest
        self._infinite, self._certificate = infinite, certificate
        self._read_words: str | None = None  # as a file has them

    @cached_property
    def infinite(self) -> np.ndarray | None:
        """Where the logistic coefficients run; worked out when first needed."""
        return None if self._infinite is None else self._infinite()

    @property
    def margin_bounds(self) -> tuple[float, float] | None:
        """The bounds on the largest margin, where they are known."""
        return None if self.widest is None else (self.widest.low, self.widest.high)

    @cached_property
    def certificate(self) -> Partition | Separation | None:
        """The proof; the data's fingerprint is taken when first needed."""
        return None if self._certificate is None else self._certificate()

    def __getstate__(self) -> dict[str, Any]:
        """Work out what was left for later: pickle and copies hold values, not functions."""
        later = {"infinite": self.infinite, "certificate": self.certificate}
        return {**vars(self), **later, "_infinite": None, "_certificate": None}

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
        if self.is_read and self._read_words != self.in_words():
            return False
        if self.is_read and not _fields_follow(self, X, y):
            return False
        if self.witness is None:
            return self.kind == "separable"
        return self.witness_holds(X, y)

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

    def coefficients(self, names: Any = None) -> list[tuple[str, Any]]:
        """Return what `infinite` says of every coefficient, with its name."""
        values = [] if self.infinite is None else self.infinite.tolist()
        return list(zip(coefficient_names(len(values), names), values, strict=True))

    def __str__(self) -> str:
        """Say the verdict in words; of one from a file, that it is claimed there."""
        return claimed(self._sentence()) if self.is_read else self._sentence()

    def _sentence(self) -> str:
        off = self.n_rows - len(self.boundary)
        sentence = {
            "separable": f"Separable: a hyperplane puts all {self.n_rows} rows strictly on their "
            f"own side{self._margin_words()}.",
            "quasi-separable": f"Quasi-separable: a hyperplane puts {off} of {self.n_rows} rows "
            "strictly on their own side and none on the wrong one, and no hyperplane does better. "
            f"{self.witness}.",
            "overlapping": "Overlapping: no hyperplane has any row on its own side without "
            f"another on the wrong one. {self.witness}.",
            "undecided": "Undecided: no hyperplane was found that separates the rows, and no proof "
            f"that there is none (residual {0.0 if self.bound is None else self.bound:.3g})."
            if self.witness is None
            else f"Not separable; quasi-separable or overlapping, undecided. {self.witness}.",
        }[self.kind]
        return f"{sentence} {self.note}".rstrip()

    def _margin_words(self) -> str:
        if self.margin_bounds is None:
            return "" if self.margin is None else f" (margin {self.margin:.6g})"
        low, high = self.margin_bounds
        if f"{low:.6g}" == f"{high:.6g}":
            return f" (largest margin {low:.6g}, proved)"
        return f" (largest margin between {at_least(low, 6)} and {at_most(high, 6)}, proved)"

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
            "sentence": self.in_words(),
            "rows": self.n_rows,
            "classes": list(self.classes),
            "weights": None if self.weights is None else [v.hex() for v in self.weights.tolist()],
            "intercept": None if self.intercept is None else self.intercept.hex(),
            "margin": None if self.margin is None else self.margin.hex(),
            "widest": self.widest and _written(self.widest),
            "witness": witness and witness.plain(),
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

        with refusing():
            whole = parsed(text)
            require(
                type(whole) is dict and whole.get("format") == FORMAT,
                f"not a verdict: the format must be {FORMAT!r}",
            )
            said = Claim(whole, "the verdict", _FIELDS, optional=("widest",))
            proof = said.certificate
            certificate = None if proof is None else from_json(proof, *VERDICTS)
            array = None if said.infinite is None else _runs(said.infinite)
            verdict = cls(
                said.kind,
                weights=None if said.weights is None else np.array(said.weights),
                intercept=said.intercept,
                margin=said.margin,
                widest=said.widest and Widest(*_tuples(said.widest)),
                witness=said.witness and Witness(*_tuples(said.witness)),
                boundary=np.array(said.boundary, dtype=np.int64),
                infinite=lambda: array,
                certificate=lambda: certificate,
                bound=said.bound,
                classes=tuple(said.classes),
                n_rows=said.rows,
                note=said.note,
            )
        verdict._read_words = said.sentence
        return from_file(verdict)


def claimed(said: str) -> str:
    """Return what a verdict from a file says, before its check.

    >>> claimed("Separable: all 3 rows (largest margin 0.5, proved).")
    'Claimed by a file. Separable: all 3 rows (largest margin 0.5).'
    """
    return f"Claimed by a file. {said}".replace(", proved)", ")")


def coefficient_names(count: int, names: Any = None) -> list[str]:
    """Return the names of so many coefficients, the intercept first.

    >>> coefficient_names(3)
    ['intercept', 'x0', 'x1']
    """
    numbers = range(count - 1)
    return ["intercept", *(f"x{j}" if names is None else str(names[j]) for j in numbers)][:count]


def _written(widest: Widest) -> dict[str, Any]:
    return {
        "low": widest.low.hex(),
        "high": widest.high.hex(),
        "rows": list(widest.rows),
        "multipliers": [v.hex() for v in widest.multipliers],
    }


def _tuples(said: Claim) -> Iterator[Any]:
    """Return the fields of a part, its lists as tuples."""
    return (tuple(value) if isinstance(value, list) else value for value in vars(said).values())


def _runs(written: list[str]) -> np.ndarray:
    """Read what `infinite` says: numbers, and words where signs are open."""
    words = [v if v in ("open", "unknown") else float(v) for v in written]
    return np.array(words, dtype=object if any(isinstance(v, str) for v in words) else float)


def _absent_or(reader: Reader) -> Reader:
    return lambda value: None if value is None else reader(value)


def _any_number(value: Any) -> float:
    return float(value) if value in ("nan", "inf", "-inf") else number(value)


def _row(value: Any) -> int:
    require(count(value) < _MOST_ROWS, "there are not so many rows")
    return int(value)


def _named(reader: Reader) -> Reader:
    """Accept rows, at least one, with a multiplier each."""

    def read(value: Any) -> Claim:
        said: Claim = reader(value)
        require(len(said.rows) == len(said.multipliers) > 0, "every row needs one multiplier")
        return said

    return read


_FIELDS: dict[str, Reader] = {
    "format": text,
    "kind": one_of("separable", "quasi-separable", "overlapping", "undecided"),
    "sentence": text,
    "rows": count,
    "classes": many(text),
    "weights": _absent_or(many(_any_number)),
    "intercept": _absent_or(_any_number),
    "margin": _absent_or(number),
    "widest": _absent_or(
        _named(
            record(
                "widest",
                {"low": number, "high": number, "rows": many(_row), "multipliers": many(number)},
            )
        )
    ),
    "witness": _absent_or(
        _named(record("witness", {"rows": many(_row), "multipliers": many(integer)}))
    ),
    "boundary": many(_row),
    "infinite": _absent_or(many(one_of("-inf", "0.0", "inf", "nan", "open", "unknown"))),
    "bound": _absent_or(_any_number),
    "note": text,
    "certificate": anything,
}


# ---- deciding


def separability_of(
    X: Any, y: Any, fit_intercept: bool = True, *, decimal: bool = False
) -> Verdict:
    """Decide whether a hyperplane separates two classes; X holds finite numbers, y labels.

    `decimal` decides on the shortest decimal of each stored float: the one written, if that has up
    to 15 digits.

    >>> separability_of(np.array([[0.0], [1.0], [2.0]]), np.array(["a", "b", "a"])).kind
    'overlapping'
    """
    return Verdict(**vars(decided_labels(X, y, fit_intercept, decimal=decimal)))


def verdict_on(problem: SignedProblem, classes: tuple[str, ...], places: Integers = ()) -> Verdict:
    """Decide a signed problem; ``certificates`` checks every claim before it is returned."""
    return Verdict(**vars(decided_rows(problem, classes, places)))


# ---- a verdict from a file


def _fields_follow(verdict: Any, X: Any, y: Any) -> bool:
    """Whether classes, rows, hyperplane, margin, boundary, `infinite` and note are as they say.

    The certificate has been checked for these data.
    """
    proof = verdict.certificate
    problem = problem_from(X, y, proof.intercept)
    names = tuple(str(name) for name in np.unique(np.asarray(y)))
    if not isinstance(problem, SignedProblem) or verdict.bound is not None:
        return False
    if (tuple(verdict.classes), verdict.n_rows) != (names, problem.n_samples):
        return False
    if (proof.classes, proof.n_rows, proof.n_features) != (names, *problem.X.shape):
        return False
    return (
        hyperplane_follows(verdict, proof)
        and _margin_follows(verdict, problem)
        and _boundary_follows(verdict, problem, proof)
        and _infinite_follows(verdict, X, y, proof)
    )


def hyperplane_follows(verdict: Any, proof: Partition | Separation) -> bool:
    """Whether weights and intercept are those proved, in floats."""
    if isinstance(proof, Separation):
        stated: Any = proof.weights[0]
        expected: Any = np.array(stated)
    elif proof.kind == "overlap":
        return verdict.weights is None and verdict.intercept is None
    else:
        stated = proof.weights
        expected = as_floats(stated)
        if proof.decimals:
            expected[1:] *= 10.0 ** np.array(proof.decimals)
    if verdict.weights is None or verdict.intercept is None:
        return False
    if not proof.intercept and stated[0] != 0:  # no check of the rows looks at it
        return False
    found = np.concatenate([[verdict.intercept], verdict.weights])
    room = _ROUNDING * abs(expected) if getattr(proof, "decimals", ()) else 0.0
    return found.shape == expected.shape and bool((abs(found - expected) <= room).all())


def _margin_follows(verdict: Any, problem: SignedProblem) -> bool:
    """Whether the margin is the least distance of a row, rounded down.

    The upper bound on the largest margin has to follow from its multipliers, exactly.
    """
    widest, margin = verdict.widest, verdict.margin
    if widest is None or margin is None:
        return widest is None and margin is None
    if verdict.kind != "separable" or verdict.weights is None or not verdict.weights.any():
        return False
    if (widest.low, widest.high) != (
        margin,
        margin_at_most(problem, widest.rows, widest.multipliers),
    ):
        return False
    w = np.concatenate([[verdict.intercept], verdict.weights])
    exact = least_margin(problem, w[None])
    if exact <= 0:
        return False
    distance = divide_down(exact, verdict.weights)
    largest = float(abs(w[1:]).max())
    w = w / largest
    sizes = float((abs(problem.X) @ abs(w[1:])).max()) + abs(w[0])
    room = _DISTANCE * distance + _ROUNDING * sizes / float(np.linalg.norm(w[1:]))
    return bool(distance - room <= margin <= distance)


def _boundary_follows(verdict: Any, problem: SignedProblem, proof: Partition | Separation) -> bool:
    """Whether the rows on the boundary are those proved to be there; an overlap names none."""
    if verdict.kind != "quasi-separable":
        return len(verdict.boundary) == 0
    assert isinstance(proof, Partition), "only a partition proves a quasi-separation"
    if proof.decimals:
        scaled = times_powers_of_ten(problem.X, proof.decimals)
        problem = SignedProblem(scaled, problem.signs, problem.fit_intercept)
    signs = proved_signs(problem, proof)
    return signs is not None and np.array_equal(np.flatnonzero(signs == 0), verdict.boundary)


def _infinite_follows(verdict: Any, X: Any, y: Any, proof: Partition | Separation) -> bool:
    """Whether coefficients run where they are worked out to run again, and the note is the same."""
    if verdict.infinite is None and not verdict.note:
        return True
    decimal = bool(getattr(proof, "decimals", ()))
    again = decided_labels(as_matrix(X), np.asarray(y), proof.intercept, decimal=decimal)
    if (again.kind, again.note) != (verdict.kind, verdict.note):
        return False
    if verdict.infinite is None or again.infinite is None:
        return verdict.infinite is None
    found, said = [str(v) for v in again.infinite()], [str(v) for v in verdict.infinite]
    return len(found) == len(said) and all(map(_sign_follows, said, found))


def _sign_follows(said: str, found: str) -> bool:
    """Whether what is said of a coefficient follows: "unknown" says only that it runs."""
    return said == found or (said == "unknown" and found in ("inf", "-inf", "open"))
