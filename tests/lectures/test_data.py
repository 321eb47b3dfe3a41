"""The data of ``sx.lectures`` give the numbers that the lectures print."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from tests.optional import lecture_file, shared_file

import separatrix as sx
from separatrix.data.lectures import STOP_WORDS, cleaned


def perceptron_by_hand(X, y):
    """Go over the points until a whole pass makes no update: weights, visits of updates, visits."""
    w, updates, visits = np.zeros(X.shape[1] + 1), [], 0
    while not updates or updates[-1] > visits - len(X):
        for x, label in zip(X, y, strict=True):
            visits += 1
            row = label * np.array([1.0, *x])
            if w @ row <= 0:
                w = w + row
                updates.append(visits)
    return w, updates, visits


def test_two_hundred_points_give_the_counts_and_weights_of_the_lecture():
    X, y = sx.lectures.two_hundred_points()
    w, updates, visits = perceptron_by_hand(X, y)
    text = lecture_file("002").read_text(encoding="utf-8")
    for count in updates[2:]:
        assert f"{count} points visited so far." in text
    assert updates == [1, 2, 15, 19, 114, 186]
    assert visits == 400
    assert_allclose(w, [0, 2.76, 0.33], atol=1e-12)
    assert len(np.unique(X, axis=0)) == 200
    model = sx.Perceptron().fit(X, y)
    assert model.n_iter_ == 6
    assert_allclose([*model.intercept_, *model.coef_[0]], w, atol=1e-12)


def test_the_parabola_gives_the_counts_and_weights_of_the_lecture():
    X, y = sx.lectures.parabola()
    w, updates, visits = perceptron_by_hand(X, y)
    shown = {1: 1, 2: 3, 3: 6, 4: 13, 5: 14, 12: 36, 35: 97, 47: 139}
    assert {k: updates[k - 1] for k in shown} == shown
    assert (len(X), len(updates), visits) == (20, 47, 160)
    assert_allclose(w, [3, -1.5, 3.12], atol=0.005)
    assert sx.Perceptron().fit(X, y).n_iter_ == 47


def test_twenty_points_are_the_parabola_before_lifting():
    x, y = sx.lectures.twenty_points()
    X, same = sx.lectures.parabola()
    assert_array_equal(X, np.column_stack([x, x**2 - 1]))
    assert_array_equal(y, same)
    assert sx.separability(x, y).kind == "overlapping"
    plain = sx.Perceptron().fit(np.column_stack([x, x**2]), y)
    assert plain.n_iter_ > 47, "the lecture: x^2 - 1 converges faster"


def test_the_iris_pair_is_two_species_by_two_measurements():
    X, y = sx.lectures.iris_pair()
    assert X.shape == (100, 2)
    assert set(y) == {"setosa", "versicolor"}
    assert sx.separability(X, y).kind == "separable"


@pytest.mark.parametrize("marks", ["join", "split"])
@pytest.mark.parametrize("values", ["presence", "counts"])
def test_the_bag_of_words_is_that_of_scikit_learn(tmp_path, marks, values):
    texts = ["Good,not bad. Good 5 times", "he said: NOT the best", "bad bad\x85day", "!?"]
    file = tmp_path / "sentences.txt"
    file.write_text("".join(f"{t}\t{k % 2}\n" for k, t in enumerate(texts)), encoding="utf-8")
    X, y = sx.lectures.sentences(file, marks=marks, values=values)
    peer = CountVectorizer(
        binary=values == "presence", stop_words=list(STOP_WORDS), token_pattern=r"\S+"
    )
    theirs = peer.fit_transform([cleaned(text, marks) for text in texts]).toarray()
    assert y.tolist() == [0, 1, 0, 1]
    assert sorted(map(tuple, X.toarray().T)) == sorted(map(tuple, theirs.T))


def test_of_many_words_the_most_frequent_stay(tmp_path):
    file = tmp_path / "sentences.txt"
    file.write_text("rare often also\t1\noften also\t0\nlast often\t0\n")
    X, _ = sx.lectures.sentences(file, words=2)
    assert X.toarray().tolist() == [[1, 1], [1, 1], [1, 0]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no label here\n", "line 1: expected a sentence, a tab and 0 or 1"),
        (b"fine\t1\nnot so\t2\n", "line 2"),
        (b"fine\t1\nall\t1\n", "both labels"),
        (b"", "both labels"),
        (b"caf\xe9\t1\n", "UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_needed(tmp_path, content, said):
    file = tmp_path / "wrong.txt"
    file.write_bytes(content)
    with pytest.raises(sx.DataError, match=said) as refused:
        sx.lectures.sentences(file)
    assert "UCI Machine Learning Repository" in str(refused.value)


def test_a_folder_without_the_files_is_refused_by_name(tmp_path):
    with pytest.raises(sx.DataError, match=r"amazon_cells_labelled\.txt: there is no such file"):
        sx.lectures.sentences(tmp_path)


@pytest.mark.parametrize("wrong", [{"marks": "drop"}, {"values": "tfidf"}, {"words": 0}])
def test_a_wrong_option_is_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        sx.lectures.sentences(tmp_path, **wrong)


def test_the_lectures_sentences_are_3000_by_4500():
    X, y = sx.lectures.sentences(shared_file("sentiment/imdb_labelled.txt").parent)
    assert X.shape == (3000, 4500)
    assert y.sum() == 1500
    assert X.has_canonical_format
    assert set(X.data) == {1.0}
