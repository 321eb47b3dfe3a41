"""Wide sparse text, real and made up, as (X, y): CSR float64 and signs."""

import bz2
import itertools

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks._report import SHARED


def textlike(n=100_000, d=50_000, seed=0):
    """Texts made up: word frequencies by a power law, tf-idf weights, rows of length 1.

    The classes follow a sparse direction over the words, with one label in twenty flipped. The
    default has about 5.6 million nonzeros.
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / (np.arange(d) + 10.0)
    chances = np.cumsum(frequency / frequency.sum())
    lengths = np.maximum(5, rng.lognormal(3.95, 0.5, size=n)).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    words = np.minimum(np.searchsorted(chances, rng.random(starts[-1])), d - 1)
    counts = sp.csr_array((np.ones(starts[-1]), words, starts), shape=(n, d))
    counts.sum_duplicates()
    used = np.bincount(counts.indices, minlength=d)
    inverse = np.log((1.0 + n) / (1.0 + used)) + 1.0
    X = _unit_rows(counts, np.log1p(counts.data) * inverse[counts.indices])
    direction = rng.normal(size=d) * (rng.random(d) < 0.2)
    scores = X @ direction
    y = np.where(scores > np.median(scores), 1.0, -1.0)
    y[rng.random(n) < 0.05] *= -1.0
    return X, y


def newsgroups_classes():
    """All 20 newsgroups as tf-idf, with their names."""
    rows = []
    for part in ("train", "test"):
        name = SHARED / "newsgroups20" / f"20newsgroups-{part}.tab.bz2"
        with bz2.open(name, "rt") as file:
            lines = file.read().split("\n")[3:]
        rows += [line.split("\t", 1) for line in lines if "\t" in line]
    labels = np.array([label for label, _ in rows])
    return _tfidf((text for _, text in rows), TfidfVectorizer(min_df=2)), labels


def newsgroups_two_classes():
    """All 20 newsgroups as tf-idf: those about computers and the sciences against the others."""
    X, labels = newsgroups_classes()
    return X, np.array([1.0 if name.startswith(("comp", "sci")) else -1.0 for name in labels])


def rt_polarity(ngrams=1):
    """Sentences of praise (+1) and blame, their words, or words and pairs of words, as tf-idf."""
    texts = []
    for name in ("pos", "neg"):
        text = (SHARED / "rt-polarity" / f"rt-polarity.{name}").read_text("latin-1")
        texts.append([line for line in text.split("\n") if line])
    y = np.concatenate([np.ones(len(texts[0])), -np.ones(len(texts[1]))])
    vectoriser = TfidfVectorizer(ngram_range=(1, ngrams))
    return _tfidf(itertools.chain(*texts), vectoriser), y


def _tfidf(texts, vectoriser):
    X = sp.csr_array(vectoriser.fit_transform(texts))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    X.sum_duplicates()  # sorts the indices, so that nobody has to copy
    return X


def _unit_rows(X, values):
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    lengths = np.sqrt(np.bincount(rows, weights=values * values, minlength=X.shape[0]))
    indices, starts = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array((values / lengths[rows], indices, starts), shape=X.shape)
