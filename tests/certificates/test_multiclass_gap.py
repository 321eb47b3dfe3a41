"""The proof of the direct machine: true claims hold, forged ones are refused."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.amounts import cases
from tests.naive import crammer_singer as naive
from tests.problems import as_sparse
from tests.problems_many import many

import separatrix as sx
from separatrix.certificates.enclosed_sums import sums_both_ways
from separatrix.certificates.multiclass_gap import MulticlassGap, Named, shortfalls, sparse_shares
from separatrix.certificates.reading import from_json
from separatrix.checker import Refused


def fitted(seed=2, **settings):
    X, codes, _, weights, C = many(seed)
    machine = sx.LinearSVM(C, multi_class="direct", **settings).fit(X, codes, weights)
    return machine, X, codes, C * weights


@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_both_bounds_are_those_of_the_naive_sums(penalty):
    for seed in cases(30):
        machine, X, codes, costs = fitted(seed, intercept_penalty=penalty)
        proof = machine.certificate_
        value = naive.objective(proof.weights[:, 1:], proof.weights[:, 0], X, codes, costs, penalty)
        masses = np.zeros((len(X), len(proof.classes)))
        masses[proof.rows, proof.rivals] = proof.multipliers
        masses[np.arange(len(X)), codes] = costs - masses.sum(axis=1)
        dual = naive.dual(masses, X, codes, costs, penalty, True)
        assert value <= proof.primal <= value * (1.0 + 1e-10) + 1e-300
        assert dual - 1e-10 * value <= proof.dual <= dual + 1e-13 * value
        assert proof.check(X, codes)
        assert proof.check(as_sparse(X), codes)


def test_a_bound_for_all_classes_holds_that_of_each():
    rng = np.random.default_rng(1)
    X = as_sparse(np.where(rng.random((60, 40)) < 0.2, rng.normal(size=(60, 40)), 0.0))
    codes = rng.integers(0, 4, size=60)
    machine = sx.LinearSVM(multi_class="direct", intercept_penalty=1.0).fit(X, codes)
    proof = machine.certificate_
    shares = sparse_shares(Named(proof.rows, proof.rivals, proof.multipliers), codes, 4)
    W, bias = proof.weights[:, 1:].T.copy(), proof.weights[:, 0]
    ways = [sums_both_ways(X, W, (), shares, way, rounded=4) for way in ("plain", "each")]
    exact = [
        [
            sum(Fraction(x) * Fraction(a) for x, a in zip(column, share, strict=True))
            for share in shares.toarray().T.tolist()
        ]
        for column in X.toarray().T.tolist()
    ]
    for scores, totals in ways:
        for j, row in enumerate(exact):
            for k, value in enumerate(row):
                assert Fraction(totals.low[j, k]) <= value <= Fraction(totals.high[j, k])
        short = shortfalls(scores + bias, codes)
        assert (short.high - short.low <= 1e-12).all()
    wide, narrow = (totals.high - totals.low for _, totals in ways)
    assert (narrow <= wide * 1.01).all()
    assert (narrow < 0.9 * wide).any()


def test_json_goes_both_ways():
    machine, X, codes, _ = fitted(3)
    text = machine.certificate_.to_json()
    again = from_json(text, "multiclass-gap")
    assert again.to_json() == text
    assert again.check(X, codes)
    assert again.gap == machine.certificate_.gap
    assert str(again).startswith("claimed by a file: no ")


def forgeries():
    def smaller(p):
        return replace(p, primal=p.primal * (1.0 - 1e-9) - 1e-12)

    def larger(p):
        return replace(p, dual=p.dual + 1e-9 * p.primal + 1e-12)

    def unbalanced(p):
        multipliers = p.multipliers.copy()
        multipliers[0] = np.nextafter(multipliers[0], 0.0)
        return replace(p, multipliers=multipliers, dual=0.5 * p.dual)

    def beyond_the_cost(p):
        row = p.rows[0]
        return replace(
            p,
            rows=np.append(p.rows, row),
            rivals=np.append(p.rivals, p.rivals[0]),
            multipliers=np.append(p.multipliers, p.costs[row]),
            dual=-1e9,
        )

    def negative(p):
        return replace(p, multipliers=-p.multipliers, dual=-1e9)

    def other_costs(p):
        return replace(p, costs=0.5 * p.costs, primal=0.5 * p.primal)

    def other_data(p):
        return replace(p, data_sha256="0" * 64)

    def other_classes(p):
        return replace(p, classes=p.classes[1:])

    def not_a_number(p):
        return replace(p, weights=np.full_like(p.weights, np.nan))

    return [
        smaller, larger, unbalanced, beyond_the_cost, negative,
        other_costs, other_data, other_classes, not_a_number,
    ]  # fmt: skip


@pytest.mark.parametrize("forge", forgeries(), ids=lambda rule: rule.__name__)
def test_forged_claims_are_refused(forge):
    machine, X, codes, _ = fitted(13)
    assert len(machine.certificate_.rows) > 1
    assert machine.certificate_.check(X, codes)
    assert not forge(machine.certificate_).check(X, codes)


def test_own_classes_and_strange_rows_prove_nothing():
    machine, X, codes, costs = fitted(13)
    proof = machine.certificate_
    common = {"X": X, "sides": codes, "costs": costs, "weights": proof.weights}
    for rows, rivals in ([0], [codes[0]]), ([-1], [0]), ([len(X)], [0]), ([0], [99]):
        claim = MulticlassGap.proved(
            **common, rows=np.array(rows), rivals=np.array(rivals), multipliers=np.array([1e-3])
        )
        assert not claim.holds


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [["0x0p+0"]]},
        {"costs": []},
        {"rivals": [0.5]},
        {"rows": [10**9], "rivals": [0], "multipliers": ["0x1p-3"]},
        {"rows": [0, 0], "rivals": [1, 1], "multipliers": ["0x1p-9", "0x1p-9"]},
        {"rows": [0], "rivals": [1], "multipliers": []},
        {"primal": "nan"},
        {"bias_penalty": "-0x1p+0"},
        {"multipliers": None},
    ],
)
def test_a_file_that_is_no_certificate_is_refused(change):
    machine, _, _, _ = fitted(13)
    whole = json.loads(machine.certificate_.to_json())
    whole["claim"] |= change
    with pytest.raises(Refused):
        from_json(whole, "multiclass-gap")
    with pytest.raises(Refused):
        from_json({"kind": "duality-gap"}, "multiclass-gap")
