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
        (25, None, r"25 rows of some class, and the largest, 'b', has 18. Use 18 folds or fewer"),
        ("five", None, "number of folds"),
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


def counted(*counts):
    """Labels with so many rows of each class, and their names."""
    return np.repeat(np.arange(len(counts)), counts), np.array(list("abcdefghij"))[: len(counts)]


@pytest.mark.parametrize("seed", [0, None])
@pytest.mark.parametrize("few", [2, 3, 4])
def test_a_class_with_fewer_rows_than_folds_is_folded_as_scikit_learn_does(few, seed):
    codes, classes = counted(12, few)
    with pytest.warns(
        UserWarning, match=rf"have rows: 'b' \({few}\).*Use {few} folds or"
    ) as caught:
        folds = folds_of(5, np.zeros((len(codes), 1)), codes, classes, seed=seed)
    assert len(caught) == 1
    splitter = StratifiedKFold(5, shuffle=seed is not None, random_state=seed)
    with pytest.warns(UserWarning, match="least populated class"):
        pairs = list(splitter.split(codes, codes))
    same(folds, pairs)
    assert all(fold.train[codes == 1].any() for fold in folds)


def test_the_only_row_of_a_class_always_trains_and_never_judges():
    codes, classes = counted(6, 1, 7, 1)
    with pytest.warns(UserWarning, match=r"'b' \(1\), 'd' \(1\).*never validated") as caught:
        folds = folds_of(5, np.zeros((15, 1)), codes, classes)
    assert len(caught) == 1
    judged = sum(fold.validation for fold in folds)
    assert np.array_equal(judged, np.where(np.isin(codes, [1, 3]), 0.0, 1.0))
    for fold in folds:
        assert np.array_equal(fold.train, 1.0 - fold.validation)


def test_one_row_against_all_others_can_still_be_folded():
    codes, classes = counted(1, 9)
    with pytest.warns(UserWarning, match="never validated"):
        folds = folds_of(3, np.zeros((10, 1)), codes, classes)
    assert [fold.train[0] for fold in folds] == [1.0, 1.0, 1.0]
    assert sum(fold.validation.sum() for fold in folds) == 9.0


def test_a_warning_lists_a_few_classes_only():
    codes, classes = counted(5, *[2] * 8)
    with pytest.warns(UserWarning, match=r"'f' \(2\), 3 more\. .*Use 2 folds or"):
        folds_of(5, np.zeros((21, 1)), codes, classes)


def test_classes_of_one_row_each_cannot_be_folded():
    codes, classes = counted(1, 1, 1)
    with pytest.raises(sx.DataError, match=r"has 1\. Add rows"):
        folds_of(2, np.zeros((3, 1)), codes, classes)


def test_weight_zero_counts_for_no_class():
    codes, classes = counted(8, 3)
    weights = np.ones(11)
    weights[-2:] = 0.0
    with pytest.warns(UserWarning, match=r"'b' \(1\)"):
        folds = folds_of(3, np.zeros((11, 1)), codes, classes, weights=weights)
    assert all(fold.train[8] == 1.0 and not fold.train[-2:].any() for fold in folds)


def test_no_row_trains_while_its_group_is_held_out():
    codes, classes = counted(9, 1)
    groups = np.append(np.arange(9) % 3, 0)
    with pytest.raises(sx.DataError, match=r"no row of class 'b' to train on.*without groups"):
        folds_of(3, np.zeros((10, 1)), codes, classes, groups=groups)


def test_no_number_asks_for_five_folds():
    X, codes = made()
    assert len(folds_of(None, X, codes, CLASSES)) == 5


def test_shuffled_splits_leave_rows_out_of_both():
    X, codes = made()
    (fold,) = folds_of(
        ShuffleSplit(1, test_size=5, train_size=15, random_state=0), X, codes, CLASSES
    )
    assert (fold.train.sum(), fold.validation.sum()) == (15.0, 5.0)
