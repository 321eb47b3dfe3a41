"""Faults put into the present code one by one, which the adversary must report.

    python -m fuzz.planted_faults --seeds 3 [--only WORDS ...] [--candidates N]

This is the test of the search itself. Each fault is one that was found by the attack of
docs/attack.md, or one like it: a rounding that is dropped, a constant that is wrong, a comparison
left out. The table says for each seed how many candidates it took until a false claim was
accepted. The exit code is 1 where a fault was found with no seed.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz import adversary
from separatrix.certificates import (
    duality_gap,
    enclosed_sums,
    enclosure,
    errors,
    fisher,
    gaussian_estimates,
    inference,
    kernel_gap,
    kernel_scores,
    kernel_separation,
    least_squares,
    multiclass_gap,
    nonnegative_squares,
    partition,
    separation,
    softmax_gap,
    sparse_gap,
    sparse_softmax_gap,
    two_bounds,
)
from separatrix.certificates.enclosure import Enclosure
from separatrix.checker import gaps, kernels
from separatrix.checker import separation as by_integers
from separatrix.core import verdict

__all__ = ["FAULTS", "Fault", "found_after"]

_CANDIDATES = 3_000
_SLOW = {"errors": 1_500, "inference": 60, "sparse-logistic": 1_000, "softmax": 1_500}

Change = tuple[Any, str, Any]


@dataclass(frozen=True)
class Fault:
    """What is wrong, the kind of certificate, and what is put in place of what."""

    name: str
    kind: str
    changes: Callable[[], list[Change]]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Put the fault into the code, and take it out again."""
        with ExitStack() as undone:
            for owner, name, value in self.changes():
                undone.enter_context(patch.object(owner, name, value, create=True))
            yield

    @property
    def candidates(self) -> int:
        """How many candidates the search is given."""
        return _SLOW.get(self.kind, _CANDIDATES)


def found_after(fault: Fault, seed: int, candidates: int = 0) -> int | None:
    """Return after how many candidates the search reports the fault; None if it does not."""
    with fault.planted():
        counts = adversary.climb(
            fault.kind, candidates or fault.candidates, seed, _quiet, until_false=True
        )
    return counts["presented"] if counts["false"] else None


def _quiet(*_: Any, **__: Any) -> None:
    """Say nothing."""


# ---- faults of the attack


def mixed_costs() -> list[Change]:
    """2 and 3: infinite costs beside finite ones, and infinite costs of the logistic loss."""

    def start_of(loss: str, costs: np.ndarray) -> float:
        return 0.0 if np.isinf(costs).any() or loss == "logistic" else 1.0

    modules = (two_bounds, duality_gap)
    return [
        *((module, "require_agreeing", lambda _: None) for module in modules),
        *((module, "start_of", start_of) for module in (duality_gap, kernel_gap)),
        *((made, "_hard_losses", duality_gap.LOSSES) for made in (duality_gap.DualityGap,)),
    ]


def margin_rounded_first() -> list[Change]:
    """1: the margin is rounded before it is taken from 1."""
    real = duality_gap.sums_both_ways

    def wrong(X: Any, w: Any, starts: Any, *rest: Any) -> Any:
        start, bias = starts
        short, total = real(X, w, (np.zeros_like(start), bias), *rest)
        return Enclosure.exact(start + short.middle), total

    return [(duality_gap, "sums_both_ways", wrong)]


def four_costs_overflow() -> list[Change]:
    """7: a cost above 4.5e307, times four, is infinite."""
    real = duality_gap._gain

    def wrong(loss: str, costs: np.ndarray, alpha: np.ndarray, share: float) -> Enclosure:
        if loss != "squared_hinge":
            return real(loss, costs, alpha, share)
        used = alpha > 0.0
        a, c = alpha[used] * share, costs[used]
        with np.errstate(all="ignore"):
            return Enclosure.exact(a - a * (a / (4.0 * c))).sum()

    return [(duality_gap, "_gain", wrong)]


def softplus_vanishes() -> list[Change]:
    """8: the logistic loss of a margin beyond 746 is 0."""
    real = duality_gap.softplus

    def wrong(short: Enclosure) -> Enclosure:
        found = real(short)
        gone = short.high < -746.0
        return Enclosure(np.where(gone, 0.0, found.low), np.where(gone, 0.0, found.high))

    return [(duality_gap, "softplus", wrong)]


def column_dropped() -> list[Change]:
    """9: a column whose squared length underflows is taken to be absent."""
    real = least_squares.SquaresBounds.prove.__func__

    def wrong(cls: Any, X: Any, T: Any, s: np.ndarray, *rest: Any) -> Any:
        dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
        with np.errstate(all="ignore"):
            there = s @ dense**2 > 0.0
        kept = np.where(there, dense, 0.0)
        return real(cls, type(X)(kept) if hasattr(X, "toarray") else kept, T, s, *rest)

    return [(least_squares.SquaresBounds, "prove", classmethod(wrong))]


def ratio_not_compared() -> list[Change]:
    """10: a number that `holds` of Fisher rests on is not compared."""
    real = fisher.FisherDirection.check
    return [
        (
            fisher.FisherDirection,
            "check",
            lambda self, *given: real(replace(self, bound=math.inf), *given),
        )
    ]


# ---- rounding that is dropped


def nothing_outwards() -> list[Change]:
    """Sums and products are rounded to the nearest number."""
    return [
        (enclosure, "below", lambda v: np.fmax(v, -math.inf)),
        (enclosure, "above", lambda v: np.fmin(v, math.inf)),
    ]


def sums_not_bounded() -> list[Change]:
    """The errors of products of matrices are left out."""
    return [(enclosed_sums, "dot_error", lambda terms, sizes: 0.0 * np.asarray(sizes))]


def kernel_values_not_bounded() -> list[Change]:
    """The errors of kernel values are left out."""
    return [
        (kernel_scores, "score_errors",
         lambda wrong, size, terms, shares: np.zeros((len(wrong), shares.shape[1])))
    ]  # fmt: skip


def positive_but_for_rounding() -> list[Change]:
    """A matrix is called positive whose least eigenvalue is a little below zero."""

    def wrong(matrix: Enclosure) -> bool:
        values = np.linalg.eigvalsh(np.nan_to_num(matrix.middle))
        return bool(values[0] >= -1e-9 * abs(values).max())

    return [(fisher, "is_positive", wrong)]


# ---- constants that are wrong


def box_too_small() -> list[Change]:
    """The box of maximum likelihood is 900 times as wide as the weights, where 1000 is claimed."""
    return [(duality_gap, "REACH", 900.0)]


def penalty_halved() -> list[Change]:
    """Sums that do not balance cost the dual half as much."""
    real = duality_gap.penalty_of_biases
    return [
        (module, "penalty_of_biases", lambda sums, p: real(sums, p).halved())
        for module in (duality_gap, multiclass_gap)
    ]


def box_of_softmax() -> list[Change]:
    """The sums of softmax are not mended."""
    real = softmax_gap.mending

    def wrong(*given: Any) -> Any:
        found, zero = real(*given), Enclosure.exact(0.0)
        return found and found._replace(share=zero, rest=zero + 1.0, mix=found.mix * 0.0)

    return [(softmax_gap, "mending", wrong), (sparse_softmax_gap, "mending", wrong)]


def reach_halved() -> list[Change]:
    """Columns are called zero where half of the gap would let them be so."""
    real = sparse_gap._reach
    return [(sparse_gap, "_reach", lambda lengths, gap, *rest: real(lengths, gap * 0.25, *rest))]


def every_slope_counts_as_zero() -> list[Change]:
    """A weight above 0 may fall as well, and its slope is left out."""
    return [(nonnegative_squares._Bounds, "_counted", lambda self, gradient: Enclosure(
        np.minimum(gradient.low, 0.0), np.minimum(gradient.high, 0.0)))]  # fmt: skip


def inverse_diagonal_alone() -> list[Change]:
    """Only the diagonal of V'CV is compared with the identity."""
    real = gaussian_estimates.quadratic_form

    def wrong(*given: Any) -> Enclosure:
        found = real(*given)
        on = np.eye(len(found.low), dtype=bool)
        return Enclosure(np.where(on, found.low, 0.0), np.where(on, found.high, 0.0))

    return [(gaussian_estimates, "quadratic_form", wrong)]


# ---- tests and comparisons left out


def feasible_whatever(module: Any) -> Callable[[], list[Change]]:
    """Multipliers above their costs are taken."""
    return lambda: [
        (module, "is_feasible", lambda loss, c, a: bool(np.isfinite(a).all() and (a >= 0.0).all()))
    ]


def below_zero() -> list[Change]:
    """Multipliers below zero are taken."""
    return [(duality_gap, "is_feasible", lambda loss, c, a: bool((a <= c).all()))]


def named_whatever() -> list[Change]:
    """Multipliers of all classes are not compared with their costs."""
    return [(module, "are_feasible", lambda *_: True) for module in (multiclass_gap, kernel_gap)]


def unbalanced() -> list[Change]:
    """The sum of multipliers need not be zero."""
    return [
        (duality_gap, "exact_parts", lambda _: ()),
        (multiclass_gap, "balances", lambda named, codes, K: [0.0] * K),
    ]


def unbalanced_kernel(module: Any) -> Callable[[], list[Change]]:
    return lambda: [(module, "is_balanced", lambda _: True)]


def tie_separates() -> list[Change]:
    """A row on the hyperplane counts as on its own side."""
    real = separation.check_separation

    def wrong(*given: Any) -> Any:
        found = real(*given)
        return replace(found, holds=found.worst_margin >= 0)

    return [(separation, "check_separation", wrong)]


def tie_is_right() -> list[Change]:
    """A row on the hyperplane is no error."""
    real = errors.margin_signs

    def wrong(problem: Any, weights: Any) -> np.ndarray:
        exact = all(isinstance(v, int) for v in weights)
        numbers = weights if exact else errors.checker.integers([float(v) for v in weights])[0]
        return np.asarray(real(problem, tuple(numbers)) < 0)

    return [(errors, "wrong_rows", wrong)]


def cells_left_out() -> list[Change]:
    """The cells of the same hyperplanes turned round are not counted."""
    return [(errors._Divisions, "least", lambda self: int(self.costs.min()))]


def case_left_out() -> list[Change]:
    """In a tree of cases, a row that is right is not looked at."""
    real = errors.refuse_case

    def wrong(book: Any, case: Any) -> None:
        if not hasattr(case, "row"):
            return real(book, case)
        return real(book, case.wrong, frozenset([book.keys[case.row]]))

    return [(errors, "refuse_case", wrong)]


def witness_believed() -> list[Change]:
    """Multiples of rows need not sum to zero."""
    return [(errors, "is_witness", lambda *_: True)]


def load_believed() -> list[Change]:
    """Witnesses may load a row beyond its weight."""
    real = errors.Book
    return [(errors, "Book", lambda room, *rest: real([1 << 60] * len(room), *rest))]


def multipliers_below_zero() -> list[Change]:
    """Multipliers of a witness may be below zero."""
    return [(partition, "min", lambda *_, **__: 1)]


def rows_not_named() -> list[Change]:
    """The rows that a witness does not name need not follow from it."""
    return [(partition, "modular_rank", lambda *_: 1 << 30)]


def in_any_order() -> list[Change]:
    """The models of a list are each proved, and may be of any class."""

    def each(self: Any, X: Any, y: Any = None) -> bool:
        return all(machine.check(X, y) for machine in self.machines)

    def all_kernels(self: Any, X: Any, y: Any) -> bool:
        return kernel_gap._check_all(self.machines, X, y)

    return [(duality_gap.DualityGaps, "check", each), (kernel_gap.KernelGaps, "check", all_kernels)]


def a_bound_not_compared(made: Any, **free: Any) -> Callable[[], list[Change]]:
    """One number of the claim is not compared."""
    real = made.check
    return lambda: [(made, "check", lambda self, *given: real(replace(self, **free), *given))]


def one_end_compared() -> list[Change]:
    """Enclosures of inference are compared at their upper end alone."""
    return [(inference, "_within", lambda found, claimed: not claimed or found[1] <= claimed[1])]


def checker_takes_any_sum() -> list[Change]:
    """The stand-alone checker does not compare the sum of a witness with zero."""
    return [(by_integers, "refuse_sum", lambda *_: None)]


def checker_compares_one_bound() -> list[Change]:
    """The stand-alone checker does not compare the lower bound."""
    real = gaps.between
    low = lambda claim, primal, dual, what: real(claim, primal, max(dual, primal), what)  # noqa: E731
    return [(module, "between", low) for module in (gaps, kernels) if hasattr(module, "between")]


def verdict_with_room() -> list[Change]:
    """The margin of a verdict may be a millionth too large."""
    real = verdict.divide_down
    return [(verdict, "divide_down", lambda *given: real(*given) * (1.0 + 1e-6))]


def verdict_not_compared(name: str) -> Callable[[], list[Change]]:
    """Believe a field of a verdict from a file."""
    return lambda: [(verdict, name, lambda *_: True)]


def witness_of_verdict_believed() -> list[Change]:
    """The few rows that a verdict names need not be a witness."""
    return [(verdict.Verdict, "witness_holds", lambda *_: True)]


FAULTS = [
    Fault("attack 1: a margin rounded before it is taken from 1", "hinge", margin_rounded_first),
    Fault("attack 2: infinite and finite costs, kernel", "kernel", mixed_costs),
    Fault("attack 3: infinite costs of a logistic loss", "logistic", mixed_costs),
    Fault("attack 7: four times a cost overflows", "squared-hinge", four_costs_overflow),
    Fault("attack 8: losses beyond 746 are 0", "logistic", softplus_vanishes),
    Fault("attack 9: a column of tiny length is dropped", "least-squares", column_dropped),
    Fault("attack 10: a bound of Fisher's is not compared", "fisher", ratio_not_compared),
    Fault("no rounding outwards", "hinge", nothing_outwards),
    Fault("no rounding outwards", "margin-bounds", nothing_outwards),
    Fault("errors of sums left out", "squared-hinge", sums_not_bounded),
    Fault("errors of kernel values left out", "kernel", kernel_values_not_bounded),
    Fault("errors of kernel values left out", "kernel-separation", kernel_values_not_bounded),
    Fault("positive but for rounding", "fisher-directions", positive_but_for_rounding),
    Fault("the box of maximum likelihood is too small", "logistic", box_too_small),
    Fault("half the cost of sums that do not balance", "hinge", penalty_halved),
    Fault("half the cost of sums that do not balance", "multiclass", penalty_halved),
    Fault("sums of softmax not mended", "softmax", box_of_softmax),
    Fault("a quarter of the gap makes columns zero", "sparse-logistic", reach_halved),
    Fault("slopes of weights above 0 left out", "nonnegative-squares", every_slope_counts_as_zero),
    Fault("only variances compared", "gaussian-each", inverse_diagonal_alone),
    Fault("multipliers above their costs", "hinge", feasible_whatever(duality_gap)),
    Fault("multipliers above their costs", "kernel", feasible_whatever(kernel_gap)),
    Fault("multipliers above their costs", "kernel-multiclass", named_whatever),
    Fault("multipliers below zero", "hinge", below_zero),
    Fault("multipliers need not balance", "hinge", unbalanced),
    Fault("multipliers need not balance", "multiclass", unbalanced),
    Fault("multipliers need not balance", "kernel", unbalanced_kernel(kernel_gap)),
    Fault("multipliers need not balance", "kernel-overlap", unbalanced_kernel(kernel_separation)),
    Fault("a tie separates", "separation", tie_separates),
    Fault("a tie is no error", "errors", tie_is_right),
    Fault("cells left out", "errors", cells_left_out),
    Fault("a case of the tree left out", "errors", case_left_out),
    Fault("a witness of errors is believed", "errors", witness_believed),
    Fault("a row loaded beyond its weight", "errors", load_believed),
    Fault("multipliers of a witness below zero", "partition", multipliers_below_zero),
    Fault("rows that a witness does not name", "partition", rows_not_named),
    Fault("models of any class in a list", "several", in_any_order),
    Fault("the error of the offsets is not compared", "gaussian-shared",
          a_bound_not_compared(gaussian_estimates.GaussianEstimates, offsets=math.inf)),
    Fault("the number of right rows is not compared", "kernel-separation",
          a_bound_not_compared(kernel_separation.KernelSeparation, right=0)),
    Fault("a margin a millionth too large", "verdict", verdict_with_room),
    Fault("the boundary of a verdict is not compared", "verdict",
          verdict_not_compared("_boundary_follows")),
    Fault("coefficients that run are not compared", "verdict",
          verdict_not_compared("_infinite_follows")),
    Fault("a witness of a verdict is believed", "verdict", witness_of_verdict_believed),
    Fault("one end of an enclosure is compared", "inference", one_end_compared),
    Fault("the checker takes any sum", "partition", checker_takes_any_sum),
    Fault("the checker does not compare lower bounds", "hinge", checker_compares_one_bound),
]  # fmt: skip


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--seeds", type=int, default=3)
    ask.add_argument("--candidates", type=int, default=0, help="of each; 0: as the kind is slow")
    ask.add_argument("--only", nargs="+", default=[""], help="words of names or kinds")
    ask.add_argument("--seed", type=int, default=0, help="the first one")
    given = ask.parse_args()
    missed, pairs = 0, 0
    print(f"{'fault':50} {'kind':20} candidates until it is found, by seed")
    for fault in FAULTS:
        if not any(word in f"{fault.name} {fault.kind}" for word in given.only):
            continue
        begun = time.process_time()
        most = min(given.candidates or fault.candidates, fault.candidates)
        after = [
            found_after(fault, seed, most) for seed in range(given.seed, given.seed + given.seeds)
        ]
        counts = " ".join(f"{'-' if n is None else n:>6}" for n in after)
        seconds = time.process_time() - begun
        print(f"{fault.name:50} {fault.kind:20} {counts}   {seconds:5.1f} s", flush=True)
        missed += all(n is None for n in after)
        pairs += sum(n is not None for n in after)
    print(f"{missed} faults were found with no seed; {pairs} times one was found")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
