import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import separatrix as sx
from separatrix.data.encodings import tokens
from separatrix.data.encodings.tokens import tokenise
from separatrix.data.encodings.words import TextEncoding, fit_text
from tests.naive import words as naive

any_text = st.text(max_size=40)
WORDS = ["the", "cat", "sat", "été", "ΣΑΣ", "İx", "a_1", "x", "don't", "42"]
WORDS = ["the", "cat", "sat", "été", "ΣΑΣ", "İx", "a_1", "x", "don't", "42"]
sentences = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=6
)


def spoken(found):
    starts = [0, *found.ends.tolist()]
    return [
        [found.words[word] for word in found.ids[start:end].tolist()]
        for start, end in itertools.pairwise(starts)
    ]


@given(st.lists(any_text, max_size=6), st.integers(1, 60))
def test_the_words_are_those_of_the_pattern(documents, chunk):
    before, tokens._CHUNK = tokens._CHUNK, chunk
    try:
        found = tokenise(documents)
    finally:
        tokens._CHUNK = before
    assert spoken(found) == [naive.words(document) for document in documents]
    assert len(set(found.words)) == len(found.words)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800ab c\udfff",
        "ab\x85cd",
        "ΌΔΟΣ ΌΣ",
        "İSTANBUL",
        "a\u0301bc",
        "٣٤ ⅷⅷ ²³",
        "漢字 かな",
        "🙂ab",
    ],
)
def test_corners_of_unicode(text):
    assert spoken(tokenise([text, text])) == [naive.words(text)] * 2


@given(sentences, st.sampled_from([(1, 1), (1, 2), (2, 3), (3, 3)]))
def test_counts_are_those_of_the_naive_version(documents, ngrams):
    expected = [naive.bag(document, *ngrams) for document in documents]
    vocabulary = sorted(set().union(*expected))
    if not vocabulary:
        with pytest.raises(sx.DataError, match="no words"):
            fit_text(documents, TextEncoding(ngrams=ngrams))
        return
    encoding, X = fit_text(documents, TextEncoding(ngrams=ngrams))
    assert encoding.feature_names == vocabulary
    assert X.toarray().tolist() == [[bag[gram] for gram in vocabulary] for bag in expected]
    assert X.has_sorted_indices
    assert_array_equal(encoding.encode(documents).toarray(), X.toarray())


@given(sentences, st.sampled_from([(1, 1), (1, 2)]), st.booleans())
def test_agrees_with_scikit_learn(documents, ngrams, stop):
    options = {"ngram_range": ngrams, "stop_words": ["the", "cat"] if stop else None}
    ours = TextEncoding(ngrams=ngrams, stop_words=("the", "cat") if stop else ())
    try:
        expected = CountVectorizer(**options).fit(documents)
    except ValueError:
        return
    encoding, X = fit_text(documents, ours)
    assert encoding.feature_names == list(expected.get_feature_names_out())
    assert_array_equal(X.toarray(), expected.transform(documents).toarray())
    binary = TextEncoding(ngrams=ngrams, stop_words=ours.stop_words, weighting="binary")
    assert_array_equal(fit_text(documents, binary)[1].toarray(), X.toarray() > 0)
    weighted = TextEncoding(ngrams=ngrams, stop_words=ours.stop_words, weighting="tfidf")
    learned, Z = fit_text(documents, weighted)
    peer = TfidfVectorizer(**options).fit(documents)
    assert_allclose(Z.toarray(), peer.transform(documents).toarray(), rtol=1e-12)
    unseen = ["the sat cat été unheard", ""]
    assert_allclose(learned.encode(unseen).toarray(), peer.transform(unseen).toarray(), rtol=1e-12)


def test_the_most_frequent_words_are_kept():
    encoding, X = fit_text(["bb aa cc bb", "bb cc dd"], TextEncoding(), max_features=2)
    assert encoding.feature_names == ["bb", "cc"]
    assert X.toarray().tolist() == [[2, 1], [1, 1]]


@given(sentences)
def test_hashing_needs_no_vocabulary(documents):
    encoding, X = fit_text(documents, TextEncoding(hashing=64, ngrams=(1, 2)))
    assert X.shape == (len(documents), 64)
    assert len(encoding.feature_names) == 64
    totals = [sum(naive.bag(document, 1, 2).values()) for document in documents]
    assert_array_equal(np.asarray(X.sum(axis=1)).ravel(), totals)
    parts = [encoding.encode([document]).toarray()[0] for document in documents]
    assert_array_equal(np.array(parts), X.toarray())


def test_stop_words_only_when_asked():
    texts = ["this is the very good film", "and this is not"]
    assert "this" in fit_text(texts, TextEncoding())[0].feature_names
    kept = fit_text(texts, TextEncoding(stop_words=("english",)))[0].feature_names
    assert kept == ["film", "good"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weighting": "bm25"}, "weighting"),
        ({"ngrams": (2, 1)}, "ngrams"),
        ({"hashing": 8, "weighting": "tfidf"}, "hashing"),
    ],
)
def test_options_that_make_no_sense(options, words):
    with pytest.raises(sx.DataError, match=words):
        fit_text(["some words"], TextEncoding(**options))


def test_colliding_words_stay_apart(monkeypatch):
    monkeypatch.setattr(tokens, "_CHUNK", 50)
    documents = [" ".join(f"w{number}x{other}" for other in range(20)) for number in range(30)]
    assert spoken(tokenise(documents)) == [naive.words(document) for document in documents]
