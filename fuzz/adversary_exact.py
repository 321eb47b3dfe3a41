"""What the adversary presents of claims without rounding: hyperplanes, witnesses, fewest errors.

A point is a genuine certificate with its data; a move changes a number of either, and the data are
named anew. What the library or the stand-alone checker then accepts must be true.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

import separatrix as sx
from fuzz.adversary_gaps import Presented
from fuzz.adversary_points import Point, data, near_one, numbers
from fuzz.exact_certificates import Facts, signed_rows
from fuzz.exact_halfspaces import dot, fewest_at_least, is_cancelled, pivots_of, verdict
from fuzz.exact_judge import exact
from fuzz.nasty import Nasty, laid_out
from separatrix.certificates.errors import Split
from separatrix.certificates.separation import check_separation
from separatrix.problem.canonical import problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import as_matrix

__all__ = ["EXACT", "Partitions"]

_WHOLE = (1, -1, 2, -2)


def _other_whole(rng: Any, value: int) -> int:
    way = int(rng.integers(4))
    if way == 0:
        return value + int(rng.choice(_WHOLE))
    if way == 1:
        return -value
    return value * 2 if way == 2 else value ^ (1 << int(rng.integers(max(1, value.bit_length()))))


def _other_tuple(rng: Any, values: Any) -> Any:
    """Return a tuple of whole numbers with one of them changed, dropped, doubled or exchanged."""
    values = list(values)
    if not values:
        return ()
    i, j = (int(k) for k in rng.integers(len(values), size=2))
    way = int(rng.integers(6))
    if way == 0 and len(values) > 1:
        del values[i]
    elif way == 1:
        values.append(values[i])
    elif way == 2:
        values[i], values[j] = values[j], values[i]
    else:
        values[i] = _other_whole(rng, values[i])
    return tuple(values)


def _other_data(rng: Any, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    i, j = int(rng.integers(X.shape[0])), int(rng.integers(X.shape[1]))
    way = int(rng.integers(5))
    if way == 0:
        X[i, j] = np.nextafter(X[i, j], rng.choice([-np.inf, np.inf]))
    elif way == 1:
        X[i] = X[int(rng.integers(len(X)))]
    elif way == 2:
        X[:, j] = np.ldexp(X[:, j], int(rng.integers(-40, 40)))
    elif way == 3:
        X[i, j] = -X[i, j]
    else:
        X[i, j] += float(rng.choice([-1.0, 1.0]))
    return X


class _Halfspaces:
    """Data, whether there is an intercept, and a genuine certificate."""

    fields: tuple[str, ...] = ()

    def start(self, rng: Any) -> Point:
        while True:
            point = data(rng, 2, 250.0)
            if rng.random() < 0.6:  # where classes touch
                point["X"] = rng.integers(-3, 4, size=point["X"].shape) * 2.0 ** rng.integers(-9, 9)
            point["intercept"] = bool(rng.random() < 0.8)
            proof = self.genuine(point)
            if proof is not None:
                return point | {"proof": proof}

    def genuine(self, point: Point) -> Any:
        raise NotImplementedError

    def moved(self, p: Point, rng: Any) -> Point:
        way = rng.random()
        if way > 0.85:
            return p | {"proof": self.made_up(p, rng)}
        if way < 0.25:
            return p | {"X": _other_data(rng, p["X"])}
        if way < 0.3:
            return p | {"layout": int(rng.integers(2**31))}
        return p | {"proof": self.altered(p["proof"], rng)}

    def altered(self, proof: Any, rng: Any) -> Any:
        raise NotImplementedError

    def made_up(self, p: Point, rng: Any) -> Any:
        """Return a claim that is made of the data."""
        return self.altered(p["proof"], rng)

    def claim(self, p: Point) -> Presented:
        X, dense, name = laid_out(np.random.default_rng(p["layout"]), p["X"])
        given = Nasty(X, p["codes"], None, dense, p["codes"], 2, name)
        problem = problem_from(as_matrix(X), p["codes"], p["intercept"])
        proof = replace(
            p["proof"],
            data_sha256=fingerprint(problem),
            n_rows=len(dense),
            n_features=dense.shape[1],
        )
        return Presented(proof, given, ())

    def room(self, proof: Any, given: Nasty) -> float:
        """Return log2 of the least share that a margin or a sum of rows is of its terms."""
        z = signed_rows(Facts(given), 2, proof.intercept)
        weights = [exact(v) if isinstance(v, float) else v for v in _flat(proof)]
        least = math.inf
        if len(weights) == len(z[0]):
            for row in z:
                size = sum(abs(a * b) for a, b in zip(row, weights, strict=True))
                least = min(least, _share(abs(dot(row, weights)), size))
        return least


def _flat(proof: Any) -> list[Any]:
    values = getattr(proof, "integers", ()) or proof.weights
    return [v for each in values for v in (each if isinstance(each, tuple) else (each,))]


def _share(part: Any, whole: Any) -> float:
    if not part or not whole:
        return -math.inf
    ratio = part / whole
    return float(int(ratio.p).bit_length() - int(ratio.q).bit_length())


class Weights(_Halfspaces):
    """Float weights that separate, by a little."""

    def genuine(self, point: Point) -> Any:
        rng = np.random.default_rng(point["layout"])
        weights = numbers(rng, point["X"].shape[1] + 1)
        sides = near_one(rng, point["X"], weights, 1.0)
        if sides is not None:
            point["codes"] = sides
        weights = np.clip(np.nan_to_num(weights), -1e300, 1e300)
        problem = problem_from(point["X"], point["codes"], point["intercept"])
        return check_separation(problem, weights)

    def altered(self, proof: Any, rng: Any) -> Any:
        weights = np.array(proof.weights)
        at = tuple(int(rng.integers(size)) for size in weights.shape)
        factor = rng.choice([1.0 + 2.0**-52, 1.0 - 2.0**-53, 2.0, -1.0, 1e30, 1e-30, 0.0])
        with np.errstate(all="ignore"):
            weights[at] = weights[at] * factor + (rng.random() < 0.1) * rng.normal()
        return replace(proof, weights=tuple(tuple(row) for row in weights.tolist()), holds=True)

    def false_if_accepted(self, proof: Any, given: Nasty) -> str:
        z = signed_rows(Facts(given), 2, proof.intercept)
        w = [exact(v) for v in _flat(proof)]
        wrong = [i for i, row in enumerate(z) if dot(row, w) <= 0]
        return f"accepted: rows {wrong} are not on their own side" if wrong else ""


class Partitions(_Halfspaces):
    """Integer weights and witnesses: separable, quasi-separable, overlapping."""

    def genuine(self, point: Point) -> Any:
        proof = sx.separability(point["X"], point["codes"], point["intercept"]).certificate
        return proof if type(proof).__name__ == "Partition" and not proof.decimals else None

    def altered(self, proof: Any, rng: Any) -> Any:
        names = ["weights", "rows", "multipliers", "multipliers", "others", "kind", "all"]
        name = names[int(rng.integers(len(names)))]
        if name == "all":
            return replace(proof, kind="overlap", weights=(), others=0)
        if name == "others":
            return replace(proof, others=_other_whole(rng, proof.others))
        if name == "kind":
            kinds = ("separation", "quasi", "overlap")
            return replace(proof, kind=kinds[int(rng.integers(3))])
        return replace(proof, **{name: _other_tuple(rng, getattr(proof, name))})

    def made_up(self, p: Point, rng: Any) -> Any:
        """Return an overlap by multiples that cancel exactly, whatever their signs."""
        shown = self.claim(p)
        z = signed_rows(Facts(shown.given), 2, p["proof"].intercept)
        rows = rng.permutation(len(z))[: min(len(z), len(z[0]) + 1)].tolist()
        multipliers = cancelling([z[i] for i in rows])
        if multipliers is None:
            return self.altered(p["proof"], rng)
        kept = [(i, m) for i, m in zip(rows, multipliers, strict=True) if m]
        named = tuple(i for i, _ in kept), tuple(m for _, m in kept)
        return replace(
            p["proof"], kind="overlap", weights=(), rows=named[0], multipliers=named[1], others=0
        )

    def false_if_accepted(self, proof: Any, given: Nasty) -> str:
        z = signed_rows(Facts(given), 2, proof.intercept)
        kind, tight = verdict(z)
        names = {"separation": "separable", "quasi": "quasi-separable", "overlap": "overlapping"}
        if names[proof.kind] != kind:
            return f"accepted: {proof.kind} of classes that are {kind}"
        if proof.kind != "separation" and not proof.others:
            named = [z[i] for i in proof.rows]
            if not is_cancelled(named, proof.multipliers):
                return "accepted: rows that do not cancel"
        if proof.kind != "overlap":
            on = [i for i, row in enumerate(z) if dot(row, proof.weights) <= 0]
            if on != (tight if proof.kind == "quasi" else []):
                return f"accepted: weights with rows {on} on the boundary, not {tight}"
        return ""


def cancelling(z: Any) -> list[int] | None:
    """Return whole multiples, not all zero, of which the rows sum to zero; None without any."""
    columns = [list(column) for column in zip(*z, strict=True)]
    pivots, reduced = pivots_of(columns)
    free = next((j for j in range(len(z)) if j not in pivots), None)
    if free is None:
        return None
    values = [fmpq(0)] * len(z)
    values[free] = fmpq(1)
    for j, row in zip(pivots, reduced, strict=True):
        values[j] = -row[free]
    one = math.lcm(*(int(v.q) for v in values))
    found = [int((v * one).p) for v in values]
    return found if sum(found) >= 0 else [-m for m in found]


class Errors(_Halfspaces):
    """How many errors weights make, and how few any can make."""

    def genuine(self, point: Point) -> Any:
        point["intercept"] = True
        rng = np.random.default_rng(point["layout"])
        if rng.random() < 0.6:  # beyond three columns no cells are counted
            n, d = int(rng.integers(6, 9)), int(rng.integers(2, 6))
            codes = np.arange(n) % 2
            point |= {"X": rng.integers(-2, 3, size=(n, d)) * 1.0, "codes": codes}
        return sx.ZeroOne(max_seconds=5.0).fit(point["X"], point["codes"]).certificate_

    def altered(self, proof: Any, rng: Any) -> Any:
        way = int(rng.integers(10))
        if way == 9 and proof.tree is not None:  # one row more is a witness by itself
            row, k = int(rng.integers(proof.n_rows)), len(proof.witnesses)
            return replace(
                proof, witnesses=(*proof.witnesses, ((row,), (1,))), lower=proof.lower + 1,
                tree=_with_load(proof.tree, k),
            )  # fmt: skip
        if way == 8 and proof.by == "witnesses":  # a case in which the row is right is not there
            split = Split(int(rng.integers(proof.n_rows)), proof.tree, None)
            return replace(proof, tree=split, lower=proof.lower + 1)
        if way == 6 and proof.tree is not None:
            return replace(proof, tree=_other_tree(rng, proof.tree))
        if way == 7 and proof.tree is not None:  # all loads twice as large, and one error more
            return replace(proof, tree=_loaded(proof.tree), lower=proof.lower + 1)
        if way == 0:
            return replace(proof, errors=proof.errors + int(rng.choice(_WHOLE)))
        if way in (1, 2):
            return replace(proof, lower=proof.lower + 1, errors=max(proof.errors, proof.lower + 1))
        if way == 3 and proof.witnesses:
            at = int(rng.integers(len(proof.witnesses)))
            rows, multipliers = proof.witnesses[at]
            other = (
                (_other_tuple(rng, rows), multipliers)
                if rng.random() < 0.5
                else (rows, _other_tuple(rng, multipliers))
            )
            kept = list(proof.witnesses)
            kept[at] = other
            return replace(proof, witnesses=tuple(kept))
        if way == 4 and proof.witnesses:
            extra = proof.witnesses[int(rng.integers(len(proof.witnesses)))]
            return replace(proof, witnesses=(*proof.witnesses, extra))
        if proof.integers:
            return replace(proof, integers=_other_tuple(rng, proof.integers))
        weights = list(proof.weights)
        weights[int(rng.integers(len(weights)))] *= float(rng.choice([1 + 2**-52, -1.0, 2.0, 0.0]))
        return replace(proof, weights=tuple(weights))

    def false_if_accepted(self, proof: Any, given: Nasty) -> str:
        z = signed_rows(Facts(given), 2, True)
        w = (
            [fmpq(v) for v in proof.integers]
            if proof.integers
            else [exact(v) for v in proof.weights]
        )
        wrong, least = sum(dot(row, w) <= 0 for row in z), fewest(given)
        if proof.unit != Fraction(1):
            return "accepted: another unit"
        if proof.errors != wrong:
            return f"accepted: {proof.errors} errors, which are {wrong}"
        return f"accepted: {proof.lower} or more, where {least} is possible" * (proof.lower > least)


def fewest(given: Nasty) -> int:
    """Return the fewest errors of any hyperplane, found once for the same rows."""
    key = given.dense.shape, given.dense.tobytes(), given.codes.tobytes()
    if key not in _FEWEST:
        if len(_FEWEST) > 200:
            _FEWEST.clear()
        z, ones = signed_rows(Facts(given), 2, True), [fmpq(1)] * len(given.codes)
        bounds = range(1, len(z) + 2)
        _FEWEST[key] = next(b - 1 for b in bounds if not fewest_at_least(z, ones, b))
    return _FEWEST[key]


_FEWEST: dict[Any, int] = {}


def _other_tree(rng: Any, tree: Any) -> Any:
    """Return the tree with a case left out, of another row, or with another load."""
    if isinstance(tree, Split):
        way = int(rng.integers(4))
        if way == 0:
            return replace(tree, row=tree.row + int(rng.choice(_WHOLE)))
        if way == 1:
            return tree.wrong if rng.random() < 0.5 else tree.right
        side = "wrong" if way == 2 else "right"
        inner = getattr(tree, side)
        return replace(tree, **{side: None if inner is None else _other_tree(rng, inner)})
    if not tree.loads:
        return replace(tree, denominator=_other_whole(rng, tree.denominator))
    loads, i = list(tree.loads), int(rng.integers(len(tree.loads)))
    loads[i] = (loads[i][0], _other_whole(rng, loads[i][1]))
    return replace(tree, loads=tuple(loads))


def _with_load(tree: Any, k: int) -> Any:
    """Return the tree with one more witness in all its leaves, at its full weight."""
    if isinstance(tree, Split):
        parts = (each and _with_load(each, k) for each in (tree.wrong, tree.right))
        return replace(tree, **dict(zip(("wrong", "right"), parts, strict=True)))
    return replace(tree, loads=(*tree.loads, (k, tree.denominator)))


def _loaded(tree: Any) -> Any:
    if isinstance(tree, Split):
        parts = (each and _loaded(each) for each in (tree.wrong, tree.right))
        return replace(tree, **dict(zip(("wrong", "right"), parts, strict=True)))
    return replace(tree, loads=tuple((k, 2 * amount) for k, amount in tree.loads))


EXACT: dict[str, Any] = {
    "separation": Weights(),
    "partition": Partitions(),
    "errors": Errors(),
}
