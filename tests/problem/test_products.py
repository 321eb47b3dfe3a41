import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.problems import as_sparse

from separatrix.problem.products import combined, curved, moments, scores, tilted
from separatrix.problem.rows import rows_of
from separatrix.problem.signed import SignedProblem


@pytest.mark.parametrize("kind", ["dense", "single", "sparse", "long"])
def test_products_are_those_of_numpy(kind):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((23, 7)) < 0.5, rng.normal(size=(23, 7)), 0.0)
    X[3] = 0.0
    if kind == "single":
        X = X.astype(np.float32)
    given = {"sparse": as_sparse(X), "long": as_sparse(X, np.int64)}.get(kind, X)
    rows = rows_of(SignedProblem(given, np.ones(23))).base
    X = X.astype(np.float64)
    v, shares = rng.normal(size=7), rng.normal(size=23)
    bends = rng.choice([0.0, 1.0, 2.5], size=23)
    shares[bends == 0.0] = 0.0
    plus, minus = np.maximum(shares, 0.0) @ X, np.minimum(shares, 0.0) @ X
    assert_allclose(scores(rows, v), X @ v, atol=1e-13)
    assert_allclose(combined(rows, shares, 7), [plus, minus], atol=1e-13)
    assert_allclose(
        moments(rows, shares, bends, 7), [plus, minus, bends @ X, bends @ X**2], atol=1e-13
    )
    assert_allclose(tilted(rows, shares, bends, 7), [shares @ X, bends @ X], atol=1e-13)
    written = np.empty(23)
    result, total = curved(rows, bends, v, 0.3, written)
    assert_allclose(written, X @ v - 0.3, atol=1e-13)
    assert_allclose(result, (bends * (X @ v - 0.3)) @ X, atol=1e-13)
    assert_allclose(total, bends @ (X @ v - 0.3), atol=1e-13)
