"""Ten exercises of lecture 004: lecture notes, "Module 6: Linear Classification"."""

from __future__ import annotations

import numpy as np

from separatrix.data.lectures import cleaned, five_points, iris, iris_pair
from separatrix.estimators.linear_svm import LinearSVM
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.replay import replay
from separatrix.lectures.checking import Numbers, Values, exercise
from separatrix.problem import losses
from separatrix.problem.kernels import Kernel
from separatrix.problem.signed import SignedProblem
from separatrix.selection.linear_cv import LinearSVMCV

WEIGHTS = ("b", "w_1", "w_2")
VOCABULARY = ("again", "battery", "from", "money", "order", "wasted", "will")


@exercise("2.2 Making Predictions", Numbers(tuple(f"y_{n}" for n in range(1, 6)), whole=True))
def predictions() -> Values:
    """Let w = (2, -1) and b = -1. Which labels have (1, 0), (0, 0.4), (2, 3.5), (3, 1), (-1,
    -4)?"""
    w, b = np.array([2.0, -1.0]), -1.0
    points = np.array([[1.0, 0.0], [0.0, 0.4], [2.0, 3.5], [3.0, 1.0], [-1.0, -4.0]])
    labels = np.sign(points @ w + b)
    yield labels, ""
    yield -labels, "All of them are on the other side: a positive value means +1."
    yield (labels > 0).astype(int), "The labels are +1 and -1."
    yield points @ w + b, "These are the values. A label is a sign."
    yield np.sign(points @ w - b), "The bias is added."
    yield np.sign(points @ w), "The bias is missing."
    yield np.sign(points @ w[::-1] + b), "The two weights are exchanged."


@exercise("3.1 Defining the Loss", Numbers())
def loss() -> Values:
    """What is the sum of the losses (4) of sx.lectures.five_points() for w = (1, 0.5) and b =
    0?"""
    margins = _signed_rows() @ [0.0, 1.0, 0.5]
    each = np.array([losses.value(losses.PERCEPTRON, m) for m in margins])
    yield each.sum(), ""
    yield -each.sum(), "A loss is not negative."
    yield (each > 0).sum(), "This is the count of errors: how far off are they?"
    yield each.mean(), "The sum, not the mean."
    yield np.maximum(0, 1 - margins).sum(), "This is the hinge loss: (4) needs no margin of one."
    yield np.abs(margins).sum(), "Correctly classified points have no loss."
    yield each.max(), "More than one point is misclassified."


@exercise("4.2 Connection to Stochastic Gradient Descent", Numbers(WEIGHTS))
def gradient_step() -> Values:
    """Make one step (7), (8) with eta = 0.5 from w = (1, 0.5), b = 0 on the point x = (2, -2) with
    y = -1. Give b, w_1, w_2 after it."""
    X, y = five_points()
    start = np.array([0.0, 1.0, 0.5])
    model = Perceptron(learning_rate=0.5, init=start.tolist())
    after = next(frame.weights for frame in replay(model, X[1:], y[1:]) if frame.update == 1)
    row = _signed_rows()[1]
    yield after, ""
    yield start + row, "The learning rate is missing."
    yield start - 0.5 * row, "A step goes against the gradient: what is the gradient here?"
    yield start, "The point is misclassified: there is a step."
    yield (0.0, *after[1:]), "The bias has a gradient too."
    yield 0.5 * row, "This is the step. Add it to where you are."
    yield start + 0.5 * np.abs(row), "Mind the sign of the label."


@exercise("5.3 Maximizing the Margin", Numbers())
def margin() -> Values:
    """What is the margin of the classifier w = (0.5, 1), b = 0.2 on sx.lectures.five_points()?"""
    w = np.array([0.2, 0.5, 1.0])
    functional = _signed_rows() @ w
    X, y = five_points()
    yield functional.min() / np.linalg.norm(w[1:]), ""
    yield functional.min(), "w does not have length one: a distance needs its length."
    yield 1 / np.linalg.norm(w[1:]), "The nearest point does not have the value one here."
    yield functional.min() / np.linalg.norm(w), "The bias is no part of the length of w."
    yield LinearSVM(C=np.inf).fit(X, y).margin_, "This is the largest margin, of another w."
    yield functional.max() / np.linalg.norm(w[1:]), "The nearest point counts."
    yield functional.mean() / np.linalg.norm(w[1:]), "The nearest point counts, not the mean."


@exercise("6.2 Binary Classification Example", Numbers())
def iris_margin() -> Values:
    """What is the largest margin that separates setosa from versicolor by sepal width and petal
    width? The data are sx.lectures.iris_pair()."""
    X, y = iris_pair()
    hard = LinearSVM(C=np.inf).fit(X, y)
    table = iris()
    two = np.isin(table.y, ["setosa", "versicolor"])
    yield hard.margin_, ""
    yield 2 * hard.margin_, "The margin is the distance from the boundary, not between both sides."
    yield 1 / hard.margin_, "This is the length of w."
    yield 1 / hard.margin_**2, "This is the squared length of w."
    yield LinearSVM(C=1.0).fit(X, y).margin_, "Flowers may be inside this one: C is not infinite."
    all_four = LinearSVM(C=np.inf).fit(np.asarray(table.X)[two], np.asarray(table.y)[two])
    yield all_four.margin_, "Only two of the four measurements count here."
    petal = LinearSVM(C=np.inf).fit(X[:, 1:], y)
    yield petal.margin_, "The sepal width counts too."


@exercise(
    "7.2 Slack Variables",
    Numbers(
        ("beyond the margin or on it", "inside", "on the boundary", "misclassified"), whole=True
    ),
)
def slack_counts() -> Values:
    """The slacks of ten points are 0, 0.4, 1, 1.7, 0, 2.2, 0.9, 0, 0, 1.1. How many points are on
    the margin or beyond it, how many inside the margin on their own side, how many on the decision
    boundary, and how many are misclassified beyond it?"""
    slack = np.array([0.0, 0.4, 1.0, 1.7, 0.0, 2.2, 0.9, 0.0, 0.0, 1.1])
    free, edge, wrong = (slack == 0).sum(), (slack == 1).sum(), (slack > 1).sum()
    inside = len(slack) - free - edge - wrong
    yield (free, inside, edge, wrong), ""
    yield (free, inside + edge, 0, wrong), "A slack of one: on which line is that point?"
    yield (free, inside, 0, wrong + edge), "A slack of one: on which line is that point?"
    yield (free + inside, 0, edge, wrong), "A positive slack is inside the margin."
    yield (0, free + inside, edge, wrong), "Without slack a point is not inside the margin."
    yield (wrong, inside, edge, free), "A large slack is bad."
    yield (free, wrong, edge, inside), "Below one and above one are exchanged."


@exercise("7.3 The Optimization Problem", Numbers())
def objective() -> Values:
    """One feature: x = 0 and x = 2 have the label -1, x = 1 and x = 4 the label +1. What is the
    least value of (17) for C = 1?"""
    X, y = np.array([[0.0], [2.0], [1.0], [4.0]]), np.array([-1, -1, 1, 1])
    half = LinearSVM(C=0.5, tol=1e-9).fit(X, y)
    whole = LinearSVM(C=1.0, tol=1e-9).fit(X, y)
    squared = float((half.coef_**2).sum())
    yield squared + half.slack_.sum(), ""
    yield whole.objective_, "(17) has no factor of one half at the squared length of w."
    yield half.objective_, "(17) has no factor of one half, neither there nor at C."
    yield squared, "The slacks are missing."
    yield half.slack_.sum(), "The length of w is missing."
    yield 2 * whole.objective_, "That is twice another problem: which C does it belong to?"
    by_eye = np.maximum(0, 1 - y * (X[:, 0] - 1.5))  # w = 1, b = -1.5
    yield 1 + by_eye.sum(), "Another w has a smaller value."


@exercise("9.3 Feature Representation", Numbers(VOCABULARY, whole=True))
def bag_of_words() -> Values:
    """The vocabulary is again, battery, from, money, order, wasted, will. Write "Will order from
    them again!" as a vector, with a one for a word that occurs."""
    words = cleaned("Will order from them again!").split()
    vector = np.array([float(word in words) for word in VOCABULARY])
    yield vector, ""
    yield 1 - vector, "A one means that the word occurs."
    yield (*vector[:-1], 0.0), "Upper and lower case are one word."
    yield (0.0, *vector[1:]), "The mark is no part of the word."
    place = [words.index(word) + 1 if word in words else 0 for word in VOCABULARY]
    yield place, "The order in the sentence does not count."
    yield vector / vector.sum(), "Ones, not shares."
    yield np.ones(7), "Some words of the vocabulary do not occur."


@exercise("11.1 The Cross-Validation Procedure", Numbers(whole=True))
def models_trained() -> Values:
    """C is chosen among six values by 5-fold cross-validation, and the best one is fitted to all
    training rows. How many SVMs are trained in all?"""
    X, y = iris_pair()
    Cs = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
    values, folds = LinearSVMCV(Cs, cv=5).fit(X, y).path_.fold_errors.shape
    yield values * folds + 1, ""
    yield values * folds, "The last one, on all training rows, is missing."
    yield values, "Each value of C needs a model for every fold."
    yield folds, "Each fold needs a model for every value of C."
    yield values + folds, "Every value goes with every fold."
    yield values * (folds - 1) + 1, "Each fold is left out once."
    yield values * folds + values, "Only the best value is fitted again."


@exercise("13.3 Kernel Selection", Numbers())
def radial_kernel() -> Values:
    """What is K(x, z) of the RBF kernel with gamma = 0.3 for x = (1, 2) and z = (3, 1)?"""
    x, z, gamma = np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]), 0.3
    squared = float(((x - z) ** 2).sum())
    yield Kernel("rbf", gamma=gamma).block(x, z)[0, 0], ""
    yield np.exp(-gamma * np.sqrt(squared)), "The distance is squared."
    yield np.exp(gamma * squared), "A kernel falls with the distance."
    yield np.exp(-squared), "Gamma is missing."
    yield -gamma * squared, "The exponential is missing."
    yield Kernel("linear").block(x, z)[0, 0], "This is the linear kernel."
    yield np.exp(-squared / (2 * gamma**2)), "Gamma is a factor here, not a width."


EXERCISES = (
    predictions,
    loss,
    gradient_step,
    margin,
    iris_margin,
    slack_counts,
    objective,
    bag_of_words,
    models_trained,
    radial_kernel,
)


def _signed_rows() -> np.ndarray:
    return SignedProblem(*five_points()).signed_rows()
