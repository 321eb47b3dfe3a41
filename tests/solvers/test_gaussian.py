import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import chi2, ncx2, norm
from tests.amounts import cases
from tests.naive import gaussian_plug_in as naive
from tests.naive.least_squares import copies
from tests.problems import as_sparse, problem

from separatrix.errors import DataError
from separatrix.solvers.closed_forms import gaussian
from separatrix.solvers.closed_forms.gaussian import estimate_gaussians
from separatrix.solvers.closed_forms.gaussian_tasks import (
    QuadraticForm,
    minimax_threshold,
    neyman_pearson_threshold,
    ratio_law,
)

COVARIANCES = ["shared", "full", "diagonal"]
EVEN = np.array([[0.0, 1.0], [1.0, 0.0]])


def clouds(seed, K=2, d=3, n=80):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(K), d + 3), rng.integers(0, K, size=n)])
    shapes = rng.normal(size=(K, d, d))
    return np.array([shapes[k] @ rng.normal(size=d) + 2.0 * k for k in y]), y


def differences(scores):
    return scores - scores[:, :1]


def test_log_densities_agree_with_the_naive_version():
    for seed in cases(18):
        kind = COVARIANCES[seed % 3]
        K = 2 + seed % 2
        X, y = clouds(seed, K)
        form = sp.csr_array(X) if seed // 3 % 2 else X
        found = estimate_gaussians(form, y, np.ones(len(y)), K, kind)
        even = np.full(K, 1.0 / K)
        expected = naive.posteriors(X, naive.estimates(X, y, kind), even)
        ours = softmax(found.log_densities(form), axis=1)
        assert_allclose(ours, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_weights_are_copies_and_units_do_not_matter(kind):
    for seed in cases(25):
        case = problem(seed)
        if case.kind in ("extreme_columns", "one_class", "one_row", "all_columns_zero"):
            continue
        codes = (case.y_signs > 0).astype(int)
        rng = np.random.default_rng(seed)
        counts = rng.integers(1, 4, size=len(codes)).astype(float)
        X = as_sparse(case.X) if seed % 2 else case.X
        weighted = estimate_gaussians(X, codes, counts, 2, kind, 0.1)
        copied_X, copied_codes = copies(case.X, codes, counts)
        copied = estimate_gaussians(copied_X, copied_codes, np.ones(len(copied_X)), 2, kind, 0.1)
        scores = differences(weighted.log_densities(X))
        size = max(1.0, np.abs(scores).max())
        expected = differences(copied.log_densities(case.X))
        assert_allclose(scores, expected, atol=1e-6 * size, err_msg=case.name)
        units = 2.0 ** rng.integers(-200, 200, size=case.X.shape[1])
        moved = estimate_gaussians(case.X * units, codes, counts, 2, kind, 0.1)
        scaled = differences(moved.log_densities(case.X * units))
        assert_allclose(scaled, expected, atol=1e-6 * size, err_msg=case.name)


def test_singular_covariances_are_shrunk_and_said_or_refused():
    X, y = clouds(0, d=6, n=0)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    found = estimate_gaussians(X, y, np.ones(len(y)), 2, "full")
    assert "shrunk by" in found.method
    assert np.isfinite(found.log_densities(X)).all()
    with pytest.raises(DataError, match="singular covariance"):
        estimate_gaussians(X, y, np.ones(len(y)), 2, "full", 0.0)
    single = estimate_gaussians(X[[0, -1]], np.array([0, 1]), np.ones(2), 2, "full")
    assert (single.log_densities(X[[0, -1]]).argmax(axis=1) == [0, 1]).all()


def test_a_covariance_too_large_to_form_is_refused(monkeypatch):
    monkeypatch.setattr(gaussian, "_LARGEST", 2)
    X, y = clouds(0)
    with pytest.raises(DataError, match="'shared' or 'diagonal'"):
        estimate_gaussians(X, y, np.ones(len(y)), 2, "full")


# ---- quadratic forms of Gaussian vectors


@pytest.mark.parametrize("x", [0.3, 2.0, 9.0])
def test_quadratic_forms_whose_law_is_known(x):
    three = QuadraticForm(np.eye(3), np.array([1.0, 2.0, 0.0]), 0.0)
    assert three.at_most(x) == pytest.approx(ncx2.cdf(x + 1.25, 3, 1.25), abs=1e-8)
    assert QuadraticForm(np.eye(2) / 2, np.zeros(2), 0.0).at_most(x) == pytest.approx(
        chi2.cdf(2 * x, 2), abs=1e-8
    )
    one = QuadraticForm(np.array([[-2.0]]), np.array([3.0]), 1.0)
    root = np.sqrt(9.0 + 8.0 * (1.0 - x) + 0j)
    roots = sorted([((3.0 - root) / 4.0).real, ((3.0 + root) / 4.0).real])
    inside = norm.cdf(roots[1]) - norm.cdf(roots[0]) if root.imag == 0.0 else 0.0
    assert one.at_most(x) == pytest.approx(1.0 - inside, abs=1e-12)
    line = QuadraticForm(np.zeros((2, 2)), np.array([3.0, 4.0]), 1.0)
    assert line.at_most(x) == pytest.approx(norm.cdf((x - 1.0) / 5.0))
    assert QuadraticForm(np.zeros((1, 1)), np.zeros(1), 1.0).at_most(x) == float(x >= 1.0)
    assert three.at_most(1e6) == 1.0
    assert three.at_most(-1e6) == 0.0


# ---- tasks without priors


@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("d", [1, 3])
def test_tasks_meet_their_promise_on_draws(kind, d):
    X, y = clouds(5, d=d)
    found = estimate_gaussians(X, y, np.ones(len(y)), 2, kind)
    model = naive.estimates(X, y, kind)
    model = [(mean, np.atleast_2d(C)) for mean, C in model]
    law = ratio_law(found)
    loss = np.array([[0.0, 5.0], [2.0, 0.5]])
    for q in (minimax_threshold(law, EVEN), minimax_threshold(law, loss), law.middle + law.width):
        drawn = naive.drawn_errors(model, q, 20_000)
        assert_allclose([law.false_alarm(q), law.miss(q)], drawn, atol=0.015)
    q = minimax_threshold(law, EVEN)
    assert law.false_alarm(q) == pytest.approx(law.miss(q), abs=1e-6)
    q = minimax_threshold(law, loss)
    second = 5.0 * law.miss(q) + 0.5 * (1.0 - law.miss(q))
    assert 2.0 * law.false_alarm(q) == pytest.approx(second, abs=1e-5)
    for bounded in (0, 1):
        q = neyman_pearson_threshold(law, 0.1, bounded)
        assert (law.false_alarm, law.miss)[bounded](q) == pytest.approx(0.1, abs=1e-6)


def test_minimax_is_bayes_for_the_worst_priors():
    """No priors make Bayes' rule lose more than minimax does, and its own make it lose as much."""
    X, y = clouds(2)
    law = ratio_law(estimate_gaussians(X, y, np.ones(len(y)), 2, "shared"))
    value = law.false_alarm(minimax_threshold(law, EVEN))
    risks = []
    for p in np.linspace(0.01, 0.99, 99):
        q = np.log((1 - p) / p)
        risks.append((1 - p) * law.false_alarm(q) + p * law.miss(q))
    assert max(risks) <= value + 1e-9
    assert max(risks) == pytest.approx(value, abs=1e-3)


def test_classes_that_cannot_be_told_apart():
    X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])
    law = ratio_law(estimate_gaussians(X, y, np.ones(4), 2, "shared"))
    q = minimax_threshold(law, EVEN)
    assert {law.false_alarm(q), law.miss(q)} == {0.0, 1.0}
