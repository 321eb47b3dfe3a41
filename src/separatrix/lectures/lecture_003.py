"""Ten exercises of lecture 003: Luca Iocchi, "Linear models for classification"."""

from __future__ import annotations

import numpy as np

from separatrix.data.lectures import five_points
from separatrix.estimators.delta_rule import DeltaRule
from separatrix.estimators.fisher import Fisher
from separatrix.estimators.least_squares import LeastSquares
from separatrix.estimators.linear_svm import LinearSVM
from separatrix.estimators.replay import replay
from separatrix.lectures.checking import Numbers, Values, exercise
from separatrix.problem.signed import SignedProblem

WEIGHTS = ("w_0", "w_1", "w_2")
SLACKS = ("xi_1", "xi_2", "xi_3", "xi_4", "xi_5", "xi_6")
# Of the support vector machine: the first three are positive.
X = np.array([[1.0, 0.0], [4.0, 2.0], [0.0, 0.0], [2.0, 2.0], [2.0, 5.0], [0.0, 3.0]])
T = np.array([1, 1, 1, -1, -1, -1])
# Of Fisher's discriminant: four rows of C_1, three of C_2.
F = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 1.0], [6.0, 3.0], [5.0, 0.0]])
G = np.array([1, 1, 1, 1, 2, 2, 2])


@exercise("Multiple classes", Numbers(WEIGHTS, up_to="factor"))
def boundary() -> Values:
    """Three classes have the discriminants y_1 = 1 + 2 x_1, y_2 = -1 + 0.5 x_1 - x_2 and y_3 = 3
    x_2. Give the boundary between C_1 and C_2, as weights (w_0, w_1, w_2); any multiple of them is
    right."""
    w1, w2, w3 = np.array([[1.0, 2.0, 0.0], [-1.0, 0.5, -1.0], [0.0, 0.0, 3.0]])
    yield w1 - w2, ""
    yield w1 + w2, "On the boundary the two are equal: what is zero there?"
    yield w1, "Compare it with the other class."
    yield w2, "Compare it with the other class."
    yield w1 - w3, "This is the boundary between two other classes."
    yield w2 - w3, "This is the boundary between two other classes."
    yield (0.0, *(w1 - w2)[1:]), "The constants count too."


@exercise("Least squares", Numbers(("y_1", "y_2", "y_3")))
def scores() -> Values:
    """One feature, three classes: x = 0, 1 in C_1, x = 2, 3 in C_2, x = 5, 6 in C_3. Fit least
    squares with the 1-of-K coding. Give y(x') for x' = 4."""
    x, k = np.array([[0.0], [1.0], [2.0], [3.0], [5.0], [6.0]]), np.array([0, 0, 1, 1, 2, 2])
    model = LeastSquares().fit(x, k)
    y = model.decision_function([[4.0]])[0]
    codes = np.eye(3)[k]
    through_zero = np.linalg.lstsq(x, codes, rcond=None)[0]
    yield y, ""
    yield np.eye(3)[y.argmax()], "These are codes. The outputs are no codes."
    yield (4.0 * through_zero).ravel(), "The constant is missing: x begins with a one."
    yield 2 * y - 1, "The codes are zeros and ones."
    yield codes.mean(axis=0), "These are the shares of the classes, at the mean of all x."
    yield model.decision_function([[3.0]])[0], "This is y at another x."
    yield y[::-1], "The order of the classes is reversed."


@exercise("Issues with least squares", Numbers())
def threshold_with_outlier() -> Values:
    """One feature, two classes: x = 0, 1 in C_1 and x = 2, 3, 20 in C_2. Fit least squares. At
    which x is the boundary?"""
    x, k = np.array([[0.0], [1.0], [2.0], [3.0], [20.0]]), np.array([0, 0, 1, 1, 1])
    means = x[k == 0].mean(), x[k == 1].mean()
    hard = LinearSVM(C=np.inf).fit(x, k)
    yield _threshold(LeastSquares().fit(x, k)), ""
    yield _threshold(hard), "Least squares does not look at the nearest rows alone."
    yield sum(means) / 2, "Halfway between the means is not it: the classes have unequal sizes."
    yield x.mean(), "This is the mean of all rows."
    yield np.median(x), "This is the median of all rows."
    yield _threshold(LeastSquares().fit(x[1:], k[1:])), "All five rows count."
    yield _threshold(LeastSquares(task="regression").fit(x, k), 1.0), "There the output is a one."


@exercise("Perceptron training rule", Numbers(WEIGHTS))
def gradient() -> Values:
    """What is the gradient of E(w) at w = 0 for sx.lectures.five_points(), the constant first?"""
    points, t = five_points()
    rows = SignedProblem(points, t).signed_rows()  # t x, and the outputs are zero
    plain = np.column_stack([np.ones(5), points])
    yield -rows.sum(axis=0), ""
    yield rows.sum(axis=0), "This is the direction of the step, against the gradient."
    yield -2 * rows.sum(axis=0), "E has a factor of one half."
    yield -rows.mean(axis=0), "E is a sum over the rows, not a mean."
    yield -plain.sum(axis=0), "The targets are missing."
    yield -rows[0], "E sums over all rows."
    yield (0.0, *-rows.sum(axis=0)[1:]), "The constant has a weight too."


@exercise("Perceptron training rule", Numbers(("Delta w_0", "Delta w_1", "Delta w_2")))
def thresholded_step() -> Values:
    """A thresholded unit, eta = 0.05. For x = (1, -0.6, 2), the constant first, the target is t =
    1 and the output o = -1. By what do the three weights change?"""
    model = DeltaRule(thresholded=True, update="single", learning_rate=0.05, init=[0.0, 0.0, -1.0])
    first, second, *_ = replay(model, [[-0.6, 2.0], [0.0, 5.0]], [1, -1])
    step = second.weights - first.weights
    yield step, ""
    yield step / 2, "What is t - o here?"
    yield -step, "Which way does t - o point?"
    yield 0 * step, "Target and output differ: there is a step."
    yield np.abs(step), "A feature is negative, and so is the change of its weight."
    yield step / 0.05, "The learning rate is missing."
    yield (0.0, *step[1:]), "The constant has a weight too."


@exercise("Fisher's linear discriminant", Numbers(("w_1", "w_2"), up_to="length"))
def fisher_direction() -> Values:
    """C_1 holds (0, 0), (1, 2), (2, 1), (3, 3), and C_2 holds (4, 1), (6, 3), (5, 0). Give the
    direction w that maximises Fisher's criterion, towards C_2; its length does not matter."""
    m1, m2, within = _moments()
    yield Fisher().fit(F, G).coef_[0], ""
    yield m2 - m1, "This is the difference of the means: the scatter within the classes counts."
    yield within @ (m2 - m1), "S_W is to be inverted."
    yield np.linalg.solve(within, m1 - m2), "It points to C_1."
    yield np.linalg.solve(within, m2), "The difference of the means is needed."
    all_rows = F - F.mean(axis=0)
    yield (m2 - m1) / np.diag(all_rows.T @ all_rows), "The two features vary together, too."
    yield np.linalg.eigh(all_rows.T @ all_rows)[1][:, -1], "This ignores the classes."


@exercise("Fisher's linear discriminant", Numbers(sign="the mean of all rows is on the line."))
def fisher_threshold() -> Values:
    """For the same rows, C_1: (0, 0), (1, 2), (2, 1), (3, 3), C_2: (4, 1), (6, 3), (5, 0), take w
    = S_W^-1 (m_2 - m_1). From which value c on does w.x >= c mean C_2, with the lecture's choice
    of the mean of all rows?"""
    m1, m2, _ = _moments()
    model = Fisher().fit(F, G)
    w = model.coef_[0]
    yield -model.intercept_[0], ""
    yield w @ (m1 + m2) / 2, "This is halfway between the two means: the mean of all rows differs."
    yield w @ m1, "There the first class has its mean."
    yield w @ m2, "There the second class has its mean."
    yield 0.0, "The hyperplane need not pass through the origin."
    yield -model.intercept_[0] / np.linalg.norm(w), "w is not scaled to length one."
    yield (m2 - m1) @ F.mean(axis=0), "w is not the difference of the means."


@exercise("Support Vector Machines", Numbers(WEIGHTS, sign="which class is positive?"))
def hard_margin() -> Values:
    """The rows (1, 0), (4, 2), (0, 0) are positive, (2, 2), (2, 5), (0, 3) negative. Give w_0,
    w_1, w_2 of the maximum margin hyperplane in the canonical representation."""
    w = _weights()
    m1, m2 = X[T == -1].mean(axis=0), X[T == 1].mean(axis=0)
    middle = (m1 + m2) / 2
    yield w, ""
    yield w / np.linalg.norm(w[1:]), "The nearest rows must have the value one, not w the length."
    yield 2 * w, "The nearest rows must have the value one."
    yield (-(m2 - m1) @ middle, *(m2 - m1)), "Halfway between the means is not the widest margin."
    soft = LinearSVM(C=0.1, tol=1e-9).fit(X, T)
    yield (soft.intercept_[0], *soft.coef_[0]), "No row may fall short of the margin here."
    yield (0.0, *w[1:]), "The hyperplane need not pass through the origin."


@exercise("Support Vector Machines", Numbers(tuple(f"a_{n}" for n in range(1, 7))))
def multipliers() -> Values:
    """For the same rows, (1, 0), (4, 2), (0, 0) positive, (2, 2), (2, 5), (0, 3) negative, give
    the Lagrange multipliers a_1 to a_6 in this order."""
    model = LinearSVM(C=np.inf, tol=1e-9).fit(X, T)
    a = np.zeros(6)
    a[model.support_] = np.abs(model.dual_coef_[0])
    support = (a > 0).astype(float)
    yield a, ""
    yield a * T, "Multipliers are not negative: the sign is in t."
    yield support, "These rows support the hyperplane. How much does each of them count?"
    yield a / a.sum(), "Their sum is not one."
    yield np.full(6, a.sum() / 6), "Rows beyond the margin have none."
    yield a[::-1], "Keep the order of the rows."
    yield np.where(a > 0, a.mean(), 0.0), "The sum of a t x must be w."


@exercise("Support Vector Machines with soft margin constraints", Numbers(SLACKS))
def slacks() -> Values:
    """Let y(x) = 1 + x_1 - 2 x_2. Give the slack of (2, 1), (1, 1), (0, 1), whose t is +1, and of
    (1, 2), (0, 0.75), (3, 1), whose t is -1."""
    rows = np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 2.0], [0.0, 0.75], [3.0, 1.0]])
    score = T * (1.0 + rows @ [1.0, -2.0])
    slack = np.maximum(0.0, 1.0 - score)
    yield slack, ""
    yield 1 - score, "A slack is at least zero."
    yield np.maximum(0.0, -score), "The margin counts: a row must reach a one, not a zero."
    yield np.maximum(0.0, 1 - T * score), "The labels are missing."
    yield (score < 0).astype(float), "Not whether a row is wrong, but by how much it falls short."
    yield score, "These are the values t y(x). What do they lack?"
    yield np.minimum(slack, 1.0), "On the wrong side a slack exceeds a one."


EXERCISES = (
    boundary,
    scores,
    threshold_with_outlier,
    gradient,
    thresholded_step,
    fisher_direction,
    fisher_threshold,
    hard_margin,
    multipliers,
    slacks,
)


def _threshold(model: LeastSquares | LinearSVM, value: float = 0.0) -> float:
    """Return the x of one feature at which the output has this value."""
    return float((value - np.ravel(model.intercept_)[0]) / np.ravel(model.coef_)[0])


def _moments() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both means and the scatter within the classes."""
    m1, m2 = F[G == 1].mean(axis=0), F[G == 2].mean(axis=0)
    apart = F - np.where((G == 1)[:, None], m1, m2)
    return m1, m2, apart.T @ apart


def _weights() -> np.ndarray:
    model = LinearSVM(C=np.inf, tol=1e-9).fit(X, T)
    return np.array([model.intercept_[0], *model.coef_[0]])
