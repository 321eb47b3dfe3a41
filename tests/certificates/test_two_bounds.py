"""The gap between two bounds is never stated below the exact one."""

import functools
from collections import UserString
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from tests.amounts import cases

import separatrix as sx
from separatrix.certificates import enclosure, two_bounds
from separatrix.certificates.duality_gap import DualityGap
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.two_bounds import TwoBounds
from separatrix.checker.gaps import between


def bounds(primal, dual):
    return TwoBounds(primal=primal, dual=dual, costs=np.ones(1), n_rows=1, n_features=1)


def test_the_gap_is_rounded_up():
    assert bounds(1.1223742617402137, 0.05401366764557794).gap >= 1 - Fraction(
        0.05401366764557794
    ) / Fraction(1.1223742617402137)
    for seed in cases(2000):
        rng = np.random.default_rng(seed)
        primal, share = rng.random() * 10.0 ** rng.integers(-5, 6), rng.random()
        dual = float(primal * share)
        exact = (Fraction(float(primal)) - Fraction(dual)) / Fraction(float(primal))
        assert exact <= Fraction(bounds(float(primal), dual).gap) <= exact * (1 + 2**-49)


def test_ends_of_the_range():
    assert bounds(0.0, 0.0).gap == 0.0
    assert bounds(1.0, 2.0).gap == 0.0
    assert not bounds(np.inf, 1.0).holds
    assert not bounds(1.0, -np.inf).holds


MACHINES = {
    "duality-gap": (sx.LinearSVM, 2),
    "multiclass-gap": (lambda: sx.LinearSVM(multi_class="direct"), 3),
    "softmax-gap": (lambda: sx.LogisticRegression(multi_class="multinomial"), 3),
    "sparse-softmax-gap": (lambda: sx.LogisticRegression(l1_ratio=0.9), 3),
    "kernel-gap": (sx.KernelSVM, 2),
    "kernel-multiclass-gap": (lambda: sx.KernelSVM(multi_class="direct"), 3),
}
NAMED = ("weights", "multipliers", "costs", "biases")
LEAST = -(2**63)  # the size of which, in whole numbers, is itself


@functools.cache
def fitted(kind):
    make, n_classes = MACHINES[kind]
    X, y = np.random.default_rng(0).normal(size=(24, 2)), np.arange(24) % n_classes
    return X, y, make().fit(X, y).certificate_


@pytest.mark.parametrize("kind", list(MACHINES))
def test_whole_numbers_whose_size_wraps_around_prove_nothing(kind):
    X, y, proof = fitted(kind)
    assert proof.check(X, y)
    tried = 0
    for name, value in vars(proof).items():
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and name in NAMED:
            whole = np.full(value.shape, LEAST, dtype=np.int64)
            forged = [whole, value.astype(np.int64), value.astype(bool), value.astype(np.float32)]
        elif name == "bias":
            forged = [np.int64(LEAST)]
        elif name in ("rows", "rivals"):
            forged = [value.astype(np.float64)]
        else:
            continue
        for other in forged:
            for primal in (proof.primal, proof.dual, 0.99 * proof.dual, 0.1):
                tried += 1
                assert not replace(proof, **{name: other, "primal": primal}).check(X, y)
    assert tried >= 24


class Flushed:
    """Denormals as a process that flushes them has them."""

    def __mul__(self, other):
        return 0.0


@pytest.mark.parametrize("kind", list(MACHINES))
def test_nothing_is_proved_where_denormals_are_flushed(kind, monkeypatch):
    """The multinomial model did not ask: it took 0 for an objective that is above."""
    X, y, proof = fitted(kind)
    monkeypatch.setattr(enclosure, "_TINY", [Flushed()])
    with pytest.raises(ArithmeticError, match="ffast-math"):
        proof.check(X, y)
    with pytest.raises(ArithmeticError, match="ffast-math"):
        MACHINES[kind][0]().fit(X, y)


@pytest.mark.parametrize("kind", list(MACHINES))
def test_arrays_that_hide_numbers_or_multiply_prove_nothing(kind):
    X, y, proof = fitted(kind)
    for name, value in vars(proof).items():
        if isinstance(value, np.ndarray) and name in (*NAMED, "rows", "rivals", "zeros"):
            masked = np.ma.array(value, mask=np.zeros(value.shape, bool))
            forged = [masked] if value.ndim == 1 else [masked, value.view(np.matrix)]
            for other in forged:
                assert not replace(proof, **{name: other}).check(X, y), name


def test_a_multiplier_below_zero_is_not_hidden():
    X, y = np.array([[1.0], [10.0], [-5.0]]), [0, 0, 1]
    forged = MulticlassGap(
        weights=np.zeros((2, 2)), costs=np.ones(3), rows=np.array([0, 1]), rivals=np.array([1, 1]),
        multipliers=np.ma.array([1.0, -0.1], mask=[0, 1]), intercept=False, n_rows=3, n_features=1,
        primal=3.1, dual=0.89,
    )  # fmt: skip
    assert not forged.check(X, y)  # the least is at most 1/4


@pytest.mark.parametrize("kind", list(MACHINES))
def test_names_are_texts_and_classes_differ(kind):
    X, y, proof = fitted(kind)
    assert proof.check(X, y)
    other = "2-" + "0" * 64
    for name in (other, UserString(other), other.encode(), None):
        assert not replace(proof, data_sha256=name).check(X, y)
    for classes in (("0",) * len(proof.classes), (*proof.classes, proof.classes[0])):
        assert not replace(proof, classes=classes).check(X, y)


@pytest.mark.parametrize("kind", list(MACHINES))
def test_labels_may_be_a_column_and_are_as_many_as_rows(kind):
    X, y, proof = fitted(kind)
    assert proof.check(X, y[:, None])
    for claim in (proof, replace(proof, data_sha256="")):
        for wrong in (y[:-1], np.append(y, 0), np.column_stack([y, y]), y[None]):
            assert not claim.check(X, wrong)


def test_each_model_of_several_takes_a_column_and_refuses_other_lengths():
    X, y = np.random.default_rng(0).normal(size=(24, 2)), np.arange(24) % 3
    for model in (sx.LinearSVM(), sx.LinearSVM(multi_class="ovo"), sx.KernelSVM()):
        proof = model.fit(X, y).certificate_
        assert proof.check(X, y[:, None])
        assert not proof.check(X, y[:-1])
        assert not proof.check(X[:-1], y)


def test_a_gap_is_not_to_be_set():
    proof = replace(fitted("duality-gap")[2])
    vars(proof)["gap"] = 0.0
    assert proof.gap > 0.0


def test_words_do_not_say_more_than_the_numbers():
    """The gap was rounded to the nearest, and w = 1 lowered the objective by more than was said."""
    X, signs = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    proof = DualityGap.proved(
        X, signs, loss="hinge", costs=np.ones(2), weights=np.array([0.0, 1.052]),
        multipliers=np.full(2, 0.5), intercept=False,
    )  # fmt: skip
    lowered = 1 - Fraction(1, 2) / (Fraction(1.052) ** 2 / 2)
    assert lowered > Fraction("0.096")
    assert "by more than 0.097 of it (the least is at least 0.499999999)" in str(proof)
    said = between(proof, Fraction(0), Fraction(1), "hyperplane")
    assert "below 0.499999999999; this one has 0.553352000001" in said


def test_what_one_form_of_the_rows_proves_their_copy_in_the_other_proves():
    """Dense rows were centred and sparse ones not; of sparse rows fewer terms were counted."""
    X, y = load_wine(return_X_y=True)
    for settings in ({"C": 100.0}, {"C": 1.0, "l1_ratio": 0.5}):
        for rows in (X, sp.csr_array(X)):
            model = sx.LogisticRegression(multi_class="multinomial", **settings)
            proof = model.fit(rows, y).certificate_
            assert proof.check(X, y)
            assert proof.check(sp.csr_array(X), y)
            assert not proof.check(1.5 * X, y)
    S = sp.random_array((60, 8000), density=6e-4, rng=np.random.default_rng(0), format="csr")
    proof = sx.LinearSVM(multi_class="direct").fit(S, np.arange(60) % 3).certificate_
    assert proof.check(S, np.arange(60) % 3)
    assert proof.check(S.toarray(), np.arange(60) % 3)


def test_rows_of_too_many_entries_are_not_turned(monkeypatch):
    for most, forms in ((6, 2), (2, 2), (1, 1)):
        monkeypatch.setattr(two_bounds, "_MOST_TURNED", most)
        assert len(list(two_bounds._in_both_forms(np.diag([1.0, 2.0])))) == forms
        assert len(list(two_bounds._in_both_forms(sp.csr_array(np.eye(2))))) == 1 + (most > 4)


OTHERS = {
    "separation": (sx.Perceptron, 2),
    "kernel-separation": (sx.KernelPerceptron, 2),
    "fisher-directions": (sx.Fisher, 3),
    "gaussian": (sx.GaussianPlugIn, 2),
}


@pytest.mark.parametrize("kind", list(OTHERS))
def test_claims_about_data_refuse_odd_names_arrays_and_labels(kind, monkeypatch):
    make, n_classes = OTHERS[kind]
    y = np.arange(24) % n_classes
    X = np.random.default_rng(0).normal(size=(24, 2)) + 20.0 * np.eye(3)[y][:, :2]
    proof = make().fit(X, y).certificate_
    assert proof.check(X, y)
    assert proof.check(X, y[:, None])
    assert not proof.check(X, y[:-1])
    for name in (UserString(str(proof.data_sha256)), "2-" + "0" * 64, b"2-"):
        assert not replace(proof, data_sha256=name).check(X, y)
    assert not replace(proof, classes=("a",) * n_classes).check(X, y)
    for name, value in vars(proof).items():
        if isinstance(value, np.ndarray):
            assert not replace(proof, **{name: np.ma.array(value)}).check(X, y), name
    monkeypatch.setattr(enclosure, "_TINY", [Flushed()])
    with pytest.raises(ArithmeticError, match="ffast-math"):
        proof.check(X, y)
