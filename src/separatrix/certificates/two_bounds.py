"""What every certificate by two bounds is: points, the data they speak of, and the bounds proved.

The least objective lies between `dual` and `primal`. `proved` finds both bounds from the data;
`check` finds them again, in one and the same way for all kinds. A kind adds its points, what they
must be (`require_sound`), and how they bound the objective (`_found`). Several models, one a class
or one a pair of classes, have one certificate each (`EachMachine`).

First stands what every certificate says of its data, and its JSON form: the fields that the
checker's table names, in its order, and floats as C99 hexadecimal text, so that they come back with
the same bits. `reading` is the other direction.
"""

from __future__ import annotations

import json
import math
from collections import UserString
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from inspect import signature
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosure import Enclosure, require_denormals
from separatrix.checker.codec import Refused, require
from separatrix.checker.exact import at_least, at_most
from separatrix.checker.kinds import CLAIMS, FORMAT, KERNEL, NO_INTERCEPT, WITNESS
from separatrix.problem.canonical import (
    Problem,
    codes_of,
    counted_rows,
    data_of,
    numbered,
    problem_from,
)
from separatrix.problem.fingerprint import LaterName, fingerprint
from separatrix.problem.kernels import Kernel
from separatrix.problem.signed import as_matrix

# Their integers may have thousands of bits, and are written in hexadecimal.
_LONG = {"multipliers", "others", "integers", "unit", "denominator"}
_LONG |= {"direction", "runs_down", "runs_up"}
_NAMES = str, LaterName
NO_FILE_FORM = (
    "This certificate has no file form: it speaks of sample weights, of values instead of classes, "
    "or of more than 2,000,000 entries. certificate_.check(X, y) proves it."
)


class Said:
    """A claim that `str` says in one sentence; of one from a file, that it is claimed there."""

    is_read = False

    def _sentence(self) -> str:
        raise NotImplementedError

    def in_words(self) -> str:
        """Say what is proved, wherever the claim comes from: for those that have checked it."""
        return self._sentence() + NO_INTERCEPT * (not getattr(self, "intercept", True))

    def __str__(self) -> str:
        said = self.in_words()
        return said.replace("proved", "claimed by a file", 1) if self.is_read else said


def from_file(claim: Any) -> Any:
    """Return a claim, marked as one that was read from a file."""
    object.__setattr__(claim, "is_read", True)  # claims are frozen
    return claim


@dataclass(frozen=True, eq=False, kw_only=True)
class AboutData(Said):
    """A claim about so many rows, features and classes."""

    intercept: bool = True
    data_sha256: str | UserString = ""
    n_rows: int
    n_features: int
    classes: tuple[str, ...] = ("0", "1")

    def speaks_of(self, shape: tuple[int, int], n_classes: int) -> bool:
        """Whether the data have so many rows, features and classes, each of another name."""
        sizes = (self.n_rows, self.n_features, len(self.classes), len(set(self.classes)))
        is_flag = type(self.intercept) is bool  # -1 would lower ranks
        return is_flag and (*shape, n_classes, n_classes) == sizes

    def problem(self, X: Any, y: Any) -> Problem | None:
        """Return the problem that labels y set, if these are the data spoken of.

        Labels of one class are not: nobody knows which of two it is.
        """
        require_denormals()
        found, name = problem_from(X, y, self.intercept), self.data_sha256
        codes, shape = codes_of(found), found.X.shape
        same = codes.shape == shape[:1] and self.speaks_of(shape, len(np.unique(codes)))
        same = same and type(name) in _NAMES
        return found if same and fingerprint(found, name) == name else None

    def weighted_problem(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Problem, np.ndarray] | None:
        """Return the problem of the rows that count and their weights, if it is the one meant."""
        X, y, s = counted_rows(X, y, sample_weight)
        found = self.problem(X, y)
        return None if found is None or self.intercept is not True else (found, s)


def are_rows(rows: Sequence[int], values: Sequence[Any], count: int) -> bool:
    """Whether these are different numbers of so many rows, one or more, with a value each."""
    different = len(rows) == len(values) == len(set(rows)) > 0
    return different and min(rows) >= 0 and max(rows) < count


class Written(Said):
    """A claim of a kind that is written as JSON."""

    kind = ""

    def claim(self) -> dict[str, Any]:
        """Return what is claimed: the fields that the checker's table names."""
        _, names, optional = CLAIMS[self.kind]
        claim: dict[str, Any] = {name: getattr(self, name, None) for name in names}
        if claim.get("rows", 0) is None:  # there is a number for every row, and no 0 is written
            name = "shares" if "shares" in claim else "multipliers"
            claim["rows"] = np.flatnonzero(claim[name])
            claim[name] = claim[name][claim["rows"]]
        for name in optional & claim.keys():  # what may be absent is, where it says nothing
            if claim[name] in (None, (), getattr(type(self), name, None)):
                del claim[name]
        return claim

    def spoken_of(self) -> Any:
        """Return what says of which data this is a claim."""
        return self

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        proof = self.spoken_of()
        about = {
            "rows": proof.n_rows,
            "features": proof.n_features,
            "intercept": proof.intercept,
            "classes": list(proof.classes),
            "sha256": str(proof.data_sha256),
        }
        if getattr(proof, "decimals", ()):
            about["decimals"] = list(proof.decimals)
        whole = {"format": FORMAT, "kind": self.kind, "data": about, "claim": _plain(self.claim())}
        return json.dumps(whole, indent=1)


def _plain(value: Any, name: str = "") -> Any:
    """Return the numbers, arrays and records of a field of this name as JSON has them."""
    if isinstance(value, float):
        return value.hex() if math.isfinite(value) else str(value)
    if type(value) is int:
        return hex(value) if name in _LONG else value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, Fraction):
        value = value.as_integer_ratio()
    elif isinstance(value, Kernel):
        value = {each: getattr(value, each) for each in KERNEL}
    elif is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    elif name == "witnesses" and isinstance(value, tuple):
        value = [dict(zip(WITNESS, each, strict=True)) for each in value]
    if isinstance(value, dict):
        return {each: _plain(part, each) for each, part in value.items()}
    if name == "loads":
        return [[witness, hex(load)] for witness, load in value]
    if isinstance(value, list | tuple):
        return [_plain(each, name) for each in value]
    return value


# ---- what every certificate by two bounds is: points, the data they speak of, the bounds proved


# Claims are stated this much wider than found, so that another machine's rounding finds them true.
SLACK = 1e-12
# An enclosure this many times wider holds those of other orders of summation.
WIDE = 3.0
_MOST, _MOST_TURNED = 2**40, 2**25


class Found(NamedTuple):
    """Both objectives as one way to sum encloses them; `shown` are fields for those who look."""

    primal: Enclosure
    dual: Enclosure
    shown: Callable[[], dict[str, Any]] = dict
    is_next_cheap: bool = True  # whether a tighter way to sum costs little more

    @property
    def is_feasible(self) -> bool:
        """Whether the dual point bounds anything at all."""
        return bool(self.dual.high > -math.inf)


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoBounds(Written, AboutData):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `costs` are C times each row's weight. A claim without a name, `data_sha256`, is about any data
    for which its bounds are found again.
    """

    _wide: ClassVar[float] = WIDE
    _hard_losses: ClassVar[tuple[str, ...]] = ()  # those that may have infinite costs

    primal: float = math.nan
    dual: float = math.nan
    costs: np.ndarray

    @property
    def gap(self) -> float:
        """(primal - dual) / primal, rounded up: no better point is further below than this."""
        if self.primal == 0.0:
            return 0.0
        if not (math.isfinite(self.primal) and math.isfinite(self.dual)):
            return math.inf
        primal = Enclosure.exact(self.primal)
        return max(0.0, float(((primal - self.dual) / primal).high))

    @property
    def holds(self) -> bool:
        """Whether both bounds are there at all."""
        return math.isfinite(self.gap)

    @classmethod
    def proved(
        cls, X: Any, sides: np.ndarray, *, slack: float = SLACK, tol: float = 0.0, **points: Any
    ) -> Self:
        """Return the claim that the data prove at these points, its bounds rounded outwards.

        `sides` are the signs of rows, or their class numbers where there are many. The ways to sum
        are tried from the cheapest on, until the gap is at most `tol`.
        """
        claim, found = cls._proving(X, sides, slack, tol, points)
        return claim.stating(found.primal, found.dual, slack, **found.shown())

    @classmethod
    def _proving(
        cls, X: Any, sides: np.ndarray, slack: float, tol: float, points: dict[str, Any]
    ) -> tuple[Self, Found]:
        """Return these points as a claim without bounds, and what the data prove of it."""
        require_denormals()
        if "n_features" not in points:
            points["n_features"] = X.shape[1]
        claim = cls(n_rows=len(sides), **points)
        with np.errstate(all="ignore"):  # what overflows or vanishes is enclosed
            for found in claim._found(X, sides, cls._wide if slack else 1.0):
                if _is_enough(found, tol, slack):
                    break
        return claim, found

    def stating(self, primal: Enclosure, dual: Enclosure, slack: float, /, **shown: Any) -> Self:
        """Return the claim with these bounds, wider by a share of the objective."""
        above, below = float(primal.high), float(dual.low)
        if math.isfinite(above):
            # To round a number that grew, or one that fell, never crosses where it came from.
            above, below = above * (1.0 + slack), below - slack * above
        return replace(self, primal=above, dual=below, **shown)

    def _found(self, X: Any, sides: Any, wide: float) -> Iterator[Found]:
        """Yield both objectives, enclosed from the data by one way to sum after another."""
        raise NotImplementedError

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove the claim again from the data; other data are refused."""
        classes, codes = numbered(y)
        X, K = as_matrix(X), len(classes)
        if codes.shape != X.shape[:1]:
            return False

        def name_like(name: str) -> str:
            return fingerprint(data_of(X, codes, K, self.intercept), name)

        with np.errstate(all="ignore"):
            return self._is_about(X.shape, K, name_like) and self._is_found_again(X, codes)

    def _is_about(
        self, shape: tuple[int, int], n_classes: int, same_kind: Callable[[str], str]
    ) -> bool:
        """Whether this is a claim, and one that can be made of such data.

        `same_kind` returns the fingerprint of the data, of the same kind as a name.
        """
        require_denormals()
        try:
            self.require_sound()
        except Refused:
            return False
        name = self.data_sha256
        if type(name) not in _NAMES or not self.speaks_of(shape, n_classes):
            return False
        # There is no name, or one that has yet to be made, or that of the data.
        return type(name) is LaterName or not name or same_kind(str(name)) == name

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        n, costs = self.n_rows, self.costs
        sized = 0 < n < _MOST and 0 <= self.n_features < _MOST and len(self.classes) >= 2
        require(sized, "the certificate must say how many rows, features and classes there are")
        each_row = are_floats(costs) and costs.shape == (n,)
        if each_row and costs.strides == (0,):
            costs = costs[:1]  # one for all rows, of which a file may claim a trillion
        require(
            each_row and (costs >= 0.0).all() and costs.any(),
            "costs must be one number above zero, or one for each row",
        )
        require_agreeing(costs)
        require(
            getattr(self, "loss", "hinge") in self._hard_losses or np.isfinite(costs).all(),
            "costs must be finite, unless of a hinge that tells two classes apart",
        )

    def _is_found_again(self, X: Any, sides: Any) -> bool:
        """Whether bounds found anew are within those claimed."""
        if not (self.holds and self.dual <= self.primal):
            return False
        for rows in _in_both_forms(X):
            for found in self._found(rows, sides, 1.0):
                if self._is_within(found):
                    return True
                if found.primal.low > self.primal or found.dual.high < self.dual:
                    return False  # the claim is false
        return False

    def _is_within(self, found: Found) -> bool:
        """Whether enclosures prove bounds claimed that do not cross."""
        above, below = self.primal, self.dual
        return bool(found.primal.high <= above and found.dual.low >= below and below <= above)

    def claim(self) -> dict[str, Any]:
        """Return the fields of the claim: one cost where all are the same."""
        costs = self.costs[:1] if (self.costs == self.costs[0]).all() else self.costs
        return super().claim() | {"costs": costs}

    def _in_words(self, what: str, assuming: str = "") -> str:
        """Say in one sentence what is proved of all such models."""
        if not self.holds:
            return "not proved: one of the two bounds is not finite"
        share, least = at_most(self.gap, 2), at_least(self.dual, 9)
        return (
            f"proved: no {what} the objective, {at_most(self.primal, 9)}, by more than {share} of "
            f"it (the least is at least {least}){assuming}"
        )


@dataclass(frozen=True, eq=False)
class EachMachine(Said):
    """One certificate a machine, where there are several classes."""

    _what: ClassVar[str] = "hyperplane"
    _which: ClassVar[str] = ""

    machines: tuple[Any, ...]

    @property
    def intercept(self) -> bool:
        """Whether the models have an intercept: all or none."""
        return bool(self.machines[0].intercept)

    @property
    def gap(self) -> float:
        """The largest gap of any machine."""
        return float(max(machine.gap for machine in self.machines))

    @property
    def holds(self) -> bool:
        """Whether every machine has its claim."""
        return all(machine.holds for machine in self.machines)

    def _sentence(self) -> str:
        return (
            f"proved: no {self._what} lowers the objective of any of the {len(self.machines)} "
            f"models{self._which} by more than {at_most(self.gap, 2)} of it"
        )


def are_floats(*arrays: Any) -> bool:
    """Whether all are arrays of float64: in whole numbers, sizes may wrap around to below zero."""
    return are_arrays(*arrays) and all(array.dtype == np.float64 for array in arrays)


def are_arrays(*arrays: Any) -> bool:
    """Whether all are NumPy's arrays: a masked array hides numbers, a matrix multiplies."""
    return all(type(array) in (np.ndarray, np.memmap) for array in arrays)


def require_agreeing(costs: np.ndarray) -> None:
    """Refuse costs of which some are finite and some infinite."""
    hard = np.isinf(costs[costs > 0.0])
    sentence = "costs must be all finite or all infinite, but for rows that cost nothing"
    if hard.any() and not hard.all():
        raise Refused(sentence)


def _in_both_forms(X: Any) -> Iterator[Any]:
    """Yield rows as they are; then dense ones sparse, and sparse ones dense, if they are few.

    A claim is made by the sums of one form. Those of the other have other errors.
    """
    yield X
    if sp.issparse(X) and math.prod(X.shape) <= _MOST_TURNED:
        yield X.toarray()
    elif isinstance(X, np.ndarray) and np.count_nonzero(X) <= _MOST_TURNED:
        yield sp.csr_array(X)


def _is_enough(found: Found, tol: float, slack: float) -> bool:
    """Whether a tighter and dearer way to sum is not worth trying.

    The gap is at most `tol`, or rounding is no part of it; or the next way is not cheap, and the
    gap would be too wide without any rounding.
    """
    primal, dual = found.primal, found.dual
    above, below = float(primal.high), float(dual.low)
    if above - below <= (tol - 2.0 * slack) * above or not found.is_feasible:
        return True
    if above - float(primal.low) + (float(dual.high) - below) <= SLACK * above:
        return True
    return not found.is_next_cheap and float(primal.low) - float(dual.high) > tol * above


def parts_hold(
    parts: Any, sides: Any, X: Any, codes: np.ndarray, weights: np.ndarray | None = None
) -> bool:
    """Prove the claim of every part again, from its own rows and sides.

    `weights` go to parts that ask for them: others hold the costs of their rows themselves.
    """
    X = as_matrix(X)
    if codes.shape != X.shape[:1]:
        return False
    for part, (a, b) in zip(parts, sides, strict=True):
        rows = slice(None) if a < 0 else np.flatnonzero((codes == a) | (codes == b))
        own: tuple[Any, ...] = ()
        if weights is not None and "sample_weight" in signature(part.check).parameters:
            own = (weights[rows],)
        if not part.check(X[rows], (codes[rows] == b).astype(np.int64), *own):
            return False
    return True
