"""Tables on which every candidate errs often: the log loss chooses, of cells that are there."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from separatrix.data.encodings.column_features import GAMMAS
from separatrix.data.raw_rows import RawRows
from separatrix.data.table import Table
from separatrix.selection.candidates import LOSSES, Search
from separatrix.selection.compared import Candidate, is_hard
from separatrix.selection.folds import Folding, folds_of
from separatrix.selection.scores import Measure


def weak(n=300, classes=2, noise=2.0, seed=0):
    """Rows whose classes follow a linear score under much noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    scores = X @ [1.0, -1.0, 0.5, 0.0] + noise * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(scores, np.arange(1, classes) / classes), scores)


def search_of(X, y, **settings):
    names = [f"x{j}" for j in range(X.shape[1])]
    table = Table(X, y, names, np.unique(y), "csv", "", "")
    return Search(RawRows(table), np.arange(len(y)), y, np.unique(y), **settings)


@pytest.mark.parametrize("classes", [2, 3])
def test_features_walked_for_their_errors_are_judged_by_the_log_loss(classes, monkeypatch):
    X, y = weak(classes=classes)
    monkeypatch.setattr("separatrix.selection.candidates.is_hard", lambda *_: False)
    plain = search_of(X, y)
    plain.best(("standard", "raw"), ("squared_hinge",))
    monkeypatch.undo()
    search = search_of(X, y)
    best = search.best(("standard", "raw"))
    assert search.measure == best.measure == Measure("log_loss")
    assert [str(each.candidate) for each in search.compared][:2] == [
        str(each.candidate) for each in plain.compared
    ]
    for ours, theirs in zip(search.compared, plain.compared, strict=False):  # nothing fitted again
        np.testing.assert_array_equal(ours.found.table["C"], theirs.found.table["C"])
        np.testing.assert_array_equal(ours.path.fold_errors, theirs.path.fold_errors)
    assert all(each.candidate.loss != "hinge" for each in search.compared)
    for each in search.compared:
        assert each.cuts == 1
        assert each.losses.mean() == each.found.losses.mean(axis=1).min()
        called = each.scores.argmax(axis=1) if classes > 2 else each.scores[:, 0] > 0.0
        assert np.mean(called != y) == pytest.approx(each.error, abs=1e-12)
    lead = best.losses - min((each.losses for each in search.compared), key=np.mean)
    assert lead.mean() <= 0.25 * lead.std(ddof=1) / np.sqrt(len(lead))
    assert "log loss" in best.path.reason
    assert best.path["validation_score"][best.chosen] == pytest.approx(best.score[0])


def test_the_log_loss_is_that_of_a_peer():
    X, y = weak(300)
    search = search_of(X, y)
    search.best(("standard",), ("logistic", "squared_hinge"))
    each = search.compared[0]
    found = []
    for fold in folds_of(5, X, y, np.unique(y), seed=0):
        own, held = fold.train > 0.0, fold.validation > 0.0
        learned = search.raw.learn("standard", np.flatnonzero(own), y).X
        model = LogisticRegression(C=each.C, tol=1e-8, max_iter=1000).fit(learned[own], y[own])
        found.append(log_loss(y[held], model.predict_proba(learned[held])))
    np.testing.assert_allclose(each.losses, found, rtol=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"measure": Measure("balanced")},
        {"rule": "one_standard_error"},
        {"class_weight": "balanced"},
        {"is_given": True},  # the error, by name
    ],
    ids=str,
)
def test_whoever_says_what_chooses_is_obeyed(settings):
    X, y = weak()
    search = search_of(X, y, **settings)
    best = search.best(("standard", "raw"))
    assert best.measure == settings.get("measure")


def test_of_more_rows_than_the_sample_the_errors_choose(monkeypatch):
    X, y = weak()
    monkeypatch.setattr(Search, "_sample", lambda self: self.rows[:200])
    assert search_of(X, y).best(("standard",)).measure is None


def test_the_hinge_alone_is_chosen_by_its_errors():
    X, y = weak()
    assert search_of(X, y).best(("standard", "raw"), ("hinge",)).measure is None


def test_the_logistic_loss_has_a_grid_of_its_own():
    """Calibrated scores of the squared hinge prefer another C."""
    X, y = weak()
    search = search_of(X, y)
    search.best(("standard",))
    hinge, logistic = search.compared
    assert logistic.candidate.loss == "logistic"
    assert logistic.found.table["C"].max() >= hinge.found.table["C"].max() / 10.0
    alone = search_of(X, y, measure=Measure("log_loss"))
    peer = alone.compare(Candidate("standard", "logistic"), np.arange(len(y)))
    assert logistic.losses.mean() == pytest.approx(peer.losses.mean(), rel=1e-3)


def test_notes_are_those_of_the_log_loss():
    for seed in range(12):
        X, y = weak(200, seed=seed)
        search = search_of(X, y)
        search.best(("standard", "raw"))
        for each in search.compared[: 2 * (search.measure is not None)]:
            said = any("wider range of Cs" in note for note in each.found.table.notes)
            assert said == (each.chosen in (0, len(each.found.table) - 1)), seed


def test_one_candidate_alone_and_an_easy_table_are_judged_by_their_errors():
    X, y = weak()
    assert search_of(X, y).best(("standard",), ("logistic",)).measure is None
    X, y = weak(noise=0.1)
    assert search_of(X, y).best(("standard", "raw")).measure is None


def test_one_candidate_for_want_of_time_is_judged_by_its_errors():
    X, y = weak()
    search = search_of(X, y, deadline=-np.inf)
    assert search.best(("standard",)).measure is None
    assert len(search.compared) == 1


def test_the_lasso_of_random_cosines_is_not_tried():
    """That a random cosine has no weight says nothing of a column."""
    X, y = weak()
    search = search_of(X, y)
    for features, tried in (("standard", True), (next(iter(GAMMAS)), False)):
        chosen = SimpleNamespace(candidate=Candidate(features, "squared_hinge"), n_features=90)
        assert search._is_worth_sparse(chosen, LOSSES) == tried


def test_rows_in_the_order_of_time_have_no_scores_before_the_first_fold():
    X, y = weak(240)
    search = search_of(X, y, folds=Folding(4, times=np.arange(len(y))))
    best = search.best(("standard", "raw"))
    assert best.measure == Measure("log_loss")
    assert np.isnan(best.scores).any()
    assert np.isfinite(best.losses).all()


def test_a_kernel_is_measured_beside_them():
    X, y = weak()
    search = search_of(X, y)
    search.best(("standard", "raw"))
    kernel = search.compare_kernel()
    assert kernel.measure == Measure("log_loss")
    assert np.isfinite(kernel.losses).all()


def test_where_there_is_nothing_to_learn_the_errors_choose():
    """By the log loss all are alike there; the errors prefer to name the commonest class."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 4)), (rng.random(200) < 0.35).astype(int)
    search = search_of(X, y)
    best = search.best(("standard", "raw"))
    assert is_hard(best.error, y)
    assert best.measure is None
    assert search.measure is None
    assert all(each.measure is None for each in search.compared)


def test_half_the_errors_of_the_commonest_class():
    codes = np.array([0, 0, 0, 1, 2])
    assert not is_hard(0.2, codes)
    assert is_hard(0.201, codes)
    assert not is_hard(0.0, np.zeros(3, dtype=int))
