"""Least squares, Fisher and overlaps in a kernel's space, by the stand-alone checker."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import separatrix as sx
from separatrix.certificates.kernel_separation import KernelOverlap
from separatrix.checker import Refused, check
from separatrix.checker.squares import positive_eigenvalues, rest
from separatrix.problem.canonical import as_checker_data, data_of, problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.kernels import Kernel
from separatrix.storage.certificate_files import prove_again


def rows(seed, K, n=18, d=3, scale=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return (rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(K, d))[y]) * scale, y


def proved(whole, X, y):
    return check(whole, as_checker_data(problem_from(np.asarray(X), np.asarray(y), True)))


def claims(seed, K, scale=1.0):
    """Yield certificates of both methods as files, with their rows."""
    X, y = rows(seed, K, scale=scale)
    for model in (sx.LeastSquares(), sx.LeastSquares(ridge=0.5), sx.Fisher()):
        yield json.loads(model.fit(X, y).certificate_.to_json()), X, y


@pytest.mark.parametrize("scale", [1.0, 1e-90, 1e90])
@pytest.mark.parametrize("K", [2, 3])
def test_honest_fits_are_accepted(K, scale):
    for seed in range(3):
        for whole, X, y in claims(seed, K, scale):
            assert proved(whole, X, y)
            assert prove_again(whole, X, y) == proved(whole, X, y)


def shifted(text, share):
    return (float.fromhex(text) * (1.0 + share)).hex()


FALSE = {
    ("least-squares", "objective"): lambda text: shifted(text, -1e-6),
    ("least-squares", "least"): lambda text: shifted(text, 1e-6),
    ("least-squares", "gap"): lambda _: (0.0).hex(),
    ("least-squares", "ridge"): lambda text: (float.fromhex(text) + 0.25).hex(),
    ("least-squares", "weights"): lambda lists: [[shifted(t, 1e-3) for t in one] for one in lists],
    ("fisher", "ratio"): lambda text: shifted(text, 1e-6),
    ("fisher", "bound"): lambda text: shifted(text, -1e-6),
    ("fisher", "weights"): lambda texts: [shifted(texts[0], 0.5), *texts[1:]],
    ("fisher-directions", "lower"): lambda texts: [shifted(t, 1e-6) for t in texts],
    ("fisher-directions", "upper"): lambda texts: [shifted(t, -1e-6) for t in texts],
    ("fisher-directions", "moved"): lambda _: (0.0).hex(),
    ("fisher-directions", "weights"): lambda lists: [
        [shifted(t, 1e-3) for t in one] for one in lists
    ],
    ("fisher-directions", "directions"): lambda lists: lists[:1],
}


@pytest.mark.parametrize(("kind", "field"), FALSE)
def test_false_claims_are_refused(kind, field):
    tried = 0
    for K in (2, 3):
        for whole, X, y in claims(4, K):
            if whole["kind"] == kind:
                whole["claim"][field] = FALSE[kind, field](whole["claim"][field])
                with pytest.raises(Refused):
                    proved(whole, X, y)
                tried += 1
    assert tried


def test_collinear_columns_and_no_intercept():
    X, y = rows(1, 2)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(y))])
    for model in (sx.LeastSquares(), sx.LeastSquares(fit_intercept=False)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = json.loads(model.fit(X, y).certificate_.to_json())
        assert proved(whole, X, y)
        whole["claim"]["least"] = shifted(whole["claim"]["objective"], 1e-9)
        with pytest.raises(Refused):
            proved(whole, X, y)


def test_what_has_no_file_form_says_so():
    X, y = rows(2, 2)
    weights = np.arange(1.0, 19.0)
    for model in (sx.LeastSquares(), sx.Fisher()):
        with pytest.raises(sx.DataError, match="no file form"):
            model.fit(X, y, weights).certificate_.to_json()
    with pytest.raises(sx.DataError, match="no file form"):
        sx.LeastSquares(task="regression").fit(X, X[:, 0]).certificate_.to_json()
    X, y = rows(2, 3)
    with pytest.raises(sx.DataError, match="no file form"):
        sx.Fisher().fit(X, y, weights).certificate_.to_json()


def test_too_many_columns_are_refused_in_words():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(130, 101)), np.arange(130) % 2
    whole = json.loads(sx.LeastSquares().fit(X, y).certificate_.to_json())
    with pytest.raises(Refused, match="100 columns at most"):
        proved(whole, X, y)


def overlap(seed, equal):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 2
    if equal:
        X[1] = X[0]
    alpha = np.zeros(12)
    alpha[[0, 1]] = 0.75
    if not equal:
        alpha[[2, 3]] = 0.25
    name = fingerprint(data_of(X, y, 2, True))
    claim = KernelOverlap.proved(X, y, alpha, kernel=Kernel("rbf", 0.5), data_sha256=name)
    return claim, X, y


@pytest.mark.parametrize("equal", [True, False])
def test_overlaps_in_the_space_of_a_kernel(equal):
    for seed in range(4):
        claim, X, y = overlap(seed, equal)
        whole = json.loads(claim.to_json())
        assert (claim.margin == 0.0) == equal
        assert claim.check(X, y)
        assert proved(whole, X, y).startswith("no hyperplane in the kernel's space")
        assert prove_again(whole, X, y)
        if not equal:
            whole["claim"]["margin"] = shifted(whole["claim"]["margin"], -1e-9)
        else:
            whole["claim"]["multipliers"][0] = (0.5).hex()
        for check_it in (proved, prove_again):
            with pytest.raises(Refused):
                check_it(whole, X, y)


@pytest.mark.parametrize("seed", range(30))
def test_elimination_beside_numpy(seed):
    rng = np.random.default_rng(seed)
    d, n = (int(v) for v in rng.integers(1, 6, size=2))
    A = rng.integers(-2, 3, size=(d, d))
    spectrum = np.linalg.eigvalsh((A + A.T).astype(float))
    assert positive_eigenvalues((A + A.T).tolist()) == int((spectrum > 1e-9).sum())
    X, t = rng.integers(-3, 4, size=(n, d)), rng.integers(-3, 4, size=n)
    both = np.column_stack([X, t])
    left = rest((both.T @ both).tolist(), d)
    missed = t - X @ np.linalg.lstsq(X.astype(float), t.astype(float), rcond=None)[0]
    assert float(left[0][0]) == pytest.approx(missed @ missed, abs=1e-9)


def test_what_is_not_semidefinite_is_refused():
    with pytest.raises(Refused, match="not positive semidefinite"):
        rest([[-1, 0], [0, 1]], 1)
    with pytest.raises(Refused, match="not positive semidefinite"):
        rest([[0, 1], [1, 0]], 1)


def test_powers_that_would_take_hours_are_refused():
    """A degree of 10**12 kept the checker busy with twenty rows of whole numbers."""
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    model = sx.KernelPerceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0, max_updates=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = json.loads(model.fit(X, y).certificate_.to_json())
    assert proved(whole, X, y)
    for size in (1.0, 0.0):
        kernel = whole["claim"]["kernel"] | {"degree": 10**12, "coef0": (0.0).hex()}
        kernel |= {"gamma": "0x0.0000000000001p-1022"} if not size else {}
        name = fingerprint(data_of(size * X, y, 2, True))
        about = whole["data"] | {"sha256": name}
        forged = whole | {"data": about, "claim": whole["claim"] | {"kernel": kernel}}
        with pytest.raises(Refused, match="too long"):
            proved(forged, size * X, y)


def test_eliminations_that_would_take_hours_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 40)) * 10.0 ** rng.integers(-300, 300, (40, 40)), np.arange(40) % 2
    about = {"rows": 40, "features": 40, "intercept": True, "classes": ["0", "1"]}
    about["sha256"] = fingerprint(data_of(X, y, 2, True))
    one, none = (1.0).hex(), (0.0).hex()
    squares = {"ridge": none, "weights": [[none] * 41], "objective": (40.0).hex()}
    for kind, claim in (
        ("least-squares", squares | {"least": none, "gap": one}),
        ("fisher", {"weights": [one] * 40, "ratio": none, "bound": one}),
    ):
        whole = {"format": "separatrix-certificate-1", "kind": kind, "data": about, "claim": claim}
        with pytest.raises(Refused, match="sizes too different"):
            proved(whole, X, y)
