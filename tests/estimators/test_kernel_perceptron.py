"""The kernel perceptron and kernel Kozinec against the linear ones, given by the linear kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import cases
from tests.problems import problem

import separatrix as sx
from separatrix.problem.kernels import Kernel
from separatrix.solvers.kernels.kernel_rows import CachedRows, WholeRows
from separatrix.solvers.updates import kernel_kozinec, kernel_perceptron


def test_the_linear_kernel_gives_the_perceptron():
    for seed in cases(40):
        case = problem(seed, ["comfortable_margin", "separable_integers"][seed % 2])
        if case.one_class:
            continue
        plain = sx.Perceptron().fit(case.X, case.y_signs)
        machine = sx.KernelPerceptron(kernel="linear").fit(case.X, case.y_signs)
        assert machine.status_ == "separated"
        assert machine.n_iter_ == plain.n_iter_
        expected = plain.decision_function(case.X)
        assert_allclose(machine.decision_function(case.X), expected, rtol=1e-6, atol=1e-9)


def test_the_linear_kernel_gives_kozinec():
    for seed in cases(40):
        case = problem(seed, "comfortable_margin")
        plain = sx.Kozinec(epsilon=0.01, order="worst").fit(case.X, case.y_signs)
        machine = sx.KernelKozinec(epsilon=0.01, kernel="linear").fit(case.X, case.y_signs)
        assert machine.status_ == plain.status_ == "epsilon"
        assert machine.n_iter_ == plain.n_iter_
        assert_allclose(machine.margin_bounds_, plain.margin_bounds_, rtol=1e-6)
        assert_allclose(abs(machine.dual_coef_).sum(), 1.0, rtol=1e-9)


def test_circles_are_parted_and_duplicates_are_not():
    X, y = make_circles(40, factor=0.4, random_state=0)
    for machine in (sx.KernelPerceptron(), sx.KernelKozinec(), sx.KernelKozinec(0.05)):
        assert (machine.fit(X, y).predict(X) == y).all()
    twice, labels = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    for machine in (sx.KernelPerceptron(max_updates=200), sx.KernelKozinec(max_updates=200)):
        with pytest.warns(ConvergenceWarning):
            machine.fit(twice, labels)


def test_many_small_budgets_give_the_bits_of_one_large_one():
    for seed in cases(20):
        case = problem(seed, "overlapping_gaussians")
        for method in (kernel_perceptron, kernel_kozinec):
            found = []
            for sizes in ([60], [1] * 60, [0, 7, 0, 53]):
                rows = WholeRows(Kernel("rbf", 0.5).block(case.X, case.X))
                state = method.start(case.y_signs, kernel_rows=rows)
                for size in sizes:
                    method.advance(state, size)
                found.append((state.alpha.tobytes(), state.updates, state.row))
            assert found[0] == found[1] == found[2]


class Copied:
    """Rows of a matrix, where others compute them."""

    dtype = np.dtype(np.float64)

    def __init__(self, matrix):
        self.matrix = matrix

    def fill(self, rows, begin, end, slots, store):
        store[slots, begin:end] = self.matrix[rows, begin:end]


@pytest.mark.parametrize("method", [kernel_perceptron, kernel_kozinec])
def test_a_cache_of_two_rows_gives_the_bits_of_the_whole_matrix(method):
    again = 0
    for seed in cases(20):
        case = problem(seed, "overlapping_gaussians")
        matrix = Kernel("rbf", 0.5).block(case.X, case.X)
        few = CachedRows(Copied(matrix), np.diagonal(matrix), 0)
        assert few.capacity == 2
        found = []
        for rows in (WholeRows(matrix), few):
            state = method.start(case.y_signs, kernel_rows=rows)
            status = method.advance(state, 60)
            found.append((state.alpha.tobytes(), state.updates, state.row, state.passes, status))
        assert found[0] == found[1]
        again += few.computed > 2 * len(matrix)
    assert again, "no row had to be computed a second time"
