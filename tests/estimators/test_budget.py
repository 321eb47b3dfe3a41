"""max_seconds: every fit keeps to it within a second, whatever solver it is given.

What is measured is processor time: a deadline on the wall comes no later, however busy a machine
is. Loops are compiled first.
"""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix._compiled import is_interpreted

BUDGET, GRACE = 0.2, 1.0
HARD = {"C": 100.0, "tol": 1e-13, "max_seconds": BUDGET, "n_jobs": 1}
LINEAR = {
    **{
        f"hinge, {solver}": lambda solver=solver: sx.LinearSVM(solver=solver, **HARD)
        for solver in ("auto", "interior_point", "dual_coordinate", "gram")
    },
    **{
        f"squared hinge, {solver}": lambda solver=solver: sx.LinearSVM(
            loss="squared_hinge", solver=solver, **HARD
        )
        for solver in ("auto", "newton", "dual_coordinate", "gram")
    },
    **{
        f"logistic, {solver}": lambda solver=solver: sx.LogisticRegression(solver=solver, **HARD)
        for solver in ("auto", "newton", "gram")
    },
    "hard margin": lambda: sx.LinearSVM(**{**HARD, "C": np.inf}),
    "lasso": lambda: sx.LogisticRegression(l1_ratio=1.0, **HARD),
    "Crammer-Singer": lambda: sx.LinearSVM(multi_class="direct", **HARD),
    "multinomial": lambda: sx.LogisticRegression(multi_class="multinomial", **HARD),
}
pytestmark = pytest.mark.skipif(is_interpreted(), reason="plain Python keeps to no budget")


def made(seed, most):
    """Rows of any shape and density, so many entries at the most."""
    rng = np.random.default_rng([seed, 29])
    d = int(10.0 ** rng.uniform(0.5, 3.8))
    n = int(min(10.0 ** rng.uniform(2.0, 4.5), max(50, most // d)))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=d)
    if seed % 2:
        X = sp.random_array((n, d), density=min(1.0, 30 / d), rng=rng, format="csr")
    scores = X @ rng.normal(size=d)
    scores = scores + 0.5 * float(scores.std()) * rng.normal(size=n)
    y = (scores > np.median(scores)).astype(int)
    y[:2] = 0, 1
    return X, y


def spent(make, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        try:
            model = make().fit(X, y)
        except sx.NotSeparableError:
            return time.process_time() - begun
        took = time.process_time() - begun
    assert model.gap_ >= 0.0
    return took


def assert_kept(make, X, y, name):
    # A fit may compile a loop, and the next one, which comes further, another.
    took = [spent(make, X, y)]
    while min(took) > BUDGET + GRACE and len(took) < 6:
        took.append(spent(make, X, y))
    assert min(took) <= BUDGET + GRACE, f"{name}: {X.shape}, {took}"


@pytest.mark.long
@pytest.mark.parametrize("name", LINEAR)
def test_a_fit_keeps_to_its_budget(name):
    assert_kept(LINEAR[name], *made(1, 200_000), name)


@pytest.mark.long
@pytest.mark.parametrize("name", LINEAR)
def test_fits_of_every_shape_keep_to_their_budget(name):
    for seed in range(2, 8):
        X, y = made(seed, 3_000_000)
        if not (name.endswith("gram") and X.shape[0] > 4_000):
            assert_kept(LINEAR[name], X, y, f"{name}, seed {seed}")


@pytest.mark.parametrize("solver", ["interior_point", "gram"])
def test_a_step_that_takes_longer_is_not_begun(solver):
    rng = np.random.default_rng(0)
    X = sp.random_array((3_000, 7_000), density=0.005, rng=rng, format="csr")
    y = np.arange(3_000) % 2
    model = sx.LinearSVM(solver=solver, max_seconds=BUDGET, n_jobs=1)
    begun = time.process_time()
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert time.process_time() - begun < BUDGET + GRACE
    assert (model.status_, model.n_iter_) == ("budget", 0)
    assert model.gap_ == pytest.approx(1.0, abs=1e-9)
    assert model.certificate_.check(X, y)
