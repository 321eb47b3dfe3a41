"""One refusal of everything that is no certificate, whatever its reader stumbled on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from separatrix.checker import FORMAT, Refused

__all__ = ["opened"]

_STUMBLES = (
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    ValueError,
    MemoryError,
    RecursionError,
)


@contextmanager
def opened(text: str | dict[str, Any], *kinds: str) -> Iterator[dict[str, Any]]:
    """Give a certificate as plain data, of one of these kinds; what goes wrong inside is `Refused`.

    >>> with opened('{"format": "separatrix-certificate-1", "kind": "errors"}', "errors") as whole:
    ...     whole["claim"]
    Traceback (most recent call last):
    separatrix.checker.codec.Refused: not a well-formed certificate: KeyError 'claim'
    """
    try:
        whole = json.loads(text) if isinstance(text, str) else text
        if whole["format"] != FORMAT:
            raise Refused(f"the format must be {FORMAT!r}")
        if whole["kind"] not in kinds:
            raise Refused(f"the kind must be {' or '.join(kinds)}, and is {whole['kind']!r}")
        yield whole
    except Refused:
        raise
    except _STUMBLES as error:
        wrong = f"not a well-formed certificate: {type(error).__name__} {error}"
        raise Refused(wrong) from error
