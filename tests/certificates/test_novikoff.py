"""Novikoff's bound speaks of the rows as they were given."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix.storage.model_proof import prove_model


def test_columns_that_lose_digits_when_divided_get_no_bound():
    """The run is then on other rows: 3e-310 / 2^10 is rounded."""
    X = np.array([[1e5, 3e-310], [-1e5, 1e-5], [2e5, 1.0], [-2e5, 2e5]])
    y = [1, 0, 1, 0]
    model = sx.Perceptron(scale=True).fit(X, y)
    assert model.certificate_.holds
    assert model.novikoff_ is None
    X[0, 1] = 0.5
    assert sx.Perceptron(scale=True).fit(X, y).novikoff_.holds


def test_products_that_vanish_are_no_mistakes():
    """Every margin of the run is computed as 0: it updates for ever on rows that are right."""
    X = np.array([[0.0, 0.0, 1.5154458377915636e-235], [-9.2e-301, 0.0, -8.8e-236]])
    options = {"average": True, "fit_intercept": False, "max_updates": 2000}
    with pytest.warns(ConvergenceWarning):
        model = sx.Perceptron(**options).fit(X, [1, 0])
    assert model.certificate_.holds
    assert model.n_iter_ == 2000
    assert model.novikoff_.bound == np.inf
    assert prove_model(model, X, [1, 0])[0]
    X = np.array([[1e-200], [-1e-200]])
    proof = sx.novikoff(sx.Perceptron(fit_intercept=False, max_updates=100), X, [1, 0])
    assert (proof.mistakes, proof.bound) == (100, np.inf)
    assert str(proof) == "100 mistakes; no bound on them is proved"


def test_one_function_gives_both_halves_of_the_proof():
    """Lecture 000's five points: (R B)^2 is 31.15, whatever the weights that were found."""
    X, y = [[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]], [1, -1, -1, 1, 1]
    for model in (sx.Perceptron(), sx.Perceptron(learning_rate=0.2, init=[0, 1, 0.5])):
        proof = sx.novikoff(model, X, y)
        frames = list(sx.replay(model, X, y))
        assert proof.mistakes == len(frames) - 1
        assert pytest.approx(31.153846, rel=1e-6) == (proof.R * proof.B) ** 2
        low, high = proof.margin_bounds
        assert low <= 1 / proof.B <= high <= low * (1 + 1e-8)
        assert (proof.least <= proof.along + 1e-12).all()
        assert (proof.along <= proof.length + 1e-12).all()
        assert (proof.length <= proof.most + 1e-12).all()
        own = model.fit(X, y).novikoff_
        assert own.bound == pytest.approx(proof.bound, rel=1e-6)
        assert own.mistakes <= own.bound
    with pytest.raises(ValueError, match="update='single'"):
        sx.novikoff(sx.Perceptron(update="batch"), X, y)


def test_the_bound_is_that_of_the_hard_margin_through_the_origin():
    rng = np.random.default_rng(0)
    for _ in range(5):
        X = rng.normal(size=(40, 3))
        y = np.sign(X @ [1.0, 2.0, -1.0])
        X += 0.2 * y[:, None] * [1.0, 2.0, -1.0]
        rows = np.column_stack([np.ones(40), X])
        hard = sx.LinearSVM(C=np.inf, fit_intercept=False, tol=1e-9).fit(rows, y)
        expected = (rows**2).sum(axis=1).max() * (hard.coef_**2).sum()
        assert sx.Perceptron().fit(X, y).novikoff_.bound == pytest.approx(expected, rel=1e-6)


def test_the_margin_is_that_of_the_weights_returned():
    """In the units of the columns they lost digits, and the margin was that of those before."""
    X = np.array(
        [
            [1.56221285e220, -1.10500461e-276, -9.63511212e-013],
            [-3.56885508e220, 8.00506909e-277, -2.31705339e-013],
            [2.17843778e220, -6.54453424e-277, 2.61571692e-013],
            [1.50152159e220, 9.56260393e-278, -6.39488667e-013],
            [-1.40619570e220, -1.79357453e-276, 3.01085119e-013],
        ]
    )
    y = np.array([1, 0, 2, 1, 0])
    model = sx.Perceptron(average=True, learning_rate=1e-100, order="worst", scale=True).fit(X, y)
    assert model.novikoff_.margin < 0.03362
    assert prove_model(model, X, y)[0]


def test_lengths_whose_squares_are_no_floats():
    """Both halves of the proof ended in an `OverflowError`."""
    proof = sx.novikoff(sx.Perceptron(), np.array([[1e200], [-3e200], [2e200]]), [0, 1, 0])
    assert np.isfinite(proof.most).all()
    assert (proof.length <= proof.most).all()
