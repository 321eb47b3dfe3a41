"""Replays of several classes: every machine's frames are those of its two classes, to the bit."""

from fractions import Fraction
from itertools import combinations, groupby, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.amounts import cases

import separatrix as sx

DICE = np.random.default_rng(11)
CENTRES = np.array([[0.0, 0.0], [3.0, 0.5], [0.5, 3.0], [4.0, 4.0]])
CODES = np.arange(len(cases(44)) + 12) % 4
X = CENTRES[CODES] + DICE.normal(size=(len(CODES), 2))
NAMES = np.array(["d", "a", "c", "b"])[CODES]  # sorted otherwise than they come
SORTED = np.unique(NAMES, return_inverse=True)[1]


def tasks(way):
    """Return the rows and the labels of every machine, slowly and obviously."""
    if way == "ovr":
        return [(np.arange(len(SORTED)), (k == SORTED).astype(int)) for k in range(4)]
    found = []
    for low, high in combinations(range(4), 2):
        rows = np.array([i for i, code in enumerate(SORTED) if code in (low, high)])
        found.append((rows, (SORTED[rows] == high).astype(int)))
    return found


def wrapped(machine):
    return {"ovr": sx.OneVsRest(machine), "ovo": sx.OneVsOne(machine)}


def owned(kind, **settings):
    return {way: kind(multi_class=way, **settings) for way in ("ovr", "ovo")}


MACHINES = {
    "perceptron": (sx.Perceptron(max_updates=60), wrapped(sx.Perceptron(max_updates=60))),
    "kozinec": (sx.Kozinec(max_updates=60), wrapped(sx.Kozinec(max_updates=60))),
    "delta rule": (sx.DeltaRule(max_updates=20), wrapped(sx.DeltaRule(max_updates=20))),
    "kernel perceptron": (
        sx.KernelPerceptron(max_updates=40),
        wrapped(sx.KernelPerceptron(max_updates=40)),
    ),
    "hinge": (sx.LinearSVM(C=0.5), owned(sx.LinearSVM, C=0.5)),
    "logistic": (sx.LogisticRegression(C=0.5), owned(sx.LogisticRegression, C=0.5)),
    "kernel machine": (sx.KernelSVM(gamma=0.3), owned(sx.KernelSVM, gamma=0.3)),
}


# Kernel values of a pair are taken from the centre of all rows, which rounds otherwise: see below.
TO_THE_BIT = [(name, way) for name in MACHINES for way in ("ovr", "ovo")]
TO_THE_BIT.remove(("kernel machine", "ovo"))


@pytest.mark.parametrize(("name", "way"), TO_THE_BIT)
def test_every_machine_is_replayed_as_its_two_classes_alone(name, way):
    alone, several = MACHINES[name]
    frames = list(sx.replay(several[way], X, NAMES))
    groups = [list(group) for _, group in groupby(frames, lambda frame: frame.machine)]
    assert [group[0].machine for group in groups] == list(range(len(tasks(way))))
    for group, (rows, labels) in zip(groups, tasks(way), strict=True):
        own = list(sx.replay(alone, X[rows], labels))
        assert len(group) == len(own) > 1
        for frame, expected in zip(group, own, strict=True):
            assert_same(frame, expected, rows)


def assert_same(frame, expected, rows):
    assert (frame.update, frame.errors, frame.status) == (
        expected.update,
        expected.errors,
        expected.status,
    )
    if hasattr(expected, "weights"):
        assert np.array_equal(frame.weights, expected.weights)
    if hasattr(expected, "row"):
        assert frame.row == (rows[expected.row] if expected.row >= 0 else -1)
    if hasattr(expected, "pair"):
        numbers = tuple(rows[row] if row >= 0 else -1 for row in expected.pair)
        assert frame.pair == numbers
    if hasattr(expected, "alpha"):
        assert np.array_equal(frame.alpha[rows], expected.alpha)
        others = np.setdiff1d(np.arange(len(X)), rows)
        assert not frame.alpha[others].any()


def test_kernel_machines_of_pairs_climb_to_their_own_optimum():
    _, several = MACHINES["kernel machine"]
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    frames = list(sx.replay(several["ovo"], X, NAMES))
    for number, (rows, labels) in enumerate(tasks("ovo")):
        own = [frame for frame in frames if frame.machine == number]
        signs = np.zeros(len(X))
        signs[rows] = np.where(labels == 1, 1.0, -1.0)
        shares = [signs * frame.alpha for frame in own]
        duals = [abs(s).sum() - 0.5 * s @ K @ s for s in shares]
        assert (np.diff(duals) > -1e-9).all()
        assert own[-1].gap <= 1e-3
        assert abs(shares[-1].sum()) < 1e-9
        assert not any(frame.alpha[signs == 0.0].any() for frame in own)
        best = sx.KernelSVM(gamma=0.3).fit(X[rows], labels).dual_objective_
        assert duals[-1] == pytest.approx(best, rel=2e-3)
        assert all(row in rows for frame in own[1:] for row in frame.pair)


@pytest.mark.parametrize("way", ["ovr", "ovo"])
def test_the_last_frames_are_what_fit_hands_over(way):
    machine = sx.LinearSVM(
        C=0.5, multi_class=way, class_weight={"a": 3.0, "b": 1.0, "c": 1.0, "d": 2.0}
    )
    fitted = machine.fit(X, NAMES)
    for number, group in groupby(sx.replay(machine, X, NAMES), lambda frame: frame.machine):
        *_, last = group
        assert last.weights[0] == fitted.intercept_[number]
        assert np.array_equal(last.weights[1:], fitted.coef_[number])


@pytest.mark.parametrize("order", ["cyclic", "random", "worst"])
def test_a_perceptron_of_several_classes_names_the_row_and_the_class_it_was_to_beat(order):
    frames = list(sx.replay(sx.Perceptron(order=order, max_updates=60), X, NAMES))
    assert len(frames) > 10
    assert (frames[0].row, frames[0].rival) == (-1, -1)
    for before, after in pairwise(frames):
        change = np.zeros((4, 3))
        change[SORTED[after.row]] = np.r_[1.0, X[after.row]]
        change[after.rival] -= np.r_[1.0, X[after.row]]
        assert SORTED[after.row] != after.rival
        assert np.allclose(after.weights - before.weights, change.ravel(), rtol=0, atol=1e-9)


def test_a_machine_of_steps_names_rows_of_the_data():
    frames = list(sx.replay(sx.SGD(order="cyclic", max_passes=1), X, NAMES))
    assert [frame.row for frame in frames[1:]] == list(range(len(X)))
    assert {frame.rival for frame in frames} == {-1}


def test_what_has_no_updates_says_so():
    with pytest.raises(TypeError, match="LeastSquares has no updates"):
        sx.replay(sx.OneVsRest(sx.LeastSquares()), X, NAMES)
    with pytest.raises(ValueError, match="direct model has no replay"):
        sx.replay(sx.LinearSVM(multi_class="direct"), X, NAMES)


FIVE_X = [[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]]
FIVE_Y = [1, -1, -1, 1, 1]


def test_kozinec_in_fractions_and_in_floats_make_the_same_updates():
    """Lecture 000's five points: a product of exactly 0 is no separation, whatever its rounding."""
    exact = list(sx.replay(sx.Kozinec(), FIVE_X, FIVE_Y, exact=True))
    assert exact[-1].exact == (Fraction(1984, 5275), Fraction(1112, 5275), Fraction(184, 211))
    assert [str(v) for v in exact[1].exact] == ["3/7", "1/7", "9/7"]
    assert (exact[1].errors, exact[1].margin) == (1, 0.0)
    floats = list(sx.replay(sx.Kozinec(), FIVE_X, FIVE_Y))
    assert len(floats) == len(exact) == 4
    for one, other in zip(exact, floats, strict=True):
        assert (one.row, one.visits, one.status) == (other.row, other.visits, other.status)
        assert (one.errors, one.errors_before) == (other.errors, other.errors_before)
        assert_allclose(one.weights, other.weights, rtol=1e-12)
        assert_allclose(one.step, other.step, rtol=1e-12)
        assert_allclose(one.bound, other.bound, rtol=1e-12)
    fitted = sx.Kozinec().fit(FIVE_X, FIVE_Y)
    assert fitted.n_iter_ == 3
    assert fitted.margin_bounds_[0] > 0.26


def test_the_perceptron_in_fractions_takes_decimals_as_written():
    model = sx.Perceptron(learning_rate=0.2, init=[0, 1, 0.5])
    frames = list(sx.replay(model, FIVE_X, FIVE_Y, exact=True))
    assert [[str(v) for v in frame.exact] for frame in frames] == [
        ["0", "1", "1/2"], ["-1/5", "3/5", "9/10"], ["0", "1/5", "11/10"], ["1/5", "1/2", "1"],
    ]  # fmt: skip
    plain = list(sx.replay(model, FIVE_X, FIVE_Y))
    assert [frame.visits for frame in frames] == [frame.visits for frame in plain]


@pytest.mark.parametrize("seed", range(6))
def test_small_runs_in_fractions_are_those_in_floats(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(7, 2)).astype(float)
    y = rng.integers(0, 2, size=7)
    y[:2] = 0, 1
    for model in (sx.Perceptron(max_updates=25), sx.Kozinec(max_updates=6)):
        exact, plain = (list(sx.replay(model, X, y, exact=e)) for e in (True, False))
        assert [frame.row for frame in exact] == [frame.row for frame in plain]
        assert_allclose(exact[-1].weights, plain[-1].weights, rtol=1e-9, atol=1e-9)


def test_what_is_not_followed_in_fractions_is_refused():
    for model in (sx.DeltaRule(), sx.Perceptron(update="batch"), sx.Kozinec(epsilon=0.1)):
        with pytest.raises(ValueError, match="exact=True follows"):
            sx.replay(model, FIVE_X, FIVE_Y, exact=True)
    with pytest.raises(ValueError, match="two classes"):
        sx.replay(sx.Perceptron(), [[0.0], [1.0], [2.0]], [0, 1, 2], exact=True)


def test_frames_know_visits_steps_errors_and_the_criterion():
    X, y = np.array(FIVE_X, dtype=float), np.array(FIVE_Y)
    frames = list(sx.replay(sx.DeltaRule(update="single", max_updates=20), X, y))
    for before, frame in pairwise(frames):
        assert frame.errors_before == before.errors
        assert frame.visits == before.visits + 1
        assert_allclose(frame.step, np.linalg.norm(frame.weights - before.weights))
    rows = y[:, None] * np.column_stack([np.ones(5), X])
    for frame in frames:
        assert_allclose(frame.criterion, 0.5 * ((1 - rows @ frame.weights) ** 2).sum())
        assert_allclose(frame.radius, np.linalg.norm(rows, axis=1).max())
    last = list(sx.replay(sx.Perceptron(), X, y))[-1]
    assert last.inverse_margin == 1 / last.margin
    assert np.isnan(last.criterion)
    scaled = list(sx.replay(sx.Perceptron(scale=True), X * [1, 64], y))
    steps = [np.linalg.norm(b.weights - a.weights) for a, b in pairwise(scaled)]
    assert_allclose([frame.step for frame in scaled[1:]], steps)
