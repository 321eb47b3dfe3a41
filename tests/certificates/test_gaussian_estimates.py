"""Gaussian parameters: those of the data, proved; other ones refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import separatrix as sx
from separatrix.certificates.fisher import prove_fisher_directions
from separatrix.certificates.gaussian_estimates import prove_gaussian_estimates

KINDS = [
    {"covariance": "shared"},
    {"covariance": "full"},
    {"covariance": "diagonal"},
    {"covariance": "shared", "shrinkage": 0.3},
    {"covariance": "full", "shrinkage": 0.3},
    {"covariance": "shared", "shrinkage": "ledoit-wolf"},
]


def rows(seed=0, n=80, d=3, K=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(K, d))[y], y


@pytest.mark.parametrize("settings", KINDS, ids=str)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("scale", [1.0, 1e-120, 1e120])
def test_honest_fits_are_proved(settings, K, scale):
    X, y = rows(K=K)
    model = sx.GaussianPlugIn(**settings).fit(X * scale, y)
    proof = model.certificate_
    assert proof.holds, proof.errors
    assert proof.check(X * scale, y)
    assert not proof.check(X * scale * 1.5, y)
    assert (proof.limit is None) == (K > 2)
    assert max(proof.errors) < 1e-9


def test_weights_of_rows_count():
    X, y = rows(1)
    s = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), s.astype(int))
    weighted = sx.GaussianPlugIn("full").fit(X, y, s).certificate_
    assert weighted.check(X, y, s)
    assert weighted.holds
    assert sx.GaussianPlugIn("full").fit(X[copies], y[copies]).certificate_.holds


def changed(proof, **values):
    return dataclasses.replace(proof, gaussians=dataclasses.replace(proof.gaussians, **values))


def shared(proof):
    W, b = proof.gaussians.linear
    return changed(proof, linear=(W * (1.0 + 1e-8), b))


def offset(proof):
    W, b = proof.gaussians.linear
    return changed(proof, linear=(W, b + np.array([1e-8, 0.0])))


@pytest.mark.parametrize("forge", [
    shared,
    offset,
    lambda p: dataclasses.replace(p, limit=p.limit + 1e-8),
    lambda p: dataclasses.replace(p, priors=p.priors[::-1] * [0.9, 1.1]),
    lambda p: dataclasses.replace(p, loss=p.loss * [[1.0, 2.0], [1.0, 1.0]]),
    lambda p: dataclasses.replace(p, means=0.0),
    lambda p: dataclasses.replace(p, data_sha256="0" * 64),
    lambda p: changed(p, shares=(1e-3,)),
    lambda p: changed(p, means=3.0 * p.gaussians.means),
    lambda p: changed(p, means=p.gaussians.means + 1e-8),
    lambda p: changed(p, means=p.gaussians.means[:1]),
    lambda p: changed(p, means=p.gaussians.means * np.nan),
    lambda p: changed(p, kept=p.gaussians.kept[::-1]),
    lambda p: changed(p, exponents=p.gaussians.exponents + 1),
    lambda p: changed(p, spreads=2.0 * p.gaussians.spreads),
    lambda p: changed(p, log_roots=p.gaussians.log_roots + 1.0),
])  # fmt: skip
def test_forged_shared_covariances_are_refused(forge):
    X, y = rows(2, n=81)
    proof = sx.GaussianPlugIn().fit(X, y).certificate_
    assert proof.check(X, y)
    assert not forge(proof).check(X, y)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_forged_covariances_of_classes_are_refused(kind):
    X, y = rows(3)
    proof = sx.GaussianPlugIn(kind).fit(X, y).certificate_
    held = proof.gaussians
    assert not changed(proof, means=held.means + 1e-8).check(X, y)
    assert not changed(proof, log_roots=held.log_roots + 1e-8).check(X, y)
    if kind == "diagonal":
        assert not changed(proof, variances=held.variances * (1.0 + 1e-8)).check(X, y)
    else:
        larger = tuple(V * (1.0 + 1e-8) for V in held.whiteners)
        assert not changed(proof, whiteners=larger).check(X, y)
        assert not changed(proof, shares=(0.1, 0.1)).check(X, y)


def test_the_mean_of_a_column_of_one_value_is_that_value():
    X, y = rows(2)
    X = np.column_stack([X, np.full(len(y), 3.0)])
    proof = sx.GaussianPlugIn().fit(X, y).certificate_
    assert proof.check(X, y)
    assert not changed(proof, means=proof.gaussians.means + [0.0, 0.0, 0.0, 1e-8]).check(X, y)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_parameters_of_another_shape_are_refused(kind):
    """One row of variances served for all classes: NumPy repeats it."""
    X, y = rows(3)
    proof = sx.GaussianPlugIn(kind).fit(np.vstack([X, X]), np.repeat([0, 1], len(y))).certificate_
    held, X, y = proof.gaussians, np.vstack([X, X]), np.repeat([0, 1], len(y))
    assert proof.check(X, y)
    assert not changed(proof, spreads=held.spreads[:, None]).check(X, y)
    assert not changed(proof, means=held.means[:, :1]).check(X, y)
    if kind == "diagonal":
        assert not changed(proof, variances=held.variances[:, :, None]).check(X, y)
        assert not changed(proof, variances=np.tile(held.variances, (1, 2))).check(X, y)
        assert not changed(proof, variances=np.vstack([held.variances] * 2)).check(X, y)
    else:
        assert not changed(proof, whiteners=held.whiteners[:1]).check(X, y)
        assert not changed(proof, shares=()).check(X, y)
        assert not changed(proof, whiteners=tuple(V[:, :1] for V in held.whiteners)).check(X, y)


def test_other_tasks_prove_the_densities_alone():
    X, y = rows(4)
    for task in ("minimax", "neyman-pearson"):
        proof = sx.GaussianPlugIn(task=task).fit(X, y).certificate_
        assert proof.limit is None
        assert proof.holds
        assert "threshold" not in str(proof)
    assert "threshold" in str(sx.GaussianPlugIn().fit(X, y).certificate_)


def test_a_pseudo_inverse_has_no_certificate():
    model = sx.GaussianPlugIn().fit(
        [[1.0, 1.0], [-1.0, -1.0], [5.0, 5.0], [3.0, 3.0]], [0, 0, 1, 1]
    )
    assert "pseudo-inverse" in model.method_
    assert model.certificate_ is None


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_units_that_are_no_deviations_are_refused(kind):
    """In units of 1e8 deviations every mean was 0 "to within 6e-8 standard deviations"."""
    X, y = rows(5)
    proof = sx.GaussianPlugIn(kind).fit(X, y).certificate_
    held, times, s = proof.gaussians, 1e8, np.ones(len(y))
    values = {"spreads": held.spreads * times, "means": 0.0 * held.means}
    if kind == "full":
        values["whiteners"] = tuple(V * times for V in held.whiteners)
        values["log_roots"] = held.log_roots - X.shape[1] * np.log(times)
    else:
        values["variances"] = np.full_like(held.variances, 1e-9)
        values["log_roots"] = 0.5 * X.shape[1] * np.log(np.full(2, 1e-9))
    forged = prove_gaussian_estimates(changed(proof, **values), X, y, s)
    assert not forged.holds
    stated = dataclasses.replace(forged, means=1e-7, covariances=1e-7, offsets=1e-7)
    assert stated.holds
    assert not stated.check(X, y)


def test_columns_that_vary_between_classes_alone_are_told_in_deviations_of_all_rows():
    X, y = rows(6)
    X = np.column_stack([X, np.where(y, 3.0, -1.0)])
    for settings in ({"covariance": "full", "shrinkage": 0.5}, {"covariance": "diagonal"}):
        assert sx.GaussianPlugIn(**settings).fit(X, y).certificate_.check(X, y)


def test_weights_of_more_classes_than_there_are_prove_nothing():
    X, y = rows(7)
    proof = sx.GaussianPlugIn().fit(X, y).certificate_
    W, b = proof.gaussians.linear
    assert not changed(proof, linear=(np.vstack([W, W]), np.append(b, b))).check(X, y)


def test_weights_on_columns_of_one_value_are_not_proved():
    """Where no other column was left, any weights were those of the data."""
    X, y = np.full((4, 1), 3.0), np.array(["a", "b", "a", "b"])
    proof = sx.GaussianPlugIn().fit(X, y).certificate_
    W, b = proof.gaussians.linear
    assert proof.check(X, y)
    assert not changed(proof, linear=(W + [[0.0], [1e6]], b)).check(X, y)
    Y = np.array([0, 1, 2, 0])
    directions = prove_fisher_directions(
        X, Y, np.ones(4), np.ones((1, 2)), np.full((3, 1), 5.0), ("0", "1", "2")
    )
    assert directions.moved == np.inf
    assert not dataclasses.replace(directions, moved=0.0).check(X, Y)
