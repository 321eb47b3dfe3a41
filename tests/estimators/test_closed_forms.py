"""Data that break linear algebra: every machine answers, or refuses in one sentence."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import cases
from tests.degenerate import degenerate
from tests.problems import as_sparse, problem

import separatrix as sx

MACHINES = [
    sx.LeastSquares(),
    sx.LeastSquares([0.0, 1.0]),
    sx.LeastSquares(task="regression"),
    sx.Fisher(),
    sx.Fisher("gaussian", direction="means"),
    sx.Fisher(direction="means"),
    sx.Fisher(shrinkage="pseudo-inverse"),
    sx.GaussianPlugIn(),
    sx.GaussianPlugIn("full"),
    sx.GaussianPlugIn("diagonal", reject_cost=0.1),
]


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_ugly_data_get_an_answer_or_one_error(machine):
    answered = refused = 0
    for seed in [*cases(52), 267]:
        X, signs = degenerate(seed)[:2]
        if seed % 2:
            case = problem(seed)
            if case.one_class:
                continue
            X, signs = case.X, case.y_signs
        X = as_sparse(X) if seed // 2 % 2 else X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "GaussianPlugIn: one row only")
            try:
                machine.fit(X, signs)
            except sx.DataError:
                refused += 1
                continue
        assert len(machine.predict(X)) == len(signs)
        assert machine.status_ in ("optimal", "unproved", "budget")
        assert str(machine).startswith(repr(machine))
        if hasattr(machine, "predict_proba"):
            assert np.allclose(machine.predict_proba(X).sum(axis=1), 1.0)
        answered += 1
    assert answered > 10 * refused
