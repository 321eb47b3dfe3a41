"""Separability of partitions: the verdict on the rows in memory, with a proof that holds there."""

from __future__ import annotations

import numpy as np
import pytest
from tests.amounts import cases
from tests.selection.test_partitioned_path import handle_of

import separatrix as sx


def rows_of(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (60, 3)).astype(float)
    scores = X @ [2.0, -1.0, 1.0] + 0.5
    if kind == "separable":
        return X, (scores > 0).astype(int)
    if kind == "overlapping":
        y = (scores > 0).astype(int)
        y[:8] = 1 - y[:8]
        return X, y
    # On the plane itself both classes stand, each in the middle of the other.
    on = np.column_stack([rng.integers(-3, 4, (20, 2)), np.zeros(20)]).astype(float)
    X[:, 2] = np.where(X[:, 2] == 0.0, 1.0, X[:, 2])
    y = np.concatenate([(X[:, 2] > 0).astype(int), np.arange(20) % 2])
    return np.vstack([X, on, on]), np.concatenate([y, 1 - np.arange(20) % 2])


@pytest.mark.parametrize("seed", cases(4))
@pytest.mark.parametrize("kind", ["separable", "overlapping", "quasi-separable"])
def test_the_verdict_is_the_one_in_memory_and_its_proof_holds(tmp_path, kind, seed):
    X, y = rows_of(kind, seed)
    handle = handle_of(tmp_path / "data", X, y)
    here, there = sx.separability(handle), sx.separability(X, y)
    assert here.kind == there.kind == kind
    assert here.check(X, y)
    assert not here.check(X, 1 - y) or kind == "overlapping"
    if kind == "quasi-separable":
        assert here.boundary.tolist() == there.boundary.tolist()
    if kind != "separable":
        assert len(here.witness.rows) <= 5


def test_a_thin_margin_is_found_by_bringing_rows(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4000, 4)).round(2)
    scores = X @ [1.0, -2.0, 0.5, 1.0]
    X, scores = X[abs(scores) > 0.011], scores[abs(scores) > 0.011]
    y = (scores > 0).astype(int)
    verdict = sx.separability(handle_of(tmp_path / "data", X, y, 4))
    assert verdict.kind == "separable"
    assert verdict.certificate.check(X, y)


def test_one_row_among_many_decides(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((3000, 3))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y == 1, 1.0, -1.0)
    y[17] = 1 - y[17]
    X[17] = [3.0 if y[17] == 0 else -3.0, 0.0, 0.0]
    verdict = sx.separability(handle_of(tmp_path / "data", X, y, 4))
    assert verdict.kind == "overlapping"
    assert verdict.check(X, y)
    assert 17 in verdict.witness.rows
