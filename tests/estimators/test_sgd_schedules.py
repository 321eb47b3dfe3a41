"""SGD with a step size, early stopping and first weights; scikit-learn's as the peer."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as PeerPerceptron
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.estimators.stream_learner import StreamLearner
from separatrix.storage.model_proof import prove_model

X, CODES = load_iris(return_X_y=True)
PEERS = {
    "hinge": "hinge",
    "squared_hinge": "squared_hinge",
    "logistic": "log_loss",
    "modified_huber": "modified_huber",
    "perceptron": "perceptron",
}


def quietly(model, *data, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data, **named)


def plain(loss="hinge", rate="constant", **settings):
    settings = {"tol": 1e-12, "max_passes": 3, **settings}
    return sx.SGD(loss, learning_rate=rate, average=False, order="cyclic", **settings)


RULES = [(loss, rate) for loss in PEERS for rate in ("constant", "invscaling")]
# "optimal" elsewhere: no penalty to divide by, or another first step than theirs, which diverges
RULES += [("hinge", "optimal"), ("logistic", "optimal")]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("loss", "rate"), RULES)
def test_the_steps_are_those_of_scikit_learn(loss, rate, classes):
    rows, labels = X[classes > CODES], CODES[classes > CODES]
    C = np.inf if loss == "perceptron" else 2.0
    alpha = 0.0 if loss == "perceptron" else 1.0 / (C * len(labels))
    ours = quietly(plain(loss, rate, C=C, eta0=0.02, power_t=0.4), rows, labels)
    peer = SGDClassifier(
        PEERS[loss], alpha=alpha, penalty="l2" if alpha else None, learning_rate=rate, eta0=0.02,
        power_t=0.4, shuffle=False, max_iter=3, tol=None,
    ).fit(rows, labels)  # fmt: skip
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-9, atol=1e-12)
    assert (ours.predict(rows) == peer.predict(rows)).all()


def test_frames_of_descent_on_the_perceptrons_loss_are_the_perceptrons():
    rows, labels = [[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]], [1, -1, -1, 1, 1]
    rule = list(sx.replay(sx.Perceptron(learning_rate=0.2, pocket=False), rows, labels))
    descent = sx.replay(plain("perceptron", eta0=0.2, max_passes=9), rows, labels)
    changed, before = [], None
    for frame in descent:
        if before is None or not np.array_equal(before, frame.weights):
            changed.append(frame.weights)
        before = frame.weights
    assert len(changed) == len(rule) > 2
    for mine, theirs in zip(changed, rule, strict=True):
        assert mine.tobytes() == theirs.weights.tobytes()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_distance_from_the_optimum_is_proved(loss):
    rows = StandardScaler().fit_transform(X[CODES > 0])
    labels = CODES[CODES > 0]
    model = sx.SGD(loss, learning_rate="invscaling", eta0=0.5, max_passes=256, tol=0.05)
    model.fit(rows, labels)
    exact = (sx.LogisticRegression(tol=1e-9) if loss == "logistic"
             else sx.LinearSVM(loss=loss, tol=1e-9)).fit(rows, labels)  # fmt: skip
    assert model.status_ == "optimal"
    assert model.certificate_.check(rows, labels)
    assert model.dual_objective_ <= exact.objective_ * (1 + 1e-8)
    assert exact.objective_ <= model.objective_ * (1 + 1e-8)


@pytest.mark.parametrize("rate", ["constant", "invscaling"])
def test_a_stream_goes_on_where_it_was(rate):
    rows, labels = X[CODES > 0], CODES[CODES > 0]
    whole = plain("logistic", rate, C=np.inf).partial_fit(rows, labels, classes=[1, 2])
    parts = plain("logistic", rate, C=np.inf)
    for part in np.array_split(np.arange(len(rows)), 7):
        parts.partial_fit(rows[part], labels[part], classes=[1, 2])
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
    once = quietly(plain("logistic", rate, C=np.inf, max_passes=1), rows, labels)
    assert_allclose(once.coef_, whole.coef_, rtol=1e-12)
    assert whole.certificate_ is None
    with pytest.raises(ValueError, match="not how the earlier rows were learned"):
        parts.set_params(learning_rate="free").partial_fit(rows, labels)


def test_a_model_file_keeps_the_run_and_its_proof(tmp_path):
    rows, labels = X[CODES > 0], CODES[CODES > 0]
    model = quietly(sx.SGD("logistic", learning_rate="constant", eta0=0.02), rows, labels)
    sx.save(model, tmp_path / "m.sx")
    loaded = sx.load(tmp_path / "m.sx")
    assert prove_model(loaded, rows, labels)[0]
    more = [one.partial_fit(rows, labels).coef_ for one in (model, loaded)]
    np.testing.assert_array_equal(*more)
    loaded._stream = loaded._stream[:2]
    sx.save(loaded, tmp_path / "forged.sx")
    with pytest.raises(sx.ModelFileError):
        sx.load(tmp_path / "forged.sx")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"loss": "squared"}, "needs a step size"),
        ({"learning_rate": "constant", "scale": True}, "goes with learning_rate='free'"),
        ({"learning_rate": "optimal", "C": np.inf}, "there is none"),
        ({"learning_rate": "optimal", "loss": "perceptron"}, "there is none"),
        ({"learning_rate": "adaptive"}, "learning_rate must be"),
        ({"eta0": 0.0}, "eta0 must be"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
    ],
)
def test_what_a_rule_cannot_do_is_refused_in_words(settings, said):
    with pytest.raises(ValueError, match=said):
        sx.SGD(**settings).fit(X, CODES)


def test_streams_and_optimal_steps_do_not_go_together():
    model = sx.SGD(learning_rate="optimal")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(sx.DataError, match="without a step size"):
        StreamLearner.fresh(sx.SGD(learning_rate="constant"), [0, 1])
    with pytest.raises(sx.DataError, match="Lower eta0"):
        plain("squared", eta0=1e305).fit(X, CODES)


# ---- early stopping


@pytest.mark.parametrize("rate", ["free", "constant"])
def test_early_stopping_ends_with_the_weights_of_fewest_errors(rate):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 5))
    labels = rows @ rng.normal(size=5) + rng.normal(size=300) > 0
    model = sx.SGD(
        "logistic", learning_rate=rate, early_stopping=True, max_passes=60, n_iter_no_change=3,
        validation_fraction=0.2,
    ).fit(rows, labels)  # fmt: skip
    errors = model.validation_errors_
    assert len(errors) - 1 - errors.argmin() == 3
    held = model._held_out(rows, labels.astype(int), np.arange(300))
    assert np.mean(model.predict(rows[held]) != labels[held]) == errors.min()
    counts = [np.sum(labels[held] == side) / np.sum(labels == side) for side in (False, True)]
    assert_allclose(counts, 0.2, atol=0.01)
    # The proof is of all rows.
    assert model.certificate_.check(rows, labels)


def test_rows_kept_back_are_the_same_however_rows_stand():
    mixed = np.random.default_rng(1).permutation(len(X))
    model = sx.SGD(early_stopping=True)
    here = quietly(model, X, CODES).coef_
    assert_allclose(quietly(model, X[mixed], CODES[mixed]).coef_, here, rtol=1e-9)
    assert_allclose(quietly(model, sp.csr_array(X), CODES).validation_errors_.shape[0] > 0, True)


# ---- first weights


@pytest.mark.parametrize("classes", [2, 3])
def test_first_weights_are_those_given(classes):
    rows, labels = X[classes > CODES], CODES[classes > CODES]
    count = 1 if classes == 2 else 3
    rng = np.random.default_rng(0)
    coef, intercept = rng.normal(size=(count, 4)), rng.normal(size=count)
    ours = quietly(plain("hinge", C=np.inf), rows, labels, coef_init=coef, intercept_init=intercept)
    peer = SGDClassifier(
        "hinge", penalty=None, learning_rate="constant", eta0=0.01, shuffle=False, max_iter=3,
        tol=None,
    ).fit(rows, labels, coef_init=coef, intercept_init=intercept)  # fmt: skip
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="go with a step size"):
        sx.SGD().fit(rows, labels, coef_init=coef)
    with pytest.raises(ValueError, match="coef_init must be of the shape"):
        plain().fit(rows, labels, coef_init=[[1.0]])


def test_first_weights_of_perceptron_and_delta_rule():
    rows, labels = X[CODES > 0], CODES[CODES > 0]
    coef, intercept = [[0.5, -1.0, 0.25, 2.0]], [-1.5]
    given = {"coef_init": coef, "intercept_init": intercept}
    for model in (sx.Perceptron(max_updates=40, pocket=False), sx.DeltaRule(max_updates=5)):
        named = quietly(model, rows, labels, **given).coef_
        as_init = type(model)(**{**model.get_params(), "init": [*intercept, *coef[0]]})
        np.testing.assert_array_equal(quietly(as_init, rows, labels).coef_, named)
    model = sx.Perceptron(max_passes=2, pocket=False)
    peer = PeerPerceptron(max_iter=2, shuffle=False, tol=None)
    ours = quietly(model, rows, labels, **given)
    assert_allclose(ours.coef_, peer.fit(rows, labels, **given).coef_)
    # Divided inside by powers of two, they mean the same: nothing is misclassified, nothing moves.
    solved = sx.Perceptron(max_updates=5000).fit(X, CODES == 0)
    first = {"coef_init": solved.coef_, "intercept_init": solved.intercept_}
    again = sx.Perceptron(scale=True).fit(X, CODES == 0, **first)
    np.testing.assert_array_equal(again.coef_, solved.coef_)
    assert again.n_iter_ == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_near_the_least_number_are_proved_where_numpy_raises_errors():
    model = sx.SGD(C=6.7e-8, learning_rate="constant", eta0=0.1, order="cyclic", max_passes=6)
    with np.errstate(all="raise"):
        model.set_params(scale=False, average=False).fit(X, CODES)
        assert model.certificate_.check(X, CODES)
    assert np.abs(model.coef_).max() < 1e-6
