"""The proof's pass made in torch: the same sums within their errors, and the same certificates."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from tests.amounts import cases
from tests.problems import problem
from tests.torch_problems import CPU, rows, torch

import separatrix as sx
import separatrix.certificates.duality_gap as duality_gap
import separatrix.estimators._validate as placing
from separatrix import LogisticRegression
from separatrix.certificates.enclosed_sums import sums_both_ways
from separatrix.errors import DataError
from separatrix.problem.device_rows import DeviceRows
from separatrix.problem.fingerprint import LaterName
from separatrix.solvers.linear.claims import balanced


def test_errors_hold_the_exact_sums():
    for seed in cases(40):
        case = problem(seed)
        rng = np.random.default_rng(seed)
        n, d = case.X.shape
        if float(np.abs(case.X).max(initial=0.0)) > 1e100:
            continue
        w, bias, alpha = rng.normal(size=d), float(rng.normal()), rng.random(n)
        signed = case.y_signs * alpha
        scores, total = sums_both_ways(rows(case.X, chunk_rows=4), w, (bias,), signed)
        exact = [[Fraction(x) for x in row] for row in case.X.tolist()]
        for i in range(n):
            score = sum(x * Fraction(v) for x, v in zip(exact[i], w.tolist(), strict=True))
            score += Fraction(bias)
            assert Fraction(scores.low[i]) <= score <= Fraction(scores.high[i])
        for j in range(d):
            summed = sum(Fraction(s) * exact[i][j] for i, s in enumerate(signed.tolist()))
            assert Fraction(total.low[j]) <= summed <= Fraction(total.high[j])


def spread_out(n=500, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = torch.as_tensor(rng.normal(size=(n, d)))
    return X, (X[:, 0].numpy() + rng.normal(size=n) > 0).astype(int)


def test_a_proof_made_there_is_accepted_by_the_processor(monkeypatch):
    X, y = spread_out()
    monkeypatch.setattr(duality_gap, "_FEW_THERE", 0)
    machine = LogisticRegression().fit(X, y)
    assert machine.gap_ <= 1e-4
    assert machine.certificate_.check(X, y)
    assert machine.certificate_.check(X.numpy(), y)
    assert not machine.certificate_.check(X.numpy() + 1.0, y)


def test_the_name_of_large_data_is_made_when_it_is_asked_for(monkeypatch):
    X, y = spread_out()
    named = LogisticRegression().fit(X, y).certificate_.data_sha256
    monkeypatch.setattr(placing, "_NAMED_AT_ONCE", 0)
    proof = LogisticRegression().fit(X, y).certificate_
    assert isinstance(proof.data_sha256, LaterName)
    assert proof.check(X, y)
    assert pickle.loads(pickle.dumps(proof)).data_sha256 == named
    assert proof.data_sha256 == named
    assert named in proof.to_json()
    assert proof.check(X.numpy(), y)
    assert not proof.check(X.flip(0), y[::-1])  # now that they have a name, other data are refused


def test_a_proof_whose_data_are_gone_says_so(monkeypatch):
    X, y = spread_out()
    kept = X.clone()
    monkeypatch.setattr(placing, "_NAMED_AT_ONCE", 0)
    proof = LogisticRegression().fit(X, y).certificate_
    del X
    assert proof.check(kept, y)
    assert math.isfinite(proof.gap)
    with pytest.raises(DataError, match=r"are gone.*fit again and keep X"):
        proof.to_json()
    assert "LaterName()" in repr(proof)


def test_a_machine_whose_data_are_gone_is_copied_and_kept(monkeypatch, tmp_path):
    X, y = spread_out()
    kept = X.numpy().copy()
    monkeypatch.setattr(placing, "_NAMED_AT_ONCE", 0)
    machine = LogisticRegression().fit(X, y)
    del X
    sx.save(machine, tmp_path / "model.sx")
    for other in (
        copy.deepcopy(machine),
        pickle.loads(pickle.dumps(machine)),
        sx.load(tmp_path / "model.sx"),
    ):
        assert other.certificate_.check(kept, y)
        assert not other.certificate_.check(kept + 1.0, y)


def test_data_that_have_changed_since_are_not_given_as_those_proved(monkeypatch):
    X, y = spread_out()
    monkeypatch.setattr(placing, "_NAMED_AT_ONCE", 0)
    proof = LogisticRegression().fit(X, y).certificate_
    X.mul_(3.0)
    with pytest.raises(DataError, match="no longer what they were"):
        proof.to_json()


def test_rows_stand_where_a_matrix_stands():
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    for settings in ({}, {"chunk_rows": 6}):
        there = DeviceRows(X, CPU, **settings)
        w, shares = np.arange(3.0), np.arange(20.0)
        np.testing.assert_allclose(there @ w, X.astype(float) @ w, rtol=1e-12)
        np.testing.assert_allclose(shares @ there, shares @ X.astype(float), rtol=1e-12)
        assert np.array_equal(there[np.array([3, 1])].numpy(), X[[3, 1]])
        assert np.array_equal(there.to_host(), X)
        assert (len(there), there.ndim, there.size) == (20, 2, 60)


def bounds(case, loss, C, w, alpha, intercept=True, penalty=None):
    return {
        "sides": case.y_signs,
        "costs": np.full(len(case.X), C),
        "loss": loss,
        "weights": w,
        "multipliers": alpha,
        "intercept": intercept,
        "bias_penalty": penalty or 0.0,
    }


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_bounds_made_there_hold_here_and_are_nearly_as_tight(loss, monkeypatch):
    monkeypatch.setattr(duality_gap, "_FEW_THERE", 0)
    for seed in cases(60):
        case = problem(seed, ["overlapping_gaussians", "integer_grid", "mostly_zero"][seed % 3])
        rng = np.random.default_rng(seed)
        n, d = case.X.shape
        C = 10.0 ** rng.integers(-3, 4)
        alpha = C * rng.random(n)
        penalty = 1.0 if seed % 4 == 1 else None
        if penalty is None:
            alpha = balanced(alpha, case.y_signs, np.full(n, C))
        told = bounds(case, loss, C, rng.normal(size=d + 1), alpha, seed % 5 > 0, penalty)
        there = duality_gap.DualityGap.proved(X=rows(case.X), **told)
        here = duality_gap.DualityGap.proved(X=case.X, slack=0.0, **told)
        assert here.primal <= there.primal <= here.primal * (1.0 + 1e-10)
        assert here.dual >= there.dual >= here.dual - 1e-10 * (abs(here.dual) + here.primal)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_what_is_not_feasible_proves_nothing(loss, monkeypatch):
    monkeypatch.setattr(duality_gap, "_FEW_THERE", 0)
    case = problem(2, "overlapping_gaussians")
    n, d = case.X.shape
    good = balanced(np.full(n, 0.5), case.y_signs, np.ones(n))
    other = int(np.flatnonzero(good)[0])
    for change in (-2.0, np.nan, np.inf, 1e-13, 2.0):
        alpha = good.copy()
        alpha[other] += change
        told = bounds(case, loss, 1.0, np.zeros(d + 1), alpha)
        proof = duality_gap.DualityGap.proved(X=rows(case.X), **told)
        assert proof.dual == -np.inf
        assert not proof.holds
