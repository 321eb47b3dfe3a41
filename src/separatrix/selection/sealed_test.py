"""A test set that is looked at once.

The error of one fixed rule on rows it has not met is a binomial count, and its interval is exact:
that holds for the first model that meets the rows, not for the best of many that did. So the set
stays sealed until a model is chosen, opens once, and remembers that it did.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import uuid
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._write_aside import create_whole
from separatrix.errors import ContaminatedTestError, DataError
from separatrix.problem.canonical import canonical_pieces, data_of
from separatrix.problem.fingerprint import SECOND, fingerprint
from separatrix.problem.signed import as_matrix
from separatrix.selection.opening import Overlap, TestResult, result_of, trained_on

__all__ = ["SealedTest", "matching_rows", "row_contents"]

FORMAT = "separatrix-sealed-test-1"


class _Seal:
    """What all copies of one test set share: whether it was opened, and what was seen."""

    def __init__(self, identity: str, fingerprint: str) -> None:
        self.identity, self.fingerprint = identity, fingerprint
        self.result: TestResult | None = None
        self.lock = threading.Lock()


# Every seal of this process by its identity: reading a saved one back gives no second chance.
_SEALS: dict[str, _Seal] = {}


class SealedTest:
    """Rows kept for the end: ``open(model)`` works once, and every later opening is refused.

    Parameters
    ----------
    X, y : arrays
        Rows and labels.
    state : path or None, default=None
        A file that records the opening. While it exists, no process opens these rows again.

    Attributes
    ----------
    n : int
        The number of rows.
    is_open : bool
        Whether a model has predicted these rows.
    result : TestResult or None
        The result of the opening; None while the set is sealed.

    See Also
    --------
    split : row numbers for training, validation and test.
    bounds : bounds on the error without a test set.
    ContaminatedTestError : the refusal of a second opening.

    Examples
    --------
    >>> import separatrix as sx
    >>> test = sx.SealedTest([[0.0], [1.0], [5.0]], ["low", "high", "high"])
    >>> model = sx.LinearSVM().fit([[0.0], [2.0], [3.0]], ["low", "low", "high"])
    >>> result = test.open(model)
    >>> result.errors, result.n, result.wrong.tolist()
    (1, 3, [1])
    >>> test.open(model)
    Traceback (most recent call last):
    separatrix.errors.ContaminatedTestError: this test set was opened before, with LinearSVM...
    """

    def __init__(self, X: Any, y: Any, *, state: str | os.PathLike[str] | None = None) -> None:
        self._X, self._y = as_matrix(X), np.asarray(y)
        columns = getattr(X, "columns", None)
        self._names = None if columns is None else [str(name) for name in columns]
        if self._y.ndim != 1 or len(self._y) != self._X.shape[0] or not len(self._y):
            raise DataError(
                f"a test set needs a label for each row: X has shape {self._X.shape}, y "
                f"{self._y.shape}."
            )
        self._state = None if state is None else Path(state)
        self._seal = _Seal(uuid.uuid4().hex, self._fingerprint())
        _SEALS[self._seal.identity] = self._seal
        if self._state is not None and self._state.exists():
            self._seal.result = self._read_state()

    def _fingerprint(self, like: str = SECOND) -> str:
        """Return the fingerprint of rows and labels, names of classes included."""
        classes, codes = np.unique(self._y, return_inverse=True)
        names = json.dumps([str(name) for name in classes.tolist()])
        data = data_of(self._X, codes, max(2, len(classes)), True)
        return f"{fingerprint(data, like)}:{names}"

    @property
    def n(self) -> int:
        """How many rows there are; that may be known."""
        return len(self._y)

    @property
    def is_open(self) -> bool:
        """Whether a model has met these rows."""
        return self.result is not None

    @property
    def result(self) -> TestResult | None:
        """What was seen when the set was opened, or None while it is sealed."""
        if self._seal.result is None and self._state is not None and self._state.exists():
            self._seal.result = self._read_state()
        return self._seal.result

    def overlap(self, X_train: Any) -> Overlap:
        """Find the rows that also stand in the training data; this does not open the set."""
        matches = matching_rows(self._X, X_train)
        rows = np.flatnonzero(matches >= 0)
        return Overlap(rows=rows, train_rows=matches[rows], n=self.n)

    def open(
        self,
        model: Any,
        X_train: Any = None,
        y_train: Any = None,
        *,
        confidence: float = 0.95,
        name: str | None = None,
        rows: Any = None,
        overlap: Overlap | None = None,
    ) -> TestResult:
        """Let the model meet the rows, once, and return what came of it.

        `name` is what the seal remembers the model by; its class's name if None. Where the model
        learned features of its own, `rows` are these rows in them, as X_train is, and `overlap` is
        that of the rows before.

        With the training data, rows that stand in both are counted, and a linear model of two
        classes has its VC and margin bounds put beside the estimate. Without them nobody knows what
        the model was trained on, and the result says so. A model whose certificate names the sealed
        rows as its training data is refused.
        """
        if (X_train is None) != (y_train is None):
            raise ValueError("give both X_train and y_train, or neither.")
        with self._seal.lock:
            self._refuse_if_open()
            if self._fingerprint() != self._seal.fingerprint:
                raise ContaminatedTestError(
                    "the rows of this test set were changed after it was sealed."
                )
            if trained_on(model, self._X, self._y):
                raise ContaminatedTestError(
                    "this model was trained on the sealed rows: its certificate names them. Open "
                    "the set for a model that has not met them."
                )
            if overlap is None and X_train is not None:
                overlap = self.overlap(X_train)
            rows = self._X if rows is None else rows
            options: dict[str, Any] = {"confidence": confidence, "name": name}
            with self._columns_known_to(model):
                result = result_of(model, rows, self._y, overlap, X_train, y_train, **options)
            self._keep(result)
        return result

    @contextlib.contextmanager
    def _columns_known_to(self, model: Any) -> Iterator[None]:
        """Compare the frame's columns with those of training: the rows are kept without them."""
        learned = getattr(model, "feature_names_in_", None)
        if learned is None or self._names is None:
            yield
            return
        if self._names != [str(name) for name in learned]:
            raise DataError(
                "the columns of this test set are not those the model was trained on, or stand in "
                f"another order: {self._names[:5]} here, {list(map(str, learned))[:5]} there."
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            yield

    def _refuse_if_open(self) -> None:
        earlier = self.result
        if earlier is not None:
            raise ContaminatedTestError(
                f"this test set was opened before, with {earlier.model} ({earlier.errors} errors "
                f"in {earlier.n} rows). What is chosen after looking at it needs a test set of its "
                "own: use the result that is there (.result), or seal rows that no model has met."
            )

    def _keep(self, result: TestResult) -> None:
        """Remember the opening, on disk first: a result that is lost was never seen."""
        if self._state is not None:
            try:
                create_whole(self._state, self._text(result).encode())
            except FileExistsError:
                self._refuse_if_open()
                raise
        self._seal.result = result

    # ---- saving

    def _text(self, result: TestResult | None) -> str:
        whole = {
            "format": FORMAT,
            "identity": self._seal.identity,
            "fingerprint": self._seal.fingerprint,
            "result": None if result is None else result.to_dict(),
        }
        return json.dumps(whole, indent=1)

    def to_json(self) -> str:
        """Write the seal, not the rows: what was sealed, and the opening if there was one."""
        return self._text(self.result)

    @classmethod
    def from_json(cls, text: str, X: Any, y: Any) -> SealedTest:
        """Join the saved seal with its rows; others than those that were sealed are refused."""
        whole = _checked(text)
        test = cls(X, y)
        del _SEALS[test._seal.identity]
        if whole["fingerprint"] != test._fingerprint(whole["fingerprint"]):
            raise ContaminatedTestError("these are not the rows that were sealed.")
        test._seal.identity = whole["identity"]
        test._seal = _SEALS.setdefault(whole["identity"], test._seal)
        if test._seal.result is None and whole["result"] is not None:
            test._seal.result = TestResult.from_dict(whole["result"])
        return test

    def _read_state(self) -> TestResult | None:
        assert self._state is not None, "only called with a state file"
        whole = _checked(self._state.read_text(encoding="utf-8"))
        if whole["fingerprint"] != self._fingerprint(whole["fingerprint"]):
            raise ContaminatedTestError(
                f"{self._state} keeps the opening of other rows than these."
            )
        return None if whole["result"] is None else TestResult.from_dict(whole["result"])

    def __copy__(self) -> SealedTest:
        """Return the same set: a copy is no second chance."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SealedTest:
        """Return the same set: a copy is no second chance."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle an opened set, or one whose state is in a file; refuse a sealed one."""
        if self._state is not None:
            return _restored, (self._X, self._y, self._state, None)
        if not self.is_open:
            raise TypeError(
                "a SealedTest cannot be pickled while it is sealed: each copy could be opened "
                "once. Give it a state file, SealedTest(X, y, state='test.seal')."
            )
        return _restored, (self._X, self._y, None, self.to_json())

    def __repr__(self) -> str:
        """Say whether it is sealed; never what is inside."""
        if self.result is None:
            return f"SealedTest({self.n} rows, sealed)"
        return f"SealedTest({self.n} rows, opened with {self.result.model})"


def _restored(
    X: Any, y: NDArray[Any], state: Path | None, text: str | None
) -> SealedTest:  # what pickle calls
    return SealedTest(X, y, state=state) if text is None else SealedTest.from_json(text, X, y)


def _checked(text: str) -> dict[str, Any]:
    try:
        whole = json.loads(text)
        sound = (
            isinstance(whole, dict)
            and whole.get("format") == FORMAT
            and isinstance(whole.get("identity"), str)
            and isinstance(whole.get("fingerprint"), str)
            and "result" in whole
        )
    except ValueError:
        sound = False
    if not sound:
        raise DataError("this is not the seal of a test set.")
    return dict(whole)


def row_contents(X: Any) -> Iterator[bytes]:
    """Yield for each row bytes that are equal exactly where the values are."""
    for piece in canonical_pieces(as_matrix(X)):
        columns = piece.indices.astype("<i8", copy=False)
        values = piece.data.astype("<f8", copy=False)
        for a, b in pairwise(piece.indptr.tolist()):
            yield columns[a:b].tobytes() + values[a:b].tobytes()


def matching_rows(X: Any, others: Any) -> NDArray[np.int64]:
    """Return for each row of X the first row of `others` that equals it, or -1.

    >>> matching_rows(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[2.0, -0.0]])).tolist()
    [-1, 0]
    """
    X, others = as_matrix(X), as_matrix(others)
    if X.shape[1] != others.shape[1]:
        raise DataError(f"rows of {X.shape[1]} and of {others.shape[1]} features never match.")
    first: dict[bytes, int] = {}
    for number, contents in enumerate(row_contents(others)):
        first.setdefault(contents, number)
    return np.array([first.get(contents, -1) for contents in row_contents(X)], dtype=np.int64)
