"""Every kind of claim: what checks it, its fields, and what all say of their data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import codec, gaps, inference, kernels, separation, sparse, squares
from .codec import VERIFY, Claim, Reader, Refused, refusing, require, same_label
from .exact import Data

FORMAT = "separatrix-certificate-1"
COUNTS, TEXTS = codec.many(codec.count), codec.many(codec.text)
INTEGERS, NUMBERS = codec.many(codec.integer), codec.many(codec.number)
VECTORS = codec.many(NUMBERS)
# How a field is read, whatever the kind; all others are numbers, or are read as their kind says.
READERS: dict[str, Reader] = {"rows": COUNTS, "rivals": COUNTS, "costs": codec.many(codec.cost)}
READERS |= {"multipliers": NUMBERS, "biases": NUMBERS, "shares": NUMBERS, "weights": VECTORS}
READERS |= {"directions": VECTORS, "integers": INTEGERS, "others": codec.integer}
READERS |= {"positive": codec.count, "negative": codec.whole, "curved": codec.flag}
READERS |= {"smallest": codec.share, "right": codec.count, "errors": codec.count}
READERS |= {"unit": INTEGERS, "sample_weight_sha256": codec.text, "tree": separation.cases}
READERS |= {"by": codec.one_of("witnesses", "cells", "nothing")}
READERS |= {"loss": codec.one_of("hinge", "squared_hinge", "logistic")}
READERS |= {"exponents": codec.many(codec.whole)}


class Kind(NamedTuple):
    """What checks a claim, its fields in their order, and which of them may be absent."""

    check: Callable[[Data, Claim, bool], str]
    fields: dict[str, Reader]
    optional: frozenset[str]


def fields(names: str, **readers: Reader) -> dict[str, Reader]:
    """Return the fields of these names, with their readers."""
    known = READERS | readers
    return {name: known.get(name, codec.number) for name in names.split()}


def _kind(check: Any, names: str, **readers: Reader) -> Kind:
    """Return the kind of these fields; the name of one that may be absent ends in "?"."""
    optional = frozenset(name[:-1] for name in names.split() if name.endswith("?"))
    return Kind(check, fields(names.replace("?", ""), **readers), optional)


KERNELS = codec.one_of("linear", "poly", "rbf", "sigmoid", "precomputed", "callable")
KERNEL = fields("name gamma degree coef0", name=KERNELS, degree=codec.count)
READERS["kernel"] = codec.record("the kernel", KERNEL)
WITNESS = fields("rows multipliers", multipliers=INTEGERS)
READERS["witnesses"] = codec.many(codec.record("a witness", WITNESS))
MODEL = "loss positive costs bias_penalty ridge weights rows multipliers primal dual"
GAP = _kind(gaps.check_duality_gap, MODEL, weights=NUMBERS)
READERS["machines"] = codec.many(codec.record("a model", GAP.fields))
COEFFICIENT = fields(
    "estimate std_error lower upper lr p_value null lower_point upper_point direction runs_down "
    "runs_up"
)
COEFFICIENT |= dict.fromkeys(list(COEFFICIENT)[:9], NUMBERS)
COEFFICIENT |= dict.fromkeys(list(COEFFICIENT)[9:], INTEGERS)
CLAIMS = {
    "separation": _kind(separation.check_separation, "weights? integers?"),
    "margin-bounds": _kind(separation.check_margin_bounds, "weights lower upper rows multipliers"),
    "gordan": _kind(separation.check_gordan, "rows multipliers", **WITNESS),
    "overlap": _kind(separation.check_overlap, "rows multipliers others", **WITNESS),
    "quasi": _kind(separation.check_quasi, "rows multipliers others integers", **WITNESS),
    "errors": _kind(
        separation.check_errors,
        "errors lower unit sample_weight_sha256 weights? integers? by witnesses tree",
        weights=NUMBERS,
        lower=codec.count,
    ),
    "duality-gap": GAP,
    "sparse-gap": _kind(
        sparse.check_sparse_gap,
        "loss positive costs l1 ridge weights rows multipliers share zeros groups? primal dual",
        weights=NUMBERS,
        zeros=COUNTS,
        groups=COUNTS,
    ),
    "scaled-gap": _kind(gaps.check_scaled_gap, "exponents machines"),
    "multiclass-gap": _kind(
        gaps.check_multiclass_gap, "costs bias_penalty weights primal dual rows rivals multipliers"
    ),
    "softmax-gap": _kind(gaps.check_softmax_gap, "costs bias_penalty ridge? weights primal dual"),
    "sparse-softmax-gap": _kind(
        sparse.check_sparse_softmax_gap,
        "costs l1 ridge weights share zeros groups? primal dual",
        zeros=COUNTS,
        groups=COUNTS,
    ),
    "kernel-gap": _kind(
        kernels.check_kernel_gap,
        "kernel positive negative costs bias rows multipliers curved smallest primal dual "
        "violation",
    ),
    "kernel-multiclass-gap": _kind(
        kernels.check_kernel_multiclass_gap,
        "kernel costs biases rows rivals multipliers smallest primal dual",
    ),
    "kernel-separation": _kind(
        kernels.check_kernel_separation, "kernel bias rows shares right lower? upper?"
    ),
    "kernel-overlap": _kind(
        kernels.check_kernel_overlap, "kernel positive negative rows multipliers margin"
    ),
    "least-squares": _kind(squares.check_least_squares, "ridge weights objective least gap"),
    "fisher": _kind(squares.check_fisher, "weights ratio bound", weights=NUMBERS),
    "fisher-directions": _kind(
        squares.check_fisher_directions,
        "weights lower upper moved directions",
        lower=NUMBERS,
        upper=NUMBERS,
    ),
    "inference": _kind(
        inference.check_inference,
        "method level C quantile columns point direction maximum coefficients",
        method=codec.one_of("mle", "firth", "ridge"),
        columns=COUNTS,
        point=NUMBERS,
        direction=INTEGERS,
        maximum=codec.one_of("global", "local"),
        coefficients=codec.many(codec.record("a coefficient", COEFFICIENT)),
    ),
}
NO_INTERCEPT = " (through the origin: no intercept)"
POSED = ["method", "level", "C", "loss", "costs", "l1", "ridge", "bias_penalty", "kernel"]
POSED += ["positive", "negative"]
SCALED = "separation", "margin-bounds", "gordan", "overlap", "quasi"  # decimals times 10**k
OUTER: dict[str, Reader] = {"format": codec.one_of(FORMAT), "kind": codec.one_of(*CLAIMS)}
OUTER |= {"data": codec.anything, "claim": codec.anything}
ABOUT: dict[str, Reader] = {"rows": codec.count, "features": codec.count, "intercept": codec.flag}
ABOUT |= {"classes": TEXTS, "sha256": codec.text}
OF_A_FILE: dict[str, Reader] = {"columns": TEXTS, "target": codec.text, "zero_based": codec.flag}
OF_A_FILE |= {"decimals": COUNTS}


@refusing()
def about(certificate: Any) -> Claim:
    """Return what a certificate says of its data, and its kind."""
    whole = Claim(certificate, "the certificate", OUTER)
    found = Claim(whole.data, "data", ABOUT | OF_A_FILE, OF_A_FILE)
    found.kind = whole.kind
    if found.decimals is not None and whole.kind not in SCALED:
        raise Refused(f"decimals: a {whole.kind} speaks of the numbers as they are stored")
    require(max(found.decimals or [0]) <= 400, "decimals: no float has so many")
    return found


def opened(certificate: Any) -> tuple[Claim, Claim]:
    """Return what a certificate says of its data, and its claim, every field read by its rule."""
    described = about(certificate)
    kind = CLAIMS[described.kind]
    return described, Claim(certificate["claim"], "the claim", kind.fields, kind.optional)


def posed(certificate: Any) -> list[str]:
    """Return the settings that a proved claim speaks of, in a line for each model."""
    described, claim = opened(certificate)
    models = claim.machines if described.kind == "scaled-gap" else [claim]
    said = [
        [_setting(name, getattr(model, name, None), described) for name in POSED]
        for model in models
    ]
    return [f"model: {', '.join(filter(None, line))}" for line in said if any(line)]


def _setting(name: str, value: Any, described: Claim) -> str:
    if value is None or (name == "negative" and value < 0):
        return ""
    if name in ("positive", "negative"):
        return f"{name} class {described.classes[value]!r}"
    if name == "costs":
        least, most = min(value), max(value)
        value = f"{least}" if least == most else f"{least} to {most}"
    elif name == "kernel":
        value = ", ".join(f"{each} {getattr(value, each)}" for each in KERNEL).removeprefix("name ")
    return f"{name.replace('_', ' ')} {value}"


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
        if described.sha256 != data.fingerprint(described.sha256):
            raise Refused("the certificate speaks of other data: the SHA-256 differs")
        said = CLAIMS[described.kind].check(data, claim, described.intercept)
        if described.kind == "margin-bounds" and described.decimals:
            said += " (of columns times powers of ten, as decimals says, not of those in the file)"
        if not described.intercept and not described.kind.startswith("fisher"):
            said += NO_INTERCEPT
        return said


def _refuse_classes(names: list[str], data: Data) -> None:
    require(data.n_classes > 1, "there must be two classes or more")
    if len(names) != data.n_classes:
        raise Refused(f"the certificate names {len(names)} classes of {data.n_classes}")
    if not all(map(same_label, names, data.classes)):
        found = f"they are {data.classes}; {VERIFY}"
        raise Refused(f"the certificate names the classes {names}; {found}")
