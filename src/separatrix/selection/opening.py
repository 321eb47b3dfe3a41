"""What came of opening a sealed test set, with the bounds that stand beside it.

An interval for a measure on test rows: exact where it is made of shares, resampled elsewhere.

The error, a share of one class, the mean of two recalls, the larger of two error rates and the mean
cost are made of binomial shares, one a class. Their exact intervals (Clopper and Pearson), each at
the confidence that two need to hold together, give one that holds at least as often as it says.

F1, Matthews' correlation, AUC, log loss, and the balanced accuracy of several classes are
resampled: rows are drawn again within each class, and the interval leaves out as many draws at
either end. Draws of a few rows are nearly the same: where a class has fewer than ten, F1 and
Matthews' correlation of two classes, which grow with both recalls, take the exact ends of these;
any other measure has no interval but that of all its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.core.linear_model import VotingModel
from separatrix.errors import DataError
from separatrix.problem.canonical import data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import as_matrix
from separatrix.selection import bounds
from separatrix.selection.bounds import Bound, Interval
from separatrix.selection.scores import Measure, loss_of_counts

__all__ = [
    "EXACT",
    "Overlap",
    "RESAMPLED",
    "TOO_FEW",
    "TestResult",
    "interval_of",
    "linear_bounds",
    "result_of",
    "trained_on",
]


KNOWN, GIVEN, UNKNOWN = "known", "given", "unknown"
_ROWS_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Overlap:
    """Rows of the test set that stand in the training data too, and the first that equals each."""

    rows: NDArray[np.int64]
    train_rows: NDArray[np.int64]
    n: int

    @property
    def count(self) -> int:
        """How many rows of the test set that is."""
        return len(self.rows)

    def __str__(self) -> str:
        """Name the rows."""
        if not self.count:
            return f"None of the {self.n} test rows stands in the training data."
        shown = ", ".join(str(row) for row in self.rows[:_ROWS_SHOWN])
        more = f" and {self.count - _ROWS_SHOWN} more" if self.count > _ROWS_SHOWN else ""
        return f"{self.count} of {self.n} test rows also stand in the training data: {shown}{more}."


@dataclass(frozen=True, eq=False)
class TestResult:
    """Errors on rows that the model had not met, with the exact interval of the error rate.

    `confusion` has true classes as rows and predicted ones as columns, in the order of `classes`;
    `wrong` numbers the rows in error. `overlap` numbers those that stand in the training data.
    `bounds` hold for every rule of the class at once and are wide; the interval is for this one.
    `training` says what is known of the training rows: "known" where the model's certificate names
    the ones given, "given" where it does not, "unknown" where none were given.
    """

    __test__ = False  # pytest would take it for a test

    model: str
    errors: int
    n: int
    interval: Interval
    classes: tuple[str, ...]
    confusion: NDArray[np.int64]
    wrong: NDArray[np.int64]
    overlap: NDArray[np.int64] | None = None
    bounds: tuple[Bound, ...] = ()
    training: str = UNKNOWN

    @property
    def rate(self) -> float:
        """The error rate seen."""
        return self.errors / self.n

    @property
    def fresh(self) -> Interval | None:
        """The interval from the rows alone that do not stand in the training data."""
        if self.overlap is None or len(self.overlap) == self.n:
            return None
        errors = len(np.setdiff1d(self.wrong, self.overlap))
        n = self.n - len(self.overlap)
        return bounds.binomial(errors, n, self.interval.confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        return {
            "model": self.model,
            "errors": self.errors,
            "n": self.n,
            "confidence": self.interval.confidence,
            "classes": list(self.classes),
            "confusion": self.confusion.tolist(),
            "wrong": self.wrong.tolist(),
            "overlap": None if self.overlap is None else self.overlap.tolist(),
            "training": self.training,
            "bounds": [
                {**bound.__dict__, "assumptions": list(bound.assumptions)} for bound in self.bounds
            ],
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> TestResult:
        """Return the result that plain data describe."""
        try:
            return cls(
                str(plain["model"]),
                int(plain["errors"]),
                int(plain["n"]),
                bounds.binomial(plain["errors"], plain["n"], plain["confidence"]),
                tuple(str(name) for name in plain["classes"]),
                np.array(plain["confusion"], dtype=np.int64),
                np.array(plain["wrong"], dtype=np.int64),
                None if plain["overlap"] is None else np.array(plain["overlap"], dtype=np.int64),
                tuple(
                    Bound(**{**bound, "assumptions": tuple(bound["assumptions"])})
                    for bound in plain["bounds"]
                ),
                str(plain.get("training", UNKNOWN)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"this is not the result of a test: {error}.") from error

    def __str__(self) -> str:
        """Say the rate, its interval, and what stands against them."""
        lines = [f"{self.model}: {self.interval}"]
        fresh = self.fresh
        if self.overlap is not None and len(self.overlap):
            lines.append(str(Overlap(self.overlap, self.overlap, self.n)))
            if fresh is not None:
                lines.append(f"Without them: {fresh.errors} errors in {fresh.n} rows.")
        lines.append(self._of_training())
        lines += [f"{bound.name}: {bound}" for bound in self.bounds]
        return "\n".join(lines)

    def _of_training(self) -> str:
        """Say what is known of the rows that the model was trained on."""
        if self.training == UNKNOWN:
            return (
                "Which rows the model was trained on is not known here: open(model, X_train, "
                "y_train) compares them."
            )
        clean = self.overlap is not None and not len(self.overlap)
        held = "None of these rows is among them" if clean else "Some of these rows are among them"
        if self.training == KNOWN:
            return f"The model's certificate names its training rows, which were given. {held}."
        return f"Training rows were given; that the model was trained on them is not known. {held}."


def trained_on(model: Any, X: Any, y: Any) -> bool:
    """Whether the model's certificate names exactly these rows and labels as its training data."""
    proof = getattr(model, "certificate_", None)
    proof = getattr(proof, "machines", (proof,))[0]
    name = getattr(proof, "data_sha256", "")
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if not name or len(classes) < 2:
        return False
    X = as_matrix(X)
    if X.shape != (getattr(proof, "n_rows", -1), getattr(proof, "n_features", -1)):
        return False
    intercept = bool(getattr(proof, "intercept", True))
    return bool(fingerprint(data_of(X, codes, len(classes), intercept), name) == name)


def result_of(
    model: Any,
    X: Any,
    y: NDArray[Any],
    overlap: Overlap | None,
    X_train: Any = None,
    y_train: Any = None,
    *,
    confidence: float = 0.95,
    name: str | None = None,
) -> TestResult:
    """Let a model meet the rows and count."""
    predicted = np.asarray(model.predict(X))
    if predicted.shape != y.shape:
        raise DataError(f"the model gave {predicted.shape} answers for {len(y)} rows.")
    classes = np.unique(np.concatenate([np.asarray(getattr(model, "classes_", y)), y, predicted]))
    true, said = np.searchsorted(classes, y), np.searchsorted(classes, predicted)
    confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(confusion, (true, said), 1)
    wrong = np.flatnonzero(true != said)
    training = UNKNOWN
    if X_train is not None:
        training = KNOWN if trained_on(model, X_train, y_train) else GIVEN
    beside = () if X_train is None else linear_bounds(model, X_train, y_train, confidence)
    return TestResult(
        model=name or type(model).__name__,
        errors=len(wrong),
        n=len(y),
        interval=bounds.binomial(len(wrong), len(y), confidence),
        classes=tuple(str(name) for name in classes.tolist()),
        confusion=confusion,
        wrong=wrong,
        overlap=None if overlap is None else overlap.rows,
        bounds=beside,
        training=training,
    )


def linear_bounds(model: Any, X: Any, y: Any, confidence: float = 0.95) -> tuple[Bound, ...]:
    """Return the VC and the margin bound of a hyperplane, from its training rows.

    None for several classes, whose machines are not one halfspace.
    """
    from dataclasses import replace

    weights = np.atleast_2d(np.asarray(getattr(model, "coef_", np.zeros((0, 0)))))
    if weights.shape[0] != 1 or weights.shape[1] == 0:
        return ()
    X = as_matrix(X)
    n, features = X.shape
    errors = int(np.count_nonzero(np.asarray(model.predict(X)) != np.asarray(y)))
    free = bool(getattr(model, "fit_intercept", True))
    dimension = bounds.halfspace_dimension(features, free)
    found = [replace(bounds.vc(errors, n, dimension, confidence), name="Vapnik's bound")]
    length = float(np.linalg.norm(weights))
    if length > 0.0:
        signs = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
        scores = model.decision_function(X)
        if isinstance(model, VotingModel):
            scores = scores - model.threshold_  # a threshold moves the hyperplane, not its weights
        inside = int(np.count_nonzero(signs * scores < 1.0))
        radius = float(np.sqrt(_squares(X).max()))
        if radius > 0.0:
            bound = bounds.margin(inside, n, radius, 1.0 / length, features, confidence)
            found.append(replace(bound, name="the margin bound"))
    return tuple(found)


def _squares(X: Any) -> NDArray[np.float64]:
    """Return the squared length of each row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


# ---- an interval for a measure on test rows: exact where it is made of shares, resampled elsewhere


EXACT = "exact, from the binomial shares of the classes"
RESAMPLED = "resampled, 1,000 draws within each class"
TOO_FEW = "too few rows of a class for an interval"
_FEW = 10
_DRAWS = 1_000
_OF_SHARES = ("balanced", "cost", "minimax", "misses")


def interval_of(
    measure: Measure,
    scores: np.ndarray,
    codes: np.ndarray,
    threshold: float,
    shares: Any = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float, str]:
    """Return the ends of the interval, as the measure is shown, and how it was made."""
    if measure.scoring == "error":
        called = scores[:, 0] > threshold if scores.shape[1] == 1 else scores.argmax(axis=1)
        found = bounds.binomial(int(np.count_nonzero(called != codes)), len(codes), confidence)
        return found.lower, found.upper, EXACT
    if scores.shape[1] == 1 and measure.scoring in _OF_SHARES:
        low, high = _of_shares(measure, scores[:, 0], codes, threshold, confidence)
        return low, high, EXACT
    if measure.scoring != "log_loss" and np.bincount(codes).min() < _FEW:
        if scores.shape[1] == 1 and measure.scoring in ("f1", "mcc"):
            low, high = _of_recalls(measure, scores[:, 0], codes, threshold, confidence)
            return low, high, EXACT
        most = measure.costs.largest if measure.scoring == "cost" else 1.0
        return (-1.0 if measure.scoring == "mcc" else 0.0), most, TOO_FEW
    losses = _resampled(measure, scores, codes, threshold, shares, seed)
    ends = np.quantile(measure.shown(losses), [(1.0 - confidence) / 2, (1.0 + confidence) / 2])
    return float(ends[0]), float(ends[1]), RESAMPLED


def _of_recalls(
    measure: Measure, scores: np.ndarray, codes: np.ndarray, threshold: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of a figure that grows with the recalls of both classes."""
    called = np.where(scores > threshold, 1, 0)
    each = 1.0 - 0.5 * (1.0 - confidence)
    ends = []
    for k in (0, 1):
        own = codes == k
        n = int(own.sum())
        found = bounds.binomial(int(np.count_nonzero(called[own] == k)), n, each) if n else None
        ends.append((n, 0.0, 1.0) if found is None else (n, found.lower, found.upper))
    (others, *low_high), (ones, *ones_low_high) = ends[1 - measure.positive], ends[measure.positive]
    low, high = (
        measure.shown(
            loss_of_counts(
                ones * found, others * (1.0 - passed), others * passed, ones * (1.0 - found),
                measure.scoring,
            )
        )
        for passed, found in zip(low_high, ones_low_high, strict=True)
    )  # fmt: skip
    return float(low), float(high)


def _of_shares(
    measure: Measure, scores: np.ndarray, codes: np.ndarray, threshold: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of a figure that grows with both shares of wrong rows, or with one."""
    called = np.where(scores > threshold, 1, 0)
    one_alone = measure.scoring == "misses"
    each = confidence if one_alone else 1.0 - 0.5 * (1.0 - confidence)
    ends = {}
    for k in (0, 1):
        own = codes == k
        wrong, n = int(np.count_nonzero(called[own] != k)), int(own.sum())
        found = bounds.binomial(wrong, n, each) if n else None
        ends[k] = (0.0, 1.0, 0) if found is None else (found.lower, found.upper, n)
    missed, alarms = ends[measure.positive], ends[1 - measure.positive]
    if one_alone:
        return missed[0], missed[1]
    if measure.scoring == "minimax":
        return max(missed[0], alarms[0]), max(missed[1], alarms[1])
    if measure.scoring == "balanced":
        return 1.0 - 0.5 * (missed[1] + alarms[1]), 1.0 - 0.5 * (missed[0] + alarms[0])
    prices = measure.costs.missed * missed[2], measure.costs.false_alarm * alarms[2]
    low, high = ((prices[0] * missed[end] + prices[1] * alarms[end]) / len(codes) for end in (0, 1))
    return low, high


def _resampled(
    measure: Measure,
    scores: np.ndarray,
    codes: np.ndarray,
    threshold: float,
    shares: Any,
    seed: int,
) -> np.ndarray:
    """Return the losses of rows drawn again within each class."""
    draw = np.random.default_rng(seed)
    classes = [np.flatnonzero(codes == k) for k in np.unique(codes)]
    found = []
    for _ in range(_DRAWS):
        rows = np.concatenate([draw.choice(own, len(own)) for own in classes])
        again = None if shares is None else shares[rows]
        found.append(measure.loss(scores[rows], codes[rows], threshold, again))
    return np.array(found)
