"""Bounds joined block by block: those of the rows in one piece, and forgeries refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.selection.test_partitioned_path import handle_of

import separatrix as sx
from separatrix.certificates.duality_gap import Model, dual_of, exact_parts, terms_of
from separatrix.certificates.reading import from_json
from separatrix.storage.certificate_files import json_pieces


def fitted(tmp_path, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 4))
    y = (X[:, 0] + rng.standard_normal(90) > 0).astype(int)
    handle = handle_of(tmp_path / f"data-{seed}", X, y)
    return X, y, handle, sx.LinearSVM().fit(handle).certificate_


@pytest.mark.parametrize("cuts", [[], [30], [1, 2, 50, 89]])
def test_however_the_rows_are_cut_the_bounds_agree(tmp_path, cuts):
    X, y, _, proof = fitted(tmp_path)
    signs, joined = np.where(y == 1, 1.0, -1.0), None
    for own in np.split(np.arange(len(y)), cuts):
        model = Model("hinge", proof.weights[1:], float(proof.weights[0]))
        terms, _ = terms_of(model, X[own], signs[own], proof.costs[own], proof.multipliers[own])
        joined = terms if joined is None else joined + terms
    again = proof.with_terms(joined)
    assert again.primal == pytest.approx(proof.primal, rel=1e-11)
    assert again.dual == pytest.approx(proof.dual, rel=1e-11)


def test_forgeries_are_refused(tmp_path):
    _, _, handle, proof = fitted(tmp_path)
    assert proof.check(handle)
    alpha = np.array(proof.multipliers)
    row = int(np.flatnonzero(alpha)[0])
    unbalanced = alpha.copy()
    unbalanced[row] = math.nextafter(alpha[row], 0.0)
    beyond = alpha.copy()
    beyond[row] = 2.0
    for forged in (
        replace(proof, multipliers=unbalanced),
        replace(proof, multipliers=beyond),
        replace(proof, dual=proof.dual * (1.0 + 1e-9)),
        replace(proof, primal=proof.primal * (1.0 - 1e-9)),
        replace(proof, weights=proof.weights * 1.001),
        replace(proof, data_sha256="0" * 64),
    ):
        assert not forged.check(handle)
    _, _, other, _ = fitted(tmp_path, seed=1)
    assert not proof.check(other)


def test_exact_parts_add_up_without_rounding():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(100) * 10.0 ** rng.integers(-20, 20, 100)
    parts = exact_parts(values)
    assert math.fsum([*values, *(-part for part in parts)]) == 0.0
    assert exact_parts(np.array([1.0, -1.0])) == ()


def test_the_file_in_pieces_is_the_file(tmp_path):
    _, _, handle, proof = fitted(tmp_path)
    whole = json.loads(b"".join(json_pieces(proof, {"zero_based": True})))
    plain = json.loads(proof.to_json())
    assert whole["claim"] == plain["claim"]
    assert whole["data"] == {**plain["data"], "zero_based": True}
    assert from_json(whole, "duality-gap").check(handle)


def test_balances_that_overflow_together_bound_nothing():
    """The sum of two blocks' balances raised an error where each alone did not."""
    large = np.full(1, 1.7e308)
    terms, _ = terms_of(
        Model("squared_hinge", np.zeros(1), 0.0), np.zeros((1, 1)), np.ones(1), np.ones(1), large
    )
    for penalty in (0.0, 1.0):
        assert dual_of(terms + terms, penalty).low == -math.inf
