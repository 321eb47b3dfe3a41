"""Fisher's directions where the means of the classes lie in fewer dimensions."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx

LINE = np.outer(np.arange(4.0), [1.0, 2.0, -1.0])
PLANE = np.array([[0.0, 0.0, 1.0], [4.0, 0.0, 1.0], [0.0, 4.0, 1.0], [4.0, 4.0, 1.0]])


def draw(means, seed=0):
    """Draw rows whose class means are exactly these, up to rounding."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(means)), 20)
    X = rng.normal(0.0, 1.0, (len(codes), means.shape[1])) @ rng.normal(0.0, 1.0, (3, 3))
    for k, mean in enumerate(means):
        X[codes == k] += mean - X[codes == k].mean(axis=0)
    return X, codes


@pytest.mark.parametrize(("means", "rank"), [(LINE, 1), (PLANE, 2)])
@pytest.mark.parametrize("shrinkage", ["auto", 0.3, "pseudo-inverse"])
def test_there_are_as_many_directions_as_the_means_have_dimensions(means, rank, shrinkage):
    X, codes = draw(means)
    model = sx.Fisher(shrinkage=shrinkage).fit(X, codes)
    assert model.scalings_.shape == (3, rank)
    assert model.transform(X).shape == (len(X), rank)
    assert len(model.get_feature_names_out()) == rank
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)
    assert (model.explained_variance_ratio_ > 1e-3).all()
    if shrinkage == "auto":
        assert model.certificate_.holds
        assert model.certificate_.check(X, codes)
        peer = LinearDiscriminantAnalysis().fit(X, codes)
        assert peer.transform(X).shape == (len(X), rank)


def test_fewer_directions_than_components_are_no_error():
    X, codes = draw(LINE)
    assert sx.Fisher(n_components=2).fit(X, codes).transform(X).shape == (80, 1)
    with pytest.raises(ValueError, match="at most 3"):
        sx.Fisher(n_components=4).fit(X, codes)


def test_full_rank_keeps_every_direction_however_small():
    means = np.vstack([np.zeros(3), 3.0 * np.eye(3)])
    means[:, 2] *= 1e-4
    X, codes = draw(means)
    assert sx.Fisher().fit(X, codes).scalings_.shape == (3, 3)


def test_equal_means_leave_one_direction():
    X, codes = draw(np.zeros((3, 3)))
    with pytest.warns(ConvergenceWarning, match="not proved"):
        model = sx.Fisher().fit(X, codes)
    assert model.transform(X).shape[1] in (1, 2)
