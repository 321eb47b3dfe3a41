"""Models of which only the predictions count: the same ones, with fewer steps."""

import numpy as np
from numpy.testing import assert_allclose

from separatrix.core.all_classes import Multinomial
from separatrix.core.proving import About, Effort, solve_and_prove
from separatrix.problem.many_classes import SoftmaxProblem


def test_a_model_for_errors_alone_predicts_the_same_with_fewer_steps():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    codes = np.argmax(X @ rng.normal(size=(4, 3)) + rng.normal(size=(60, 3)), axis=1)
    problem = SoftmaxProblem(X, codes, 3, np.full(60, 10.0), True, 0.0)
    about = About.known("", ("a", "b", "c"))
    exact, enough = (
        solve_and_prove(Multinomial, problem, Effort(1e-3, for_errors=for_errors), about)
        for for_errors in (False, True)
    )
    scores = [
        X @ each.proof.weights[:, 1:].T + each.proof.weights[:, 0] for each in (exact, enough)
    ]
    assert_allclose(scores[1], scores[0], rtol=1e-3, atol=1e-3)
    assert enough.proof.gap <= 2e-9
    assert enough.updates < exact.updates - 3
