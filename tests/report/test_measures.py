"""Measures and their intervals, beside scikit-learn's figures and slow, obvious versions."""

import numpy as np
import pytest
from sklearn import metrics

from separatrix.report.measures import DELONG, PAIRS, auc_of, class_measures, measures_of
from separatrix.selection import bounds


def a_test(n_classes, seed, n=240, skill=1.0):
    rng = np.random.default_rng(seed)
    shares = np.linspace(1.0, 3.0, n_classes)
    codes = rng.choice(n_classes, n, p=shares / shares.sum())
    scores = rng.normal(size=(n, n_classes)) + skill * np.eye(n_classes)[codes]
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    scores = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    predicted = chances.argmax(axis=1)
    confusion = metrics.confusion_matrix(codes, predicted, labels=range(n_classes))
    return confusion, scores, chances, codes, predicted


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_values_are_those_of_scikit_learn(n_classes):
    confusion, scores, chances, codes, predicted = a_test(n_classes, n_classes)
    found = {part.name: part for part in measures_of(confusion, scores, chances, codes)}
    assert list(found) == ["balanced_accuracy", "mcc", "auc", "log_loss", "brier"]
    area = (
        metrics.roc_auc_score(codes, scores)
        if n_classes == 2
        else metrics.roc_auc_score(np.eye(n_classes)[codes], scores)
    )
    brier = (
        np.mean((chances[:, 1] - codes) ** 2)
        if n_classes == 2
        else np.mean(((chances - np.eye(n_classes)[codes]) ** 2).sum(axis=1))
    )
    expected = {
        "balanced_accuracy": metrics.balanced_accuracy_score(codes, predicted),
        "mcc": metrics.matthews_corrcoef(codes, predicted),
        "auc": area,
        "log_loss": metrics.log_loss(codes, chances),
        "brier": brier,
    }
    for name, part in found.items():
        assert part.value == pytest.approx(expected[name], rel=1e-12)
        assert part.low < part.value < part.high
    table = metrics.precision_recall_fscore_support(codes, predicted)
    for k, part in enumerate(class_measures(confusion, [str(k) for k in range(n_classes)])):
        told = part.precision.value, part.recall.value, part.f1.value, part.support
        assert told == pytest.approx([column[k] for column in table])
        exact = bounds.binomial(int(confusion[k, k]), int(confusion[k].sum()))
        assert (part.recall.low, part.recall.high) == (exact.lower, exact.upper)
        assert part.f1.low < part.f1.value < part.f1.high


def test_the_variance_of_the_area_is_that_of_delong():
    _, scores, _, codes, _ = a_test(2, 5, n=60)
    scores = scores.round(1)  # ties
    ones, others = scores[codes == 1], scores[codes == 0]
    wins = (ones[:, None] > others) + 0.5 * (ones[:, None] == others)
    variance = wins.mean(axis=1).var(ddof=1) / len(ones)
    variance += wins.mean(axis=0).var(ddof=1) / len(others)
    found = auc_of(scores, codes)
    assert found.how == DELONG
    assert found.value == pytest.approx(wins.mean())
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.sqrt(variance), rel=1e-5)


def test_several_classes_have_the_spread_that_repeats_have():
    values, widths = [], []
    for seed in range(150):
        _, scores, _, codes, _ = a_test(3, seed, n=150)
        found = auc_of(scores, codes)
        values.append(found.value)
        widths.append((found.high - found.low) / (2 * 1.96))
    assert np.mean(widths) == pytest.approx(np.std(values), rel=0.15)


def test_no_error_is_no_certainty():
    confusion = np.diag([30, 12])
    codes = np.repeat([0, 1], [30, 12])
    scores = np.where(codes == 1, 1.0, -1.0)
    chances = np.column_stack([codes == 0, codes == 1]).astype(float)
    found = {part.name: part for part in measures_of(confusion, scores, chances, codes)}
    assert found["balanced_accuracy"].value == found["auc"].value == found["mcc"].value == 1.0
    ends = [bounds.binomial(n, n, 0.975).lower for n in (30, 12)]
    assert found["balanced_accuracy"].low == pytest.approx(np.mean(ends))
    assert found["mcc"].low < 0.99
    assert found["balanced_accuracy"].high == 1.0
    assert found["auc"].how == PAIRS
    assert found["auc"].low == pytest.approx(0.025 ** (1 / 12))
    assert found["log_loss"].value == 0.0
    assert class_measures(confusion, ["a", "b"])[1].f1.low < 1.0


def test_a_class_that_is_never_named_or_never_there_has_no_share():
    silent = class_measures(np.array([[9, 0, 0], [4, 0, 0], [0, 0, 0]]), ["a", "b", "c"])
    assert silent[1].precision is None
    assert silent[1].recall.value == silent[1].f1.value == 0.0
    assert silent[2].recall is silent[2].f1 is None
    confusion = np.array([[9, 0], [4, 0]])
    codes = np.repeat([0, 1], [9, 4])
    found = measures_of(confusion, np.zeros(13), np.full((13, 2), 0.5), codes)
    told = {part.name: part.value for part in found}
    assert told["mcc"] == 0.0
    assert told["auc"] == told["balanced_accuracy"] == 0.5
    # One class alone leaves no area.
    assert auc_of(np.zeros(9), np.zeros(9, dtype=int)) is None


def test_the_same_rows_give_the_same_bytes():
    confusion, scores, chances, codes, _ = a_test(4, 9)
    assert measures_of(confusion, scores, chances, codes) == measures_of(
        confusion, scores, chances, codes
    )


@pytest.mark.parametrize(
    ("counts", "recalls"),
    [((120, 25), (0.97, 0.6)), ((90, 40, 25), (0.9, 0.8, 0.7)), ((36,) * 10, (0.97,) * 10)],
)
def test_intervals_of_balanced_accuracy_cover_the_truth(counts, recalls):
    rng = np.random.default_rng(1)
    classes, held = len(counts), 0
    chances = np.full((sum(counts), classes), 1.0 / classes)
    codes = np.repeat(np.arange(classes), counts)
    for _ in range(50):
        table = np.zeros((classes, classes), dtype=int)
        for k, (recall, count) in enumerate(zip(recalls, counts, strict=True)):
            shares = np.full(classes, (1.0 - recall) / (classes - 1))
            shares[k] = recall
            table[k] = rng.multinomial(count, shares)
        scores = chances[:, 0] if classes == 2 else chances
        part = measures_of(table, scores, chances, codes)[0]
        held += part.low <= np.mean(recalls) <= part.high
    assert held >= 42  # of 50: 47 are expected, and the standard deviation is 1.5
