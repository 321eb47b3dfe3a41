"""The proof of a certificate file of any kind, from arrays: which check serves for which kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix import checker
from separatrix.certificates.reading import VERDICTS, from_json
from separatrix.checker import Refused
from separatrix.checker.fingerprint import is_fingerprint
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.problem.exact import times_powers_of_ten

NOT_THESE = "the claim does not hold for these data"
_ENTRIES = 2_000_000
_BY_CHECKER = (*VERDICTS, "margin-bounds", "gordan", "least-squares", "fisher", "fisher-directions")


def prove_again(whole: Any, X: Any, labels: Any) -> str:
    """Return what is proved, in a sentence; raise `Refused` where it is not.

    Verdicts and margins are checked by `separatrix.checker`; for large data by the same check in
    NumPy with exact integers. The others are checked as docs/certificates.md says.
    """
    about = checker.about(whole)
    _require_about(about, X, labels)
    is_large = getattr(X, "nnz", X.size) > _ENTRIES
    if about.kind not in _BY_CHECKER or (is_large and about.kind in VERDICTS):
        proof = from_json(whole)
        if not proof.check(X, labels):
            raise Refused(NOT_THESE)
        if about.kind in VERDICTS:
            return f"{about.kind}, checked on {X.shape[0]} rows"
        return str(proof).removeprefix("proved: ")
    if about.decimals:
        try:
            X = times_powers_of_ten(problem_from(X, labels, True).X, tuple(about.decimals))
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from error
    return checker.check(whole, as_checker_data(problem_from(X, labels, about.intercept)))


def _require_about(about: Any, X: Any, labels: Any) -> None:
    """Refuse what a certificate says of its data where it is not so, whatever its kind claims."""
    names = [str(name) for name in np.unique(np.asarray(labels))]
    if about.classes != names:
        raise Refused(f"the certificate is about other classes than {', '.join(names[:8])}")
    for name, found in zip(("rows", "features"), X.shape, strict=True):
        if getattr(about, name) != found:
            raise Refused(f"the certificate is about another number of {name} than {found}")
    if not is_fingerprint(about.sha256):
        raise Refused("the certificate does not name its data by a SHA-256")
