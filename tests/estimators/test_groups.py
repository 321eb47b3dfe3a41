"""`groups=`: columns that come in as a whole, proved, and refused in words where they cannot be."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.amounts import cases
from tests.naive import sparse as naive
from tests.sparse_problems import by_checker, drawn, grouped, model_of

import separatrix as sx
from separatrix.certificates.reading import from_json
from separatrix.core.checks import checked_groups
from separatrix.storage.model_proof import prove_model


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_groups_agree_with_proximal_gradient_steps():
    whole, proved = 0, 0
    for seed in cases(80):
        (X, y, costs, loss, ratio, intercept), groups = grouped(seed)
        model = model_of((X, y, costs, loss, ratio, intercept), groups)
        posed = X, y, costs, loss, ratio, 1.0 - ratio
        w, b = naive.proximal_gradient(*posed, intercept, 2000, groups=groups)
        least = naive.objective(*posed, w, b, groups)
        found = naive.objective(*posed, model.coef_[0], model.intercept_[0], groups)
        proof = model.certificate_
        assert found <= least * (1.0 + 1e-8), seed
        assert proof.dual <= least * (1.0 + 1e-12), seed
        assert proof.primal >= found * (1.0 - 1e-12), seed
        off = naive.violation(*posed, model.coef_[0], model.intercept_[0], intercept, groups)
        assert off < 1e-3, (seed, off)
        for g in np.unique(groups):  # in as a whole, or out
            inside = model.coef_[0][groups == g] != 0.0
            whole += inside.any() and len(inside) > 1
        if naive.violation(*posed, w, b, intercept, groups) < 1e-7:
            sizes = abs(w) * np.sqrt(costs @ X**2)
            assert (sizes[proof.zeros] <= 1e-5 * (1.0 + sizes.max())).all(), seed
            proved += len(proof.zeros)
    assert whole > 5
    assert proved > 20


def test_groups_of_one_are_no_groups():
    for seed in cases(6):
        case = drawn(seed)
        alone = model_of(case, list(range(case[0].shape[1])))
        plain = model_of(case, None)
        one, other = alone.certificate_, plain.certificate_
        assert abs(one.primal - other.primal) <= 1e-7 * other.primal


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_both_checks_accept_what_is_proved_and_refuse_forgeries():
    forged = 0
    for seed in cases(20):
        (X, y, *rest), groups = grouped(seed)
        model = model_of((X, y, *rest), groups)
        proof = model.certificate_
        assert proof.check(X, y), seed
        assert by_checker(proof, X, y), seed
        assert from_json(proof.to_json()).check(X, y), seed
        nonzero = np.flatnonzero(model.coef_[0])
        if not len(nonzero):
            continue
        weights = proof.weights.copy()
        weights[1 + nonzero[0]] = 0.0
        zeros = np.sort(np.append(proof.zeros, nonzero[0]))
        lie = replace(proof, weights=weights, zeros=zeros)
        assert not lie.check(X, y), seed
        assert not by_checker(lie, X, y), seed
        lie = replace(proof, primal=proof.primal * (1.0 - 1e-6))
        assert not lie.check(X, y), seed
        assert not by_checker(lie, X, y), seed
        forged += 1
    assert forged > 3


@pytest.mark.parametrize("groups", [(0,), (0, 2) * 6, (0.0,) * 12, (-1,) + (0,) * 11])
def test_what_numbers_no_groups_is_refused(groups):
    X, y = data()
    proof = sx.LogisticRegression(0.2, l1_ratio=1.0, groups=[[0, 1]]).fit(X, y).certificate_
    lie = replace(proof, groups=groups)
    assert not lie.check(X, y)
    assert not by_checker(lie, X, y)


def test_a_proof_without_groups_does_not_prove_groups():
    X, y = data()
    proof = sx.LogisticRegression(0.2, l1_ratio=1.0).fit(X, y).certificate_
    lie = replace(proof, groups=(0,) * 12)
    assert not lie.check(X, y)
    assert not by_checker(lie, X, y)


def data(n=60, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=n) > 0.0).astype(int)


def test_labels_and_lists_say_the_same():
    assert checked_groups(["a", "b", "a"], 3).tolist() == [0, 1, 0]
    assert checked_groups([[0, 2]], 3).tolist() == [0, 1, 0]
    assert checked_groups(np.array([5, 5, 7]), 3).tolist() == [0, 0, 1]
    assert checked_groups(None, 3) is None


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([0, 1], "a label for each of the 12 columns"),
        ([[0, 0]], "each once"),
        ([[0, 12]], "from 0 to 11"),
        ([[0], [0, 1]], "each once"),
        ([[True]], "each once"),
        ([[0]] + ["a"] * 11, "not both"),
    ],
)
def test_what_names_no_groups_is_refused_in_words(groups, words):
    X, y = data()
    with pytest.raises(ValueError, match=words):
        sx.LogisticRegression(l1_ratio=1.0, groups=groups).fit(X, y)


def test_groups_need_sparse_weights():
    X, y = data()
    with pytest.raises(ValueError, match="l1_ratio must be above 0"):
        sx.LogisticRegression(groups=[[0, 1]]).fit(X, y)


def test_one_hot_columns_come_in_as_a_whole_and_files_keep_groups(tmp_path):
    rng = np.random.default_rng(0)
    colour, noise = rng.integers(0, 4, size=200), rng.integers(0, 5, size=200)
    y = np.where(np.array([1.0, -1.0, 1.0, -1.0])[colour] + rng.normal(size=200) > 0.0, 1, 0)
    X = np.column_stack([np.eye(4)[colour], np.eye(5)[noise]])
    model = sx.LogisticRegression(0.1, l1_ratio=1.0, groups=["colour"] * 4 + ["noise"] * 5)
    for rows in (X, sp.csr_array(X)):
        model.fit(rows, y)
        assert (model.coef_[0, :4] != 0.0).all()
        assert model.certificate_.zeros.tolist() == [4, 5, 6, 7, 8]
    sx.save(model, tmp_path / "model.sx")
    again = sx.load(tmp_path / "model.sx")
    assert again.groups == model.groups
    assert again.certificate_.check(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    holds, said = prove_model(again, X, y)
    assert holds, said
    again.groups = [[0, 1]]
    assert not prove_model(again, X, y)[0]
