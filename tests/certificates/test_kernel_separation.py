"""Rows on their own side of a function of a kernel: proved, and forged claims refused."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.certificates.kernel_separation import KernelSeparation, prove_kernel_separation
from separatrix.checker import Refused, check
from separatrix.problem.canonical import as_checker_data, data_of, problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.kernels import Kernel
from separatrix.storage.certificate_files import prove_again
from separatrix.storage.model_proof import prove_model

KERNELS = [
    {"kernel": "rbf", "gamma": 0.7},
    {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 1.0},
    {"kernel": "linear"},
    {"kernel": "sigmoid", "gamma": 0.1, "coef0": 0.2},
]


def rows(seed=0, n=24, d=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 3.0 * y[:, None], y


def by_the_checker(proof, X, y):
    data = as_checker_data(problem_from(np.asarray(X), np.asarray(y), True))
    return check(json.loads(proof.to_json()), data)


@pytest.mark.parametrize("settings", KERNELS, ids=lambda each: each["kernel"])
@pytest.mark.parametrize("method", [sx.KernelPerceptron, sx.KernelKozinec])
@pytest.mark.filterwarnings("ignore")
def test_library_and_checker_agree(method, settings):
    X, y = rows()
    model = method(max_updates=2000, **settings).fit(X, y)
    proof = model.certificate_
    assert proof.check(X, y)
    assert f"at least {proof.right} of 24" in by_the_checker(proof, X, y)
    assert prove_again(json.loads(proof.to_json()), X, y)
    right = int((model.predict(X) == y).sum())
    assert proof.right == right
    assert proof.holds == (right == 24)
    assert math.isfinite(proof.upper) == (settings["kernel"] != "sigmoid")


def test_the_bounds_hold_in_exact_arithmetic():
    X, y = rows(seed=3)
    model = sx.KernelKozinec(epsilon=0.05, kernel="linear").fit(X, y)
    proof = model.certificate_
    signs = np.where(y == 1, 1, -1).tolist()
    exact = [[Fraction(v) for v in row] for row in X.tolist()]
    w = [sum(Fraction(s) * row[j] for s, row in zip(proof.shares.tolist(), exact, strict=True))
         for j in range(2)]  # fmt: skip
    b, total = Fraction(proof.bias), sum(map(Fraction, proof.shares.tolist()))
    margins = [s * (sum(map(Fraction.__mul__, w, row)) + b)
               for s, row in zip(signs, exact, strict=True)]  # fmt: skip
    square = sum(v * v for v in w)
    assert min(margins) > 0
    assert Fraction(proof.lower) ** 2 * (square + b * b) <= min(margins) ** 2
    mass = sum(abs(Fraction(s)) for s in proof.shares.tolist())
    assert Fraction(proof.upper) ** 2 * mass**2 >= square + total * total
    assert model.margin_bounds_ == (proof.lower, proof.upper)
    assert proof.upper - proof.lower < 0.06
    # The largest margin in homogeneous coordinates, by the machine of the columns [1, x].
    best = sx.LinearSVM(C=math.inf, fit_intercept=False).fit(np.column_stack([np.ones(24), X]), y)
    margin = 1.0 / np.linalg.norm(best.coef_)
    assert proof.lower <= margin * (1.0 + 1e-9)
    assert margin * (1.0 - 1e-9) <= proof.upper


def test_bounds_that_rounding_leaves_open_are_not_stated_as_computed():
    """The largest margin is 0.1548 in homogeneous coordinates: (0, 0) was said to hold it."""
    X, y = [[144000000.0], [138000000.0], [101000000.0], [144000000.0]], [0, 0, 1, 0]
    with pytest.warns(ConvergenceWarning):
        model = sx.KernelKozinec(kernel="linear").fit(X, y)
    lower, upper = model.margin_bounds_
    assert lower <= 0.1548 <= upper
    assert prove_model(model, X, y)[0]
    model.margin_bounds_ = (0.0, 0.0)
    assert not prove_model(model, X, y)[0]


def test_a_kernel_function_is_taken_as_predictions_take_it():
    """Values of one tile with another were turned: more rows were proved than predicted right."""

    def kernel(A, B):
        a, b = A[:, 0][:, None], B[:, 0][None, :]
        return np.where(a == b, 1.0, np.where(a < b, 0.9 * np.sin(a * b), 0.0))

    X = np.arange(700.0)[:, None]
    shares = np.random.default_rng(1).normal(size=(700, 1))
    scores = kernel_scores(KernelRowsInProof(Kernel("callable", function=kernel), X), shares)
    wrong = abs(scores.values - kernel(X, X) @ shares)
    assert (wrong <= 2.0 * scores.errors).all()
    assert scores.errors.max() < 1e-9


FORGERIES = {
    "right": lambda p: dataclasses.replace(p, right=p.right + 1),
    "lower": lambda p: dataclasses.replace(p, lower=p.lower * (1.0 + 1e-9)),
    "upper": lambda p: dataclasses.replace(p, upper=p.upper * (1.0 - 1e-9)),
    "bias": lambda p: dataclasses.replace(p, bias=p.bias + 10.0),
    "shares": lambda p: dataclasses.replace(p, shares=-p.shares),
    "kernel": lambda p: dataclasses.replace(p, kernel=dataclasses.replace(p.kernel, gamma=9.0)),
    "data": lambda p: dataclasses.replace(p, data_sha256="0" * 64),
    "rows": lambda p: dataclasses.replace(p, n_rows=23),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_claim_is_refused(name):
    X, y = rows(seed=5)
    proof = sx.KernelKozinec(epsilon=0.05, kernel="rbf", gamma=0.7).fit(X, y).certificate_
    forged = FORGERIES[name](proof)
    assert not forged.check(X, y)
    with pytest.raises(Refused):
        by_the_checker(forged, X, y)
    with pytest.raises(Refused):
        prove_again(json.loads(forged.to_json()), X, y)


def test_shares_of_the_wrong_sign_bound_nothing_from_above():
    X, y = rows(seed=6)
    proof = sx.KernelPerceptron(kernel="rbf", gamma=0.7).fit(X, y).certificate_
    used = int(np.flatnonzero(proof.shares)[0])
    shares = proof.shares.copy()
    shares[used] *= -1e-3
    forged = dataclasses.replace(proof, shares=shares, right=0, lower=-math.inf, upper=proof.upper)
    assert not forged.check(X, y)
    with pytest.raises(Refused, match="signs of their classes"):
        by_the_checker(forged, X, y)


@pytest.mark.filterwarnings("ignore")
def test_equal_rows_of_both_classes():
    X, y = [[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]
    model = sx.KernelPerceptron(kernel="rbf", gamma=1.0, max_updates=100).fit(X, y)
    assert not model.certificate_.holds
    assert model.certificate_.check(X, y)
    assert "of 4 rows are on their own side" in str(model.certificate_)


@pytest.mark.parametrize("field", ["right", "shares", "bias", "kernel", "rows"])
def test_a_file_without_a_field_is_refused(field):
    X, y = rows(seed=5)
    whole = json.loads(sx.KernelPerceptron(gamma=0.7).fit(X, y).certificate_.to_json())
    del whole["claim"][field]
    with pytest.raises(Refused, match=field):
        prove_again(whole, X, y)


def claimed(kernel, X, y, shares, bias, **fields):
    name = fingerprint(data_of(X, y, 2, True))
    about = {"n_rows": len(X), "n_features": X.shape[1], "data_sha256": name}
    return KernelSeparation(kernel=kernel, shares=shares, bias=bias, **about, **fields)


def test_products_that_vanish_are_counted():
    """Shares of the least number round every product: a linear kernel was proved to part XOR."""
    corners, least, m = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), 2.0**-1074, 400
    X = np.vstack([corners, np.full((m, 2), 0.6), np.full((2 * m, 2), 0.4)])
    y = np.repeat([0, 1, 1, 0], [2, 2, m, 2 * m])
    shares = np.repeat([0.0, least, -least], [4, m, 2 * m])
    bias = -200.0 * least
    found = prove_kernel_separation(claimed(Kernel("linear"), X, y, shares, bias), X, y)
    signs, factors = np.where(y == 1, 1, -1).tolist(), list(map(Fraction, shares.tolist()))
    sums = [sum(Fraction(x) * s for x, s in zip(column, factors, strict=True) if s)
            for column in X.T.tolist()]  # fmt: skip
    scores = [sum(Fraction(x) * w for x, w in zip(row, sums, strict=True)) + Fraction(bias)
              for row in X.tolist()]  # fmt: skip
    assert found.right <= sum(sign * score > 0 for sign, score in zip(signs, scores, strict=True))
    assert not dataclasses.replace(found, right=len(X)).check(X, y)


def test_a_given_matrix_must_be_square():
    X, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
    for shares in np.eye(4):
        assert not claimed(Kernel("precomputed"), X, y, shares, 0.0).check(X, y)


def test_a_given_matrix_may_be_sparse():
    K, y = np.eye(4), np.array([0, 1, 0, 1])
    claim = claimed(Kernel("precomputed"), K, y, np.array([-1.0, 1.0, -1.0, 1.0]), 0.0, right=4)
    assert claim.check(sp.csr_array(K), y)
    assert "at least 4" in by_the_checker(claim, K, y)
