"""A model file with one value altered and sealed again is refused, or says the same."""

import warnings
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from fuzz import altered_models
from fuzz.model_files import joined, parts
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.amounts import ALL, COMPILED_ONLY

import separatrix as sx
from separatrix.certificates.errors import Leaf
from separatrix.certificates.partition import Partition
from separatrix.checker import integers
from separatrix.core.thresholds import AlarmBound, room_of_scores
from separatrix.problem.canonical import problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.solvers.running.drive import Status
from separatrix.storage.claims_of_halfspaces import require_alarm_bound
from separatrix.storage.fitted_values import Mismatch
from separatrix.storage.model_file import from_bytes, to_bytes
from separatrix.storage.model_proof import examine, prove_model

RNG = np.random.default_rng(5)
X = np.vstack([RNG.normal(0.0, 1.0, (30, 2)), RNG.normal(1.5, 1.0, (30, 2))])
Y = np.repeat(["low", "high"], 30)
WIDE = np.vstack([X[:30], X[30:] + 4.0])  # and these can be separated
KINDS = {
    "svm": (sx.LinearSVM(), X),
    "kernel": (sx.KernelSVM(), X),
    "fisher": (sx.Fisher(), X),
    "squares": (sx.LeastSquares(), X),
    "kozinec": (sx.Kozinec(), WIDE),
    "perceptron": (sx.Perceptron(), WIDE),
    "logistic": (sx.LogisticRegression(), X),
    "errors": (sx.ZeroOne(), WIDE),
    "wrapper": (sx.OneVsRest(sx.LinearSVM()), X),
}


def resealed(model, change):
    """Return the model of a file whose header was changed and sealed again."""
    header, arrays = parts(to_bytes(model))
    change(header)
    return from_bytes(joined(header, arrays)).model


def swap_classes(header):
    items = header["fitted"]["classes_"]["items"]
    items[0], items[1] = items[1], items[0]


@pytest.mark.parametrize("kind", KINDS)
def test_classes_in_another_order_are_refused(kind):
    """Once proved, though 56 of 60 predictions were wrong."""
    model, rows = KINDS[kind]
    model.fit(rows, Y)
    assert prove_model(model, rows, Y)[0]
    other = resealed(model, swap_classes)
    assert (other.predict(rows) != model.predict(rows)).all()
    holds, sentence = prove_model(other, rows, Y)
    assert not holds
    assert "classes_" in sentence


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("parameters", "C"), {"is": "float", "hex": (2.0).hex()}),
        (("parameters", "loss"), "squared_hinge"),
        (("parameters", "fit_intercept"), False),
        (("parameters", "intercept_penalty"), {"is": "float", "hex": (1.0).hex()}),
        (("parameters", "class_weight"), "balanced"),
        (("fitted", "gap_"), {"is": "float", "hex": (0.0).hex()}),
        (("fitted", "objective_"), {"is": "float", "hex": (1.0).hex()}),
        (("fitted", "dual_objective_"), {"is": "float", "hex": (1.0).hex()}),
        (("fitted", "margin_"), {"is": "float", "hex": (9.0).hex()}),
        (("fitted", "status_"), {"is": "status", "name": "BUDGET"}),
        (("fitted", "certificate_", "fields", "data_sha256"), ""),
        (("fitted", "certificate_", "fields", "data_sha256"), "0" * 64),
        (("fitted", "certificate_", "fields", "classes", "items"), ["low", "high"]),
        (("fitted", "n_support_"), {"is": "array", "number": "0", "columns": False}),
        (("fitted", "secret_"), 5),
    ],
)
def test_a_stored_value_that_does_not_follow_is_refused(where, value):
    # Unequal classes, so that "balanced" is another weight of classes.
    rows, labels = X[:50], Y[:50]
    model = sx.LinearSVM(C=1.0).fit(rows, labels)
    assert prove_model(model, rows, labels)[0]

    def change(header):
        for key in where[:-1]:
            header = header[key]
        header[where[-1]] = value

    assert not prove_model(resealed(model, change), rows, labels)[0]


@pytest.mark.parametrize("threshold", ["mean", "gaussian", [[0.0, 3.0], [1.0, 0.0]]])
def test_the_threshold_and_the_side_of_fisher_are_proved(threshold):
    model = sx.Fisher(threshold).fit(X, Y)
    assert prove_model(model, X, Y)[0]
    model.intercept_ = model.intercept_ + 1e-6
    assert prove_model(model, X, Y)[1].startswith("intercept_")
    # The ratio is that of the opposite direction too, which predicts the contrary.
    model = sx.Fisher(threshold).fit(X, Y)
    opposite = tuple(-weight for weight in model.certificate_.weights)
    model.coef_, model.intercept_ = -model.coef_, -model.intercept_
    model.certificate_ = sx.Fisher(threshold).fit(-X, Y).certificate_
    object.__setattr__(model.certificate_, "weights", opposite)
    assert not prove_model(model, X, Y)[0]


def test_votes_of_a_kernel_machine_go_by_its_certificate():
    labels = np.repeat(["a", "b", "c"], 20)
    model = sx.KernelSVM(multi_class="ovr").fit(X, labels)
    assert prove_model(model, X, labels)[0]
    model.multi_class = "ovo"
    assert not prove_model(model, X, labels)[0]


def test_sample_weights_that_are_not_given_are_named():
    weights = RNG.uniform(0.5, 2.0, len(X))
    model = sx.LinearSVM().fit(X, Y, weights)
    found = examine(model, X, Y)
    assert found.proved
    assert any("sample weights" in each for each in found.not_proved)
    known = examine(model, X, Y, weights)
    assert known.proved
    assert not any("sample weights" in each for each in known.not_proved)
    assert not examine(model, X, Y, weights[::-1]).proved


def test_probabilities_of_other_slopes_are_refused():
    model = sx.LinearSVM(probability=True).fit(X, Y)
    assert prove_model(model, X, Y)[0]

    def change(header):
        header["fitted"]["_calibration"]["fields"]["above"]["hex"] = (9.0).hex()

    assert not prove_model(resealed(model, change), X, Y)[0]


@pytest.mark.long
@COMPILED_ONLY
def test_every_kind_of_model_with_a_value_altered():
    count, faults = altered_models.run(share=1 if ALL else 120)
    assert count > 100
    assert faults == []


# ---- what a second attack found: each file was proved, and predicted otherwise


THREE = np.digitize(X[:, 0], [0.0, 1.0])


def refused(model, rows, labels, word):
    found = examine(from_bytes(to_bytes(model)).model, rows.copy(), labels)
    assert not found.proved
    assert word in found.sentence


def test_no_model_hides_behind_the_steps_of_another():
    """A value named `steps` was taken for those of a pipeline, and the last of them was proved."""
    model, other = sx.LinearSVM().fit(X, Y), sx.LinearSVM().fit(X, Y)
    other.coef_, other.intercept_ = -model.coef_, -model.intercept_
    other.steps = [("proved", model)]
    with pytest.raises(sx.ModelFileError, match="'steps'"):
        from_bytes(to_bytes(other))


def test_values_of_a_fit_do_not_overwrite_parameters():
    header, arrays = parts(to_bytes(sx.LinearSVM().fit(X, Y)))
    header["fitted"]["C"] = {"is": "float", "hex": "0x1p+1"}
    with pytest.raises(sx.ModelFileError, match="'C'"):
        from_bytes(joined(header, arrays))


def test_a_scaler_within_a_pipeline_within_a_pipeline_is_proved():
    """It was fitted again in place, so that what the file held was never looked at."""
    model = make_pipeline(make_pipeline(StandardScaler()), sx.LinearSVM()).fit(X, Y)
    assert examine(model, X.copy(), Y).proved
    model.steps[0][1].steps[0][1].scale_ = np.array([1e3, 1e-3])
    refused(model, X, Y, "scale_")


def test_a_scaler_that_says_it_is_random_is_not_believed():
    scaler = StandardScaler().fit(X)
    scaler.scale_, scaler.random_state = np.array([1e3, 1e-3]), None
    refused(make_pipeline(scaler, sx.LinearSVM().fit(scaler.transform(X), Y)), X, Y, "holds values")


def test_the_scale_of_a_small_column_is_not_hidden_by_a_large_one():
    rows = X * np.array([1e9, 1.0])
    scaler = StandardScaler().fit(rows)
    scaler.scale_ = scaler.scale_ * np.array([1.0, 1e-3])
    model = make_pipeline(scaler, sx.LinearSVM().fit(scaler.transform(rows), Y))
    refused(model, rows, Y, "scale_")


def test_votes_are_counted_by_the_pairs_that_were_fitted():
    model = sx.OneVsOne(sx.LinearSVM()).fit(X, THREE)
    held = model.pairs_
    assert examine(model, X.copy(), THREE).proved
    model.pairs_ = held[::-1]
    refused(model, X, THREE, "pairs_")
    assert model.pairs_ == held[::-1]


def test_the_fewest_errors_are_those_of_the_weights_that_predict():
    """The proof was of integers; the weights, of status "unproved", were any."""
    rows, labels = RNG.normal(size=(14, 2)), np.arange(14) % 2
    model = sx.ZeroOne().fit(rows, labels)
    whole = integers(model.certificate_.weights)[0]
    model.certificate_ = replace(model.certificate_, weights=(), integers=tuple(whole))
    model.coef_, model.intercept_ = -model.coef_, -model.intercept_
    model.status_ = Status.UNPROVED
    refused(model, rows, labels, "coef_")


@pytest.mark.parametrize("labels", [Y, THREE])
@pytest.mark.parametrize("threshold", ["mean", "gaussian"])
def test_far_from_the_origin_the_intercept_of_fisher_is_proved(labels, threshold):
    """A small share of a large intercept moves the threshold past all rows."""
    rows = X + (1.7e9 if labels is Y else 1e4)
    model = sx.Fisher(threshold).fit(rows, labels)
    assert examine(model, rows.copy(), labels).proved
    model.intercept_ = model.intercept_ * np.where(np.arange(len(model.intercept_)), 1.0, 1 + 9e-10)
    refused(model, rows, labels, "intercept_")


@pytest.mark.parametrize("labels", [Y, THREE])
@pytest.mark.parametrize("offset", [1e9, 1e10])
@pytest.mark.parametrize("threshold", ["mean", "gaussian"])
def test_honest_fits_of_fisher_far_from_the_origin_are_proved(labels, offset, threshold):
    """Differences of means lost their digits at the origin, in the fit and in the proof."""
    for rows in (X + offset, X - offset, X + [0.0, offset]):
        model = sx.Fisher(threshold).fit(rows, labels)
        assert examine(model, rows.copy(), labels).proved


@pytest.mark.parametrize("mixed", [
    [[2.0, 1.0], [0.0, -1.0]],
    [[1.0 + 1e-5, 0.0], [0.0, 1.0]],
    [[-1.0, 0.0], [0.0, 1.0]],
    [[np.cos(1e-3), np.sin(1e-3)], [-np.sin(1e-3), np.cos(1e-3)]],
])  # fmt: skip
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_projections_of_several_classes_are_proved(mixed, offset):
    """The ratios proved are the same for directions of any length, sign or mixture."""
    rows = X + offset
    model = sx.Fisher().fit(rows, THREE)
    assert examine(model, rows.copy(), THREE).proved
    model.scalings_ = model.scalings_ @ np.array(mixed)
    model.certificate_ = replace(model.certificate_, directions=model.scalings_)
    refused(model, rows, THREE, "" if offset or mixed[1][0] else "scalings_")


def test_what_is_not_proved_is_not_called_proved():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = X + 1e9 * THREE[:, None]
        model = sx.Fisher().fit(rows, THREE)
    assert model.status_ is Status.UNPROVED
    refused(model, rows, THREE, "not proved")


def test_a_linear_program_far_from_the_origin_is_not_taken_for_optimal():
    """Any dual values seemed to cancel, and weights of zero were proved."""
    rows = X + 1e9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.LinearProgramHalfspace().fit(rows, Y)
    model.coef_, model.intercept_ = np.zeros((1, 2)), np.array([0.0])
    model.slack_, model.dual_coef_ = np.ones(60), np.full(60, 1 / 30)
    model.objective_ = model.dual_objective_ = 2.0
    refused(model, rows, Y, "coef_")


def test_the_threshold_among_close_scores_is_proved():
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(600, 2))
    labels = np.where(rows[:, 0] + draw.normal(size=600) > 0.0, "yes", "no")
    model = sx.LinearSVM(C=1e-12).fit(rows[:100], labels[:100])
    apart = np.arange(100, 600)
    claim = AlarmBound(0.1, 0.95, "yes", apart)
    scores = rows[apart] @ model.coef_[0] + model.intercept_[0]
    codes = (labels[apart] == "yes").astype(int)
    threshold = claim.threshold(scores, codes, ["no", "yes"])
    known = rows, labels, np.arange(100), model.coef_[0], model.intercept_[0]
    require_alarm_bound(claim, threshold, *known)
    with pytest.raises(Mismatch, match="threshold_"):  # every row would be called yes
        require_alarm_bound(claim, float(scores.min()) - 1e-12, *known)


@pytest.mark.parametrize("alarm", ["no", "yes"])
def test_rows_that_share_the_score_of_a_threshold_are_no_alarms(alarm):
    """The room for rounding let all of them be called."""
    draw = np.random.default_rng(12)
    rows = draw.integers(2, size=(400, 1)).astype(float)
    labels = np.where(draw.random(400) < 0.1 + 0.7 * rows[:, 0], "yes", "no")
    model = sx.LinearSVM().fit(rows[:100], labels[:100])
    claim = AlarmBound(0.1, 0.95, alarm, np.arange(100, 400))
    scores = rows[100:] @ model.coef_[0] + model.intercept_[0]
    codes = (labels[100:] == "yes").astype(int)
    known = rows, labels, np.arange(100), model.coef_[0], model.intercept_[0]
    room = room_of_scores(rows, model.coef_[0], model.intercept_[0])
    for safe in (claim.threshold(scores, codes, ["no", "yes"], each) for each in (0.0, room)):
        require_alarm_bound(claim, safe, *known)
    exact = claim.threshold(scores, codes, ["no", "yes"])
    lower = float(np.nextafter(exact, -np.inf if alarm == "yes" else np.inf))
    with pytest.raises(Mismatch, match="threshold_"):
        require_alarm_bound(claim, lower, *known)


@pytest.mark.parametrize("other", [{"shrinkage": 0.9}, {"covariance": "diagonal"}])
def test_the_covariance_of_gaussian_classes_is_that_of_the_parameters(other):
    """Classes of any shrinkage were proved, whatever the model said of itself."""
    rows = X @ np.array([[1.0, 0.9], [0.0, 0.4]])
    model, shrunk = (sx.GaussianPlugIn(**each).fit(rows, Y) for each in ({}, other))
    assert examine(model, rows.copy(), Y).proved
    assert examine(shrunk, rows.copy(), Y).proved
    vars(shrunk).update({name: getattr(model, name) for name in other})
    assert (shrunk.predict(rows) != model.predict(rows)).any()
    refused(shrunk, rows, Y, "the certificate speaks of another covariance or shrinkage")


def test_errors_of_gaussian_classes_that_are_too_wide_prove_nothing():
    model = sx.GaussianPlugIn().fit(X, Y)
    held = model.certificate_.gaussians
    model.gaussians_ = replace(held, linear=(held.linear[0][::-1].copy(), held.linear[1]))
    model.certificate_ = replace(model.certificate_, gaussians=model.gaussians_, means=1e9)
    model.certificate_ = replace(model.certificate_, offsets=1e9)
    model.coef_ = -model.coef_
    refused(model, X, Y, "not proved")


def test_multipliers_that_vanish_are_no_witness():
    """Half of the smallest float is 0: two rows that can be separated seemed to cancel."""
    rows, labels = np.array([[0.0], [0.5]]), np.array([0, 1])
    named = fingerprint(problem_from(rows, labels, True))
    about = {"n_rows": 2, "n_features": 1, "data_sha256": named, "rows": (0, 1)}
    for multipliers in ((5e-324, 5e-324), (1, 1.0)):
        assert not Partition(kind="overlap", multipliers=multipliers, **about).check(rows, labels)


@pytest.mark.parametrize("leaf", [Leaf(((0, np.nan),), 1), Leaf(((0, 1),), np.nan)])
def test_loads_that_are_no_numbers_bound_no_errors(leaf):
    """Nine errors were proved to be the fewest, where two are attained: NaN is above no bound."""
    draw = np.random.default_rng(3)
    rows, labels = draw.normal(size=(20, 5)), draw.integers(0, 2, 20)
    proof = sx.ZeroOne().fit(rows, labels).certificate_
    assert (proof.errors, proof.by, proof.check(rows, labels)) == (2, "witnesses", True)
    weights = (0.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    forged = replace(proof, errors=9, lower=9, weights=weights, tree=leaf)
    assert not forged.check(rows, labels)
    assert replace(forged, lower=0, by="nothing", witnesses=(), tree=None).check(rows, labels)
    assert not replace(proof, lower=np.nan).check(rows, labels)


def test_a_fit_with_uneven_row_weights_is_proved():
    """The intercept of Fisher's threshold is off by the rounding of each class's weights."""
    for seed in (3, 49, 97, 101):
        rng = np.random.default_rng([9, seed])
        d = int(rng.choice([1, 2, 3]))
        n = d + 2 + int(rng.integers(3))
        labels = np.arange(n) % 2
        rows = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, d)
        rows += labels[:, None] * rng.choice([0, 1, 30])
        weights = 10.0 ** rng.uniform(-4, 4, n)
        model = sx.Fisher("gaussian").fit(rows, labels, sample_weight=weights)
        assert examine(model, rows, labels, weights).proved


def test_numbers_that_are_not_finite_are_compared_too():
    rows = sparse.csr_array([[0.0], [0.0], [0.0], [2348.909839390774]])
    labels = np.array([0, 1, 0, 1])
    model = sx.LeastSquares([1e-3, 1.0, 1e3]).fit(rows, labels)
    assert np.isinf(model.loo_error_).any()
    assert examine(model, rows, labels).proved
    model.loo_error_ = np.where(np.isinf(model.loo_error_), 5.0, model.loo_error_)
    assert not examine(model, rows, labels).proved


SIZES = np.array([1.0, 1e9])
OF_COLUMNS = [
    (sx.Fisher(), "scalings_"),
    (sx.Fisher("gaussian", store_covariance=True), "covariance_"),
    (sx.GaussianPlugIn(), "coef_"),
    (sx.GaussianPlugIn(covariance="full"), "means_"),
    (sx.GaussianPlugIn(covariance="full", store_covariance=True), "covariance_"),
    (sx.GaussianPlugIn(covariance="diagonal", store_covariance=True), "covariance_"),
]


@pytest.mark.parametrize(("model", "name"), OF_COLUMNS)
@pytest.mark.parametrize("exponent", [1, 2])
def test_a_column_of_large_values_hides_no_change_of_another(model, name, exponent):
    rows = X * SIZES**exponent
    model = copy(model).fit(rows, Y)
    assert examine(model, rows.copy(), Y).proved
    held = getattr(model, name)
    for place in np.ndindex(held.shape):
        changed = held.copy()
        changed[place] *= -1.0
        setattr(model, name, changed)
        assert not examine(model, rows.copy(), Y).proved, (place, held)
    setattr(model, name, held)


@pytest.mark.parametrize("kind", [sx.Kozinec, sx.KernelPerceptron])
def test_a_status_that_nothing_proves_is_named(kind):
    model = kind().fit(WIDE, Y)
    assert "status_" not in examine(model, WIDE.copy(), Y).not_proved
    model.status_ = Status.BUDGET
    found = examine(model, WIDE.copy(), Y)
    assert (found.proved, "status_" in found.not_proved) == (True, True)
