"""Rows on their own side of a function of a kernel: proved, and forged claims refused."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import separatrix as sx
from separatrix.checker import Refused, check
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.storage.certificate_files import prove_again

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
