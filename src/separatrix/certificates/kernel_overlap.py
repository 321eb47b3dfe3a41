"""Two points of the classes' hulls that meet in the space of a kernel: no hyperplane parts them.

    margin of any hyperplane   <=   |w| / sum_i a_i,    w = sum_i a_i y_i phi(x_i),

for every a >= 0 whose classes sum to the same, exactly: half of |w| / (half the sum) is the
distance of two points of the hulls, and a hyperplane must lie between them. Where equal rows of
different classes cancel, w is zero without any rounding, and nothing separates them at all. Else
|w|^2 = sum_i a_i y_i g_i is bounded from above as in `kernel_gap`, and what is proved is that no
margin is larger than the rounding leaves open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.canonical import sha256
from separatrix.certificates.duality_gap import data_of
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.kernel_bounds import square_of
from separatrix.certificates.kernel_gap import signs_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.problem.kernels import Kernel
from separatrix.problem.signed import as_matrix

__all__ = ["KernelOverlap", "equal_rows", "prove_kernel_overlap"]

_WIDER = 4.0  # rounding bounds, so that another order of sums finds the claim true
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class KernelOverlap:
    """No hyperplane in the kernel's space has a margin above `margin`: proved, rounding included.

    `rows` have the multipliers `multipliers`, which sum to the same over class `positive` and over
    class `negative` (all others where that is -1). `margin` is 0 where equal rows of both classes
    cancel, and then nothing separates them. `length` is that of the longest row of either class in
    the kernel's space: a margin means little that is a tiny share of it.
    """

    margin: float
    length: float
    rows: tuple[int, ...]
    multipliers: tuple[float, ...]
    kernel: Kernel
    positive: int
    negative: int
    data_sha256: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether there is a claim at all."""
        return math.isfinite(self.margin)

    @property
    def shares(self) -> tuple[float, ...]:
        """The multipliers as shares of their class: two means that meet."""
        half = 0.5 * math.fsum(self.multipliers)
        return tuple(value / half for value in self.multipliers)

    def check(self, X: Any, y: Any) -> bool:
        """Prove the claim again from the data; other data are refused."""
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        X = as_matrix(X)
        fits = X.shape == (self.n_rows, self.n_features) and len(classes) == len(self.classes)
        if not (fits and self.holds and self._is_sound()):
            return False
        if sha256(data_of(X, codes, len(classes), True)) != self.data_sha256:
            return False
        again = prove_kernel_overlap(
            self.kernel, X, codes, self.positive, self.negative, self._all(), wider=0.0
        )
        return again.margin <= self.margin and self.length <= again.length * (1.0 + _SLACK)

    def _is_sound(self) -> bool:
        k, rows = len(self.classes), self.rows
        named = 0 <= self.positive < k and -1 <= self.negative < k
        return (
            named
            and self.positive != self.negative
            and len(rows) == len(self.multipliers) == len(set(rows)) > 0
            and all(0 <= row < self.n_rows for row in rows)
        )

    def _all(self) -> np.ndarray:
        alpha = np.zeros(self.n_rows)
        alpha[list(self.rows)] = self.multipliers
        return alpha

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.holds:
            return "not proved: rounding leaves a margin possible"
        which = f"row {self.rows[0]}" if len(self.rows) == 1 else f"{len(self.rows)} rows"
        if self.margin == 0.0:
            return f"proved: equal rows of different classes ({which}) cancel, whatever the kernel"
        return (
            f"proved by {which}: no hyperplane in the kernel's space has a margin above "
            f"{self.margin:.2g}, where rows are up to {self.length:.2g} long"
        )


def prove_kernel_overlap(
    kernel: Kernel,
    X: Any,
    codes: np.ndarray,
    positive: int,
    negative: int,
    alpha: np.ndarray,
    *,
    data_sha256: str = "",
    classes: tuple[str, ...] = ("0", "1"),
    wider: float = _WIDER,
) -> KernelOverlap:
    """Bound every margin from the multipliers of all rows, rounding outwards."""
    signs, used = signs_of(codes, positive, negative), np.flatnonzero(alpha)
    margin, length = math.inf, 0.0
    if _is_balanced(signs, alpha):
        rows = KernelRowsInProof(kernel, X)
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.sqrt(kernel.diagonal(X)[signs != 0.0].max(initial=0.0)))
        if _cancels(X, used, signs * alpha):
            margin = 0.0
        elif kernel.is_positive is not False:  # without a space there are no hulls
            margin = _bound(rows, signs, alpha, wider)
    return KernelOverlap(
        margin=margin,
        length=length,
        rows=tuple(used.tolist()),
        multipliers=tuple(alpha[used].tolist()),
        kernel=kernel,
        positive=positive,
        negative=negative,
        data_sha256=data_sha256,
        n_rows=X.shape[0],
        n_features=X.shape[1],
        classes=classes,
    )


def _is_balanced(signs: np.ndarray, alpha: np.ndarray) -> bool:
    return bool(
        np.isfinite(alpha).all()
        and (alpha >= 0.0).all()
        and alpha.any()
        and not alpha[signs == 0.0].any()
        and math.fsum((signs * alpha).tolist()) == 0.0  # rounded once: zero only if it is zero
    )


def _bound(rows: KernelRowsInProof, signs: np.ndarray, alpha: np.ndarray, wider: float) -> float:
    scores = kernel_scores(rows, (signs * alpha)[:, None]).enclosed(1.0 + wider)[:, 0]
    longest = (square_of(signs * alpha, scores).root() / Enclosure.exact(alpha).sum()).high
    # To round a number that grew never crosses where it came from.
    return float(longest) * (1.0 + (_SLACK if wider else 0.0))


def _cancels(X: Any, used: np.ndarray, shares: np.ndarray) -> bool:
    """Whether the shares of equal rows sum to zero, so that w is zero whatever the kernel."""
    groups: dict[bytes, list[float]] = {}
    for row, key in zip(used.tolist(), _keys(X, used), strict=True):
        groups.setdefault(key, []).append(float(shares[row]))
    return all(math.fsum(group) == 0.0 for group in groups.values())


def equal_rows(X: Any, signs: np.ndarray) -> tuple[int, int] | None:
    """Return two equal rows of different signs, the first there are; None where there are none."""
    members = np.flatnonzero(signs)
    first: dict[tuple[bytes, float], int] = {}
    for row, key in zip(members.tolist(), _keys(X, members), strict=True):
        other = first.get((key, -float(signs[row])))
        if other is not None:
            return other, row
        first.setdefault((key, float(signs[row])), row)
    return None


def _keys(X: Any, rows: np.ndarray) -> list[bytes]:
    """Return bytes that are the same for equal rows and for no others."""
    part = X[rows]
    if sp.issparse(part):
        part = sp.csr_array(part, copy=True)
        part.sum_duplicates()
        part.eliminate_zeros()
        ends = zip(part.indptr[:-1].tolist(), part.indptr[1:].tolist(), strict=True)
        return [
            part.indices[a:b].astype(np.int64).tobytes()
            + b"|"
            + part.data[a:b].astype(np.float64).tobytes()
            for a, b in ends
        ]
    dense = np.asarray(part, dtype=np.float64) + 0.0  # there is one zero
    return [row.tobytes() for row in np.ascontiguousarray(dense)]
