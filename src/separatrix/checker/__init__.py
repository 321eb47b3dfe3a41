"""Checks a certificate against the data it speaks of. Trust this folder, and nothing else need be.

    python -m separatrix.checker certificate.json data.csv --target class

It uses the standard library alone and shares no code with what found the claim. A float64 is an
integer times a power of two, so products and sums of floats are computed without rounding; exp and
log are enclosed in integers. docs/certificates.md states the format and what each kind means.
"""

from .codec import Refused
from .exact import Data, Row, integers, margins
from .kinds import CLAIMS, FORMAT, NO_INTERCEPT, about, check, posed

__all__ = ["CLAIMS", "FORMAT", "NO_INTERCEPT", "Data", "Refused", "Row", "about", "check"]
__all__ += ["integers", "margins", "posed"]
