"""Parts of the training rows: who trains, and that the errors are those of plain fits."""

import itertools
import math

import numpy as np
import pytest

import separatrix as sx
from separatrix.report.learning import SHARES, errors_on_parts, part_of
from separatrix.selection.folds import folds_of


def clouds(n_classes, n=90, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + 1.3 * np.eye(3)[codes], codes


@pytest.mark.parametrize(("n_classes", "loss"), [(2, "hinge"), (3, "squared_hinge")])
def test_errors_are_those_of_plain_fits_on_the_parts(n_classes, loss):
    X, codes = clouds(n_classes)
    classes = np.arange(n_classes)
    folds = folds_of(3, X, codes, classes)
    taught = []

    def matrix(rows):
        taught.append(frozenset(rows.tolist()))
        return X

    found = errors_on_parts(matrix, codes, classes, folds, loss=loss, C=0.5, seed=4)
    each = 60 // n_classes  # rows of a class that train in a fold
    assert [rows for rows, _ in found] == [n_classes * math.ceil(each * s) for s in SHARES]
    at = 0
    for share, (_, errors) in zip(SHARES, found, strict=True):
        for number, fold in enumerate(folds):
            train = part_of(np.flatnonzero(fold.train > 0.0), codes, share, [4, number])
            held = np.flatnonzero(fold.validation > 0.0)
            assert taught[at] == frozenset(train.tolist())
            assert not taught[at] & set(held.tolist())
            at += 1
            model = sx.LinearSVM(0.5, loss=loss, tol=1e-6).fit(X[train], codes[train])
            wrong = np.mean(model.predict(X[held]) != codes[held])
            assert errors[number] == pytest.approx(wrong, abs=1.5 / len(held))


def test_the_multinomial_model_is_fitted_as_one():
    X, codes = clouds(3)
    folds = folds_of(3, X, codes, np.arange(3))
    found = errors_on_parts(
        lambda rows: X, codes, np.arange(3), folds, loss="logistic", C=1.0, multinomial=True
    )
    train = part_of(np.flatnonzero(folds[0].train > 0.0), codes, 0.75, [0, 0])
    held = np.flatnonzero(folds[0].validation > 0.0)
    model = sx.LogisticRegression(1.0, multi_class="multinomial").fit(X[train], codes[train])
    wrong = np.mean(model.predict(X[held]) != codes[held])
    assert found[2][1][0] == pytest.approx(wrong, abs=1.5 / len(held))


def test_parts_lie_within_one_another_and_keep_every_class():
    codes = np.array([0] * 40 + [1] * 3)
    rows = np.arange(43)[::-1]
    parts = [set(part_of(rows, codes, share, 7).tolist()) for share in (*SHARES, 1.0)]
    assert all(small < large for small, large in itertools.pairwise(parts))
    assert all({0, 1} == set(codes[list(part)].tolist()) for part in parts)
    assert part_of(rows, codes, 0.5, 1).tolist() != part_of(rows, codes, 0.5, 2).tolist()


def test_threads_change_nothing():
    X, codes = clouds(2)
    folds = folds_of(3, X, codes, np.arange(2))
    one, two = (
        errors_on_parts(
            lambda rows: X, codes, np.arange(2), folds, loss="hinge", C=1.0, workers=workers
        )
        for workers in (1, 2)
    )
    assert [errors.tolist() for _, errors in one] == [errors.tolist() for _, errors in two]
