"""Does the multinomial likelihood have a maximum? Separation of several classes, with its proof.

    separable        some weights give every row's own class the highest score, strictly
    quasi-separable  none do, but some give no class a higher score, and some class a lower one
    overlapping      weights that give no class a higher score give every class the same score

The likelihood has a maximum exactly if the classes overlap (Albert and Anderson 1984). Kesler's
construction makes this a question about two classes (`two_classes_of`), which is decided exactly.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.checker.codec import Claim, anything, flag, many, parsed, refusing, require
from separatrix.checker.codec import text as words
from separatrix.core.separability import decided_rows
from separatrix.core.verdict import Verdict, claimed, coefficient_names
from separatrix.problem.signed import as_matrix, two_classes_of

FORMAT = "separatrix-class-verdict-1"
_SIDES = ("earlier", "later")
_MOST_WORK = 20_000_000  # rows x columns x columns: beyond, signs of coefficients take minutes
_FIELDS = {"format": words, "classes": many(words), "intercept": flag, "on_pairs": anything}
_WORDS = {
    "separable": "Separable: one weight vector a class gives all {rows} rows their own class "
    "strictly.",
    "quasi-separable": "Quasi-separable: weights give no row a class above its own, and some rows "
    "some class below it; no weights do so for all.",
    "overlapping": "Overlapping: no weights give some row a class below its own without giving "
    "another one above its own.",
    "undecided": "Undecided: no weights were found that separate the classes, and no proof that "
    "there are none.",
}


class ClassVerdict:
    """Whether weights, one vector a class, separate several classes, proved.

    Attributes
    ----------
    kind : "separable", "quasi-separable", "overlapping" or "undecided"
    weights, intercept : arrays, a row and a number a class; None where the classes overlap
        Weights that separate, of which those of the first class are 0.
    infinite : array, classes but the first x [intercept, features]
        Where the coefficients of each class against the first run without a penalty: -inf, 0
        (finite), +inf; words and NaN as in `Verdict.infinite`. None where it would take minutes.
    on_pairs : Verdict
        The verdict on Kesler's two classes: a row for each row and each class but its own, of
        ``[1, x]`` in the block of the later class of the two and ``-[1, x]`` in that of the earlier
        one, labelled by which of them the row has.
    classes : tuple of str

    Examples
    --------
    >>> import warnings
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "c", "b"]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = sx.LogisticRegression(C=float("inf")).fit(X, y)
    >>> model.verdict_.kind, model.verdict_.infinite.tolist(), model.verdict_.check(X, y)
    ('quasi-separable', [[-inf, inf], [-inf, inf]], True)
    """

    def __init__(self, on_pairs: Verdict, classes: tuple[str, ...], intercept: bool) -> None:
        self.on_pairs, self.classes, self.fit_intercept = on_pairs, classes, intercept

    @property
    def kind(self) -> str:
        """Which it is."""
        return self.on_pairs.kind

    @property
    def certificate(self) -> Any:
        """The proof, about Kesler's rows."""
        return self.on_pairs.certificate

    @property
    def weights(self) -> np.ndarray | None:
        """Weights that separate, a row a class."""
        found = self._by_class(self.on_pairs.weights)
        return None if found is None else found[:, 1:]

    @property
    def intercept(self) -> np.ndarray | None:
        """The intercepts of `weights`, one a class."""
        found = self._by_class(self.on_pairs.weights)
        return None if found is None else found[:, 0]

    @property
    def infinite(self) -> np.ndarray | None:
        """Where the coefficients of each class against the first run."""
        infinite = self.on_pairs.infinite
        found = None if infinite is None else self._by_class(infinite[1:])
        return None if found is None else found[1:]

    def _by_class(self, stacked: np.ndarray | None) -> np.ndarray | None:
        """Return numbers of classes but the first as a row [intercept, features] a class."""
        if stacked is None:
            return None
        table = stacked.reshape(len(self.classes) - 1, -1)
        if not self.fit_intercept:
            table = np.column_stack([np.zeros(len(table), dtype=table.dtype), table])
        return np.vstack([np.zeros((1, table.shape[1]), dtype=table.dtype), table])

    def coefficients(self, names: Any = None) -> list[tuple[str, Any]]:
        """Return what `infinite` says of every coefficient, with its name."""
        if self.infinite is None:
            return []
        found = []
        for name, row in zip(self.classes[1:], self.infinite.tolist(), strict=True):
            for label, value in zip(coefficient_names(len(row), names), row, strict=True):
                found.append((f"{label} of {name} against {self.classes[0]}", value))
        return found

    def check(self, X: Any, y: Any) -> bool:
        """Prove the verdict again from the data, exactly."""
        proof = self.certificate
        # A bias over Kesler's pairs, or their decimals, is nothing that weights of classes have.
        if proof is None or proof.intercept is not False or getattr(proof, "decimals", None):
            return False
        names, codes = np.unique(np.asarray(y), return_inverse=True)
        if tuple(str(name) for name in names) != self.classes or len(names) < 2:
            return False
        problem = two_classes_of(as_matrix(X), codes, len(names), self.fit_intercept)
        return self.on_pairs.check(problem.X, _labels(problem.signs))

    def __str__(self) -> str:
        """Say the verdict in words; of one from a file, that it is claimed there."""
        said = _WORDS[self.kind].format(rows=self.on_pairs.n_rows // (len(self.classes) - 1))
        return claimed(said) if self.on_pairs.is_read else said

    def __repr__(self) -> str:
        """Return kind and classes."""
        return f"ClassVerdict({self.kind!r}, {len(self.classes)} classes)"

    def __bool__(self) -> bool:
        """Refuse to be taken for a yes: three answers do not fit into two."""
        raise TypeError("a verdict is not true or false: ask verdict.kind == 'separable'")

    def to_json(self) -> str:
        """Write the verdict with its certificate."""
        whole = {
            "format": FORMAT,
            "classes": list(self.classes),
            "intercept": self.fit_intercept,
            "on_pairs": json.loads(self.on_pairs.to_json()),
        }
        return json.dumps(whole, indent=1)

    @classmethod
    def from_json(cls, text: str) -> ClassVerdict:
        """Read a verdict; ``check(X, y)`` says whether its proof holds."""
        with refusing():
            whole = parsed(text)
            require(
                type(whole) is dict and whole.get("format") == FORMAT,
                f"not a verdict: the format must be {FORMAT!r}",
            )
            said = Claim(whole, "the verdict", _FIELDS)
            require(len(said.classes) > 1, "a verdict speaks of two classes or more")
            on_pairs = Verdict.from_json(json.dumps(said.on_pairs))
        return cls(on_pairs, tuple(said.classes), said.intercept)


def class_verdict_of(
    X: Any, codes: np.ndarray, classes: tuple[str, ...], intercept: bool
) -> ClassVerdict:
    """Decide whether weights separate several classes, all of which have rows."""
    problem = two_classes_of(as_matrix(X), codes, len(classes), intercept)
    decision = decided_rows(problem, _SIDES)
    if problem.n_samples * problem.X.shape[1] ** 2 > _MOST_WORK:
        decision = replace(decision, infinite=None)
    return ClassVerdict(Verdict(**vars(decision)), classes, intercept)


def _labels(signs: np.ndarray) -> np.ndarray:
    return np.where(signs > 0.0, _SIDES[1], _SIDES[0])
