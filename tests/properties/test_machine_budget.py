"""Many small budgets give the same bits as one large one, for the solvers of the machines."""

import numpy as np
import pytest
from tests.amounts import cases
from tests.problems import as_sparse, problem

from separatrix.problem.losses import HINGE, LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear import dual_coordinate, interior_point, newton, newton_cg

RUNS = [
    (interior_point, HINGE, {"tol": 1e-9}),
    (interior_point, HINGE, {"tol": 1e-3, "max_passes": 40}),
    (dual_coordinate, HINGE, {"tol": 1e-9}),
    (dual_coordinate, SQUARED_HINGE, {"tol": 1e-6, "max_passes": 9}),
    *[(method, loss, {"tol": 1e-9}) for method in (newton, newton_cg) for loss in (1, 2)],
]
assert (SQUARED_HINGE, LOGISTIC) == (1, 2)


def claims(state):
    """All that a run of a machine hands over."""
    numbers = np.array([state.primal, state.dual, state.updates, state.passes])
    return [state.w.tobytes(), state.alpha.tobytes(), numbers.tobytes()]


def in_steps(method, machine, sizes, settings):
    state, status = method.start(machine, **settings), None
    for size in sizes:
        status = method.advance(state, size)
        if status is not None:
            break
    return state, status


@pytest.mark.parametrize(("method", "loss", "settings"), RUNS)
@pytest.mark.parametrize("free", [True, False])
def test_budget_of_a_machine_is_only_a_budget(method, loss, settings, free):
    for seed in cases(40):
        case = problem(seed)
        X = np.clip(case.X, -1e80, 1e80)
        X = as_sparse(X, np.int32) if seed % 2 else X
        costs = np.full(len(case.y_signs), 10.0 ** (seed % 5 - 2))
        rows = SignedProblem(X, case.y_signs)
        machine = MachineProblem(rows, costs, loss, 0.0 if free else 1.0)
        whole, status = in_steps(method, machine, [20, 0], settings)
        ones, status_of_ones = in_steps(method, machine, [1] * 20 + [0], settings)
        uneven, status_of_uneven = in_steps(method, machine, [0, 5, 0, 7, 8, 0], settings)
        assert claims(whole) == claims(ones) == claims(uneven)
        assert status is status_of_ones
        assert status is status_of_uneven
