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
import math
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
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


# ---- exact arithmetic


def integers(values: Iterable[float]) -> tuple[list[int], int]:
    """Return integers m and one exponent e with value = m * 2**e, exactly.

    >>> integers([0.5, 3.0])
    ([1, 6], -1)
    """
    pairs = []
    for value in values:
        if not math.isfinite(value):
            raise Refused(f"{value} is not a finite number")
        numerator, denominator = value.as_integer_ratio()
        pairs.append((numerator, 1 - denominator.bit_length()))
    lowest = min((exponent for _, exponent in pairs), default=0)
    return [numerator << (exponent - lowest) for numerator, exponent in pairs], lowest


def scores(row: Row, weights: Sequence[Sequence[int]], intercept: bool) -> tuple[list[int], int]:
    """Return each weight vector's exact score of a row, as integers times one power of two."""
    columns, entries = row
    values, exponent = integers([1.0, *entries])
    bias = values[0] if intercept else 0
    return [
        w[0] * bias + sum(w[1 + j] * x for j, x in zip(columns, values[1:], strict=True))
        for w in weights
    ], exponent


def margins(data: Data, weights: Sequence[Sequence[int]], intercept: bool) -> Iterable[Fraction]:
    """Yield every signed margin w.z exactly, in units of the weights' exponent.

    One weight vector: class 1 has positive scores, class 0 negative ones. Several, one for each
    class: the row's own class against every other.
    """
    for row, code in zip(data.rows, data.codes, strict=True):
        totals, exponent = scores(row, weights, intercept)
        unit = Fraction(2) ** exponent
        if len(weights) == 1:
            yield unit * (totals[0] if code == 1 else -totals[0])
        else:
            for other, total in enumerate(totals):
                if other != code:
                    yield unit * (totals[code] - total)


# ---- the claims


def check_separation(data: Data, claim: dict[str, Any], intercept: bool) -> str:
    """Claim: the weights put every row strictly on its own side."""
    weights, _ = read_weights(data, claim)
    for number, margin in enumerate(margins(data, weights, intercept)):
        if not margin > 0:
            raise Refused(f"signed row {number} is not strictly on its own side")
    return f"the weights separate all {len(data.rows)} rows strictly"


def check_margin_bounds(data: Data, claim: dict[str, Any], intercept: bool) -> str:
    """Claim: lower <= min_r w.z_r / |w|, and no hyperplane has a margin above upper.

    The second follows from multipliers a_r >= 0, not all zero: every unit u has
    min_r u.z_r <= sum a_r u.z_r / sum a_r <= |sum a_r z_r| / sum a_r.
    """
    lower, upper = Fraction(read_float(claim["lower"])), Fraction(read_float(claim["upper"]))
    weights, exponent = read_weights(data, claim)
    square = Fraction(4) ** exponent * sum(value * value for w in weights for value in w)
    for number, margin in enumerate(margins(data, weights, intercept)):
        margin *= Fraction(2) ** exponent
        if signed_square(margin) < signed_square(lower) * square:
            raise Refused(f"signed row {number} has a margin below the lower bound")
    multipliers = [Fraction(read_float(text)) for text in claim["multipliers"]]
    if any(m < 0 for m in multipliers) or not sum(multipliers) > 0:
        raise Refused("multipliers must be at least zero, and not all zero")
    total = combination(data, [int(row) for row in claim["rows"]], multipliers, intercept)
    if sum(value * value for value in total) > signed_square(upper) * sum(multipliers) ** 2:
        raise Refused("the multipliers do not prove the upper bound")
    return f"the largest margin of any hyperplane lies in [{float(lower):.9g}, {float(upper):.9g}]"


def signed_square(value: Fraction) -> Fraction:
    """Return value * |value|: it orders numbers as they are ordered, without a root."""
    return value * abs(value)


def combination(
    data: Data, numbers: Sequence[int], multipliers: Sequence[Fraction], intercept: bool
) -> list[Fraction]:
    """Return the exact sum of multiplier times signed row."""
    if len(numbers) != len(multipliers) or len(set(numbers)) != len(numbers):
        raise Refused("rows and multipliers must be of one length, and no row named twice")
    rivals = max(1, data.n_classes - 1)
    length = 1 + data.n_features
    total = [Fraction(0)] * (length if data.n_classes == 2 else length * data.n_classes)
    for number, multiplier in zip(numbers, multipliers, strict=True):
        if not 0 <= number < len(data.rows) * rivals:
            raise Refused(f"there is no signed row {number}")
        sample, other = divmod(number, rivals)
        code = data.codes[sample]
        columns, entries = data.rows[sample]
        if data.n_classes == 2:
            blocks = [(0, multiplier if code == 1 else -multiplier)]
        else:
            other += other >= code
            blocks = [(code * length, multiplier), (other * length, -multiplier)]
        for begin, step in blocks:
            total[begin] += step * intercept
            for j, x in zip(columns, entries, strict=True):
                total[begin + 1 + j] += step * Fraction(x)
    return total


CLAIMS = {"separation": check_separation, "margin-bounds": check_margin_bounds}


def check(certificate: dict[str, Any], data: Data) -> str:
    """Return what is proved, or raise `Refused`."""
    try:
        if certificate["format"] != FORMAT:
            raise Refused(f"the format must be {FORMAT!r}")
        about = certificate["data"]
        if about["sha256"] != data.sha256():
            raise Refused("the certificate speaks of other data: the SHA-256 differs")
        if certificate["kind"] not in CLAIMS:
            raise Refused(f"no claim of the kind {certificate['kind']!r} is known")
        if type(about["intercept"]) is not bool:
            raise Refused("intercept must be true or false")
        return CLAIMS[certificate["kind"]](data, certificate["claim"], about["intercept"])
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise Refused(f"not a well-formed certificate: {type(error).__name__} {error}") from error


def read_float(text: str) -> float:
    """Read a number written by ``float.hex``."""
    value = float.fromhex(text)
    if not math.isfinite(value):
        raise Refused(f"{text} is not a finite number")
    return value


def read_weights(data: Data, claim: dict[str, Any]) -> tuple[list[list[int]], int]:
    """Return the weight vectors as integers with one common exponent."""
    rows = [[read_float(text) for text in row] for row in claim["weights"]]
    wanted = 1 if data.n_classes == 2 else data.n_classes
    if len(rows) != wanted or any(len(row) != 1 + data.n_features for row in rows):
        raise Refused(f"the weights must be {wanted} x {1 + data.n_features} numbers")
    flat, exponent = integers(value for row in rows for value in row)
    length = 1 + data.n_features
    return [flat[k * length : (k + 1) * length] for k in range(wanted)], exponent


# ---- data files


def same_label(written: str, name: str) -> bool:
    """Whether a label in a file means a class: the same text, or the same number."""
    try:
        return written == name or float(written) == float(name)
    except ValueError:
        return False


def read_data(path: str, about: dict[str, Any]) -> Data:
    """Read LIBSVM text, or a CSV whose columns are numbers, as the certificate describes it."""
    classes = [str(name) for name in about["classes"]]
    rows: list[Row] = []
    codes: list[int] = []
    with open(path, encoding="utf-8", newline="") as file:
        parsed = read_csv(file, about) if "columns" in about else read_libsvm(file, about)
        for label, columns, entries in parsed:
            known = [code for code, name in enumerate(classes) if same_label(label, name)]
            if not known:
                raise Refused(f"row {len(rows)}: the label {label!r} is none of {classes}")
            kept = [(j, x) for j, x in sorted(zip(columns, entries, strict=True)) if x != 0.0]
            rows.append(([j for j, _ in kept], [x for _, x in kept]))
            codes.append(known[0])
    return Data(rows, codes, int(about["features"]), len(classes))


def read_libsvm(lines: Iterable[str], about: dict[str, Any]) -> Iterable[Any]:
    """Yield label, columns and values of each line ``label index:value ...``."""
    base = 0 if about.get("zero_based") else 1
    for line in lines:
        words = line.split("#", 1)[0].split()
        if words:
            pairs = [word.split(":", 1) for word in words[1:] if not word.startswith("qid:")]
            yield words[0], [int(j) - base for j, _ in pairs], [float(x) for _, x in pairs]


def read_csv(lines: Iterable[str], about: dict[str, Any]) -> Iterable[Any]:
    """Yield label, columns and values of each record."""
    for record in csv.DictReader(lines):
        names = about["columns"]
        yield record[about["target"]], range(len(names)), [float(record[name]) for name in names]


def main(arguments: Sequence[str]) -> int:
    """Check one certificate against one data file."""
    if len(arguments) != 2:
        print("usage: python checker.py certificate.json data", file=sys.stderr)
        return 2
    try:
        with open(arguments[0], encoding="utf-8") as file:
            certificate = json.load(file)
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
