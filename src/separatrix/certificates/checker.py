"""Checks a certificate against the data it speaks of. Trust this file, and nothing else need be.

    python checker.py certificate.json data

It uses the standard library alone and exact integers throughout: a float64 is an integer times a
power of two, so products and sums of floats are computed without rounding. It shares no code with
what found the claim. docs/certificates.md states the format and what each kind of claim means.
Exit code 0: the claim holds. 1: it does not. 2: usage. 3: a file cannot be read.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

FORMAT = "separatrix-certificate-1"

Row = tuple[Sequence[int], Sequence[float]]  # column numbers, ascending, and their non-zero values


class Refused(ValueError):
    """The certificate does not prove its claim; the message says where."""


@dataclass(frozen=True)
class Data:
    """Rows and class numbers, as exact as the stored floats."""

    rows: Sequence[Row]
    codes: Sequence[int]
    n_features: int
    n_classes: int

    def sha256(self) -> str:
        """Return the fingerprint of the data in canonical form (see docs/certificates.md)."""
        starts, indices, values = array("q", [0]), array("q"), array("d")
        for columns, entries in self.rows:
            indices.extend(columns)
            values.extend(entries)
            starts.append(len(indices))
        digest = hashlib.sha256(b"separatrix-data-1\n")
        shape = array("q", [len(self.rows), self.n_features, self.n_classes])
        for part in (shape, array("q", self.codes), starts, indices, values):
            if sys.byteorder == "big":
                part.byteswap()
            digest.update(part.tobytes())
        return digest.hexdigest()


def integers(values: Iterable[float]) -> tuple[list[int], int]:
    """Return integers m and one exponent e with value = m * 2**e, exactly.

    >>> integers([0.5, 3.0])
    ([1, 6], -1)
    """
    pairs = []
    for value in values:
        numerator, denominator = value.as_integer_ratio()  # NaN and infinities have none
        pairs.append((numerator, 1 - denominator.bit_length()))
    lowest = min((exponent for _, exponent in pairs), default=0)
    return [numerator << (exponent - lowest) for numerator, exponent in pairs], lowest


def margins(data: Data, weights: Sequence[Sequence[int]], intercept: bool) -> Iterable[Fraction]:
    """Yield every signed margin w.z exactly, in units of the weights' exponent.

    With several weight vectors, one for each class: the row's own class against every other.
    """
    for (columns, entries), code in zip(data.rows, data.codes, strict=True):
        (one, *values), exponent = integers([1.0, *entries])
        unit, bias = Fraction(2) ** exponent, one * intercept
        terms = list(zip(columns, values, strict=True))
        totals = [w[0] * bias + sum(w[1 + j] * x for j, x in terms) for w in weights]
        if len(weights) == 1:
            yield unit * (totals[0] if code == 1 else -totals[0])
        else:
            for other, total in enumerate(totals):
                if other != code:
                    yield unit * (totals[code] - total)


def check_separation(data: Data, claim: dict[str, Any], intercept: bool) -> str:
    """Claim: the weights put every row strictly on its own side."""
    weights, _ = read_weights(data, claim)
    for number, margin in enumerate(margins(data, weights, intercept)):
        if not margin > 0:
            raise Refused(f"signed row {number} is not strictly on its own side")
    return f"the weights separate all {len(data.rows)} rows strictly"


def check_margin_bounds(data: Data, claim: dict[str, Any], intercept: bool) -> str:
    """Claim: lower <= min_r w.z_r / |w|, and no hyperplane has a margin above upper.

    For every unit u: min_r u.z_r <= sum a_r u.z_r / sum a_r <= |sum a_r z_r| / sum a_r.
    """
    lower, upper = Fraction(float.fromhex(claim["lower"])), Fraction(float.fromhex(claim["upper"]))
    weights, exponent = read_weights(data, claim)
    square = Fraction(4) ** exponent * sum(value * value for w in weights for value in w)
    if not square or lower > upper:
        raise Refused("zero weights have no margin, and bounds may not cross")
    for number, margin in enumerate(margins(data, weights, intercept)):
        margin *= Fraction(2) ** exponent  # x |x| orders numbers as x does, without a root
        if margin * abs(margin) < lower * abs(lower) * square:
            raise Refused(f"signed row {number} has a margin below the lower bound")
    multipliers = [Fraction(float.fromhex(text)) for text in claim["multipliers"]]
    if any(m < 0 for m in multipliers) or not sum(multipliers) > 0:
        raise Refused("multipliers must be at least zero, and not all zero")
    total = combination(data, [int(row) for row in claim["rows"]], multipliers, intercept)
    if sum(value * value for value in total) > upper * abs(upper) * sum(multipliers) ** 2:
        raise Refused("the multipliers do not prove the upper bound")
    return f"the largest margin of any hyperplane lies in [{float(lower):.9g}, {float(upper):.9g}]"


def combination(
    data: Data, numbers: Sequence[int], multipliers: Sequence[Any], intercept: bool
) -> list[Fraction]:
    """Return the exact sum of multiplier times signed row."""
    if len(numbers) != len(multipliers) or len(set(numbers)) != len(numbers):
        raise Refused("rows and multipliers must be of one length, and no row named twice")
    rivals, length = max(1, data.n_classes - 1), 1 + data.n_features
    total = [Fraction(0)] * (length if data.n_classes == 2 else length * data.n_classes)
    for number, multiplier in zip(numbers, multipliers, strict=True):
        if not 0 <= number < len(data.rows) * rivals:
            raise Refused(f"there is no signed row {number}")
        sample, other = divmod(number, rivals)
        code = data.codes[sample]
        blocks = [(0, multiplier if code == 1 else -multiplier)]
        if data.n_classes != 2:
            other += other >= code
            blocks = [(code * length, multiplier), (other * length, -multiplier)]
        for begin, step in blocks:
            total[begin] += step * intercept
            for j, x in zip(*data.rows[sample], strict=True):
                total[begin + 1 + j] += step * Fraction(x)
    return total


def check_gordan(data: Data, claim: dict[str, Any], intercept: bool) -> str:
    """Claim: positive multiples of some rows sum to zero; so no w puts all of them off."""
    multipliers = [int(text, 16) for text in claim["multipliers"]]
    if data.n_classes != 2 or not multipliers or min(multipliers) <= 0:
        raise Refused("a witness needs two classes and positive multipliers")
    if any(combination(data, claim["rows"], multipliers, intercept)):
        raise Refused("the multiples of the rows do not sum to zero")
    return f"no hyperplane strictly separates these {len(multipliers)} rows, nor all of the data"


def check_partition(data: Data, claim: dict[str, Any], intercept: bool, quasi: bool) -> str:
    """Claim: a row of margin 0 has margin 0 for every w that leaves no margin negative.

    For positive multiples of these rows sum to zero: those named and, each taken `others` times,
    the rest; or, if others is 0, those named alone, which are all of them or of full rank.
    """
    width = 1 + data.n_features
    vectors, _ = read_weights(data, claim if quasi else {"integers": ["0"] * width})
    signs = [(margin > 0) - (margin < 0) for margin in margins(data, vectors, intercept)]
    tight = {number for number, sign in enumerate(signs) if sign == 0}
    named, rest = claim["rows"], sorted(tight.difference(claim["rows"]))
    if min(signs) < 0 or quasi != (1 in signs) or not tight.issuperset(named):
        raise Refused("the margins are not those of such a claim")
    if int(claim["others"], 16):
        common = [claim["others"]] * len(rest)
        claim = {"rows": named + rest, "multipliers": claim["multipliers"] + common}
    elif rest and (quasi or rank(data, named, intercept) < data.n_features + intercept):
        raise Refused("the named rows do not span the others")
    check_gordan(data, claim, intercept)
    those = f"{len(tight)} are" if quasi else "all (the classes overlap) are"
    return f"of {len(signs)} rows, {those} on the boundary whenever none is beyond it"


def rank(data: Data, numbers: Iterable[int], intercept: bool) -> int:
    """Return the rank of some rows modulo a prime: never more than their rank."""
    prime, found, left = 2**61 - 1, 0, []
    for columns, entries in (data.rows[number] for number in numbers):
        values, _ = integers([float(intercept), *entries])
        left.append(dict(zip([-1, *columns], values, strict=True)))
    while left:
        row = {j: x % prime for j, x in left.pop().items() if x % prime}
        found += bool(row)
        for other in left if row else []:
            pivot = next(iter(row))
            factor = other.get(pivot, 0) * pow(row[pivot], -1, prime) % prime
            for j, x in row.items():
                other[j] = (other.get(j, 0) - factor * x) % prime
    return found


CLAIMS = {"separation": check_separation, "margin-bounds": check_margin_bounds}
CLAIMS["gordan"] = check_gordan
CLAIMS |= {kind: partial(check_partition, quasi=kind == "quasi") for kind in ("overlap", "quasi")}


def check(certificate: dict[str, Any], data: Data) -> str:
    """Return what is proved, or raise `Refused`."""
    try:
        if certificate["format"] != FORMAT or certificate["kind"] not in CLAIMS:
            raise Refused(f"the format must be {FORMAT!r}, the kind one of {', '.join(CLAIMS)}")
        about = certificate["data"]
        if about["sha256"] != data.sha256():
            raise Refused("the certificate speaks of other data: the SHA-256 differs")
        if type(about["intercept"]) is not bool:
            raise Refused("intercept must be true or false")
        if any(a >= b for j, _ in data.rows for a, b in pairwise([-1, *j, data.n_features])):
            raise Refused("columns must be named once, in order, and be columns of the data")
        return CLAIMS[certificate["kind"]](data, certificate["claim"], about["intercept"])
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        wrong = f"not a well-formed certificate: {type(error).__name__} {error}"
        raise (error if isinstance(error, Refused) else Refused(wrong)) from None


def read_weights(data: Data, claim: dict[str, Any]) -> tuple[list[list[int]], int]:
    """Return the weight vectors as integers with one common exponent."""
    wanted, length = (1 if data.n_classes == 2 else data.n_classes), 1 + data.n_features
    if "integers" in claim:  # longer than floats can be
        flat, exponent = [int(text, 16) for text in claim["integers"]], 0
    else:
        flat, exponent = integers(float.fromhex(x) for row in claim["weights"] for x in row)
    if len(flat) != wanted * length:
        raise Refused(f"the weights must be {wanted} x {length} numbers")
    return [flat[k * length : (k + 1) * length] for k in range(wanted)], exponent


def same_label(written: str, name: str) -> bool:
    """Whether a label in a file means a class: the same text, or the same number."""
    try:
        return written == name or float(written) == float(name)
    except ValueError:
        return False


def read_data(path: str, about: dict[str, Any]) -> Data:
    """Read LIBSVM text, or a CSV whose columns are numbers, as the certificate describes it."""
    classes, decimals = [str(name) for name in about["classes"]], about.get("decimals")
    read = read_csv if "columns" in about else read_libsvm
    rows, codes = list[Row](), list[int]()
    with open(path, encoding="utf-8", newline="") as file:
        for label, pairs in read(file, about):
            known = [code for code, name in enumerate(classes) if same_label(label, name)]
            if not known:
                raise Refused(f"row {len(rows)}: the label {label!r} is none of {classes}")
            kept = sorted((j, number(text, decimals and decimals[j])) for j, text in pairs)
            rows.append(([j for j, x in kept if x], [x for _, x in kept if x]))
            codes.append(known[0])
    return Data(rows, codes, int(about["features"]), len(classes))


def number(text: str, places: int | None) -> float:
    """Read a float; or a decimal times 10**places, which must be an integer that a float holds."""
    if places is None:
        return float(text)
    value = Fraction(text) * 10**places
    if value.denominator != 1 or abs(value) > 2**53:
        raise Refused(f"{text} times 10**{places} is not an integer below 2**53")
    return float(value)


def read_libsvm(lines: Iterable[str], about: dict[str, Any]) -> Iterable[Any]:
    """Yield the label and the (column, text) pairs of each line ``label index:value ...``."""
    for words in (line.split("#", 1)[0].split() for line in lines):
        pairs = [word.split(":", 1) for word in words[1:] if not word.startswith("qid:")]
        if words:
            yield words[0], [(int(j) - (not about.get("zero_based")), x) for j, x in pairs]


def read_csv(lines: Iterable[str], about: dict[str, Any]) -> Iterable[Any]:
    """Yield the label and the (column, text) pairs of each record."""
    for record in csv.DictReader(lines):
        yield record[about["target"]], [(j, record[n]) for j, n in enumerate(about["columns"])]


def main(arguments: Sequence[str]) -> int:
    """Check one certificate against one data file."""
    if len(arguments) != 2:
        print("usage: python checker.py certificate.json data", file=sys.stderr)
        return 2
    try:
        certificate = json.loads(Path(arguments[0]).read_text("utf-8"))
        print("proved:", check(certificate, read_data(arguments[1], certificate["data"])))
    except Refused as reason:
        print("refused:", reason)
        return 1
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"cannot be read: {type(error).__name__} {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
