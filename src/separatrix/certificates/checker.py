"""The names of `separatrix.checker` under the place where they were."""

from separatrix.checker import CLAIMS, FORMAT, Data, Refused, Row, check, integers, margins

__all__ = ["CLAIMS", "FORMAT", "Data", "Refused", "Row", "check", "integers", "margins"]
