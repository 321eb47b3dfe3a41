"""Separability of rows in blocks: guessed on few rows, proved on all, block by block.

    separable        some w has  z_i.w > 0  for all i
    overlapping      rows whose positive multiples sum to zero, of full rank: enough for all rows

A machine of high cost, fitted on all blocks, is the first guess; if it separates, every block
proves it exactly. Otherwise a few rows are brought here and decided exactly. Their verdict goes
to all blocks: rows that contradict it are brought too, until none does. Overlap of full rank among
few rows is overlap of all, and needs no other row for its proof.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.certificates.partition import (
    Integers,
    Partition,
    margin_signs,
    proved_signs,
    proves_gordan,
)
from separatrix.certificates.separation import Separation, closest, divide_down
from separatrix.core.partitioned import Rows
from separatrix.core.separability import as_floats, as_integers, checked_witness
from separatrix.core.verdict import Verdict, Witness
from separatrix.problem.blocks import Block, Posed, Sums, folds_of_rows
from separatrix.problem.exact import SignedRows
from separatrix.problem.exact_sums import modular_rank
from separatrix.problem.losses import SQUARED_HINGE
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear.blocks.block_newton import Run
from separatrix.solvers.separability.decide import Claim, decide

_GUESS_COST, _GUESS_UPDATES = 1e3, 12
_SAMPLE, _WORST, _MOST_ROWS, _ROUNDS = 2_000, 300, 200_000, 100


# ---- passes over a block


def least_margin(block: Block, posed: Posed, w: np.ndarray) -> Sums:
    """Return a bound below the least margin, of its sign, its row, and that row's, in a list."""
    least, worst, exact = closest(_signed(block, posed), w[None])
    return ([(least, block.first + worst, exact)],)


def brought(block: Block, posed: Posed, w: np.ndarray | None, most: int, share: int) -> Sums:
    """Return rows with their numbers: those of least margin, or one in `share`, by chance."""
    if w is None:
        chosen = np.flatnonzero(folds_of_rows(block.first, len(block.codes), share, 1) == 0)[:most]
    else:
        margins = _signed(block, posed).margins(w)
        order = np.argsort(margins, kind="stable")[:most]
        chosen = np.sort(order[~(margins[order] > 0.0)])
    return ([_rows(block, chosen)],)


def contradictions(block: Block, posed: Posed, weights: Integers, most: int) -> Sums:
    """Return how many margins are negative and zero, exactly, and some of those rows."""
    signs = margin_signs(_signed(block, posed), weights)
    below, tight = np.flatnonzero(signs < 0), np.flatnonzero(signs == 0)
    chosen = below[:most] if len(below) else tight[:_MOST_ROWS]
    return len(below), len(tight), [_rows(block, chosen)]


def _signed(block: Block, posed: Posed) -> SignedProblem:
    return SignedProblem(block.X, block.signs(posed), posed.intercept)


def _rows(block: Block, chosen: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
    return block.first + chosen, block.X[chosen], block.codes[chosen]


# ---- the search


def verdict_on_rows(rows: Rows, intercept: bool = True) -> Verdict:
    """Decide whether two classes in blocks are separable, and prove it block by block."""
    if len(rows.classes) != 2:
        raise ValueError(
            f"Only binary classification is supported: separability got {len(rows.classes)} "
            "classes. Ask for each class against the rest."
        )
    posed = Posed(SQUARED_HINGE, 1, np.full(2, _GUESS_COST), intercept)
    search = _Search(rows, posed)
    guess = search.guess()
    found = search.separation(guess)
    return found if found is not None else search.by_few_rows(guess)


class _Search:
    def __init__(self, rows: Rows, posed: Posed) -> None:
        self.rows, self.posed, self.engine = rows, posed, rows.engine
        self.numbers, self.codes = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.X: Any = None
        self.about: dict[str, Any] = {
            "intercept": posed.intercept,
            "n_rows": self.engine.n_rows,
            "n_features": self.engine.n_features,
            "classes": tuple(str(name) for name in rows.classes),
        }

    def guess(self) -> np.ndarray:
        """Fit a machine roughly; where the classes separate widely it separates them."""
        run = Run(self.engine, self.posed, 1e-3)
        while run.updates < _GUESS_UPDATES and run.gap > 1e-3 and run.stalled < 1:
            with np.errstate(all="ignore"):
                run._iterate()
        w = run.best.w
        return w if self.posed.intercept else np.concatenate([[0.0], w[1:]])

    def separation(self, w: np.ndarray) -> Verdict | None:
        """Return the verdict if w separates all rows, proved in every block."""
        if not (np.isfinite(w).all() and w[1:].any()):
            return None
        (found,) = self.engine.reduce(least_margin, self.posed, w)
        least, worst, exact = min(found)
        if not least > 0:
            return None
        proof = Separation(
            holds=True,
            worst_row=worst,
            worst_margin=exact,
            margin=divide_down(least, w[None]),
            weights=(tuple(w.tolist()),),
            data_sha256="",
            **self.about,
        )
        return Verdict(
            "separable",
            weights=w[1:],
            intercept=float(w[0]),
            certificate=lambda: _named(proof, self.rows),
            classes=self.about["classes"],
            n_rows=self.engine.n_rows,
        )

    def by_few_rows(self, guess: np.ndarray) -> Verdict:
        share = max(1, self.engine.n_rows // _SAMPLE)
        self.take(self.engine.reduce(brought, self.posed, None, _SAMPLE, share)[0])
        self.take(self.engine.reduce(brought, self.posed, guess, _WORST, 1)[0])
        witness: Witness | None = None
        for _ in range(_ROUNDS):
            claim = decide(SignedRows(self.X, self.signs, self.posed.intercept))
            witness = self.witness(claim) or witness
            if claim.kind in ("separable", "quasi-separable"):
                verdict, grown = self.try_direction(claim)
            else:
                verdict, grown = self.overlap(claim), self.grow()
            if verdict is not None:
                return verdict
            if not grown or len(self.numbers) > _MOST_ROWS:
                break
        return Verdict(
            "undecided",
            bound=math.inf,
            witness=witness,
            classes=self.about["classes"],
            n_rows=self.engine.n_rows,
        )

    @property
    def signs(self) -> np.ndarray:
        return np.where(self.codes == 1, 1.0, -1.0)

    def take(self, pieces: list[Any]) -> bool:
        """Keep rows that are not here yet; say whether there were any."""
        before = len(self.numbers)
        for numbers, X, codes in pieces:
            new = ~np.isin(numbers, self.numbers)
            if not new.any():
                continue
            self.numbers = np.concatenate([self.numbers, numbers[new]])
            self.codes = np.concatenate([self.codes, codes[new]])
            part = X[np.flatnonzero(new)].astype(np.float64)
            if self.X is None:
                self.X = part
            elif sp.issparse(part):
                self.X = sp.csr_array(sp.vstack([self.X, part], format="csr"))
            else:
                self.X = np.vstack([self.X, part])
        return len(self.numbers) > before

    def grow(self) -> bool:
        """Bring twice as many rows, by chance."""
        share = max(1, self.engine.n_rows // (2 * len(self.numbers)))
        return self.take(self.engine.reduce(brought, self.posed, None, _MOST_ROWS, share)[0])

    def try_direction(self, claim: Claim) -> tuple[Verdict | None, bool]:
        """Try a direction on all blocks; return the verdict, or bring the rows against it."""
        weights = as_integers(claim.direction, self.posed.intercept)
        below, tight, pieces = self.engine.reduce(contradictions, self.posed, weights, _WORST)
        if below or claim.kind == "separable":
            if below or tight:
                return None, self.take(pieces)
            proof = self.partition("separation", claim, weights)
            floats = self.separation(as_floats(weights))
            if floats is None:
                floats = self.verdict("separable", proof, None, weights)
            return floats, True
        if self.take(pieces):
            return None, True
        # No row is below, and all rows of margin 0 are here: those decide the rest.
        proof = self.partition("quasi", claim, weights)
        signs = proved_signs(self.problem(), self.local(proof))
        if signs is None or int((signs == 0).sum()) != tight:
            return None, False
        boundary = np.sort(self.numbers[signs == 0])
        return self.verdict("quasi-separable", proof, claim, weights, boundary), True

    def overlap(self, claim: Claim) -> Verdict | None:
        """Return the verdict if few rows of zero sum have full rank: then no others are needed."""
        if claim.kind != "overlapping" or not claim.rows:
            return None
        part = self.X[claim.rows]
        whole = self.posed.intercept + self.engine.n_features
        small = SignedProblem(part, self.signs[claim.rows], self.posed.intercept)
        if modular_rank(part, self.posed.intercept) < whole:
            return None
        if not proves_gordan(small, tuple(claim.multipliers or ())):
            return None
        proof = self.partition("overlap", claim, (), others=0)
        return self.verdict("overlapping", proof, claim, None)

    # ---- telling

    def problem(self) -> SignedProblem:
        return SignedProblem(self.X, self.signs, self.posed.intercept)

    def partition(
        self, kind: str, claim: Claim, weights: Integers, others: int | None = None
    ) -> Partition:
        return Partition(
            kind=kind,
            weights=weights,
            rows=tuple(int(self.numbers[row]) for row in claim.rows or ()),
            multipliers=tuple(claim.multipliers or ()),
            others=claim.others if others is None else others,
            data_sha256="",
            **self.about,
        )

    def local(self, proof: Partition) -> Partition:
        """Return a claim in the numbers of the rows that are here."""
        place = {int(number): k for k, number in enumerate(self.numbers)}
        return replace(proof, rows=tuple(place[row] for row in proof.rows))

    def witness(self, claim: Claim) -> Witness | None:
        return checked_witness(self.problem(), claim, self.numbers)

    def verdict(
        self,
        kind: str,
        proof: Partition,
        claim: Claim | None,
        weights: Integers | None,
        boundary: np.ndarray | None = None,
    ) -> Verdict:
        w = None if weights is None else as_floats(weights)
        return Verdict(
            kind,
            weights=None if w is None else w[1:],
            intercept=None if w is None else float(w[0]),
            witness=None if claim is None else self.witness(claim),
            boundary=boundary,
            certificate=lambda: _named(proof, self.rows),
            classes=self.about["classes"],
            n_rows=self.engine.n_rows,
        )


def _named(proof: Any, rows: Rows) -> Any:
    """Name the data in a certificate; their fingerprint is taken when it is first needed."""
    return replace(proof, data_sha256=rows.fingerprint())
