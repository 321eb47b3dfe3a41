"""Weighted n-grams against scikit-learn's vectorisers, and learned from rows of training alone."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer

import separatrix as sx
from separatrix.data.encodings.grams import GramEncoding
from separatrix.data.encodings.tokens import tokenise
from separatrix.data.encodings.words import TextEncoding, fit_text
from separatrix.data.raw_rows import RawRows
from separatrix.data.table import Table, encoding_from_dict

WORDS = ["good", "film", "!", "bad", "a", "été", "don't", "...", "42", "I", ",", "naïve"]
sentences = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), min_size=4, max_size=9
)
PATTERN = r"(?u)\w+|[^\w\s]"


def table_of(texts, y):
    encoding, X = fit_text([*texts, "some words"], TextEncoding())
    y = np.asarray(y)
    encoding = TextEncoding(encoding.vocabulary, classes=tuple(np.unique(y).tolist()))
    return Table(
        X[:-1], y, encoding.feature_names, np.unique(y), "text", "texts", "",
        encoding=encoding, texts=texts,
    )  # fmt: skip


def halves(n):
    y = np.arange(n) % 2
    return y, np.arange(n)[: max(2, 2 * n // 3)]


@given(st.lists(st.text(max_size=30), max_size=5))
def test_tokens_with_marks_are_those_of_the_pattern(documents):
    found = tokenise(documents, marks=True)
    starts = [0, *found.ends.tolist()]
    for number, document in enumerate(documents):
        ids = found.ids[starts[number] : starts[number + 1]].tolist()
        assert [found.words[at] for at in ids] == re.findall(PATTERN, document.lower())


@given(sentences)
def test_words_are_the_tfidf_of_scikit_learn(texts):
    y, rows = halves(len(texts))
    learned = RawRows(table_of(texts, y)).learn("words", rows, y)
    peer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=PATTERN)
    peer.fit([texts[row] for row in rows])
    assert sorted(peer.vocabulary_) == list(learned.encoding.feature_names)
    assert_allclose(learned.X.toarray(), peer.transform(texts).toarray(), rtol=1e-6, atol=1e-7)


@given(sentences)
def test_characters_are_those_inside_words(texts):
    y, rows = halves(len(texts))
    learned = RawRows(table_of(texts, y)).learn("characters", rows, y)
    words = RawRows(table_of(texts, y)).learn("words", rows, y)
    peer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, min_df=2)
    try:
        peer.fit([texts[row] for row in rows])
        expected = np.hstack([words.X.toarray(), peer.transform(texts).toarray()])
    except ValueError:  # no piece occurs twice
        expected = words.X.toarray()
    assert_allclose(learned.X.toarray(), expected, rtol=1e-6, atol=1e-7)


@given(sentences)
def test_joined_are_the_ratios_beside_the_characters(texts):
    y, rows = halves(len(texts))
    joined, ratios, words, characters = (
        RawRows(table_of(texts, y)).learn(name, rows, y).X.toarray()
        for name in ("joined", "ratios", "words", "characters")
    )
    assert_array_equal(joined, np.hstack([ratios, characters[:, words.shape[1] :]]))


def test_ratios_by_hand():
    texts = ["good good film", "bad film", "good"]
    y = np.array([1, 0, 1])
    learned = RawRows(table_of(texts, y)).learn("ratios", np.arange(3), y)
    names = list(learned.encoding.feature_names)
    assert names == ["bad", "bad film", "film", "good", "good film", "good good"]
    p = np.array([0, 0, 1, 2, 1, 1]) + 1.0  # texts of class 1 that hold it, plus one
    q = np.array([1, 1, 1, 0, 0, 0]) + 1.0
    ratio = abs(np.log(p / p.sum()) - np.log(q / q.sum()))
    first = np.array([0, 0, 1, 1, 1, 1]) * ratio
    assert_allclose(learned.X.toarray()[0], first / np.linalg.norm(first), rtol=1e-6)


@pytest.mark.parametrize("features", ["words", "ratios", "characters", "joined"])
@given(texts=sentences)
def test_later_texts_get_the_same_bits(features, texts):
    y, rows = halves(len(texts))
    learned = RawRows(table_of(texts, y)).learn(features, rows, y)
    encoding = encoding_from_dict(learned.encoding.to_dict())
    assert isinstance(encoding, GramEncoding)
    again = encoding.encode(texts)
    assert again.dtype == learned.X.dtype == np.float32
    assert_array_equal(again.toarray(), learned.X.toarray())


@pytest.mark.parametrize("features", ["words", "ratios", "characters", "joined"])
def test_other_rows_teach_nothing(features):
    y = np.array([0, 1, 0, 1, 0, 1])
    texts = ["a good film", "a bad film", "good !", "bad ?", "unseen words here", "bad bad bad"]
    altered = [*texts[:4], "something else", "good good good"]
    rows = np.arange(4)
    first = RawRows(table_of(texts, y)).learn(features, rows, y)
    other = RawRows(table_of(altered, np.array([0, 1, 0, 1, 1, 0]))).learn(
        features, rows, np.array([0, 1, 0, 1, 1, 0])
    )
    assert first.encoding == other.encoding
    assert_array_equal(first.X[rows].toarray(), other.X[rows].toarray())


def test_an_empty_text_is_a_row_of_zeros():
    encoding = GramEncoding(("good",), (1, 2), weights=(1.5,))
    assert encoding.encode(["", "!!", "good"]).toarray().tolist() == [[0.0], [0.0], [1.0]]


@pytest.mark.parametrize(
    "change",
    [
        {"weights": []},
        {"features": "magic"},
        {"weights": [float("inf")]},
        {"pieces": ["x"], "piece_weights": [1.0]},
        {"vocabulary": [], "weights": []},
        {"vocabulary": [1]},
        {"column": 3},
    ],
)
def test_a_damaged_encoding_is_refused(change):
    plain = GramEncoding(("good",), (1, 2), weights=(1.5,)).to_dict() | change
    with pytest.raises(sx.DataError, match="not well-formed"):
        encoding_from_dict(plain)
