"""Candidates compared on folds: nothing leaks, and the choice is the one described."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from separatrix.data.encodings.words import TextEncoding, fit_text
from separatrix.data.raw_rows import RawRows
from separatrix.data.table import Table
from separatrix.selection.candidates import LOSSES, Search
from separatrix.selection.chosen_machine import fitted_on
from separatrix.selection.compared import Candidate, chosen_of, is_near, middle_of_best
from separatrix.selection.folds import Folding, folds_of
from separatrix.selection.scores import Measure
from tests.amounts import cases


def table_of(X, y):
    return Table(X, y, [f"x{j}" for j in range(X.shape[1])], np.unique(y), "csv", "t", "")


def search_of(table, y, **settings):
    return Search(RawRows(table), np.arange(len(y)), y, np.unique(y), **settings)


def skewed(rng, n=300):
    """Return columns whose ranks tell the class, and whose values hide it."""
    z = rng.normal(size=(n, 3))
    y = (z @ [1.0, -1.0, 0.5] > 0).astype(int)
    return np.exp(3.0 * z) * [1e4, 1.0, 1e-4], y


@pytest.mark.parametrize("wrong", [0, -1, [], "a", (np.inf,), (np.nan,), (0.0, 1.0), (-1.0,)])
def test_what_is_no_C_is_refused(wrong):
    X, y = skewed(np.random.default_rng(0), 30)
    with pytest.raises(ValueError, match=r"Cs must be a (whole )?number"):
        search_of(table_of(X, y), y, Cs=wrong)


def test_the_number_of_values_may_be_one():
    X, y = skewed(np.random.default_rng(0), 60)
    for count in (1, np.int64(3)):
        search = search_of(table_of(X, y), y, Cs=count)
        grid, _ = search._grid("standard", 2.0)
        assert len(grid) == count
    assert search_of(table_of(X, y), y, Cs=1)._grid("standard", 2.0)[0].tolist() == [0.5]


def test_ranks_win_on_skewed_columns():
    X, y = skewed(np.random.default_rng(0))
    search = search_of(table_of(X, y), y)
    best = search.best(("standard", "raw", "ranks"))
    assert best.candidate.features == "ranks"
    assert best.error < 0.7 * min(each.error for each in search.compared[:2])
    assert {str(each.candidate) for each in search.compared} >= {
        "standard, squared hinge", "raw, squared hinge", "ranks, squared hinge", "ranks, hinge",
        "ranks, logistic",
    }  # fmt: skip


def test_of_two_classes_the_logistic_loss_may_win():
    """Rows far on the wrong side pull the squared hinge away, and the logistic loss less."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    y = (X @ [1.0, -1.0, 0.5, 0.0] > 0).astype(int)
    far = np.arange(400) % 25 == 0
    X[far], y[far] = 8.0 * X[far], 1 - y[far]
    search = search_of(table_of(X, y), y)
    best = search.best(("standard",), ("squared_hinge", "logistic"))
    assert best.candidate == Candidate("standard", "logistic")
    assert best.error < search.compared[0].error
    peer = [LogisticRegression(C=best.C, max_iter=500) for _ in range(5)]
    folds = folds_of(5, X, y, np.unique(y), seed=0)
    for number, (model, fold) in enumerate(zip(peer, folds, strict=True)):
        learned = RawRows(table_of(X, y)).learn("standard", np.flatnonzero(fold.train), y).X
        model.fit(learned[fold.train > 0], y[fold.train > 0])
        wrong = model.predict(learned[fold.validation > 0]) != y[fold.validation > 0]
        assert wrong.mean() == pytest.approx(best.errors[number], abs=0.02)


def noisy(n=150):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 6))
    return X, (X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0] + 0.6 * rng.normal(size=n) > 0).astype(int)


def test_with_few_rows_candidates_near_the_best_are_judged_on_three_cuts():
    X, y = noisy()
    search = search_of(table_of(X, y), y, seed=1)
    best = search.best(("standard",))
    assert best in search.compared
    assert best.cuts == 3
    wrong = []
    for cut in range(3):
        for fold in folds_of(5, X, y, np.unique(y), seed=1 + 1_000_003 * cut):
            own, held = fold.train > 0.0, fold.validation > 0.0
            learned = RawRows(table_of(X, y)).learn("standard", np.flatnonzero(own), y).X
            model = fitted_on(best, learned[own], y[own], y[own], device="cpu", tol=1e-3)
            wrong.append(np.mean(model.predict(learned[held]) != y[held]))
    np.testing.assert_allclose(best.errors, wrong, atol=0.04)
    assert best.error == pytest.approx(np.mean(best.errors))
    assert best.standard_error == pytest.approx(best.errors.std(ddof=1) / np.sqrt(5))
    assert "of 3 cuts into folds" in best.path.reason
    missed = (best.scores[:, 0] > 0) != y
    assert missed.mean() == pytest.approx(best.first_errors.mean(), abs=1e-12)


def test_whoever_is_ahead_by_one_cut_alone_is_judged_on_all(monkeypatch):
    X, y = noisy()
    search = search_of(table_of(X, y), y)
    first = {"best": 0.10, "near": 0.11, "ahead later": 0.14, "far": 0.30}

    def one(name, *more):
        noise = np.array([0.06, -0.06, 0.0]) if name == "near" else np.zeros(3)
        return SimpleNamespace(
            name=name,
            n_rows=len(y),
            losses=np.append(first[name] + noise, more),
            cuts=1 + len(more),
        )

    search.compared = [one(name) for name in ("far", "ahead later", "best", "near")]
    monkeypatch.setattr(Search, "_on_all_cuts", lambda self, each: one(each.name, 0.5, 0.5))
    judged = search._judged_again()
    assert [each.name for each in judged] == ["ahead later", "best", "near"]
    assert [each.cuts for each in search.compared] == [1, 3, 3, 3]


@pytest.mark.parametrize("reason", ["rows", "groups", "times", "measure", "rule", "time"])
def test_folds_are_cut_once_where(reason, monkeypatch):
    X, y = noisy()
    rows = np.arange(len(y))
    settings = {
        "groups": {"folds": Folding(5, groups=rows // 3)},
        "times": {"folds": Folding(5, times=rows)},
        "measure": {"measure": Measure("balanced")},
        "rule": {"rule": "one_standard_error"},
    }.get(reason, {})
    if reason == "rows":
        monkeypatch.setattr("separatrix.selection.candidates._FEW", 150)
    search = search_of(table_of(X, y), y, **settings)
    if reason == "time":
        judged = Search._on_all_cuts

        def late(self, each):
            self.deadline = -np.inf
            return judged(self, each)

        monkeypatch.setattr(Search, "_on_all_cuts", late)
    best = search.best(("standard",))
    assert {each.cuts for each in search.compared} == {1}
    assert best in search.compared


def test_a_loss_far_behind_is_not_refined(monkeypatch):
    X, y = skewed(np.random.default_rng(0), 120)
    near = {"hinge": False, "logistic": True}

    def judged(rival, losses):
        assert rival.mean() == min(each.error for each in search.compared)
        return near[LOSSES[len(search.compared)]]

    search = search_of(table_of(X, y), y)
    monkeypatch.setattr("separatrix.selection.candidates.is_near", judged)
    monkeypatch.setattr("separatrix.selection.candidates._FEW", 0)
    monkeypatch.setattr("separatrix.selection.candidates.is_hard", lambda *_: False)
    search.best(("standard",))
    _, hinge, logistic = (each.found.table["C"] for each in search.compared)
    np.testing.assert_allclose(hinge, search.compared[0].C * np.array([0.1, 1.0, 10.0]))
    assert len(logistic) > 3


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_other_losses_keep_to_the_number_of_values(count, monkeypatch):
    X, y = skewed(np.random.default_rng(0), 90)
    monkeypatch.setattr("separatrix.selection.candidates.is_hard", lambda *_: False)
    search = search_of(table_of(X, y), y, Cs=count, folds=2)
    search.best(("standard",))
    assert len(search.compared) == 3
    assert all(len(each.found.table["C"]) <= count + min(2, count - 1) for each in search.compared)


def test_far_behind_is_more_than_a_standard_error_of_the_difference():
    rival = np.array([0.1, 0.2, 0.3, 0.2])
    behind = np.array([0.02, -0.01, 0.03, 0.0])  # mean 0.01, standard error 0.0091
    assert not is_near(rival, rival + behind)
    assert is_near(rival, rival + behind - 0.001)
    assert is_near(rival, rival - 0.05)
    assert not is_near(rival, rival + 0.05)


def test_columns_of_zero_and_one_are_tried_once():
    """Standardised, ranked or as read, they are the same features."""
    rng = np.random.default_rng(8)
    X = (rng.random((50, 4)) < 0.4).astype(float)
    y = np.arange(50) % 2
    for rows in (X, csr_matrix(X)):
        raw = RawRows(table_of(rows, y))
        assert raw.candidates == ("standard",)
        for features in ("standard", "raw", "ranks"):
            found = raw.learn(features, np.arange(40), y).X
            np.testing.assert_array_equal(found.toarray() if rows is not X else found, X)
    other = np.hstack([X, X[:, :1] + 1.0])
    assert RawRows(table_of(other, y)).candidates == ("standard", "raw", "ranks", "splines")


def test_splines_are_tried_where_rows_are_enough():
    """Six further features of each column but those of 0 and 1, at most as many as rows."""
    rng = np.random.default_rng(3)
    X, y = np.hstack([rng.normal(size=(60, 10)), np.eye(60)[:, :30]]), np.arange(60) % 2
    assert RawRows(table_of(X, y)).candidates[-1] == "splines"
    wide = np.hstack([X, X[:, :1]])
    assert RawRows(table_of(wide, y)).candidates == ("standard", "raw", "ranks")
    for rows, columns, n_classes, are in (
        (20_000, 70, 2, True), (20_000, 80, 2, False), (3_000, 60, 10, True), (3_000, 70, 10, False)
    ):  # fmt: skip
        large = np.broadcast_to(np.array([[2.0]]), (rows, columns))
        raw = RawRows(table_of(large, np.arange(rows) % n_classes))
        assert ("splines" in raw.candidates) is are


def valley(rng, n=240):
    """Return columns of which the first tells the class by its distance from 0."""
    X = rng.normal(size=(n, 3))
    return X, (abs(X[:, 0]) + 0.1 * rng.normal(size=n) > 0.7).astype(int)


def test_splines_win_where_the_middle_is_of_one_class():
    X, y = valley(np.random.default_rng(0))
    search = search_of(table_of(X, y), y)
    best = search.best(search.raw.candidates)
    assert best.candidate.features == "splines"
    assert best.error < 0.4 * min(each.error for each in search.compared[:3])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_lasso_of_splines_is_for_two_classes(n_classes):
    X, y = valley(np.random.default_rng(0), 60)
    y += (n_classes == 3) * (X[:, 1] > 0.8)
    search = search_of(table_of(X, y), y)
    search.best(("splines",))
    assert any(each.candidate.l1_ratio for each in search.compared) is (n_classes == 2)
    every = search_of(table_of(X, y), y, l1=1.0)
    every.best(("standard", "splines"), ("logistic",))
    assert any(each.candidate.features == "splines" for each in every.compared) is (n_classes == 2)


def test_the_held_out_scores_are_those_of_the_errors():
    X, y = skewed(np.random.default_rng(1))
    found = search_of(table_of(X, y), y).compare(Candidate("standard", "hinge"), np.arange(len(y)))
    assert found.scores.shape == (300, 1)
    assert ((found.scores[:, 0] > 0) != y).mean() == pytest.approx(found.error, abs=1e-12)


def test_three_classes_are_scored_a_column_each():
    rng = np.random.default_rng(2)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + np.eye(4)[y] * 2
    search = search_of(table_of(X, y), y)
    for loss in ("squared_hinge", "logistic"):
        found = search.compare(Candidate("standard", loss), np.arange(90))
        assert found.scores.shape == (90, 3)
        wrong = found.scores.argmax(axis=1) != y
        assert wrong.mean() == pytest.approx(found.error, abs=1e-12)


@pytest.mark.long
def test_labels_without_meaning_are_not_learned():
    """The log-count ratio sees labels; learned on all rows it would tell the held-out ones."""
    errors = []
    for seed in cases(12):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(60) % 2)
        texts = [" ".join(f"w{k}" for k in rng.integers(400, size=12)) for _ in range(60)]
        encoding, X = fit_text(texts, TextEncoding())
        table = Table(X, y, encoding.feature_names, np.unique(y), "text", "t", "",
                      encoding=encoding, texts=texts)  # fmt: skip
        errors.append(search_of(table, y).compare(Candidate("ratios", "squared_hinge"),
                                                  np.arange(60)).errors.mean())  # fmt: skip
    # The best of a few C is chosen, so that the mean may lie a little below one half.
    assert 0.36 < np.mean(errors) < 0.6


def test_a_small_lead_counts_where_rows_are_many():
    first, second = np.array([0.10, 0.12, 0.11]), np.array([0.11, 0.10, 0.115])
    assert chosen_of([first, second], 100) == 0
    assert chosen_of([first, second], 5_000) == 1
    assert chosen_of([first, first - 0.05], 100) == 1


def test_the_middle_of_a_plateau_is_taken():
    assert middle_of_best(np.array([[0.2], [0.1], [0.1], [0.1], [0.3]])) == 2
    assert middle_of_best(np.array([[0.1], [0.1], [0.1], [0.3]])) == 0
    assert middle_of_best(np.array([[0.5], [0.4]])) == 1


def test_a_search_that_was_ended_goes_on_with_the_same_bits():
    X, y = skewed(np.random.default_rng(4), 120)
    kept = {}

    class Store:
        def get(self, key):
            return kept.get(key)

        def put(self, key, facts, arrays):
            kept[key] = (facts, arrays)

    once = search_of(table_of(X, y), y, store=Store()).best(("standard", "ranks"))
    for key in list(kept)[::2]:
        del kept[key]
    again = search_of(table_of(X, y), y, store=Store()).best(("standard", "ranks"))
    assert (once.candidate, once.C) == (again.candidate, again.C)
    np.testing.assert_array_equal(once.scores, again.scores)


def test_a_sample_and_all_rows_are_kept_apart(monkeypatch):
    """Cells of the sample have other folds: with the same C they are not those of all rows."""
    monkeypatch.setattr("separatrix.selection.candidates._SAMPLE", 80)
    monkeypatch.setattr("separatrix.selection.compared.mean_square", lambda X, fold: 1.0)
    X, y = skewed(np.random.default_rng(7), 200)
    best = search_of(table_of(X, y), y).best(("standard", "ranks"), ("squared_hinge",))
    assert best.n_rows == len(best.scores) == 200
    wrong = (best.scores[:, 0] > 0) != y
    assert wrong.mean() == pytest.approx(best.first_errors.mean(), abs=1e-12)
