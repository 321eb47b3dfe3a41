"""LogisticRegression(C=inf) of several classes: the maximum, or the proof that there is none."""

import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from tests.amounts import cases
from tests.naive import multinomial as naive
from tests.problems import as_sparse
from tests.problems_many import many

import separatrix as sx
from separatrix.certificates.reading import from_json
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.checker import Refused
from separatrix.checker.kinds import check
from separatrix.core import class_verdict
from separatrix.core.class_verdict import ClassVerdict
from separatrix.errors import DeviceError
from separatrix.problem.canonical import as_checker_data, data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import KeslerProblem, row_and_rival, two_classes_of
from separatrix.storage.model_file import from_bytes, to_bytes
from separatrix.storage.model_proof import prove_model


def free(**settings):
    return sx.LogisticRegression(C=np.inf, multi_class="multinomial", **settings)


def overlapping(n=80, d=3, K=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (0.7 * X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    return X, y


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_are_those_of_plain_newton_steps(intercept):
    for seed, K in ((0, 3), (1, 4), (2, 2)):
        X, y = overlapping(K=K, seed=seed)
        weights = 1.0 + np.arange(len(y)) % 3
        rows = as_sparse(X) if seed % 2 else X
        model = free(tol=1e-9, fit_intercept=intercept).fit(rows, y, sample_weight=weights)
        wanted = naive.likelihood(X, y, K, weights, intercept)
        if K == 2:
            wanted = wanted[1:] - wanted[:1]
        assert (model.status_, model.verdict_.kind) == ("optimal", "overlapping")
        assert_allclose(model.coef_, wanted[:, 1:], rtol=1e-8, atol=1e-9)
        assert_allclose(model.intercept_, wanted[:, 0], rtol=1e-8, atol=1e-9)
        assert_allclose(model.coef_.sum(axis=0) * (K > 2), 0.0, atol=1e-13)


def test_auto_takes_all_classes_at_once_and_two_classes_are_two_classes():
    X, y = overlapping()
    auto = sx.LogisticRegression(C=np.inf).fit(X, y)
    assert isinstance(auto.certificate_, SoftmaxGap)
    assert auto.certificate_.ridge == 0.0
    X, y = overlapping(K=2)
    two = sx.LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
    assert_allclose(free(tol=1e-9).fit(X, y).coef_, two.coef_, rtol=1e-7)


def test_ugly_columns_and_rounds_lead_to_the_same_probabilities(monkeypatch):
    X, y = overlapping(200)
    plain = free(tol=1e-9).fit(X, y)
    scaled = X * [1e6, 1.0, 1e-6] + [3e6, 0.0, 0.0]
    ugly = np.column_stack([scaled, scaled[:, 1], np.ones(200), np.zeros(200)])
    for rows in (ugly, sp.csr_array(ugly), ugly.astype(np.float32)):
        model = free(tol=1e-6).fit(rows, y)
        assert model.status_ == "optimal"
        assert model.certificate_.check(rows, y)
        assert_allclose(model.predict_proba(rows), plain.predict_proba(X), atol=2e-5)
    monkeypatch.setattr("separatrix.solvers.many_classes.multinomial.is_small", lambda _: False)
    rounds = free(tol=1e-8).fit(X, y)
    assert_allclose(rounds.coef_, plain.coef_, rtol=1e-5, atol=1e-7)


def test_verdicts_are_those_of_linear_programs():
    kinds = set()
    for seed in cases(60):
        X, codes, K, _, _ = many(seed, most_rows=12)
        intercept = seed % 4 > 0
        names = tuple(str(k) for k in range(K))
        rows = as_sparse(X) if seed % 2 else X
        verdict = class_verdict.class_verdict_of(rows, codes, names, intercept)
        assert verdict.kind == naive.separation(X, codes, K, intercept), seed
        kinds.add(verdict.kind)
        assert verdict.check(X, codes.astype(str))
        again = ClassVerdict.from_json(verdict.to_json())
        assert again.check(X, codes.astype(str))
        assert (str(again), repr(again)) == (f"Claimed by a file. {verdict}", repr(verdict))
        assert not again.check(np.vstack([X[1:], 2.0 * X[:1] + 1.0]), codes.astype(str))
        if verdict.weights is not None:
            scores = X @ verdict.weights.T + verdict.intercept
            own = scores[np.arange(len(X)), codes]
            assert (own >= scores.max(axis=1) - 1e-9 * abs(scores).max()).all()
    assert kinds == {"separable", "quasi-separable", "overlapping"}


@pytest.mark.parametrize(
    ("X", "options"),
    [
        ([[1.0], [2.0]], {"fit_intercept": True}),
        ([[0.1, 0.3], [0.2, 0.6]], {"fit_intercept": False, "decimal": True}),
    ],
)
def test_a_verdict_on_other_pairs_says_nothing_of_the_classes(X, options):
    """A bias over Kesler's pairs belongs to no class, and decimals are not the stored floats."""
    y = ["a", "b"]
    pairs = two_classes_of(np.array(X), np.array([0, 1]), 2, False)
    sides = np.where(pairs.signs > 0.0, "later", "earlier")

    def stated(**given):
        verdict = sx.separability(pairs.X, sides, **given)
        whole = {"format": class_verdict.FORMAT, "classes": y, "intercept": False}
        whole["on_pairs"] = json.loads(verdict.to_json())
        return ClassVerdict.from_json(json.dumps(whole))

    assert stated(fit_intercept=False).check(X, y)
    assert not stated(**options).check(X, y)


def test_two_classes_have_kesler_s_margins():
    X, codes, K, _, _ = many(5)
    problem, kesler = two_classes_of(X, codes, K, True), KeslerProblem(X, codes, K)
    table = np.random.default_rng(0).normal(size=(K, X.shape[1] + 1))
    table -= table[0]
    margins = problem.signs * (problem.X @ table[1:].ravel())
    assert_allclose(margins, kesler.margins(table.ravel()), atol=1e-12)
    assert row_and_rival(0, codes, K)[0] == 0
    sparse = two_classes_of(as_sparse(X), codes, K, True)
    assert (sparse.X.toarray() == problem.X).all()


def test_separated_classes_are_fitted_at_a_large_cost_and_said_to_be():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    two = X.iloc[:, 2:3]
    with pytest.warns(sx.SeparationWarning, match="petal length .* of versicolor against") as told:
        model = free().fit(two, names)
    assert model.status_ == "infinite"
    assert model.verdict_.kind == "quasi-separable"
    assert told[0].message.verdict is model.verdict_
    assert model.verdict_.infinite.tolist() == [[-np.inf, np.inf], [-np.inf, np.inf]]
    penalised = sx.LogisticRegression(C=1e6, multi_class="multinomial").fit(two, names)
    assert_allclose(model.coef_, penalised.coef_)
    assert model.certificate_.check(two, names)
    assert "fitted in the place of C=inf" in str(model)


def test_signs_that_take_minutes_are_left_out(monkeypatch):
    monkeypatch.setattr(class_verdict, "_MOST_WORK", 10)
    X, y = load_iris(return_X_y=True)
    with pytest.warns(sx.SeparationWarning, match="along the direction in verdict.weights"):
        model = free().fit(X, y)
    assert model.verdict_.infinite is None
    assert ClassVerdict.from_json(model.verdict_.to_json()).check(X, y)


@pytest.mark.parametrize("kind", ["overlapping", "quasi-separable"])
def test_model_files_and_pickles_hold_the_verdict_and_its_proof(kind):
    X, y = overlapping() if kind == "overlapping" else load_iris(return_X_y=True)
    model = quiet(free(), X, y)
    assert model.verdict_.kind == kind
    again = from_bytes(to_bytes(model)).model
    for each in (again, pickle.loads(pickle.dumps(model))):
        assert each.verdict_.kind == kind
        assert prove_model(each, X, y)[0]
        assert not prove_model(each, X, np.roll(y, 1))[0]
    again.verdict_ = None
    assert not prove_model(again, X, y)[0]


@pytest.mark.parametrize(("intercept", "penalty"), [(True, 0.0), (True, 0.5), (False, 0.0)])
def test_bounds_without_a_ridge_hold_and_cannot_be_forged(intercept, penalty):
    for seed in range(4):
        X, y = overlapping(30, 2, seed=seed)
        settings = {"fit_intercept": intercept, "intercept_penalty": penalty}
        model = free(tol=1e-6, **settings).fit(X, y)
        proof = model.certificate_
        assert proof.gap <= 1e-6
        rng, costs = np.random.default_rng(seed), np.ones(len(y))
        for size in (1e-3, 0.1, 10.0):
            at = proof.weights + size * rng.normal(size=proof.weights.shape)
            b, W = at[:, 0] * intercept, at[:, 1:]
            there = naive.objective(W, b, X, y, costs, penalty) - 0.5 * (W * W).sum()
            assert there >= proof.dual
        rows = as_checker_data(data_of(X, y, 3, intercept))
        plain = json.loads(proof.to_json())
        assert "with coefficients up to 1000 times as large" in check(plain, rows)
        assert from_json(proof.to_json()).check(X, y)
        # A bound above the optimum, and one of the ridge's objective.
        for field, value in (("dual", (proof.primal * 1.01).hex()), ("ridge", "0x1p+0")):
            forged = json.loads(json.dumps(plain))
            forged["claim"][field] = value
            with pytest.raises(Refused):
                check(forged, rows)
            assert not from_json(json.dumps(forged)).check(X, y)


def test_a_ridge_that_is_neither_is_refused():
    X, y = overlapping(30, 2)
    plain = json.loads(free().fit(X, y).certificate_.to_json())
    plain["claim"]["ridge"] = "0x1p-1"
    with pytest.raises(Refused, match="ridge must be 0 or 1"):
        check(plain, as_checker_data(data_of(X, y, 3, True)))
    with pytest.raises(Refused, match="ridge must be 0 or 1"):
        from_json(json.dumps(plain))


def test_a_device_is_refused_in_words(monkeypatch):
    monkeypatch.setattr("separatrix.core.all_classes.on_device", lambda X: True)
    X, y = overlapping(30, 2)
    with pytest.raises(DeviceError, match="C=inf is worked out on the processor"):
        free().fit(X, y)


@pytest.mark.parametrize("intercept", [True, False])
def test_bounds_at_any_weights_lie_below_the_maximum_of_the_likelihood(intercept):
    X, y = overlapping(40, 2)
    costs, rows = np.ones(len(y)), as_checker_data(data_of(X, y, 3, intercept))
    best = naive.likelihood(X, y, 3, costs, intercept)
    W = best[:, 1:]
    least = naive.objective(W, best[:, 0] * intercept, X, y, costs) - 0.5 * (W * W).sum()
    for off in (0.0, 1e-9, 1e-6, 1e-3):
        at = best + off * np.random.default_rng(0).normal(size=best.shape)
        settings = {"costs": costs, "weights": at, "intercept": intercept, "ridge": 0.0}
        name = fingerprint(data_of(X, y, 3, intercept))
        proof = SoftmaxGap.proved(X, y, classes=("0", "1", "2"), data_sha256=name, **settings)
        assert proof.dual <= least * (1.0 + 1e-12) <= proof.primal * (1.0 + 2e-12)
        assert proof.dual < least - off
        forged = json.loads(proof.to_json())
        check(forged, rows)
        forged["claim"]["dual"] = (0.5 * (least + max(proof.dual, 0.0)) + 0.4 * off).hex()
        if off > 1e-9:
            with pytest.raises(Refused, match="do not prove the lower bound"):
                check(forged, rows)
