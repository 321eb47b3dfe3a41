"""The SVM lecture's table: our figures beside a peer's, and what counts as within."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from separatrix.selection import lecture_table as module
from separatrix.selection.lecture_table import LECTURE, Line, lecture_table, split_figures
from separatrix.selection.split import split
from tests.optional import lecture_file


def test_the_figures_are_those_printed_in_the_lecture():
    text = lecture_file("004").read_text(encoding="utf-8")
    for C, (training, test, vectors) in LECTURE.items():
        assert f"{C:g}\t{training}\t{test}\t{vectors}" in text


def test_the_figures_agree_with_libsvm(monkeypatch):
    monkeypatch.setattr(module, "TEST", 40)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    y = (X @ [1.0, -1.0, 0.5] + rng.normal(size=120) > 0).astype(int)
    parts = split(y, test=40, seed=1)
    ours = split_figures(X, y, 1)
    for (training, test, vectors), C in zip(ours, LECTURE, strict=True):
        peer = SVC(C=C, kernel="linear", tol=1e-6).fit(X[parts.train], y[parts.train])
        assert_allclose(training, 100 - 100 * peer.score(X[parts.train], y[parts.train]))
        assert_allclose(test, 100 - 100 * peer.score(X[parts.test], y[parts.test]))
        assert abs(vectors - peer.n_support_.sum()) <= 1


def test_the_table_is_the_mean_over_seeded_splits(monkeypatch):
    monkeypatch.setattr(module, "split_figures", lambda X, y, seed: np.full((6, 3), float(seed)))
    done = []
    lines = lecture_table(None, np.zeros(1), 3, done.append)
    assert [line.C for line in lines] == list(LECTURE)
    assert {(line.training_error, line.support_vectors) for line in lines} == {(1.0, 1.0)}
    assert done == [1, 2, 3]
    with pytest.raises(ValueError, match="splits must be at least 1"):
        lecture_table(None, np.zeros(1), 0)


@pytest.mark.parametrize(
    ("C", "off", "within"),
    [
        (1.0, (0, 0, 0), True),
        (1.0, (0.99, -2.99, 65), True),
        (1.0, (1.01, 0, 0), False),
        (1.0, (0, -3.01, 0), False),
        (1.0, (0, 0, -66), False),
        (1000.0, (0, 0, 500), True),
        (1000.0, (-1.01, 0, 0), False),
        (1.0, (0, float("nan"), 0), False),
    ],
)
def test_within_is_one_point_three_points_and_five_percent(C, off, within):
    assert Line(C, *np.add(LECTURE[C], off).tolist()).is_within is within
