"""Models as plain scikit-learn objects, which need this library no more.

A linear model becomes LinearSVC or LogisticRegression with its weights, pairs OneVsOneClassifier,
one with a kernel SVC, a lift the transformer of the same name; texts become CountVectorizer and
TfidfTransformer with the vocabulary of training. What has no such form is refused with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.core.explanation import LinearForm, linear_form
from separatrix.core.linear_model import is_multinomial
from separatrix.storage.libsvm_model import in_libsvm_order

__all__ = []


def to_sklearn(model: Any, encoding: Any = None) -> Any:
    """Return a scikit-learn estimator that predicts the same.

    Parameters
    ----------
    model : estimator
        A fitted model of this library, or a pipeline that ends in one.
    encoding : object or None, default=None
        The encoding of texts (`Table.encoding`): the answer is then a pipeline that takes texts.

    Returns
    -------
    estimator
        A fitted estimator of scikit-learn alone: this library is not needed to use it.

    See Also
    --------
    exchange : LIBLINEAR, LIBSVM, ONNX and CSV.
    save : the model file of this library, with its proof.

    Examples
    --------
    >>> import separatrix as sx
    >>> plain = to_sklearn(sx.LinearSVM().fit([[0.0], [1.0], [3.0]], ["low", "low", "high"]))
    >>> type(plain).__name__, plain.predict([[0.5], [2.9]]).tolist()
    ('LinearSVC', ['low', 'high'])
    """
    from sklearn.pipeline import Pipeline

    first = [] if encoding is None else _of_encoding(encoding)
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    made = [*first, *(_of_step(step) for step in steps[:-1]), _of_classifier(steps[-1])]
    if len(made) == 1:
        return made[0]
    return Pipeline([(f"{number}_{type(one).__name__}", one) for number, one in enumerate(made)])


# ---- classifiers


def _of_classifier(model: Any) -> Any:
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        return _of_step(model)
    if hasattr(model, "kernel_") and model.kernel_.name != "linear":
        return _svc(model)
    form = linear_form(model).decided_by_weights("scikit-learn")
    logistic = "Logistic" in type(model).__name__
    if form.pairs is not None:
        return _one_vs_one(form)
    if len(form.weights) == 1 or is_multinomial(model):
        plain = _two_classes(form, logistic)  # of several, scikit-learn's is multinomial too
        return plain if form.threshold == 0.0 else _above(plain, form.threshold)
    return _one_vs_rest(form) if logistic else _filled(_linear_svc(), form)


def _above(plain: Any, threshold: float) -> Any:
    """Return the classifier with another threshold: scores and probabilities stay as they are."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import FixedThresholdClassifier

    # scikit-learn counts the threshold itself as above it, and this library does not.
    made = FixedThresholdClassifier(
        FrozenEstimator(plain),
        threshold=float(np.nextafter(threshold, np.inf)),
        response_method="decision_function",
    )
    return made.fit(np.zeros((2, plain.n_features_in_)), plain.classes_)


def _linear_svc() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC()


def _filled(plain: Any, form: LinearForm) -> Any:
    plain.classes_, plain.coef_ = form.classes.copy(), np.array(form.weights)
    plain.intercept_ = np.array(form.intercepts)
    plain.n_features_in_, plain.n_iter_ = form.weights.shape[1], 0
    return plain


def _two_classes(form: LinearForm, logistic: bool) -> Any:
    from sklearn.linear_model import LogisticRegression

    if not logistic:
        return _filled(_linear_svc(), form)
    plain = _filled(LogisticRegression(), form)
    plain.n_iter_ = np.zeros(1, dtype=np.int32)
    return plain


def _rows(form: LinearForm) -> list[LinearForm]:
    """Return every row of weights as a model of the classes 0 and 1."""
    return [
        LinearForm(np.array([0, 1]), form.weights[[k]], form.intercepts[[k]])
        for k in range(len(form.weights))
    ]


def _one_vs_rest(form: LinearForm) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer

    many = OneVsRestClassifier(LogisticRegression())
    many.estimators_ = [_two_classes(row, True) for row in _rows(form)]
    many.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(form.classes)
    many.classes_ = form.classes.copy()
    many.n_features_in_ = form.weights.shape[1]
    return many


def _one_vs_one(form: LinearForm) -> Any:
    from sklearn.multiclass import OneVsOneClassifier

    many = OneVsOneClassifier(_linear_svc())
    many.estimators_ = tuple(_two_classes(row, False) for row in _rows(form))
    many.classes_, many.pairwise_indices_ = form.classes.copy(), None
    many.n_features_in_ = form.weights.shape[1]
    return many


def _svc(model: Any) -> Any:
    """Return an SVC with these support vectors, laid out as LIBSVM inside it has them."""
    from sklearn.svm import SVC

    kernel, k = model.kernel_, len(model.classes_)
    if kernel.name == "callable":
        raise ValueError("The kernel is a function of yours: give it to sklearn.svm.SVC itself.")
    if type(model).__name__ == "LibsvmMachine" or not (np.diff(_codes(model.classes_)) > 0).all():
        raise ValueError("A model of LIBSVM has its classes in another order than SVC can have.")
    columns, counts, order, rho = in_libsvm_order(model, list(range(k)))
    names = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    plain = SVC(
        C=float(getattr(model, "C_", getattr(model, "C", 1.0))), kernel=kernel.name, **names
    )
    given = kernel.name == "precomputed"
    vectors = model.support_vectors_ if given else model.support_vectors_[order]
    plain._sparse = sp.issparse(vectors)
    plain.support_ = model.support_[order].astype(np.int32)
    plain.support_vectors_ = sp.csr_matrix(vectors) if plain._sparse else np.asarray(vectors, float)
    plain._n_support = np.array(counts, dtype=np.int32)
    shares = np.ascontiguousarray(columns.T)
    plain._dual_coef_ = sp.csr_matrix(shares) if plain._sparse else shares
    plain._intercept_ = -rho
    # Of two classes scikit-learn turns the sign of what it shows.
    plain.dual_coef_ = -plain._dual_coef_ if k == 2 else plain._dual_coef_
    plain.intercept_ = rho if k == 2 else -rho
    plain._probA = plain._probB = np.empty(0)
    plain._gamma, plain.fit_status_, plain.classes_ = kernel.gamma, 0, model.classes_.copy()
    plain.class_weight_ = np.ones(k)
    plain.n_features_in_ = model.n_features_in_
    plain.shape_fit_ = (model.n_features_in_ if given else len(order), model.n_features_in_)
    plain.n_iter_ = np.zeros(k * (k - 1) // 2, dtype=np.int32)
    return plain


def _codes(classes: np.ndarray) -> np.ndarray:
    return np.unique(classes, return_inverse=True)[1]


# ---- what comes before


def _of_step(step: Any) -> Any:
    name = type(step).__name__
    if type(step).__module__.startswith("sklearn."):
        return step
    if name not in _STEPS:
        raise ValueError(f"{name} has no counterpart in scikit-learn.")
    made = _STEPS[name](step)
    made.n_features_in_ = step.n_features_in_
    return made


def _polynomial(step: Any) -> Any:
    from sklearn.preprocessing import PolynomialFeatures

    made = PolynomialFeatures(
        int(step.degree),
        interaction_only=bool(step.interaction_only),
        include_bias=bool(step.include_bias),
    )
    return made.fit(np.zeros((1, step.n_features_in_)))


def _fourier(step: Any) -> Any:
    from sklearn.kernel_approximation import RBFSampler

    made = RBFSampler(gamma=float(step.gamma_), n_components=step.directions_.shape[1])
    made.random_weights_, made.random_offset_ = step.directions_.copy(), step.offsets_.copy()
    made._n_features_out = step.directions_.shape[1]
    return made


def _nystrom(step: Any) -> Any:
    from sklearn.kernel_approximation import Nystroem

    if callable(step.kernel):
        raise ValueError("The kernel is a function of yours: give it to Nystroem itself.")
    settings = {} if step.kernel == "linear" else {"gamma": float(step.gamma_)}
    if step.kernel == "poly":
        settings |= {"degree": int(step.degree), "coef0": float(step.coef0)}
    made = Nystroem(kernel=step.kernel, n_components=len(step.normalization_), **settings)
    made.components_, made.normalization_ = step.components_, step.normalization_.copy()
    made.component_indices_ = step.component_indices_
    made._n_features_out = len(step.normalization_)
    return made


def _radial(step: Any) -> Any:
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.preprocessing import FunctionTransformer

    arguments = {"Y": step.centres_.copy(), "gamma": 0.5 / float(step.width_) ** 2}
    return FunctionTransformer(rbf_kernel, kw_args=arguments, accept_sparse=True)


def _sigmoid(step: Any) -> Any:
    from sklearn.metrics.pairwise import sigmoid_kernel
    from sklearn.preprocessing import FunctionTransformer

    arguments = {
        "Y": step.centres_.copy(),
        "gamma": float(step.slope_),
        "coef0": float(step.offset),
    }
    return FunctionTransformer(sigmoid_kernel, kw_args=arguments, accept_sparse=True)


_STEPS = {
    "Polynomial": _polynomial,
    "RandomFourier": _fourier,
    "Nystrom": _nystrom,
    "RadialBasis": _radial,
    "Sigmoid": _sigmoid,
}


def _of_encoding(encoding: Any) -> list[Any]:
    name = type(encoding).__name__
    if name == "IndexEncoding":
        return []
    if name != "TextEncoding":
        raise ValueError(
            "How columns of a table became features (medians, pooled categories) has no plain form "
            "in scikit-learn. Leave the encoding out, and give the pipeline encoded features."
        )
    if encoding.hashing:
        raise ValueError(
            "Words are hashed otherwise here than by scikit-learn's HashingVectorizer."
        )
    return _vectorisers(encoding)


def _vectorisers(encoding: Any) -> list[Any]:
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    counts = CountVectorizer(
        vocabulary=list(encoding.vocabulary),
        ngram_range=encoding.ngrams,
        stop_words=list(encoding.stop_words) or None,
        binary=encoding.weighting == "binary",
        dtype=np.float64,
    )
    counts._validate_vocabulary()
    if encoding.weighting != "tfidf":
        return [counts]
    weights = TfidfTransformer()
    weights.idf_ = np.array(encoding.idf)
    weights.n_features_in_ = len(encoding.vocabulary)
    return [counts, weights]
