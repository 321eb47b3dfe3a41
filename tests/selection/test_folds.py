"""Folds: those of scikit-learn where they are stratified, and refusals that say what to do."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

import separatrix as sx
from separatrix.selection.folds import folds_of

CLASSES = np.array(["a", "b"])


def made(n=30, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([[0, 1] * 6, rng.integers(0, 2, size=n - 12)])
    return rng.normal(size=(n, 2)), codes


def same(folds, pairs):
    for fold, (train, held) in zip(folds, pairs, strict=True):
        assert np.flatnonzero(fold.train).tolist() == sorted(train)
        assert np.flatnonzero(fold.validation).tolist() == sorted(held)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_number_asks_for_stratified_folds(seed):
    X, codes = made()
    pairs = StratifiedKFold(4, shuffle=True, random_state=seed).split(X, codes)
    same(folds_of(4, X, codes, CLASSES, seed=seed), pairs)


@pytest.mark.parametrize("splitter", [StratifiedKFold(3), TimeSeriesSplit(3)])
def test_any_splitter(splitter):
    X, codes = made()
    same(folds_of(splitter, X, codes, CLASSES), splitter.split(X, codes))


@pytest.mark.parametrize("cv", [3, GroupKFold(3), LeaveOneGroupOut()])
def test_no_group_both_trains_and_judges(cv):
    X, codes = made(40)
    groups = np.repeat(np.arange(10), 4)
    folds = folds_of(cv, X, codes, CLASSES, groups=groups)
    for fold in folds:
        trained = set(groups[fold.train > 0])
        assert trained
        assert not trained & set(groups[fold.validation > 0])
    assert np.array_equal(sum(fold.validation for fold in folds), np.ones(40))


def test_pairs_of_rows_or_masks_with_repeated_rows():
    X, codes = made()
    held = np.arange(30) % 3 == 0
    fold, other = folds_of([(~held, held), ([0, 0, 1, -1], [2, 2])], X, codes, CLASSES)
    assert np.array_equal(fold.train > 0, ~held)
    assert (other.train[0], other.train[29], other.validation[2]) == (2.0, 1.0, 2.0)


def test_rows_of_weight_zero_are_in_no_fold():
    X, codes = made()
    weights = (np.arange(30) % 5 > 0).astype(float)
    kept = np.flatnonzero(weights)
    pairs = StratifiedKFold(3, shuffle=True, random_state=0).split(X[kept], codes[kept])
    folds = folds_of(3, X, codes, CLASSES, weights=weights)
    same(folds, [(kept[train], kept[held]) for train, held in pairs])


@pytest.mark.parametrize(
    ("cv", "groups", "said"),
    [
        (1, None, "at least 2 folds"),
        (20, None, "Use cv="),
        ("five", None, "number of folds"),
        (None, None, "number of folds"),
        ([], None, "no fold"),
        ([(1, 2, 3)], None, "pairs"),
        ([([0.5], [1])], None, "row numbers"),
        ([([0, 1], [99])], None, "beyond the 30 rows"),
        ([([0, 2], [1])], None, "no row of class 'b' to train on"),
        ([([0, 1], [])], None, "no row of any weight to judge by"),
        (3, [1, 2], "one group for each of the 30 rows"),
        (3, [0] * 15 + [1] * 15, "3 groups"),
    ],
)
def test_refusals_say_what_to_do(cv, groups, said):
    X, codes = made()
    with pytest.raises(ValueError, match=said):
        folds_of(cv, X, codes, CLASSES, groups=groups)


def test_a_class_with_one_row_is_named():
    X, codes = made(12)
    codes = np.array([0] * 11 + [1])
    with pytest.raises(sx.DataError, match=r"class 'b' has 1.*Add rows to it"):
        folds_of(5, X, codes, CLASSES)


def test_shuffled_splits_leave_rows_out_of_both():
    X, codes = made()
    (fold,) = folds_of(
        ShuffleSplit(1, test_size=5, train_size=15, random_state=0), X, codes, CLASSES
    )
    assert (fold.train.sum(), fold.validation.sum()) == (15.0, 5.0)
