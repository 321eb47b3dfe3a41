"""A machine that learns from a stream: rows are scored before they are learned.

The share of rows whose class was not foreseen is the progressive validation error: every row is a
test row first. It is kept for the whole stream and for a recent window, and the Page-Hinkley test
tells when it has gone up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import DataError, with_article
from separatrix.estimators.sgd import SGD
from separatrix.problem.equilibrate import medians
from separatrix.problem.losses import CODES
from separatrix.problem.rows import SignedRows, base_rows
from separatrix.solvers.running.drive import OWN, Status
from separatrix.solvers.updates import sgd, sgd_rows
from separatrix.solvers.updates.sgd_rows import TIME, Rule

__all__ = ["Progressive", "StreamLearner", "UnknownClass"]

_LARGEST = 1e100
_WIDEST_CENTRED = 2000
_DRIFTS_KEPT = 100


class UnknownClass(DataError):
    """A label that was not declared; `row` is its place in the batch."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


@dataclass
class Progressive:
    """Errors made before learning: over all rows, and over the last `window` of them."""

    window: int = 1000
    rows: int = 0
    errors: int = 0
    recent: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    test: np.ndarray = field(default_factory=sgd_rows.fresh)
    drifts: list[int] = field(default_factory=list)  # the rows at which the error had gone up

    @property
    def error(self) -> float:
        """The share of all rows that were not foreseen."""
        return self.errors / self.rows if self.rows else 0.0

    @property
    def recent_error(self) -> float:
        """The share of the last rows."""
        return float(self.recent.mean()) if len(self.recent) else 0.0

    def add(self, missed: np.ndarray) -> list[int]:
        """Count more rows; return those at which the error was seen to have gone up."""
        begin = 0
        found: list[int] = []
        while begin < len(missed):
            used, is_drift = self.add_until_drift(missed[begin:])
            begin += used
            found += [self.rows] if is_drift else []
        return found

    def add_until_drift(self, missed: np.ndarray) -> tuple[int, bool]:
        """Count rows up to the first at which the error has gone up: how many, and if there is."""
        at = int(sgd_rows.watch(self.test, missed, sgd_rows.ALLOWED, sgd_rows.LIMIT))
        used = len(missed) if at < 0 else at + 1
        self.rows += used
        self.errors += int(missed[:used].sum())
        self.recent = np.concatenate([self.recent, missed[:used]])[-self.window :]
        if at >= 0:
            self.drifts = [*self.drifts, self.rows][-_DRIFTS_KEPT:]
        return used, at >= 0

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {
            "window": self.window,
            "rows": self.rows,
            "errors": self.errors,
            "recent": "".join(map(str, self.recent.tolist())),
            "test": [value.hex() for value in self.test.tolist()],
            "drifts": self.drifts,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Progressive:
        """Return what plain data describe.

        >>> counts = Progressive(window=2)
        >>> counts.add(np.array([0, 1, 1], dtype=np.uint8))
        []
        >>> again = Progressive.from_dict(counts.to_dict())
        >>> again.error, again.recent_error
        (0.6666666666666666, 1.0)
        """
        return cls(
            int(plain["window"]),
            int(plain["rows"]),
            int(plain["errors"]),
            np.array([int(each) for each in plain["recent"]], dtype=np.uint8),
            np.array([float.fromhex(each) for each in plain["test"]]),
            [int(row) for row in plain["drifts"]],
        )


def _require_free(machine: Any) -> None:
    if machine.learning_rate != "free":
        raise DataError(
            f"streams are learned without a step size, and the model has learning_rate="
            f"{machine.learning_rate!r}. Use learning_rate='free', or partial_fit."
        )


@dataclass
class StreamLearner:
    """An `SGD` machine kept open for learning, with room for features as they come."""

    machine: SGD
    classes: np.ndarray
    memory: sgd.Memory
    rows: int = 0
    most_features: int = 1 << 22
    centre: np.ndarray = field(default_factory=lambda: np.zeros(0))  # taken from every row

    @classmethod
    def fresh(cls, machine: SGD, classes: Any, most_features: int = 1 << 22) -> StreamLearner:
        """Begin with no rows."""
        machine._check_parameters()
        classes = np.unique(np.asarray(classes))
        if len(classes) < 2:
            raise DataError(
                f"there is one class only, {classes.tolist()}; declare all that may come "
                "(--classes a,b)"
            )
        _require_free(machine)
        machines = 1 if len(classes) == 2 else len(classes)
        loss = CODES[machine.loss]
        memory = sgd.blank(machines, 0, loss, bool(machine.average), machine._is_scaled)
        return cls(machine, classes, memory, 0, most_features)

    @classmethod
    def of(cls, machine: Any, most_features: int = 1 << 22) -> StreamLearner:
        """Go on with a machine that was learned before."""
        if not isinstance(machine, SGD) or not hasattr(machine, "_stream"):
            kind = with_article(type(machine).__name__)
            raise DataError(
                f"the model is {kind}, which does not learn from streams; "
                "give another name to the new model, or start anew with --fresh"
            )
        machine._check_parameters()
        _require_free(machine)
        memory = sgd.unpacked(tuple(part.copy() for part in machine._stream))
        machines = 1 if len(machine.classes_) == 2 else len(machine.classes_)
        sgd.require_going_on(memory, machines, machine.n_features_in_, bool(machine.average))
        centre = machine._centre if machine._centre.any() else np.zeros(0)
        return cls(machine, machine.classes_, memory, int(machine.n_iter_), most_features, centre)

    def centre_on(self, X: Any) -> None:
        """Take the medians of these rows from every row to come: a free bias takes them up."""
        if X.shape[1] <= _WIDEST_CENTRED and self.machine.fit_intercept:
            X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
            self.centre = medians(X, np.ones(len(X)))

    def declare(self, classes: Any) -> None:
        """Make room for further classes; machines of those known stay as they are."""
        all_classes = np.unique(np.concatenate([self.classes, np.asarray(classes)]))
        if len(all_classes) == len(self.classes):
            return
        slots, sums, totals = self.memory.slots, self.memory.sums, self.memory.totals
        if len(self.classes) == 2:  # one machine served both: its mirror image is the other's
            mirrored = slots.copy()
            mirrored[:, :, :2] *= -1.0  # the weight and the pull
            slots = np.concatenate([mirrored, slots], axis=1)
            sums = np.concatenate([-sums, sums], axis=1)
            totals = np.concatenate([totals, totals])
        machine = self.machine
        new = sgd.blank(
            len(all_classes), len(slots) - 1, CODES[machine.loss],
            bool(machine.average), machine._is_scaled,
        )  # fmt: skip
        places = np.searchsorted(all_classes, self.classes)
        new.slots[:, places], new.sums[:, places], new.totals[places] = slots, sums, totals
        new.totals[:, TIME] = totals[0, TIME]
        self.memory, self.classes = new, all_classes

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Return the number of each label; an unknown one is refused with its row."""
        known = self.classes
        if (known.dtype.kind == "U") != (labels.dtype.kind == "U"):
            labels = labels.astype(str)
            known = known.astype(str)
            order = np.argsort(known)
        else:
            order = np.arange(len(known))
        places = np.searchsorted(known[order], labels).clip(max=len(known) - 1)
        codes = order[places]
        unknown = np.flatnonzero(known[codes] != labels)
        if len(unknown):
            row = int(unknown[0])
            names = ", ".join(str(name) for name in self.classes.tolist()[:8])
            raise UnknownClass(
                f"the label {str(labels[row])!r} is none of the classes ({names}); if it is one, "
                "declare it (--classes)",
                row,
            )
        return np.asarray(codes)

    def learn(self, X: Any, codes: np.ndarray) -> np.ndarray:
        """Score rows, then learn them, one by one; return 1 where the class was not foreseen."""
        self._make_room(X.shape[1])
        if len(self.centre):
            X = (X.toarray() if sp.issparse(X) else X) - self.centre
        machine, memory = self.machine, self.memory
        base = base_rows(X if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float64))
        rule = Rule(
            loss=CODES[machine.loss],
            cost=np.inf if machine.loss == "perceptron" else float(machine.C),
            bias=bool(machine.fit_intercept),
            scaled=machine._is_scaled,
            counting=True,
            averaging=bool(machine.average),
        )
        state = sgd.State(
            rows=SignedRows(base, codes, 1.0),
            settings=sgd.Settings(rule, False, 0, 0),
            memory=memory._replace(
                shares=np.zeros((memory.slots.shape[1] + 1, 0)),
                order=np.zeros(0, dtype=np.int64),
                counts=np.zeros(OWN, dtype=np.int64),
            ),
            codes=np.ascontiguousarray(codes, dtype=np.int64),
        )
        scores = np.zeros((memory.slots.shape[1], len(codes)))
        sgd.learn(state, 0, len(codes), scores)
        self.rows += len(codes)
        predicted = (scores[0] > 0.0) if len(scores) == 1 else scores.argmax(axis=0)
        return (predicted != codes).astype(np.uint8)

    def _make_room(self, n_features: int) -> None:
        known = len(self.memory.slots) - 1
        if n_features <= known:
            return
        if n_features > self.most_features:
            raise DataError(
                f"feature {n_features:,} is beyond the {self.most_features:,} allowed; allow more "
                "with --max-features (64 bytes each and model), or renumber the features"
            )
        # Room for half as many again, so that new features are seldom paid for.
        room = n_features if known == 0 else max(n_features, known + known // 2)
        room = min(room, self.most_features)
        self.memory = sgd.widened(self.memory, room, self.machine._is_scaled)

    def model(self, n_features: int) -> SGD:
        """Return the machine with all that was learned, `n_features` wide."""
        self._make_room(n_features)
        machine, memory = self.machine, self.memory
        keep = n_features + 1
        slots, sums = memory.slots[:keep], memory.sums[:keep]
        machine.classes_, machine.n_features_in_ = self.classes, n_features
        machine._centre = self.centre if len(self.centre) else np.zeros(n_features)
        state = sgd.State(
            rows=None,
            settings=sgd.Settings(
                Rule(0, 0.0, True, True, True, bool(machine.average)), False, 0, 0
            ),
            memory=memory._replace(slots=slots, sums=sums, counts=np.zeros(OWN, dtype=np.int64)),
            codes=np.zeros(1, dtype=np.int64),
        )
        machine._keep(state)
        machine._stream = sgd.packed(state.memory)
        machine.n_iter_, machine.n_passes_ = self.rows, 1.0
        machine.status_, machine.certificate_ = Status.STREAMING, None
        machine.objective_ = machine.dual_objective_ = machine.gap_ = None
        return machine


def refuse_beyond(X: Any) -> int:
    """Return the first row with a value that is no number or too large, -1 if none."""
    values = X.data if sp.issparse(X) else X
    with np.errstate(invalid="ignore"):
        fine = np.abs(values) <= _LARGEST
    if fine.all():
        return -1
    if sp.issparse(X):
        at = int(np.flatnonzero(~fine)[0])
        return int(np.searchsorted(X.indptr, at, side="right")) - 1
    return int(np.argwhere(~fine)[0][0])
