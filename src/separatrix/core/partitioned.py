"""A machine on rows in blocks: pose, solve on an engine, prove block by block, and tell."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.certificates.duality_gap import DualityGap, prove_block
from separatrix.core.checks import class_factors, ratio_of
from separatrix.core.keeping import forget_threshold, margin_of, one_or_all
from separatrix.core.proving import About, Effort, Fitted, solve_and_prove
from separatrix.data.partitions import Partitions
from separatrix.errors import DataError, DeviceError
from separatrix.problem.blocks import Block, Engine, Posed
from separatrix.problem.fingerprint import SECOND, fingerprint_of_blocks
from separatrix.problem.losses import CODES, NAMES
from separatrix.solvers.linear.blocks.block_newton import (
    Checkpoint,
    Point,
    RowFacts,
    Run,
    claimed_alpha,
    row_facts,
)
from separatrix.solvers.linear.blocks.passes import LocalEngine
from separatrix.solvers.running.drive import Status, one_thread

_TIGHTENINGS = 4
_FEW_ROWS = 2_000
# So many blocks, their sums and vectors of all rows are allowed for when memory is shared out.
_KEPT_VECTORS = 8


class Rows(NamedTuple):
    """Rows in blocks on some engine, and what is known of them."""

    engine: Engine
    classes: np.ndarray
    counts: np.ndarray  # the weight of each class
    fingerprint: Callable[[], str]
    checkpoint: str | None = None


def local_rows(handle: Partitions, threads: int = 1) -> Rows:
    """Return the rows of a handle, visited on this machine within its memory."""
    handle.verify()
    ends = np.cumsum([0, *(block.rows for _, block in handle.stored)])
    whole = handle.size <= handle.memory // 2
    remember = whole or _KEPT_VECTORS * 8 * handle.n_rows <= handle.memory // 2
    memos: list[dict[str, Any]] = [{"remember": remember} for _ in handle.stored]
    kept: dict[int, Block] = {}

    def opener(number: int) -> Block:
        if number not in kept:
            X, codes = handle.block(number)
            block = Block(X, codes, None, int(ends[number]), memos[number])
            if not whole:
                return block
            kept[number] = block
        return kept[number]

    engine = LocalEngine(
        [partial(opener, number) for number in range(len(handle.stored))],
        [block.rows for _, block in handle.stored],
        handle.n_features,
        handle.n_entries,
        threads,
    )
    return Rows(
        engine, handle.classes, handle.counts(), lambda: fingerprint_of(handle), handle.checkpoint
    )


def fingerprint_of(handle: Partitions) -> str:
    """Return the fingerprint of all rows; kept beside the blocks once it is known."""
    if "sha256" in handle.known:
        return str(handle.known["sha256"])
    names = [f"{folder.name}/{block.file}:{block.crc}" for folder, block in handle.stored]
    about = json.dumps([names, handle.n_features, [str(name) for name in handle.classes]])
    note = handle.stored[0][0].parent / f"{hashlib.sha256(about.encode()).hexdigest()[:32]}.sha256"
    if note.exists() and (text := note.read_text().strip()).startswith(SECOND):
        handle.known["sha256"] = text
        return text
    found = fingerprint_of_blocks(handle.blocks, handle.shape, len(handle.classes))
    from separatrix._write_aside import write_whole

    write_whole(note, found.encode())
    handle.known["sha256"] = found
    return found


def fit_partitions(machine: Any, handle: Partitions, sample_weight: Any, loss: str) -> Any:
    """Fit a machine to partitions on this machine."""
    if machine.device not in ("cpu", "auto"):
        raise DeviceError(
            f"Partitions are worked on by the processor: leave device={machine.device!r} out, or "
            "give X as one array; a memory map need not fit into the device."
        )
    if sample_weight is not None:
        raise ValueError("sample_weight is not taken with partitions. Use class_weight.")
    threads = min(machine._cores(), max(1, len(handle.stored)))
    room = max(block.size for _, block in handle.stored)
    threads = max(1, min(threads, handle.memory // (4 * room)))
    machine.n_features_in_ = handle.n_features
    return fit_rows(machine, local_rows(handle, threads), loss)


def fit_rows(machine: Any, rows: Rows, loss: str) -> Any:
    """Fit a machine to rows in blocks; leave on it what every fit leaves."""
    _refuse(machine, loss, rows)
    if _are_few(rows) and not hasattr(machine, "Cs"):
        return _fit_together(machine, rows)
    forget_threshold(machine)
    machine.classes_ = rows.classes
    machine.n_features_in_ = rows.engine.n_features
    effort = machine._effort()
    factors = class_factors(rows.classes, rows.counts, machine.class_weight)
    costs = float(machine.C) * np.asarray(factors, dtype=np.float64)
    if not (np.isfinite(costs).all() and (costs > 0.0).all()):
        raise DataError("C times a class weight is beyond the range of numbers. Change C.")
    numbers = [1] if len(rows.classes) == 2 else list(range(len(rows.classes)))
    with one_thread(), np.errstate(under="ignore"), ThreadPoolExecutor(1) as pool:
        names = tuple(str(name) for name in rows.classes)
        about = About(pool.submit(rows.fingerprint), names)
        facts = row_facts(rows.engine, len(rows.classes))
        machines = []
        for number in numbers:
            posed = Posed(
                CODES[loss],
                number,
                costs,
                bool(machine.fit_intercept),
                float(machine.intercept_penalty),
            )
            problem, first = BlockProblem(rows, posed, facts), _first(machine, rows, posed)
            machines.append(solve_and_prove(InBlocks, problem, effort, about, first))
    machine._keep(machines)
    if machine.keeps_support:
        _keep_support(machine, machines, facts)
    return machine


def _are_few(rows: Rows) -> bool:
    """Whether there are few rows and many more columns: then the n x n matrix is the way."""
    return rows.engine.n_rows <= _FEW_ROWS and 2 * rows.engine.n_rows < rows.engine.n_features


def _fit_together(machine: Any, rows: Rows) -> Any:
    """Bring all rows here, where they are few, and fit as to rows in memory."""
    blocks = list(rows.engine.blocks())
    parts = [block.X for block in blocks]
    X = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
    codes = np.concatenate([block.codes for block in blocks])
    way = machine.multi_class
    try:
        machine.multi_class = "ovr" if way == "auto" else way  # as for many rows
        return machine.fit(X, rows.classes[codes])
    finally:
        machine.multi_class = way


def refuse_sparse(name: str, ratio: float) -> None:
    """Refuse sparse weights: rows that come in blocks have no whole columns."""
    if ratio:
        raise ValueError(
            f"{name}: l1_ratio above 0 is not fitted to partitions or on a cluster, because its "
            "working set needs whole columns. Use l1_ratio=0, or give X as one array."
        )


def _refuse(machine: Any, loss: str, rows: Rows) -> None:
    machine._check_parameters(loss)
    name = type(machine).__name__
    refuse_sparse(name, ratio_of(machine))
    if np.isinf(machine.C):
        raise ValueError(
            f"{name}: C=inf is for data in memory. Use a large finite C, or ask sx.separability."
        )
    if machine.solver not in ("auto", "newton"):
        raise ValueError(f"{name}: partitions are solved by Newton's method. Use solver='auto'.")
    if machine.multi_class not in ("ovr", "auto") and len(rows.classes) > 2:
        raise ValueError(f"{name}: with partitions use multi_class='ovr'.")
    if len(rows.classes) < 2:
        raise DataError(f"{name} needs two classes or more; the partitions hold {rows.classes}.")


class BlockProblem(NamedTuple):
    """Rows in blocks, the machine to fit, and what is known of every row."""

    rows: Rows
    posed: Posed
    facts: RowFacts


class InBlocks:
    """A hyperplane by Newton's method over blocks, proved block by block."""

    attempts = _TIGHTENINGS

    def __init__(
        self, problem: BlockProblem, effort: Effort, about: About, first: Any, report: Any
    ) -> None:
        self.problem, self.effort, self.about = problem, effort, about
        self.kept = _checkpoint(problem.rows, problem.posed)
        first = self.kept.load() if self.kept else first
        self.run = Run(problem.rows.engine, problem.posed, effort.tol, first)
        self.aim = effort.tol

    def solve(self) -> Status:
        """Run Newton's method; every point is saved where a checkpoint is kept."""
        kept, effort = self.kept, self.effort
        report = (lambda state: kept.save(state.point)) if kept else None
        return self.run.go_on(self.aim, effort.deadline, effort.max_passes, report)

    def prove(self, is_last: bool) -> float:
        """Prove the gap from what every block adds to the two bounds."""
        rows, posed, facts = self.problem
        weights, alpha = self.run.best.w, claimed_alpha(self.run, facts)
        (terms,) = rows.engine.reduce_each(prove_block, alpha, posed, weights)
        claim = DualityGap(
            multipliers=alpha,
            costs=facts.costs(posed),
            loss=NAMES[posed.loss],
            weights=weights,
            intercept=posed.intercept,
            bias_penalty=posed.bias_penalty,
            positive=posed.positive,
            data_sha256=self.about.fingerprint.result(),
            n_rows=len(alpha),
            n_features=len(weights) - 1,
            classes=self.about.classes,
        )
        self.proof = claim.with_terms(terms)
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim lower."""
        self.aim *= 0.3
        return status.is_final

    def fitted(self, status: Status) -> Fitted:
        """Return the machine; its checkpoint is of no more use."""
        if self.kept is not None and status is Status.OPTIMAL:
            self.kept.clear()
        run, w = self.run, self.run.best.w
        weights = w if self.problem.posed.intercept else np.concatenate([[0.0], w[1:]])
        bias = float(weights[0])
        return Fitted(
            self.proof, status, run.updates, run.passes, "newton", weights,
            bias_interval=(bias, bias),
        )  # fmt: skip


def _first(machine: Any, rows: Rows, posed: Posed) -> Point | None:
    """Return where a warm start begins: the weights of the last fit."""
    coef = getattr(machine, "coef_", None) if machine.warm_start else None
    if coef is None or coef.shape != (len(rows.classes) if len(rows.classes) > 2 else 1,
                                      rows.engine.n_features):  # fmt: skip
        return None
    row = 0 if len(rows.classes) == 2 else posed.positive
    width = 0.1 if NAMES[posed.loss] == "hinge" else 0.0
    return Point(np.concatenate([machine.intercept_[row : row + 1], coef[row]]), width)


def _checkpoint(rows: Rows, posed: Posed) -> Checkpoint | None:
    if rows.checkpoint is None:
        return None
    about = [
        rows.engine.n_rows,
        rows.engine.n_features,
        rows.engine.n_entries,
        [str(name) for name in rows.classes],
        rows.counts.tolist(),
        [int(posed.loss), posed.positive, posed.costs.tolist(), posed.intercept],
        posed.bias_penalty,
    ]
    path = Path(rows.checkpoint)
    if len(rows.classes) > 2:
        path = path.with_name(f"{path.name}.{posed.positive}")
    return Checkpoint(path, json.dumps(about))


def _keep_support(machine: Any, machines: list[Fitted], facts: RowFacts) -> None:
    """Keep the support vectors, without a copy of all multipliers."""
    used = np.zeros(len(facts.codes), dtype=bool)
    for fitted in machines:
        used |= fitted.proof.multipliers > 0.0
    machine.support_ = np.flatnonzero(used)
    own = facts.codes[machine.support_]
    machine.dual_coef_ = np.array(
        [
            fitted.proof.multipliers[machine.support_]
            * np.where(own == fitted.proof.positive, 1.0, -1.0)
            for fitted in machines
        ]
    )
    machine.n_support_ = np.bincount(own, minlength=len(machine.classes_))
    machine.margin_ = one_or_all([margin_of(w) for w in machine.coef_])
