"""The errors users meet; each is a ``ValueError`` whose sentence says what to do."""

from __future__ import annotations

from typing import Any


class DataError(ValueError):
    """The data cannot be used; the message says where, and what to do.

    See Also
    --------
    read : raises it for files and frames.
    Encoder : fills missing values.

    Examples
    --------
    >>> str(DataError("expected a number, got 'abc'", file="x.csv", line=3, column=2))
    "x.csv, line 3, column 2: expected a number, got 'abc'"
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.message, self.file, self.line, self.column = message, file, line, column
        place = [str(file)] if file is not None else []
        place += [f"{word} {at}" for word, at in (("line", line), ("column", column)) if at]
        super().__init__(f"{', '.join(place)}: {message}" if place else message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.file, self.line, self.column)


def not_finite(value: float, row: int, where: str) -> DataError:
    """Return the refusal of an entry that is no number, with what to do.

    >>> str(not_finite(float("inf"), 3, "column 0"))[:39]
    'X contains inf in row 3, column 0. Repl'
    """
    what = "NaN" if value != value else "inf" if value > 0 else "-inf"
    remedy = (
        "Fill or drop missing values first: sx.Encoder() in a pipeline fills them, and so does "
        "sx.read(frame)."
        if what == "NaN"
        else "Replace infinities by finite numbers, or drop the row."
    )
    return DataError(f"X contains {what} in row {row}, {where}. {remedy}")


class DeviceError(ValueError):
    """An accelerator cannot do what was requested; the message says what to do.

    See Also
    --------
    LinearSVM : takes `device`, as other estimators do.

    Examples
    --------
    >>> import separatrix as sx
    >>> from scipy.sparse import csr_array
    >>> sx.LinearSVM(device="cuda").fit(csr_array([[0.0], [1.0]]), [0, 1])
    Traceback (most recent call last):
    separatrix.errors.DeviceError: device='cuda' takes dense data, and X is sparse. Use ...
    """


class NotSeparableError(ValueError):
    """No hyperplane separates the classes; ``witness`` holds the proof.

    See Also
    --------
    separability : the verdict without an error.
    LinearSVM : raises it for C=inf on classes that overlap.

    Examples
    --------
    >>> import separatrix as sx
    >>> try:
    ...     sx.LinearSVM(C=float("inf")).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    ... except sx.NotSeparableError as refusal:
    ...     print(refusal.witness)
    Rows 0, 1 and 2 cannot be separated: 1 x row 0 + 2 x row 1 + 1 x row 2 = 0
    """

    def __init__(self, message: str, witness: Any = None) -> None:
        self.witness = witness
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.witness)


class SeparationWarning(UserWarning):
    """Some coefficients have no finite estimate, since the classes are (quasi-)separated.

    ``verdict`` holds the proof and the direction, ``names`` the infinite coefficients.

    See Also
    --------
    separability : the verdict that it carries.
    inference : intervals where estimates are infinite.

    Examples
    --------
    >>> import warnings
    >>> import separatrix as sx
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = sx.LogisticRegression(C=float("inf")).fit([[0.0], [1.0]], [0, 1])
    >>> caught[0].category.__name__, caught[0].message.verdict.kind
    ('SeparationWarning', 'separable')
    """

    def __init__(self, message: str, verdict: Any = None, names: tuple[str, ...] = ()) -> None:
        self.verdict, self.names = verdict, names
        super().__init__(message)

    @classmethod
    def about(cls, verdict: Any, feature_names: Any = None) -> SeparationWarning:
        """Say which coefficients run to infinity, and what to do."""
        every = verdict.coefficients(feature_names)
        known = [(label, v) for label, v in every if isinstance(v, str) or abs(v) > 1e300]
        names = tuple(label for label, _ in known)
        parts = (
            _some([f"{label} {v:+}" for label, v in known if not isinstance(v, str)]),
            _some(
                [label for label, v in known if v == "open"], " in a direction the data leave open"
            ),
            _some([label for label, v in known if v == "unknown"], " with an unknown sign"),
        )
        where = "; ".join(filter(None, parts)) or "along the direction in verdict.weights"
        return cls(
            f"The classes are {verdict.kind}: without a penalty the likelihood has no maximum, and "
            f"coefficients run to infinity ({where}). What is fitted is C=1e6. Use a finite C, or "
            "look at the direction in verdict.weights.",
            verdict,
            names,
        )


def _some(names: list[str], what: str = "") -> str:
    """List a few names and say how many more there are."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"{', '.join(names[:8])}{more}{what}" if names else ""


class ScaleWarning(UserWarning):
    """Columns differ in size by more than 1000, where the answer depends on their units.

    See Also
    --------
    KernelSVM : one of the models whose answer depends on units.
    Encoder : standardises columns, with features="standard".

    Examples
    --------
    >>> import warnings
    >>> import separatrix as sx
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = sx.KernelSVM().fit([[0.0, 1.0], [1.0, 9000.0]], [0, 1])
    >>> str(caught[0].message)[:51]
    'KernelSVM: columns differ in size by a factor of 9e'
    """


class UnfinishedWarning(UserWarning):
    """A fit ended before its tolerance was proved; the sentence says how far it came.

    Estimators warn with scikit-learn's ConvergenceWarning in its place.
    """


class ContaminatedTestError(ValueError):
    """The sealed test set was opened before.

    See Also
    --------
    SealedTest : raises it at a second opening.

    Examples
    --------
    >>> import separatrix as sx
    >>> test = sx.SealedTest([[0.0], [3.0]], [0, 1])
    >>> model = sx.LinearSVM().fit([[0.5], [2.0]], [0, 1])
    >>> test.open(model).errors
    0
    >>> try:
    ...     test.open(model)
    ... except sx.ContaminatedTestError as refusal:
    ...     print(str(refusal)[:39])
    this test set was opened before, with L
    """


class ModelFileError(ValueError):
    """The file is not a model file, or was altered.

    See Also
    --------
    load : raises it.
    save : writes model files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import separatrix as sx
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.sx"
    >>> _ = path.write_text("not a model")
    >>> try:
    ...     sx.load(path)
    ... except sx.ModelFileError as refusal:
    ...     print("refused")
    refused
    """


def with_article(noun: str) -> str:
    """Return a noun with "a" or "an" before it; a u is taken as in unit.

    >>> with_article("occurrence"), with_article("unit of age"), with_article("OneVsRest")
    ('an occurrence', 'a unit of age', 'a OneVsRest')
    """
    vowel = noun[:1].lower() in ("a", "e", "i", "o") or noun.startswith("nd")  # ndarray
    return f"{'an' if vowel and not noun.startswith('One') else 'a'} {noun}"
