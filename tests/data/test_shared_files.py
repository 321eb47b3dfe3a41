"""Every real file is read by one obvious call, with the traps in its README handled."""

import numpy as np
import pytest

import separatrix as sx
from separatrix._compiled import is_interpreted
from tests.optional import SHARED, shared_file

slow = pytest.mark.skipif(is_interpreted(), reason="too slow where loops are not compiled")


def test_a_missing_file_fails_where_the_data_are_required(monkeypatch):
    monkeypatch.setenv("SEPARATRIX_REQUIRE_SHARED", "1")
    with pytest.raises(pytest.fail.Exception, match="required"):
        shared_file("no such file")
    monkeypatch.setenv("SEPARATRIX_REQUIRE_SHARED", "0")
    with pytest.raises(pytest.skip.Exception, match="not there"):
        shared_file("no such file")


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("heart_scale.libsvm", (270, 13), [-1, 1]),
        pytest.param("a9a.libsvm", (32561, 123), [-1, 1], marks=slow),
        pytest.param("a9a.t.libsvm", (16281, 123), [-1, 1], marks=slow),
        pytest.param("mushrooms.libsvm", (6513, 126), [0, 1], marks=slow),
        pytest.param("mushrooms.t.libsvm", (1611, 126), [0, 1], marks=slow),
        ("endometrial.csv", (79, 3), [0, 1]),
        pytest.param("spambase.csv", (4601, 57), ["nonspam", "spam"], marks=slow),
        pytest.param("alon.csv.gz", (62, 2000), ["n", "t"], marks=slow),
        pytest.param("adult-train.csv", (32561, 108), ["<=50K", ">50K"], marks=slow),
        pytest.param("sentiment/imdb_labelled.txt", (1000, 3047), [0, 1], marks=slow),
        pytest.param("sentiment/yelp_labelled.txt", (1000, 2035), [0, 1], marks=slow),
        pytest.param("sentiment/amazon_cells_labelled.txt", (1000, 1847), [0, 1], marks=slow),
        pytest.param("sentiment", (3000, 5155), [0, 1], marks=slow),
        pytest.param("rt-polarity", (10662, 18331), ["neg", "pos"], marks=slow),
        ("fashion-mnist/t10k-images-idx3-ubyte.gz", (10000, 784), list(range(10))),
    ],
)
def test_read_without_options(name, shape, classes):
    table = sx.read(shared_file(name))
    assert table.X.shape == shape
    assert table.classes.tolist() == classes
    assert len(table.feature_names) == shape[1]
    assert len(table.y) == shape[0]


@slow
def test_newsgroups_with_three_header_lines():
    train = sx.read(shared_file("newsgroups20/20newsgroups-train.tab.bz2"))
    assert train.X.shape[0] == 11293
    assert len(train.classes) == 20
    test = train.encoding.transform(shared_file("newsgroups20/20newsgroups-test.tab.bz2"))
    assert test.X.shape == (7528, train.X.shape[1])
    assert set(test.classes) == set(train.classes)


@slow
def test_adult_dots_are_mapped_and_the_test_file_encodes_as_the_training_file():
    train = sx.read(shared_file("adult-train.csv"))
    assert train.feature_names[1] == "column2=Federal-gov"
    assert "column2=(missing)" in train.feature_names
    test = train.encoding.transform(shared_file("adult-test.csv"))
    assert test.classes.tolist() == train.classes.tolist()
    assert "dot" in " ".join(test.notes)
    assert test.X.shape == (16281, train.X.shape[1])


@slow
def test_census_columns_of_mixed_types():
    train = sx.read(shared_file("census_income_train.csv.gz"), target="income")
    assert train.X.shape[0] == 199523
    assert len(train.classes) == 2
    assert np.isfinite(train.X.data).all()
    assert "c25=(missing)" in train.feature_names


def test_one_file_of_a_pair_names_the_other():
    shared_file("fashion-mnist/t10k-labels-idx1-ubyte.gz")
    with pytest.raises(sx.DataError, match="file of images"):
        sx.read(SHARED / "fashion-mnist/t10k-labels-idx1-ubyte.gz")
