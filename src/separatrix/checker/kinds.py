"""Which kind of claim is checked by what, and what every certificate must say of its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .codec import Claim, Refused, anything, count, counts, flag, many, one_of, text
from .errors import check_errors
from .exact import Data
from .gaps import check_duality_gap, check_scaled_gap, divided
from .kernels import check_kernel_gap, check_kernel_multiclass_gap
from .labels import same_label
from .many_classes import check_multiclass_gap, check_softmax_gap
from .separation import check_margin_bounds, check_separation
from .witnesses import check_gordan, check_overlap, check_quasi

FORMAT = "separatrix-certificate-1"
CLAIMS: dict[str, Callable[[Data, Any, bool], str]] = {
    "separation": check_separation,
    "margin-bounds": check_margin_bounds,
    "gordan": check_gordan,
    "overlap": check_overlap,
    "quasi": check_quasi,
    "errors": check_errors,
    "duality-gap": check_duality_gap,
    "scaled-gap": check_scaled_gap,
    "multiclass-gap": check_multiclass_gap,
    "softmax-gap": check_softmax_gap,
    "kernel-gap": check_kernel_gap,
    "kernel-multiclass-gap": check_kernel_multiclass_gap,
}
SCALED = "separation", "margin-bounds", "gordan", "overlap", "quasi"  # decimals times 10**k
MAY_BE_UNNAMED = (
    "duality-gap",
    "scaled-gap",
    "multiclass-gap",
    "softmax-gap",
    "kernel-multiclass-gap",
)
ABOUT = {"rows": count, "features": count, "intercept": flag, "classes": many(text)}
ABOUT |= {"sha256": text}
OF_A_FILE = {"columns": many(text), "target": text, "zero_based": flag, "decimals": counts}


def about(certificate: Any) -> Claim:
    """Return what a certificate says of its data."""
    outer = {"format": one_of(FORMAT), "kind": one_of(*CLAIMS), "data": anything, "claim": anything}
    whole = Claim(certificate, "the certificate", outer)
    found = Claim(whole.data, "data", ABOUT, **OF_A_FILE)
    if found.decimals is not None and whole.kind not in SCALED:
        raise Refused(f"decimals: a {whole.kind} speaks of the numbers as they are stored")
    if any(places > 400 for places in found.decimals or []):
        raise Refused("decimals: no float has so many")
    return found


def check(certificate: Any, data: Data) -> str:
    """Return what is proved, or raise `Refused`."""
    try:
        described = about(certificate)
        kind, claim = certificate["kind"], certificate["claim"]
        data.refuse_disorder()
        if (described.rows, described.features) != (len(data.rows), data.n_features):
            raise Refused(
                f"the certificate speaks of {described.rows} rows and {described.features} "
                f"columns, and there are {len(data.rows)} and {data.n_features}"
            )
        _refuse_classes(described.classes, data)
        if kind == "scaled-gap":
            data = divided(data, claim)
        named = described.sha256 or kind not in MAY_BE_UNNAMED
        if named and described.sha256 != data.sha256():
            raise Refused("the certificate speaks of other data: the SHA-256 differs")
        said = CLAIMS[kind](data, claim, described.intercept)
        if kind == "margin-bounds" and described.decimals:
            said += " (of columns times powers of ten, as decimals says, not of those in the file)"
        return said
    except RecursionError:
        raise Refused("the certificate is nested too deeply") from None
    except Refused:
        raise
    except (ArithmeticError, ValueError, MemoryError) as error:
        raise Refused(f"not a well-formed certificate: {type(error).__name__} {error}") from None


def _refuse_classes(names: list[str], data: Data) -> None:
    if len(names) != data.n_classes:
        raise Refused(f"the certificate names {len(names)} classes of {data.n_classes}")
    for name, found in zip(names, data.classes, strict=False):
        if not same_label(name, found):
            raise Refused(f"the certificate names the classes {names}; they are {data.classes}")
