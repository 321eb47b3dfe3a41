"""The proof of sparse weights: bounds that hold, zeros that are zeros, and no forgery."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import cases
from tests.estimators.test_budget import made
from tests.naive import sparse as naive
from tests.sparse_problems import by_checker, drawn, model_of

import separatrix as sx
from separatrix import checker
from separatrix.certificates.reading import from_json
from separatrix.certificates.sparse_gap import SparseGap
from separatrix.checker import Refused, sparse
from separatrix.problem.canonical import as_checker_data, problem_from


def forged(proof, **changed):
    return replace(proof, **changed)


def rough(proof, X, y, shorter=0.8, share=0.5):
    """Return what is proved of weights that are too small and a dual point that is too low."""
    fields = ("costs", "loss", "intercept", "ridge", "l1", "data_sha256", "classes")
    kept = {name: getattr(proof, name) for name in fields}
    points = {"weights": shorter * proof.weights, "multipliers": share * proof.multipliers}
    return SparseGap.proved(X, y, **points, **kept)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_proved_is_so():
    zeros = 0
    for seed in cases(200):
        X, y, costs, loss, ratio, intercept = case = drawn(seed)
        proof = model_of(case, tol=float(10.0 ** -(seed % 9))).certificate_
        w, b = naive.proximal_gradient(X, y, costs, loss, ratio, 1.0 - ratio, intercept, 1500)
        least = naive.objective(X, y, costs, loss, ratio, 1.0 - ratio, w, b)
        assert proof.dual <= least * (1.0 + 1e-12), seed
        if naive.violation(X, y, costs, loss, ratio, 1.0 - ratio, w, b, intercept) > 1e-7:
            continue  # raw columns need more steps than these
        sizes = abs(w) * np.sqrt(costs @ X**2)
        assert (sizes[proof.zeros] <= 1e-5 * (1.0 + sizes.max())).all(), seed
        zeros += len(proof.zeros)
    assert zeros > 20


def test_both_checks_accept_what_is_proved():
    for seed in cases(100):
        case = drawn(seed)
        proof = model_of(case).certificate_
        X, y = case[:2]
        assert proof.check(X, y), seed
        again = from_json(proof.to_json())
        assert isinstance(again, SparseGap)
        assert again.check(X, y), seed
        assert by_checker(proof, X, y), seed


@pytest.mark.parametrize("entry", [1.0, 4.0])  # the squares of ones are the entries themselves
def test_sparse_rows_prove_the_same_zeros_as_dense_ones(entry):
    proved, left = 0, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = entry * (rng.random((40, 12)) < 0.4)
        y = np.where(X[:, 0] / entry + 0.5 * rng.normal(size=40) > 0.5, 1.0, -1.0)
        model = sx.LogisticRegression(0.3 / entry, l1_ratio=1.0)
        fit = rough(model.fit(X, y).certificate_, X, y, 0.4, 1.0)
        fields = ("costs", "loss", "intercept", "ridge", "l1", "weights", "multipliers")
        kept = {name: getattr(fit, name) for name in fields}
        rows = SparseGap.proved(sp.csr_array(X), y, **kept)
        assert rows.zeros.tolist() == fit.zeros.tolist()
        assert rows.check(sp.csr_array(X), y)
        proved += len(rows.zeros)
        left += np.count_nonzero(rows.weights[1:] == 0.0) - len(rows.zeros)
    assert proved > 10
    assert left > 5  # whose length decides


def test_forged_zeros_are_refused():
    tried = 0
    for seed in cases(100):
        case = drawn(seed, 40)
        X, y = case[:2]
        proof = model_of(case).certificate_
        for j in np.flatnonzero(proof.weights[1:])[:2]:
            w = proof.weights.copy()
            w[1 + j] = 0.0
            zeros = np.sort(np.append(proof.zeros, j))
            for attempt in (forged(proof, zeros=zeros), forged(proof, zeros=zeros, weights=w)):
                assert not attempt.check(X, y)
                assert not by_checker(attempt, X, y)
                tried += 1
    assert tried > 20


def test_a_zero_is_not_proved_by_a_smaller_gap_than_there_is():
    X, y, *_ = case = drawn(8, 40)
    proof = rough(model_of(case).certificate_, X, y)
    assert proof.gap > 1e-3
    assert proof.check(X, y)
    narrow = forged(proof, primal=0.5 * (proof.primal + proof.dual))
    assert not narrow.check(X, y)
    assert not by_checker(narrow, X, y)


@pytest.mark.parametrize(
    "changed",
    [
        {"l1": 0.0},
        {"l1": -1.0},
        {"ridge": -0.5},
        {"share": 1.5},
        {"share": np.nan},
        {"loss": "hinge"},
        {"zeros": np.array([0, 0])},
        {"zeros": np.array([99])},
        {"zeros": np.array([-1])},
        {"zeros": np.array([0.0])},
        {"zeros": np.array([0, 2**63 - 1, -2, 0])},  # whose differences wrap around
        {"bias_penalty": 1.0},
        {"multipliers": np.array([1.0])},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_is_no_claim_is_refused(changed):
    X, y, *_ = case = drawn(2, 30)
    proof = model_of(case).certificate_
    assert proof.check(X, y)
    assert not forged(proof, **changed).check(X, y)


def test_an_infeasible_share_is_refused():
    X, y, *_ = case = drawn(12, 30)  # the lasso
    proof = model_of(case).certificate_
    assert proof.ridge == 0.0
    more = forged(proof, multipliers=proof.multipliers * 1.01, share=1.0)
    assert not more.check(X, y)
    assert not by_checker(more, X, y)


def test_other_data_are_refused():
    X, y, *_ = case = drawn(2, 30)
    proof = model_of(case).certificate_
    assert not proof.check(X * 2.0, y)
    assert not proof.check(X, -y)
    assert "zero in every optimal one" in str(proof) or not len(proof.zeros)


def test_the_radius_shrinks_with_the_gap():
    X, y, *_ = case = drawn(6, 40)
    fine = model_of(case).certificate_
    wide = rough(fine, X, y)
    assert 0.0 < fine.radius < wide.radius
    assert set(wide.zeros) <= set(fine.zeros)


def test_a_share_that_coarse_sums_leave_open_is_proved_by_finer_ones():
    """A fit that a budget ends far from the optimum is proved again like any other."""
    X, y = made(11, 100_000)
    model = sx.LogisticRegression(l1_ratio=1.0, C=100.0, tol=1e-13, max_passes=23)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.certificate_.check(X, y)


def test_a_feasible_share_is_found_below_normal_numbers(monkeypatch):
    """Products there are rounded by many units of the share: one at a time took for ever."""
    tried, real = [], SparseGap._is_feasible

    def counted(self, sizes, share):
        tried.append(share)
        assert len(tried) < 500
        return real(self, sizes, share)

    monkeypatch.setattr(SparseGap, "_is_feasible", counted)
    X, signs = np.array([[1.0], [3.0], [-1.0]]) * 1e-310, np.array([1.0, -1.0, 1.0])
    proof = SparseGap.proved(
        X, signs, costs=np.ones(3), loss="squared_hinge", weights=np.zeros(2), ridge=0.0, l1=1e-312,
        multipliers=np.array([0.5, 1.0, 0.5]), intercept=True,
    )  # fmt: skip
    assert proof.share == pytest.approx(1.0 / 300.0, rel=1e-9)
    assert proof.check(X, signs)


def grouped_claim(groups):
    """Return rows, classes, and the JSON of a genuine claim whose `groups` are these instead."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = (X[:, 0] + rng.normal(size=20) > 0.0).astype(int)
    proof = sx.LogisticRegression(1.0, l1_ratio=1.0, groups=[0, 1]).fit(X, y).certificate_
    whole = json.loads(proof.to_json())
    whole["claim"]["groups"] = groups
    return X, y, whole


@pytest.mark.parametrize("groups", [[0, 10**15], [1, 2], [0, 0, 0], [2**70, 0]], ids=str)
def test_groups_that_are_not_numbered_in_a_row_are_refused_without_counting_to_them(groups):
    """A file of a kilobyte made both checks count to 10**15, in memory."""
    X, y, whole = grouped_claim(groups)
    with pytest.raises(Refused, match="groups must number the group of each column"):
        checker.check(whole, as_checker_data(problem_from(X, y, True)))
    with pytest.raises(Refused, match="groups must number the group of each column"):
        from_json(json.dumps(whole))


def test_an_empty_list_of_groups_is_none_for_both_checks():
    X, y, whole = grouped_claim([])
    assert checker.check(whole, as_checker_data(problem_from(X, y, True)))
    assert from_json(json.dumps(whole)).check(X, y)


def test_columns_claimed_to_be_zero_are_looked_up_once(monkeypatch):
    """For each of d columns all d claimed were collected again: 16,000 columns took 32 seconds."""
    made = []

    def counted(values=()):
        made.append(1)
        return set(values)

    monkeypatch.setattr(sparse, "set", counted, raising=False)
    X = np.eye(40)
    y = np.arange(40) % 2
    proof = sx.LogisticRegression(0.1, l1_ratio=1.0).fit(X, y).certificate_
    assert len(proof.zeros) == 40
    assert by_checker(proof, X, y)
    assert len(made) <= 2
