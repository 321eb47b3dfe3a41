"""The linear program of R's detectseparation, and what the recession cone says of its signs."""

import shutil

import numpy as np
import pytest
from benchmarks.infinite_signs import by_highs, by_lp_solve, signed_rows, stated
from scipy.optimize import linprog
from sklearn.datasets import load_iris

import separatrix as sx

NO_LP_SOLVE = pytest.mark.skipif(
    shutil.which("lp_solve") is None, reason="no lp_solve: `apt-get install lp-solve`"
)
SOLVERS = [by_highs, pytest.param(by_lp_solve, marks=NO_LP_SOLVE)]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_sign_is_stated_where_the_cone_has_both(solver):
    X, y = load_iris(return_X_y=True)
    y = (y == 0).astype(int)  # setosa; column 2 of the rows below is the sepal width
    z = signed_rows(X, y)
    assert stated(solver(z))[2] == np.inf
    for sign in (1.0, -1.0):
        found = linprog(
            [0.0, 0.0, sign, 0.0, 0.0], A_ub=-z, b_ub=np.full(len(z), -1e-3), bounds=(-1.0, 1.0)
        )
        assert (z @ found.x > 0.0).all()
        assert sign * found.x[2] < -0.1
    assert sx.separability(X, y).infinite[2] == "open"


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_coefficient_of_a_fixed_sign_is_called_finite(solver):
    X, y = np.array([[0.0], [-3.0], [3.0], [3.0], [3.0]]), np.array([1, 1, 0, 0, 0])
    assert stated(solver(signed_rows(X, y))) == [0.0, -np.inf]
    assert sx.separability(X, y).infinite.tolist() == [np.inf, -np.inf]
    steep = [sx.LogisticRegression(C=C, tol=1e-8).fit(X, y).intercept_[0] for C in (1e3, 1e6, 1e9)]
    assert steep[0] < steep[1] < steep[2]
