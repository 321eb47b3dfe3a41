"""The replay of a rule in a kernel's space is the run that `fit` makes."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import separatrix as sx

RULES = [
    sx.KernelPerceptron(kernel="rbf", gamma=1.0, max_updates=300),
    sx.KernelKozinec(kernel="poly", degree=2, coef0=1.0, max_updates=100),
    sx.KernelKozinec(epsilon=0.05, kernel="rbf", gamma=1.0, max_updates=300),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_last_frame_is_what_fit_hands_over(rule):
    dice = np.random.default_rng(5)
    for _ in range(4):
        X, y = dice.normal(size=(24, 2)), np.arange(24) % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = rule.fit(X, y)
        frames = list(sx.replay(rule, X, y))
        last = frames[-1]
        assert [frame.update for frame in frames] == list(range(len(frames)))
        assert last.update == fitted.n_iter_
        assert last.status == fitted.status_
        shares = np.zeros(24)
        shares[fitted.support_] = fitted.dual_coef_[0]
        assert np.array_equal(last.alpha * np.where(y == 1, 1.0, -1.0), shares)
        assert last.bias == fitted.intercept_[0]
        changed = [np.flatnonzero(b.alpha != a.alpha) for a, b in pairwise(frames)]
        assert all(b.row in rows for b, rows in zip(frames[1:], changed, strict=True))
