"""scikit-learn's callbacks follow a fit: its progress bar, its monitor of scores, and one's own."""

import threading

import numpy as np
import pytest
from sklearn import callback
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

import separatrix as sx

X, CODES = load_iris(return_X_y=True)
TWO = CODES != 0
MODELS = {
    "two classes": sx.LinearSVM(),
    "one against the rest": sx.LinearSVM(loss="squared_hinge"),
    "pairs": sx.LinearSVM(multi_class="ovo"),
    "all at once": sx.LinearSVM(multi_class="direct"),
    "calibrated": sx.LinearSVM(probability=True),
    "logistic": sx.LogisticRegression(),
    "multinomial": sx.LogisticRegression(multi_class="multinomial"),
    "logistic pairs": sx.LogisticRegression(multi_class="ovo"),
    "path": sx.LinearSVMCV(Cs=[0.1, 1.0], cv=2),
    "logistic path": sx.LogisticRegressionCV(Cs=[0.1, 1.0], cv=2),
}


class Events:
    """Keeps what is reported, and the models that are shown."""

    def __init__(self):
        self.begun, self.ended, self.models, self.set_up = [], [], [], 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.set_up -= 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.parent is None, context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append((context.parent is None, context.task_name))
        if fitted_estimator is not None:
            self.models.append(fitted_estimator.decision_function(X).shape)
            assert fitted_estimator.predict(X).shape == np.shape(y)


def data_of(name):
    return (X[TWO], CODES[TWO]) if name == "two classes" else (X, CODES)


@pytest.mark.parametrize("name", MODELS)
def test_every_task_begins_and_ends_the_whole_fit_first_and_last(name):
    seen, plain = Events(), MODELS[name]
    rows, labels = data_of(name)
    model = plain.__class__(**plain.get_params()).set_callbacks(seen).fit(rows, labels)
    assert seen.set_up == 0
    assert seen.begun[0] == seen.ended[-1] == (True, "fit")
    assert sum(is_root for is_root, _ in seen.begun) == 1
    assert sorted(seen.begun) == sorted(seen.ended)
    without = plain.__class__(**plain.get_params()).fit(rows, labels)
    np.testing.assert_array_equal(model.coef_, without.coef_)
    scores = model.decision_function(rows).shape
    assert set(seen.models) <= {scores}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_progress_bar_follows_every_model(name, capsys):
    plain = MODELS[name]
    model = plain.__class__(**plain.get_params()).set_callbacks(callback.ProgressBar())
    model.fit(*data_of(name))
    assert f"{type(plain).__name__} - fit" in capsys.readouterr().out


def test_solvers_report_models_that_predict():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 12))
    labels = np.digitize(rows[:, 0] + rng.normal(size=600), [-0.5, 0.5])
    for plain in (sx.LinearSVM(tol=1e-9), sx.LogisticRegression(multi_class="multinomial")):
        seen = Events()
        plain.set_callbacks(seen).fit(rows, labels)
        assert set(seen.models) == {(600, 3)}, type(plain)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_search_passes_its_progress_bar_on(capsys):
    search = GridSearchCV(sx.LinearSVM(), {"C": [0.1, 1.0]}, cv=2)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, CODES)
    assert "GridSearchCV - fit" in capsys.readouterr().out


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_fit_that_fails_ends_the_thread_of_the_progress_bar(multi_class, capsys):
    """A process waits for its threads: one that is left hangs at its exit."""
    rows, labels = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 2, 2])
    model = sx.LinearSVM(C=np.inf, multi_class=multi_class)
    model.set_callbacks(callback.ProgressBar())
    before = {thread for thread in threading.enumerate() if not thread.daemon}
    with pytest.raises(sx.NotSeparableError):
        model.fit(rows, labels)
    assert {thread for thread in threading.enumerate() if not thread.daemon} == before
    assert not hasattr(model, "_callback_fit_ctx")
    assert not hasattr(model, "classes_")
