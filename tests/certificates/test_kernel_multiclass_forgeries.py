"""Certificates of direct machines with kernels: kept in files, bound to their data, not forged."""

import dataclasses
import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from tests.kernel_direct import LINEAR, POLY, RBF, balanced, claimed, of_linear_machine, solved
from tests.problems_many import many

from separatrix.certificates.multiclass_gap import Named
from separatrix.certificates.reading import from_json
from separatrix.checker import Refused
from separatrix.problem.kernels import Kernel
from separatrix.storage.certificate_files import prove_again


@pytest.mark.parametrize("kernel", [RBF, LINEAR, POLY, Kernel("sigmoid", 1e-8, 3, 0.0)])
def test_a_certificate_survives_its_file(kernel):
    X, codes, K, weights, C = many(4)
    multipliers, biases = of_linear_machine(X, codes, C * weights)
    proof = claimed(kernel, X, codes, K, C * weights, multipliers, biases)
    text = proof.to_json()
    again = from_json(text, "kernel-multiclass-gap")
    assert again.to_json() == text
    assert again.gap == proof.gap
    assert again.holds
    assert "claimed by a file: no model of" in str(again)
    assert again.in_words() == "proved: " + prove_again(json.loads(text), X, codes)
    for rows in (X, sp.csr_array(X), np.asfortranarray(X)):
        assert again.check(rows, codes)
    assert not again.check(X + 1e-9, codes)
    assert not again.check(X, (codes + 1) % K)
    assert not again.check(X[1:], codes[1:])
    assert not again.check(X[codes > 0], codes[codes > 0])


def test_a_class_that_is_absent_is_refused():
    X, codes = np.arange(6.0)[:, None], np.array([0, 1, 2, 0, 1, 2])
    multipliers = balanced(np.random.default_rng(0), codes, 3, np.ones(6))
    proof = claimed(LINEAR, X, codes, 3, np.ones(6), multipliers, np.zeros(3))
    assert proof.check(X, codes)
    nameless = dataclasses.replace(proof, data_sha256="")
    assert nameless.check(X, codes)
    assert not nameless.check(X, np.minimum(codes, 1))
    assert not nameless.check(X, np.arange(6))


def _forgeries(p):
    moved, larger = p.multipliers.copy(), p.multipliers.copy()
    moved[0] = np.nextafter(moved[0], 0.0)
    larger[0] = 2.0 * p.costs[p.rows[0]]
    huge = np.full_like(p.multipliers, 1.7e308)
    swapped = p.rivals.copy()
    swapped[0] = (set(range(len(p.classes))) - {p.rivals[0], p.own}).pop()
    yield "a smaller objective", {"primal": p.primal * (1 - 1e-9)}
    yield "a larger bound", {"dual": p.dual + 1e-9 * p.primal}
    yield "no balance", {"multipliers": moved, "dual": 0.5 * p.dual}
    yield "beyond the cost", {"multipliers": larger, "dual": -1e9, "primal": 1e9}
    yield "beyond all numbers", {"multipliers": huge, "costs": huge[0] + 0.0 * p.costs}
    yield "negative", {"multipliers": -p.multipliers, "dual": -1e9, "primal": 1e9}
    yield "not a number", {"multipliers": p.multipliers * np.nan}
    yield "too few multipliers", {"multipliers": p.multipliers[1:]}
    yield "another rival", {"rivals": swapped, "dual": -1e9, "primal": 1e9}
    yield "its own rival", {"rivals": np.full_like(p.rivals, p.own), "dual": -1e9}
    yield "no such class", {"rivals": p.rivals + 99}
    yield "no such row", {"rows": p.rows + 10**6}
    yield "a row before the first", {"rows": p.rows - 10**6}
    yield "other biases", {"biases": p.biases + np.arange(len(p.biases))}
    yield "biases that are none", {"biases": p.biases * np.nan}
    yield "too few biases", {"biases": p.biases[1:]}
    yield "lower costs", {"costs": 0.5 * p.costs}
    yield "higher costs", {"costs": 1.5 * p.costs}
    yield "no costs", {"costs": 0.0 * p.costs, "primal": 0.0}
    yield "endless costs", {"costs": np.full_like(p.costs, np.inf)}
    yield "too few costs", {"costs": p.costs[1:]}
    yield "another kernel", {"kernel": dataclasses.replace(p.kernel, gamma=2.0)}
    yield "no kernel", {"kernel": dataclasses.replace(p.kernel, gamma=-1.0)}
    yield "an eigenvalue nobody saw", {"smallest": 0.5}
    yield "other data", {"data_sha256": "0" * 64}
    yield "more rows", {"n_rows": p.n_rows + 1}
    yield "more features", {"n_features": p.n_features + 1}
    yield "fewer classes", {"classes": p.classes[1:]}
    yield "no biases", {"intercept": False}
    yield "an infinite bound", {"dual": -math.inf}
    yield "no objective", {"primal": math.inf}
    yield "nothing", {"primal": math.nan}


def test_forgeries_are_refused():
    proof, X, codes = solved(13)
    assert len(proof.classes) > 2
    assert proof.check(X, codes)
    object.__setattr__(proof, "own", int(codes[proof.rows[0]]))
    for name, change in _forgeries(proof):
        forged = dataclasses.replace(proof, **change)
        assert not forged.check(X, codes), name


def test_one_multiplier_named_twice_is_refused():
    X, codes, costs = np.arange(4.0)[:, None], np.array([0, 1, 2, 3]), np.ones(4)
    twice = Named(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([0.25, 0.25, 0.5]))
    once = Named(np.array([0, 1]), np.array([1, 0]), np.array([0.5, 0.5]))
    good = claimed(LINEAR, X, codes, 4, costs, once, np.zeros(4))
    assert good.check(X, codes)
    odd = claimed(LINEAR, X, codes, 4, costs, twice, np.zeros(4))
    assert odd.dual == -math.inf
    assert not dataclasses.replace(odd, dual=good.dual).check(X, codes)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": [0, 0], "rivals": [1, 1], "multipliers": ["0x1p-9", "0x1p-9"]},
        {"rows": [-1], "rivals": [1], "multipliers": ["0x1p-9"]},
        {"rows": [0.5]},
        {"rivals": [0.5]},
        {"rivals": [True]},
        {"rows": [0], "rivals": [1], "multipliers": []},
        {"rows": [0], "rivals": [99], "multipliers": ["0x1p-9"]},
        {"multipliers": None},
        {"multipliers": ["nan"]},
        {"costs": []},
        {"costs": ["inf"]},
        {"costs": ["-0x1.0p+0"]},
        {"biases": ["0x0p+0"]},
        {"biases": "nan"},
        {"biases": None},
        {"kernel": {"name": "magic", "gamma": "0x1p+0", "degree": 3, "coef0": "0x0p+0"}},
        {"kernel": {"name": "rbf", "gamma": "0x0p+0", "degree": 3, "coef0": "0x0p+0"}},
        {"kernel": {"name": "callable", "gamma": "0x1p+0", "degree": 3, "coef0": "0x0p+0"}},
        {"smallest": None},
        {"primal": None},
    ],
)
def test_a_file_that_is_no_certificate_is_refused(change):
    proof, _, _ = solved(13)
    whole = json.loads(proof.to_json())
    whole["claim"] |= change
    with pytest.raises(Refused):
        from_json(whole, "kernel-multiclass-gap")
    with pytest.raises(Refused):
        from_json({"kind": "kernel-gap"}, "kernel-multiclass-gap")


@pytest.mark.parametrize(
    "change",
    [{"intercept": False}, {"rows": 0}, {"rows": 2**60}, {"features": "3"}, {"classes": []}],
)
def test_a_file_about_no_data_is_refused(change):
    proof, _, _ = solved(13)
    whole = json.loads(proof.to_json())
    whole["data"] |= change
    with pytest.raises(Refused):
        from_json(whole, "kernel-multiclass-gap")
