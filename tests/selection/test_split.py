import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import separatrix as sx


@given(
    st.lists(st.integers(3, 40), min_size=2, max_size=5),
    st.floats(0.1, 0.4),
    st.sampled_from([0.0, 0.2, 0.3]),
    st.integers(0, 5),
)
def test_parts_are_whole_in_proportion_and_never_without_a_class(counts, test, validation, seed):
    y = np.repeat([f"class {k}" for k in range(len(counts))], counts)
    n = len(y)
    sizes = round(validation * n), round(test * n)
    needed = [size for size in sizes if size]
    if min(needed) < len(counts) or n - sum(sizes) < len(counts):
        with pytest.raises(sx.DataError):
            sx.split(y, test=test, validation=validation, seed=seed)
        return
    parts = sx.split(y, test=test, validation=validation, seed=seed)
    together = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(together) == list(range(n))
    assert (len(parts.validation), len(parts.test)) == sizes
    for part in (parts.train, parts.validation, parts.test):
        if not len(part):
            continue
        assert (np.diff(part) > 0).all()
        found = np.bincount(np.searchsorted(np.unique(y), y[part]), minlength=len(counts))
        assert found.min() >= 1
        if min(counts) >= 20:
            assert abs(found - len(part) * np.array(counts) / n).max() <= 2.0
    again = sx.split(y, test=test, validation=validation, seed=seed)
    assert (again.test == parts.test).all()


def test_another_seed_draws_other_rows():
    y = [0, 1] * 100
    assert (sx.split(y, seed=0).test != sx.split(y, seed=1).test).any()


def test_shares_out_as_the_lecture_does():
    y = np.repeat([0, 1], 1500)
    parts = sx.split(y, test=500, seed=3)
    assert np.bincount(y[parts.test]).tolist() == [250, 250]
    assert len(parts.train) == 2500


@given(st.integers(0, 20), st.sampled_from([0.0, 0.25]))
def test_groups_stay_whole(seed, validation):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 30, 300)
    y = rng.integers(0, 2, 300)
    parts = sx.split(y, test=0.25, validation=validation, groups=groups, seed=seed)
    seen = [set(groups[part]) for part in (parts.train, parts.validation, parts.test)]
    assert not (seen[0] & seen[1])
    assert not (seen[0] & seen[2])
    assert not (seen[1] & seen[2])
    assert sum(map(len, seen)) == len(set(groups))
    assert abs(len(parts.test) - 75) <= 20


def test_times_are_never_mixed():
    rng = np.random.default_rng(0)
    times, y = rng.integers(0, 12, 400), rng.integers(0, 2, 400)
    parts = sx.split(y, test=0.3, validation=0.2, times=times)
    assert times[parts.train].max() < times[parts.validation].min()
    assert times[parts.validation].max() < times[parts.test].min()
    last = sx.split(y, test=100, times="order")
    assert last.test.tolist() == list(range(300, 400))
    dates = np.datetime64("2026-01-01") + np.arange(400)
    assert sx.split(y, test=100, times=dates).test.tolist() == last.test.tolist()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"y": [0, 0, 0, 1]}, "class '1' has 1 row, too few"),
        ({"y": [0, 0, 0, 1, 1], "validation": 0.2}, "class '1' has 2 rows, too few"),
        ({"y": [0, 0, 1, 1], "test": 2, "times": "order"}, "training part .* no row of '1'"),
        ({"y": [0, 1] * 5, "test": 0.99}, "leave none of 10 to train on"),
        ({"y": [0, 1] * 5, "test": 0.01}, "is no row"),
        ({"y": [0, 0]}, "holds one class"),
        ({"y": [0, 1] * 5, "test": -1}, "must be a share"),
        ({"y": [0, 1] * 5, "groups": [0] * 10}, "1 groups cannot fill 2 parts"),
        ({"y": [0, 1] * 5, "groups": [0] * 9}, "a value for each of 10 rows"),
        ({"y": [0, 1] * 5, "times": [np.nan] * 10}, "no value in row 0"),
        ({"y": [0, 1] * 5, "times": "later"}, "column or 'order'"),
        ({"y": [0, 1] * 5, "times": "order", "groups": [0] * 10}, "cannot both"),
        ({"y": [0] * 5 + [1] * 5, "groups": [0] * 5 + [1] * 5}, "would hold no row of"),
        ({"y": [0] * 99 + [1] * 2, "test": 100}, "leave a row of every class"),
    ],
)
def test_refusals_say_what_to_do(settings, words):
    with pytest.raises(ValueError, match=words):
        sx.split(**settings)
