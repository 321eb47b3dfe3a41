"""``sx.plot``: the pictures of the lectures, each from a fitted model or from data.

Every function returns a matplotlib figure: a notebook shows it, ``figure.savefig("name.svg")``
writes it to a file. Planes need two features; names of columns are taken from a frame.

See Also
--------
lectures : the data of the lectures.
replay : the updates as data.

Examples
--------
>>> import separatrix as sx
>>> X, y = sx.lectures.iris_pair()
>>> figure = sx.plot.margins(sx.LinearSVM(C=float("inf")).fit(X, y), X, y)
>>> figure.axes[0].get_title(loc="left")
'Hard margin: margin 0.291, gap ...'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.core import losses as loss_of_margin
from separatrix.data.lectures import STOP_WORDS, cleaned
from separatrix.plots._drawing import dense, plane_data
from separatrix.plots.curves import (
    draw_coefficient_paths,
    draw_error_curves,
    draw_losses,
    draw_path,
)
from separatrix.plots.regions import (
    draw_kernel_regions,
    draw_linear_rules,
    draw_machine,
    draw_regions,
)
from separatrix.plots.storyboard import draw_storyboard, storyboard_size
from separatrix.plots.tables import draw_bag_of_words, draw_folds, word_counts
from separatrix.plots.trace import Drawing, draw_trace, drawing

__all__ = [
    "bag_of_words",
    "boundaries",
    "error_curves",
    "folds",
    "losses",
    "margins",
    "overfitting",
    "path",
    "regions",
    "replay",
]

_LOSSES = ("zero_one", "perceptron", "hinge", "squared_hinge", "logistic", "squared")
_MOST_LINES = 4


# ---- planes


def regions(models: Any, X: Any, y: Any, *, names: Sequence[str] | None = None) -> Drawing:
    """Draw where a classifier decides for which class: its regions, their borders and the rows.

    Parameters
    ----------
    models : fitted classifier, or mapping of titles to them
        Anything with ``predict`` over two features; several are drawn side by side.
    X, y : array-like
        The rows to show and their classes, at most six.
    names : two names, optional
        Of the features; from the columns of a frame otherwise.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.lectures.exclusive_or()
    >>> models = {f"gamma = {g:g}": sx.KernelSVM(C=10.0, gamma=g).fit(X, y) for g in (0.5, 5.0)}
    >>> len(sx.plot.regions(models, X, y).axes)
    2
    """
    shown = models if isinstance(models, Mapping) else {_name(models): models}
    panels = [(title, dense(X), np.asarray(y), _on_arrays(m, X)) for title, m in shown.items()]
    with drawing(0.8 + 3.9 * len(panels), 4.3) as figure:
        draw_regions(figure, panels, _names(X, names))
    return figure


def margins(
    model: Any, X: Any, y: Any, *, names: Sequence[str] | None = None, faded: bool = False
) -> Drawing:
    """Draw a support vector machine with its margin, support vectors and slack.

    Parameters
    ----------
    model : fitted LinearSVM of two classes, or KernelSVM
        The margin of a kernel's model is where its score is -1 and 1.
    X, y : array-like
        The rows that it was trained on, two features.
    names : two names, optional
        Of the features.
    faded : bool, default=False
        Draw the rows that do not support a linear model faintly: without them it is the same.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.lectures.iris_pair()
    >>> figure = sx.plot.margins(sx.LinearSVM(C=1.0).fit(X, y), X, y)
    >>> figure.axes[0].get_xlabel()
    'x0'
    """
    if hasattr(model, "margin_"):
        with drawing(6.9, 4.8) as figure:
            draw_machine(figure, model, X, y, _names(X, names), faded)
        return figure
    if not hasattr(model, "support_"):
        raise ValueError(f"{_name(model)} has no margin. Use sx.plot.regions for its regions.")
    plane_data(X, y, 6)
    with drawing(5.6, 4.6) as figure:
        panels = [(_name(model), dense(X), np.asarray(y), _on_arrays(model, X))]
        draw_kernel_regions(figure, panels, _names(X, names))
    return figure


def boundaries(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    margins: bool = False,
    title: str = "",
) -> Drawing:
    """Draw the boundaries of up to four linear classifiers of two classes in one plane.

    Parameters
    ----------
    models : mapping of names to fitted models
        Anything with ``coef_`` and ``intercept_``.
    X, y : array-like
        The rows to show, two features and two classes.
    names : two names, optional
        Of the features.
    margins : bool, default=False
        Draw where scores are -1 and 1 too, as thin lines.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.lectures.iris_pair()
    >>> models = {"C = 0.1": sx.LinearSVM(0.1).fit(X, y), "C = 100": sx.LinearSVM(100.0).fit(X, y)}
    >>> len(sx.plot.boundaries(models, X, y).axes)
    1
    """
    if not 0 < len(models) <= _MOST_LINES:
        raise ValueError(f"a picture shows 1 to {_MOST_LINES} models. Got {len(models)} instead.")
    plane_data(X, y)
    with drawing(5.8, 4.8) as figure:
        panels = [(title, dense(X), np.asarray(y), models)]
        draw_linear_rules(figure, panels, _names(X, names), margins)
    return figure


def overfitting(
    X: Any,
    y: Any,
    *,
    models: Mapping[str, Any] | None = None,
    test: tuple[Any, Any] | None = None,
    names: Sequence[str] | None = None,
) -> Drawing:
    """Draw three classifiers on the same rows, too simple, right and too rich, with both errors.

    Lecture 002, "Overfitting and Underfitting". The rows that judge are not drawn.

    Parameters
    ----------
    X, y : array-like
        Rows of two features and their classes.
    models : mapping of titles to classifiers, optional
        They are fitted here. The default: a line, a curve of degree 3, and a kernel so narrow that
        every row has its own region.
    test : (X, y), optional
        The rows that judge. The default: every second row of the data is held out.
    names : two names, optional
        Of the features.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import make_moons
    >>> figure = sx.plot.overfitting(*make_moons(120, noise=0.25, random_state=0))
    >>> [axes.get_title(loc="left").split("\\n")[0] for axes in figure.axes]
    ['underfit', 'fit', 'overfit']
    """
    named, rows, labels = _names(X, names), dense(X), np.asarray(y)
    plane_data(rows, labels, 6)
    if test is None:
        held, held_labels = rows[1::2], labels[1::2]
        rows, labels = rows[::2], labels[::2]
    else:
        held, held_labels = dense(test[0]), np.asarray(test[1])
    panels = []
    for title, model in (_three_fits() if models is None else models).items():
        fitted = model.fit(rows, labels)
        wrong = [
            100.0 * float(np.mean(fitted.predict(points) != classes))
            for points, classes in ((rows, labels), (held, held_labels))
        ]
        words = f"{title}\ntraining error {wrong[0]:.0f} %, on new rows {wrong[1]:.0f} %"
        panels.append((words, rows, labels, fitted))
    with drawing(0.8 + 3.9 * len(panels), 4.5) as figure:
        draw_regions(figure, panels, named)
    return figure


def _three_fits() -> dict[str, Any]:
    from sklearn.pipeline import make_pipeline

    from separatrix.estimators.kernel_svm import KernelSVM
    from separatrix.estimators.lift import Polynomial
    from separatrix.estimators.linear_svm import LinearSVM

    return {
        "underfit": LinearSVM(),
        "fit": make_pipeline(Polynomial(3), LinearSVM()),
        "overfit": KernelSVM(C=1e4, gamma=100.0),
    }


# ---- runs


def replay(
    model: Any,
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    storyboard: bool = True,
) -> Drawing:
    """Draw every update of a perceptron, Kozinec's algorithm or the delta rule.

    Parameters
    ----------
    model : unfitted classifier
        One whose frames have weights: Perceptron, Kozinec or DeltaRule.
    X, y : array-like
        Rows of one or two features, of two classes.
    names : names, optional
        Of the features.
    storyboard : bool, default=True
        One numbered panel an update, up to 24 of them. False: the last boundary with earlier ones
        behind it, and errors and margin over the updates; two features.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.lectures.five_points()
    >>> model = sx.Perceptron(learning_rate=0.2, init=[0, 1, 0.5])
    >>> figure = sx.plot.replay(model, X, y)
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['0: 2 errors', '1, row 1: 1 error', '2, row 3: 1 error', '3, row 4: 0 errors']
    """
    from separatrix.estimators.replay import replay as frames_of

    rows = dense(X)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if rows.shape[1] not in ((1, 2) if storyboard else (2,)) or len(classes) != 2:
        needed = "one or two features" if storyboard else "two features"
        raise ValueError(
            f"a picture of updates needs {needed} and two classes. Got {rows.shape[1]} features "
            f"and {len(classes)} classes."
        )
    frames = list(frames_of(model, X, y))
    if not hasattr(frames[0], "weights"):
        raise ValueError(
            f"the updates of {_name(model)} change no weights of features. Use Perceptron, "
            "Kozinec or DeltaRule."
        )
    named, shown = _names(X, names), [str(name) for name in classes]
    count = frames[-1].update
    title = f"{_name(model)}: {count:,} update{'s' * (count != 1)}"
    if storyboard:
        with drawing(*storyboard_size(len(frames))) as figure:
            draw_storyboard(figure, frames, rows, codes, shown, named, title)
        return figure
    last = frames[-1]
    words = f"{last.errors} of {len(rows)} rows misclassified, {last.visits:,} visits"
    return draw_trace(frames, rows, codes, shown, named, title, words)


# ---- choosing


def path(found: Any) -> Drawing:
    """Draw a path over C: errors on held-out and own rows, support vectors, and the C chosen.

    Parameters
    ----------
    found : LinearSVMCV, LogisticRegressionCV, their `path_`, or LogisticRegressionPath
        Fitted. Of sparse weights it is the weights against C.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.lectures.iris_pair()
    >>> len(sx.plot.path(sx.LinearSVMCV([0.01, 0.1, 1.0]).fit(X, y)).axes)
    2
    """
    sparse = hasattr(found, "coefs_") and hasattr(found, "Cs_")
    table = getattr(found, "path_", found)
    if not sparse and not hasattr(table, "chosen"):
        raise ValueError(
            f"{_name(found)} has no path over C. Use LinearSVMCV, LogisticRegressionCV or "
            "LogisticRegressionPath, fitted."
        )
    with drawing(7.0, 5.0) as figure:
        if sparse:
            draw_coefficient_paths(figure, found)
        else:
            draw_path(figure, table)
    return figure


def error_curves(
    C: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    n_support: Sequence[float] | None = None,
) -> Drawing:
    """Draw error rates against C: lecture 004, figure 9.

    Parameters
    ----------
    C : numbers above 0
    curves : mapping of names to error rates
        Shares between 0 and 1, one for each C. The least of the last curve is ringed.
    n_support : numbers, optional
        Support vectors, drawn below.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> lecture = {"training error": [0.2372, 0.0112, 0.0008], "test error": [0.284, 0.168, 0.194]}
    >>> figure = sx.plot.error_curves([0.01, 1.0, 100.0], lecture)
    >>> figure.axes[0].get_title(loc="left")
    'Error against C: 16.8 % at C = 1'
    """
    if not 0 < len(curves) <= len(_LOSSES):
        raise ValueError(f"curves must hold 1 to {len(_LOSSES)} of them. Got {len(curves)}.")
    for name, values in curves.items():
        if len(values) != len(C):
            raise ValueError(
                f"every curve needs a value for each C. {name!r} has {len(values)}, there are "
                f"{len(C)} values of C."
            )
    with drawing(7.0, 3.8 if n_support is None else 4.8) as figure:
        draw_error_curves(figure, C, curves, n_support)
    return figure


def folds(X: Any, y: Any, *, cv: Any = 5, model: Any = None) -> Drawing:
    """Draw the folds of a cross-validation: which rows each holds out, and its error.

    Parameters
    ----------
    X, y : array-like
        Rows and classes.
    cv : int, splitter or pairs of row numbers, default=5
        As for LinearSVMCV.
    model : classifier, optional
        Fitted on the other rows of every fold, to show the error on those held out.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.lectures.iris_pair()
    >>> figure = sx.plot.folds(X, y, model=sx.LinearSVM())
    >>> figure.axes[0].get_title(loc="left")
    '5-fold cross-validation: 0.0 % is the mean error'
    """
    from sklearn.base import clone

    from separatrix.selection.folds import folds_of

    labels = np.asarray(y)
    classes, codes = np.unique(labels, return_inverse=True)
    made = folds_of(cv, X, codes, classes)
    errors = None
    if model is not None:
        errors, rows = [], X if hasattr(X, "tocsr") else np.asarray(X)
        for fold in made:
            fitted = clone(model).fit(rows[fold.train > 0], labels[fold.train > 0])
            held = fold.validation > 0
            errors.append(float(np.mean(fitted.predict(rows[held]) != labels[held])))
    held_out = np.array([fold.validation > 0 for fold in made])
    with drawing(7.2, 1.5 + 0.42 * len(made)) as figure:
        draw_folds(figure, held_out, codes, [str(name) for name in classes], errors)
    return figure


# ---- sentences and losses


def bag_of_words(
    sentences: str | Sequence[str], vocabulary: Sequence[str] | None = None
) -> Drawing:
    """Draw sentences as vectors of word counts: lecture 004, section 9.3 and figure 8.

    Words are made as `sx.lectures.sentences` makes them: lower case, no digits or punctuation, and
    without eleven stop words.

    Parameters
    ----------
    sentences : str or sequence of str
    vocabulary : words, optional
        The columns. The default: every word of the sentences, sorted.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> figure = sx.plot.bag_of_words("Will order from them again!")
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['again', 'order', 'them', 'will']
    """
    texts = [sentences] if isinstance(sentences, str) else list(sentences)
    words = [[word for word in cleaned(text).split() if word not in STOP_WORDS] for text in texts]
    known, counts = word_counts(words, vocabulary)
    if not texts or not known:
        raise ValueError("there are no words to draw: give at least one sentence with a word.")
    with drawing(max(5.4, 3.6 + 0.32 * len(known)), 1.9 + 0.45 * len(texts)) as figure:
        draw_bag_of_words(figure, texts, known, counts)
    return figure


def losses(names: Sequence[str] = _LOSSES) -> Drawing:
    """Draw losses of `sx.losses` against the margin.

    Parameters
    ----------
    names : sequence of str, default: all six
        Which of them: "zero_one", "perceptron", "hinge", "squared_hinge", "logistic", "squared".

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import separatrix as sx
    >>> len(sx.plot.losses(["perceptron", "hinge"]).axes[0].get_legend().get_texts())
    2
    """
    unknown = [name for name in names if name not in _LOSSES]
    if unknown or not names:
        raise ValueError(f"names must be some of {', '.join(_LOSSES)}. Got {list(names)} instead.")
    m = np.linspace(-2.5, 3.0, 1101)
    with drawing(6.8, 4.2) as figure:
        draw_losses(figure, m, {name: getattr(loss_of_margin, name)(m) for name in names})
    return figure


# ---- what is given


def _names(X: Any, names: Sequence[str] | None) -> list[str]:
    if names is not None:
        return [str(name) for name in names]
    columns = getattr(X, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    return [f"x{j}" for j in range(np.shape(X)[1])]


def _name(model: Any) -> str:
    return type(model).__name__


def _on_arrays(model: Any, X: Any) -> Any:
    """Return the model; one trained on a frame is given frames of the same columns."""
    return _OnFrames(model, X) if hasattr(X, "columns") else model


class _OnFrames:
    """A model whose points are put into a frame of the columns that it knows."""

    def __init__(self, model: Any, X: Any) -> None:
        self._model, self._kind, self._columns = model, type(X), list(X.columns)

    def predict(self, points: np.ndarray) -> Any:
        return self._model.predict(self._kind(points, columns=self._columns))

    def decision_function(self, points: np.ndarray) -> Any:
        return self._model.decision_function(self._kind(points, columns=self._columns))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)
