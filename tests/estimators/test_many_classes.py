"""Many classes: direct, in pairs, each against the rest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import LinearSVC
from tests.amounts import cases
from tests.problems import as_sparse
from tests.problems_many import many

import separatrix as sx


def direct(C=1.0, **settings):
    return sx.LinearSVM(C, multi_class="direct", **settings)


def test_two_classes_are_the_two_class_machine_for_twice_the_cost():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], np.array(["versicolor", "virginica"])[y[50:] - 1]
    one, two = direct(0.5, tol=1e-8).fit(X, y), sx.LinearSVM(1.0, tol=1e-8).fit(X, y)
    assert_allclose(one.objective_, 0.5 * two.objective_, rtol=1e-7)
    assert_allclose(one.coef_, two.coef_, rtol=1e-4)
    assert_allclose(one.intercept_, two.intercept_, rtol=1e-4)
    assert one.coef_.shape == (1, 4)
    assert (one.predict(X) == two.predict(X)).all()


def test_a_weight_is_so_many_copies():
    for seed in cases(24):
        X, codes, K, _, C = many(seed)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, size=len(X))
        weights[[np.flatnonzero(codes == k)[0] for k in range(K)]] = 2
        copies = np.repeat(np.arange(len(X)), weights)
        names = np.array(["a", "b", "c", "d", "e"])[codes]
        by_weight = direct(C, tol=1e-8).fit(X, names, weights)
        by_copies = direct(C, tol=1e-8).fit(as_sparse(X[copies]), names[copies])
        assert_allclose(by_weight.objective_, by_copies.objective_, rtol=1e-7)
        assert by_weight.certificate_.check(X, names)
        assert by_copies.certificate_.check(X[copies], names[copies])


def test_the_peer_with_a_penalised_bias_finds_no_better():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = direct(0.1, intercept_penalty=1.0, tol=1e-8).fit(X, y)
    peer = LinearSVC(C=0.1, multi_class="crammer_singer", tol=1e-8, max_iter=100_000).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, peer.intercept_, atol=1e-4)


@pytest.mark.parametrize("kind", ["ovr", "ovo", "direct"])
def test_threads_do_not_change_a_bit(kind):
    X, y = load_iris(return_X_y=True)
    one, two = (sx.LinearSVM(multi_class=kind, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.intercept_.tobytes() == two.intercept_.tobytes()


def test_pairs_agree_with_scikit_learns_where_votes_decide():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for inner in (sx.LinearSVM(C=0.1), LogisticRegression()):
        ours = sx.OneVsOne(inner).fit(X, y)
        peer = OneVsOneClassifier(inner).fit(X, y)
        votes = np.sort(ours.decision_function(X).round(), axis=1)
        clear = votes[:, -1] > votes[:, -2]
        assert clear.mean() > 0.9
        assert (ours.predict(X) == peer.predict(X))[clear].all()
        rest, its_peer = sx.OneVsRest(inner).fit(X, y), OneVsRestClassifier(inner).fit(X, y)
        assert (rest.predict(X) == its_peer.predict(X)).all()


def test_every_machine_keeps_its_proof():
    X, y = load_iris(return_X_y=True)
    for wrapper in (sx.OneVsRest(sx.LinearSVM()), sx.OneVsOne(sx.LogisticRegression())):
        fitted = wrapper.fit(X, y)
        assert len(fitted.certificates_) == 3
        assert fitted.check(X, y)
        assert not fitted.check(X + 1.0, y)
    plain = sx.OneVsOne(LinearSVC()).fit(X, y)
    assert plain.certificates_ == [None] * 3
    assert not plain.check(X, y)
    pairs = sx.LinearSVM(multi_class="ovo").fit(X, y)
    assert pairs.certificate_.check(X, y)
    assert not pairs.certificate_.check(X[:100], y[:100])
    assert "pair" in str(pairs.certificate_)
    assert pairs.coef_.shape == (3, 4)
    wrapped = sx.OneVsOne(sx.LinearSVM()).fit(X, y)
    assert (pairs.predict(X) == wrapped.predict(X)).all()


def test_a_class_of_one_row_has_its_place():
    X, y = np.array([[0.0], [0.1], [5.0], [9.0], [9.2]]), list("aabcc")
    for kind in ("ovr", "ovo", "direct"):
        machine = sx.LinearSVM(100.0, multi_class=kind).fit(X, y)
        assert machine.certificate_.check(X, y)
    assert machine.predict(X).tolist() == y


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (sx.LinearSVM(multi_class="all"), "multi_class must be one of"),
        (direct(np.inf), "needs a finite C"),
        (direct(loss="squared_hinge"), "hinge loss only"),
        (direct(solver="newton"), "solver of its own"),
        (sx.LogisticRegression(multi_class="direct"), "multi_class='multinomial' here"),
    ],
)
def test_what_is_not_built_is_refused_in_words(machine, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        machine.fit(X, y)


def test_wrappers_refuse_in_words():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        sx.OneVsOne(sx.LinearSVM(), n_jobs=0).fit(X, y)
    with pytest.raises(ValueError, match="does not take sample_weight"):
        sx.OneVsRest(sx.Kozinec()).fit(X, y, np.ones(150))
