"""Which kind of claim is checked by what, and what every certificate must say of its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (
    codec,
    errors,
    gaps,
    kernel_separation,
    kernels,
    many_classes,
    separation,
    squares,
    witnesses,
)
from .codec import Claim, Reader, Refused, refusing
from .exact import Data
from .labels import same_label

FORMAT = "separatrix-certificate-1"
# What checks a claim, the fields it must have, and those it may have.
CLAIMS: dict[str, tuple[Callable[[Data, Claim, bool], str], dict[str, Reader], dict[str, Reader]]]
CLAIMS = {
    "separation": (
        separation.check_separation, {}, {"weights": codec.vectors, "integers": codec.integers_of}
    ),
    "margin-bounds": (separation.check_margin_bounds, separation.BOUNDS, {}),
    "gordan": (witnesses.check_gordan, witnesses.WITNESS, {}),
    "overlap": (witnesses.check_overlap, witnesses.OVERLAP, {}),
    "quasi": (witnesses.check_quasi, witnesses.QUASI, {}),
    "errors": (
        errors.check_errors,
        errors.FIELDS,
        {"weights": codec.numbers, "integers": codec.integers_of},
    ),
    "duality-gap": (gaps.check_duality_gap, gaps.FIELDS, {}),
    "scaled-gap": (gaps.check_scaled_gap, gaps.SCALED, {}),
    "multiclass-gap": (
        many_classes.check_multiclass_gap, many_classes.FIELDS | many_classes.NAMED, {}
    ),
    "softmax-gap": (many_classes.check_softmax_gap, many_classes.FIELDS, {}),
    "kernel-gap": (kernels.check_kernel_gap, kernels.FIELDS, {}),
    "kernel-multiclass-gap": (kernels.check_kernel_multiclass_gap, kernels.DIRECT, {}),
    "kernel-separation": (
        kernel_separation.check_kernel_separation,
        kernel_separation.FIELDS,
        kernel_separation.BOUNDS,
    ),
    "kernel-overlap": (
        kernel_separation.check_kernel_overlap, kernel_separation.OVERLAP, {}
    ),
    "least-squares": (squares.check_least_squares, squares.LEAST_SQUARES, {}),
    "fisher": (squares.check_fisher, squares.FISHER, {}),
    "fisher-directions": (squares.check_fisher_directions, squares.DIRECTIONS, {}),
}  # fmt: skip
SCALED = "separation", "margin-bounds", "gordan", "overlap", "quasi"  # decimals times 10**k
TEXTS = codec.many(codec.text)
ABOUT: dict[str, Reader] = {"rows": codec.count, "features": codec.count, "intercept": codec.flag}
ABOUT |= {"classes": TEXTS, "sha256": codec.text}
OF_A_FILE: dict[str, Reader] = {"columns": TEXTS, "target": codec.text, "zero_based": codec.flag}
OF_A_FILE |= {"decimals": codec.counts}


def about(certificate: Any) -> Claim:
    """Return what a certificate says of its data, and its kind."""
    outer: dict[str, Reader]
    outer = {"format": codec.one_of(FORMAT), "kind": codec.one_of(*CLAIMS)}
    outer |= {"data": codec.anything, "claim": codec.anything}
    whole = Claim(certificate, "the certificate", outer)
    found = Claim(whole.data, "data", ABOUT, **OF_A_FILE)
    found.kind = whole.kind
    if found.decimals is not None and whole.kind not in SCALED:
        raise Refused(f"decimals: a {whole.kind} speaks of the numbers as they are stored")
    if any(places > 400 for places in found.decimals or []):
        raise Refused("decimals: no float has so many")
    return found


def opened(certificate: Any) -> tuple[Claim, Claim]:
    """Return what a certificate says of its data, and its claim, every field read by its rule."""
    described = about(certificate)
    _, fields, optional = CLAIMS[described.kind]
    return described, Claim(certificate["claim"], "the claim", fields, **optional)


def check(certificate: Any, data: Data) -> str:
    """Return what is proved, or raise `Refused`."""
    with refusing():
        described, claim = opened(certificate)
        data.refuse_disorder()
        if (described.rows, described.features) != (len(data.rows), data.n_features):
            raise Refused(
                f"the certificate speaks of {described.rows} rows and {described.features} "
                f"columns, and there are {len(data.rows)} and {data.n_features}"
            )
        _refuse_classes(described.classes, data)
        if described.kind == "scaled-gap":
            data = gaps.divided(data, claim.exponents)
        if described.sha256 != data.sha256():
            raise Refused("the certificate speaks of other data: the SHA-256 differs")
        said = CLAIMS[described.kind][0](data, claim, described.intercept)
        if described.kind == "margin-bounds" and described.decimals:
            said += " (of columns times powers of ten, as decimals says, not of those in the file)"
        return said


def _refuse_classes(names: list[str], data: Data) -> None:
    if len(names) != data.n_classes:
        raise Refused(f"the certificate names {len(names)} classes of {data.n_classes}")
    for name, found in zip(names, data.classes, strict=False):
        if not same_label(name, found):
            raise Refused(f"the certificate names the classes {names}; they are {data.classes}")
