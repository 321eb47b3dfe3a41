"""Verdicts on real data, as the literature and exact arithmetic have them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_svmlight_file,
    load_wine,
)
from tests.optional import shared_file

import separatrix as sx


def libsvm(name):
    X, y = load_svmlight_file(str(shared_file(name)))
    return sparse.csr_array(X), y


def table(name, target):
    lines = shared_file(name).read_text().splitlines()
    header = [word.strip('"') for word in lines[0].split(",")]
    at = header.index(target)
    cells = [[cell.strip('"') for cell in line.split(",")] for line in lines[1:]]
    X = np.array([[float(v) for j, v in enumerate(row) if j != at] for row in cells])
    return X, np.array([row[at] for row in cells]), [h for h in header if h != target]


def decided(X, y, kind):
    verdict = sx.separability(X, y)
    assert verdict.kind == kind
    assert verdict.check(X, y)
    return verdict


def test_endometrial_is_quasi_separable_through_nv():
    X, y, names = table("endometrial.csv", "HG")
    verdict = decided(X, y, "quasi-separable")
    infinite = dict(zip(["intercept", *names], verdict.infinite.tolist(), strict=True))
    assert infinite == {name: (np.inf if name == "NV" else 0.0) for name in infinite}
    assert len(y) - len(verdict.boundary) == 13


def test_spambase_and_heart_overlap():
    X, y, _ = table("spambase.csv", "type")
    verdict = decided(X, y, "overlapping")
    assert len(verdict.witness.rows) <= X.shape[1] + 2
    decided(*libsvm("heart_scale.libsvm"), "overlapping")


def test_a9a_partition_and_its_infinite_coefficients():
    X, y = libsvm("a9a.libsvm")
    verdict = decided(X, y, "quasi-separable")
    assert len(y) - len(verdict.boundary) == 87
    infinite = verdict.infinite
    counts = [int((infinite == v).sum()) for v in (np.inf, -np.inf, 0.0)]
    assert counts == [15, 5, 88]
    assert np.isnan(infinite).sum() == 16


def test_mushrooms_are_separable():
    decided(*libsvm("mushrooms.libsvm"), "separable")


def test_polarity_words_are_separable():
    from sklearn.feature_extraction.text import CountVectorizer

    texts, y = [], []
    for label in ("pos", "neg"):
        path = shared_file(f"rt-polarity/rt-polarity.{label}")
        lines = path.read_text(encoding="latin-1").strip().split("\n")
        texts += lines
        y += [label] * len(lines)
    decided(CountVectorizer().fit_transform(texts).astype(float), y, "separable")


def test_iris_wine_breast_cancer_and_digits():
    iris = load_iris()
    decided(iris.data, iris.target == 0, "separable")
    decided(iris.data[50:], iris.target[50:], "overlapping")
    breast = load_breast_cancer()
    decided(breast.data, breast.target, "separable")
    wine = load_wine()
    for label in range(3):
        decided(wine.data, wine.target == label, "separable")
    digits = load_digits()
    verdict = decided(digits.data, digits.target == 8, "quasi-separable")
    assert len(digits.target) - len(verdict.boundary) == 108


@pytest.mark.parametrize("name", ["a9a.libsvm", "endometrial.csv"])
def test_verdicts_do_not_depend_on_the_order_of_rows(name):
    if name.endswith("csv"):
        X, y, _ = table(name, "HG")
    else:
        X, y = libsvm(name)
        X, y = X[:3000], y[:3000]
    order = np.random.default_rng(0).permutation(len(y))
    first, second = sx.separability(X, y), sx.separability(X[order], y[order])
    assert first.kind == second.kind
    assert sorted(order[second.boundary].tolist()) == first.boundary.tolist()
