"""Every estimator with its parameters varied, and the checks that a parameter forbids, with why.

An expression is made as ``sx.<expression>``. `FORBIDDEN` names for an expression the checks of
scikit-learn that cannot pass with it; a check that is listed and passes is an error too.
"""

_ORDER = "the rule visits rows in their order: weights and copies in another order end elsewhere"
_DENSE = "check_sample_weight_equivalence_on_dense_data"
_SPARSE = "check_sample_weight_equivalence_on_sparse_data"


def _weights(why):
    return {_DENSE: why, _SPARSE: why}


CONFIGURATIONS = {
    "SGD": [
        "SGD('squared_hinge')",
        "SGD('perceptron')",
        "SGD('logistic', C=0.1, average=False)",
        "SGD('logistic', scale=False)",
        "SGD(order='cyclic')",
        "SGD(scale=False, class_weight='balanced')",
        "SGD(fit_intercept=False)",
        "SGD(early_stopping=True)",
        "SGD('hinge', learning_rate='constant')",
        "SGD('logistic', learning_rate='constant', eta0=0.1, average=False)",
        "SGD('squared_hinge', learning_rate='invscaling')",
        "SGD('hinge', learning_rate='optimal')",
        "SGD('logistic', learning_rate='optimal', C=0.5)",
        "SGD('perceptron', learning_rate='constant', average=False, order='cyclic')",
        "SGD('squared', learning_rate='invscaling', eta0=0.001)",
        "SGD('modified_huber', learning_rate='invscaling', fit_intercept=False)",
        "SGD('logistic', learning_rate='constant', early_stopping=True)",
    ],
    "Perceptron": [
        "Perceptron(update='batch', max_updates=200)",
        "Perceptron(update='minibatch', max_updates=500)",
        "Perceptron(order='random', max_updates=500)",
        "Perceptron(order='worst', max_updates=200)",
        "Perceptron(average=True, max_passes=20)",
        "Perceptron(pocket=False, max_passes=20)",
        "Perceptron(pocket='every', max_updates=300)",
        "Perceptron(scale=True, max_updates=500)",
        "Perceptron(decay=0.5, max_updates=500)",
        "Perceptron(init='random', max_updates=500, fit_intercept=False)",
        "Perceptron(patience=50)",
    ],
    "DeltaRule": [
        "DeltaRule(thresholded=True, max_updates=200)",
        "DeltaRule(update='single', max_passes=20)",
        "DeltaRule(thresholded=True, update='single')",
        "DeltaRule(update='minibatch', batch_size=4, max_passes=20)",
        "DeltaRule(update='single', order='random', max_passes=20)",
        "DeltaRule(fit_intercept=False, max_updates=200)",
    ],
    "Kozinec": [
        "Kozinec(epsilon=0.1, max_updates=2000)",
        "Kozinec(order='worst', max_updates=500)",
        "Kozinec(order='random', max_updates=2000, fit_intercept=False)",
    ],
    "LinearProgramHalfspace": [
        "LinearProgramHalfspace(slack=True)",
        "LinearProgramHalfspace(fit_intercept=False)",
    ],
    "LeastSquares": [
        "LeastSquares(1.0)",
        "LeastSquares([0.1, 1.0, 10.0])",
        "LeastSquares([0.1, 1.0], cv=3)",
        "LeastSquares([0.1, 1.0], scoring='accuracy')",
        "LeastSquares(0.1, positive=True)",
        "LeastSquares(0.1, class_weight='balanced')",
        "LeastSquares(0.5, fit_intercept=False)",
        "LeastSquares(0.5, task='regression')",
        "LeastSquares(0.5, task='regression', positive=True)",
        "LeastSquares([0.1, 1.0], task='regression', cv=3)",
        "LeastSquares([0.1, 1.0], task='regression')",
    ],
    "Fisher": [
        "Fisher('gaussian')",
        "Fisher('gaussian', shrinkage='ledoit-wolf')",
        "Fisher(direction='means')",
        "Fisher(shrinkage=0.5)",
        "Fisher(shrinkage='ledoit-wolf', store_covariance=True)",
        "Fisher(shrinkage='pseudo-inverse')",
        "Fisher(n_components=1)",
    ],
    "GaussianPlugIn": [
        "GaussianPlugIn('full')",
        "GaussianPlugIn('full', shrinkage=0.3)",
        "GaussianPlugIn('full', shrinkage=(0.3, 0.5))",
        "GaussianPlugIn('full', shrinkage='held-out')",
        "GaussianPlugIn('full', shrinkage='ledoit-wolf', store_covariance=True)",
        "GaussianPlugIn('diagonal')",
        "GaussianPlugIn('diagonal', task='minimax')",
        "GaussianPlugIn('full', components=2)",
        "GaussianPlugIn(task='minimax')",
        "GaussianPlugIn(task='neyman-pearson')",
        "GaussianPlugIn(shrinkage=0.5, store_covariance=True)",
    ],
    "LinearSVM": [
        "LinearSVM(C=0.1)",
        "LinearSVM(C=100.0)",
        "LinearSVM(loss='squared_hinge')",
        "LinearSVM(multi_class='ovo')",
        "LinearSVM(multi_class='direct')",
        "LinearSVM(probability=True)",
        "LinearSVM(class_weight='balanced')",
        "LinearSVM(fit_intercept=False)",
        "LinearSVM(intercept_penalty=1.0)",
        "LinearSVM(warm_start=True)",
        "LinearSVM(loss='squared_hinge', l1_ratio=0.0)",
        "LinearSVM(loss='squared_hinge', l1_ratio=0.5)",
        "LinearSVM(loss='squared_hinge', l1_ratio=1.0)",
    ],
    "LogisticRegression": [
        "LogisticRegression(C=0.1)",
        "LogisticRegression(C=0.01)",
        "LogisticRegression(multi_class='multinomial')",
        "LogisticRegression(multi_class='multinomial', C=float('inf'))",
        "LogisticRegression(multi_class='multinomial', l1_ratio=0.5)",
        "LogisticRegression(multi_class='multinomial', l1_ratio=1.0)",
        "LogisticRegression(multi_class='ovo')",
        "LogisticRegression(class_weight='balanced')",
        "LogisticRegression(fit_intercept=False)",
        "LogisticRegression(intercept_penalty=1.0)",
        "LogisticRegression(warm_start=True)",
        "LogisticRegression(l1_ratio=0.0)",
        "LogisticRegression(l1_ratio=0.5)",
        "LogisticRegression(l1_ratio=1.0)",
        "LogisticRegression(l1_ratio=1.0, multi_class='ovr')",
    ],
    "KernelSVM": [
        "KernelSVM(C=10.0)",
        "KernelSVM(kernel='poly')",
        "KernelSVM(multi_class='ovr')",
        "KernelSVM(multi_class='direct')",
        "KernelSVM(kernel='linear')",
        "KernelSVM(kernel='poly', degree=2, coef0=1.0)",
        "KernelSVM(gamma=0.5)",
        "KernelSVM(class_weight='balanced')",
        "KernelSVM(multi_class='ovr', kernel='linear')",
    ],
    "KernelPerceptron": [
        "KernelPerceptron(kernel='linear', max_updates=500)",
        "KernelPerceptron(kernel='poly', coef0=1.0, max_updates=500)",
        "KernelKozinec(kernel='linear', max_updates=500)",
        "KernelKozinec(epsilon=0.1, max_updates=500)",
    ],
    "paths": [
        "LinearSVMCV()",
        "LogisticRegressionCV()",
        "LinearSVMCV(Cs=[0.1, 1.0], cv=2, refine=False)",
        "LinearSVMCV(Cs=[0.1, 1.0], cv=2, loss='squared_hinge')",
        "LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, refine=False)",
        "LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, multi_class='multinomial')",
        "LinearSVMCV(Cs=[0.1, 1.0], cv=2, loss='squared_hinge', l1_ratios=[0.0, 0.5, 1.0])",
        "LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, l1_ratios=[0.0, 0.5, 1.0])",
        "KernelSVMCV(Cs=[0.1, 1.0], cv=2)",
    ],
    "ManyClasses": [
        "OneVsRest(sx.Fisher())",
        "OneVsOne(sx.LeastSquares(0.1))",
        "OneVsRest(sx.LogisticRegression())",
        "OneVsOne(sx.LinearSVM(loss='squared_hinge'))",
    ],
    "lift": [
        "lift.Polynomial(degree=3)",
        "lift.Polynomial(interaction_only=True, include_bias=True)",
        "lift.RadialBasis(5, random_state=0)",
        "lift.Sigmoid(random_state=0)",
        "lift.RandomFourier(random_state=0, n_components=8)",
        "lift.Nystrom(random_state=0, n_components=5)",
    ],
    "Encoder": [
        "Encoder('ranks')",
        "Encoder('splines')",
        "Encoder('standard', sparse_output=False)",
    ],
}

_BALANCED = "class_weight='balanced' needs all rows at once: partial_fit refuses it in words"
_NO_INTERCEPT = "without an intercept one class cannot be preferred everywhere"
_SHORT = "steps of a given length do not go as far as weights ten million times apart call for"
_SLICES = "a weight that is no whole number is taken in equal steps: other ones than copies take"
_HALFSPACES = "any best halfspace is an answer, and HiGHS finds another one in another order"
_ONE_LABEL = "class weights are for one label a row: several are refused in words"
_NO_PROBABILITIES = "least squares has no probabilities: skipped"
_SIGNS = "no weight may be negative: the check wants an accuracy that needs some"
_FOLDS = "probabilities are calibrated on folds dealt by the places of rows: copies change them"
_CLASS_WEIGHTS = "check_class_weight_classifiers"
_LABELS = "check_classifiers_multilabel_output_format_predict_proba"
_MANY_LABELS = (
    "check_classifiers_multilabel_representation_invariance",
    "check_classifiers_multilabel_output_format_predict",
    "check_classifiers_multilabel_output_format_decision_function",
    _LABELS,
)

# Expression, or estimator for all of its other expressions -> check -> why it cannot pass.
FORBIDDEN: dict[str, dict[str, str]] = {
    "Perceptron": _weights(_ORDER),
    "Perceptron(update='batch', max_updates=200)": {},
    "LinearSVM(probability=True)": _weights(_FOLDS),
    "LinearSVM(fit_intercept=False)": {_CLASS_WEIGHTS: _NO_INTERCEPT},
    "LogisticRegression(fit_intercept=False)": {_CLASS_WEIGHTS: _NO_INTERCEPT},
    "LinearProgramHalfspace": _weights(_HALFSPACES),
    "SGD(order='cyclic')": _weights(_ORDER),
    "SGD(scale=False, class_weight='balanced')": {
        "check_fit_score_takes_y": _BALANCED,
        "check_n_features_in_after_fitting": _BALANCED,
        "check_estimators_partial_fit_n_features": _BALANCED,
        **_weights(_SLICES),
    },
    "SGD(fit_intercept=False)": {_CLASS_WEIGHTS: _NO_INTERCEPT},
    "SGD('hinge', learning_rate='constant')": {_CLASS_WEIGHTS: _SHORT},
    "SGD('squared_hinge', learning_rate='invscaling')": {_CLASS_WEIGHTS: _SHORT},
    "SGD('perceptron', learning_rate='constant', average=False, order='cyclic')": _weights(_ORDER),
    "SGD('modified_huber', learning_rate='invscaling', fit_intercept=False)": {
        _CLASS_WEIGHTS: _NO_INTERCEPT
    },
    "SGD('logistic', learning_rate='constant', early_stopping=True)": {_CLASS_WEIGHTS: _SHORT},
    "DeltaRule(update='single', max_passes=20)": _weights(_ORDER),
    "DeltaRule(update='minibatch', batch_size=4, max_passes=20)": _weights(_ORDER),
    "DeltaRule(update='single', order='random', max_passes=20)": _weights(_ORDER),
    "LeastSquares": {_LABELS: _NO_PROBABILITIES},
    "LeastSquares(0.1, positive=True)": {
        "check_classifiers_train": _SIGNS,
        _LABELS: _NO_PROBABILITIES,
    },
    "LeastSquares(0.1, class_weight='balanced')": dict.fromkeys(_MANY_LABELS, _ONE_LABEL),
    "LeastSquares(0.5, fit_intercept=False)": {
        _CLASS_WEIGHTS: _NO_INTERCEPT,
        _LABELS: _NO_PROBABILITIES,
    },
    "LeastSquares(0.5, task='regression')": {},
    "LeastSquares(0.5, task='regression', positive=True)": {},
    "LeastSquares([0.1, 1.0], task='regression', cv=3)": {},
    "LeastSquares([0.1, 1.0], task='regression')": {},
}


def forbidden(made: str) -> dict[str, str]:
    """Return the checks that cannot pass, with the reasons."""
    return FORBIDDEN.get(made, FORBIDDEN.get(made.split("(")[0], {}))
