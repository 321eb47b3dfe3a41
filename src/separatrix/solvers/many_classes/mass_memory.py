"""The arrays of a run of dual block descent, and what they hold at its start."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.problem.crammer_singer import DirectProblem
from separatrix.problem.rows import base_rows
from separatrix.solvers.linear.coordinate_pass import squares_of
from separatrix.solvers.linear.subspace import HISTORY
from separatrix.solvers.many_classes import mass_claims as claims
from separatrix.solvers.many_classes.mass_pass import ACTIVE, BELOW, LAST_BALANCE, NUMBERS
from separatrix.solvers.running import row_order

__all__ = ["Memory", "Setup", "empty_memory", "first_weight", "laid_out"]

# An update walks over at least so many entries for each entry of W and of the masses: it makes
# several sweeps over few active rows, since accelerating costs the same for few rows as for all.
_WORK = 2.0


class Setup(NamedTuple):
    """What does not change during a run."""

    base: Any
    squares: np.ndarray
    quota: int  # entries to walk over in one update, at least


class Memory(NamedTuple):
    """What a run changes, all of it arrays."""

    masses: np.ndarray  # n x K
    W: np.ndarray  # d x K
    balance: np.ndarray  # r
    multipliers: np.ndarray  # b_0
    order: np.ndarray  # the rows; the first counts[ACTIVE] of them are visited
    listed: np.ndarray  # the classes of each row; the first sizes[i] of them are looked at
    sizes: np.ndarray
    masses_before: np.ndarray
    W_before: np.ndarray
    balance_before: np.ndarray
    past_masses: np.ndarray
    past_W: np.ndarray
    past_r: np.ndarray
    past_gain: np.ndarray
    products: np.ndarray  # of the past_W with each other
    scores: np.ndarray  # of the best primal point, biases included
    counts: np.ndarray
    numbers: np.ndarray
    dice: np.ndarray


def laid_out(problem: DirectProblem) -> Setup:
    """Return what every pass reads: the rows, their squares, and how much work a pass may do."""
    n, d = problem.X.shape
    base = base_rows(problem.X)
    stored = problem.X.nnz if sp.issparse(problem.X) else problem.X.size
    quota = int(_WORK * (n + d) * problem.n_classes / max(1.0, 2.0 * stored / n))
    return Setup(base, squares_of(base, n), quota)


def empty_memory(problem: DirectProblem, seed: int) -> Memory:
    """Return the state before the first pass: every row's dual variable at its own class."""
    (n, d), K = problem.X.shape, problem.n_classes
    memory = Memory(
        masses=claims.all_at_home(problem),
        W=np.zeros((d, K)),
        balance=np.zeros(K),
        multipliers=np.zeros(K),
        order=np.flatnonzero(problem.costs > 0.0).astype(np.uint32),
        listed=np.tile(np.arange(K, dtype=np.uint32), (n, 1)),
        sizes=np.full(n, K, dtype=np.int64),
        masses_before=np.zeros((n, K)),
        W_before=np.zeros((d, K)),
        balance_before=np.zeros(K),
        past_masses=np.zeros((HISTORY + 1, n * K)),
        past_W=np.zeros((HISTORY + 1, d * K)),
        past_r=np.zeros((HISTORY + 1, K)),
        past_gain=np.zeros(HISTORY + 1),
        products=np.zeros((HISTORY + 1, HISTORY + 1)),
        scores=np.zeros((n, K)),
        counts=np.zeros(4, dtype=np.int64),
        numbers=np.zeros(NUMBERS),
        dice=row_order.seeded_dice(seed),
    )
    memory.counts[ACTIVE] = len(memory.order)
    memory.numbers[[BELOW, LAST_BALANCE]] = np.inf
    return memory


def first_weight(problem: DirectProblem, squares: np.ndarray) -> float:
    """Return s: 1/p for a penalised bias, the mean |x_i|^2 for a free one, 0 for none."""
    if not problem.fit_intercept:
        return 0.0
    if problem.bias_penalty > 0.0:
        return 1.0 / problem.bias_penalty
    used = problem.costs > 0.0
    mean = float(squares[used].mean()) if used.any() else 0.0
    return mean if mean > 0.0 else 1.0
