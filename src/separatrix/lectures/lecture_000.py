"""Ten exercises of lecture 000: Federico Chiariotti, "Linear classification"."""

from __future__ import annotations

import numpy as np

from separatrix.data.lectures import exclusive_or, five_points
from separatrix.estimators.perceptron import Perceptron, novikoff
from separatrix.estimators.replay import replay
from separatrix.estimators.separability import shatter
from separatrix.lectures.checking import Members, Numbers, Values, exercise
from separatrix.problem.signed import SignedProblem
from separatrix.selection.split import split

WEIGHTS = ("b", "w_1", "w_2")


@exercise("K-fold Cross Validation", Numbers(whole=True))
def rows_of_a_fold() -> Values:
    """Of 150 rows a fifth is set aside as the test set; five folds validate on the others. On how
    many rows is each model of the cross-validation trained?"""
    parts = split(np.arange(150) % 3, test=0.2)
    fold = len(parts.train) // 5
    yield len(parts.train) - fold, ""
    yield len(parts.train), "One fold is left out: it validates."
    yield fold, "That many rows validate. The others train."
    yield len(parts.train) // 2, "There are five folds, and four of them train together."
    yield len(parts.test), "These rows are the test set."
    yield 150 - len(parts.test) - 2 * fold, "Only one fold is left out at a time."


@exercise("A 2D example", Numbers(("m", "h")))
def slope_and_intercept() -> Values:
    """The perceptron of the lecture's graphical example ends at (b, w_1, w_2) = (0.2, 0.5, 1). Its
    line is x_2 = m x_1 + h. Give (m, h)."""
    b, w1, w2 = _frames(0.2, (0.0, 1.0, 0.5))[-1]
    yield (-w1 / w2, -b / w2), ""
    yield (w1 / w2, -b / w2), "The slope: along the line w_1 x_1 + w_2 x_2 stays constant."
    yield (-w1 / w2, b / w2), "The intercept: which x_2 makes the sum zero where x_1 is zero?"
    yield (w1 / w2, b / w2), "Solve the equation for x_2: what changes sides?"
    yield (-w2 / w1, -b / w1), "This is x_1 as a function of x_2."
    yield (-w1, -w2), "Divide by the weight of x_2."
    yield (w2 / w1, -b / w2), "This is the slope of w itself; the line is perpendicular to it."


@exercise("Homogeneous coordinates", Numbers(("y", "y x_1", "y x_2")))
def signed_row() -> Values:
    """The second of the five points is x = (2, -2), of class y = -1. Write it in homogeneous
    coordinates, multiplied by its label: a row of the matrix A of the linear program, with the
    constant first."""
    X, y = five_points()
    row = SignedProblem(X, y).signed_rows()[1]
    yield row, ""
    yield (1, *X[1]), "This is x'. Multiply it by the label."
    yield (1, *(-X[1])), "The constant is multiplied by the label too."
    yield (-1, *X[1]), "The features are multiplied by the label too."
    yield (*row[1:], row[0]), "The constant comes first."
    yield (-1, -2, -2), "Minus times minus is plus."
    yield (0, *row[1:]), "The coordinate that is added is a constant other than zero."


@exercise("VC dimension in R^2", Numbers(whole=True))
def labelings_of_a_square() -> Values:
    """How many of the sixteen labelings of the corners of a square can a line give?"""
    corners, _ = exclusive_or()
    found = shatter(corners)
    count = sum(each.possible for each in found.labelings)
    yield count, ""
    yield len(found.labelings), "Some labelings are impossible."
    yield len(found.impossible), "These are impossible. How many are left?"
    yield count + 1, "If a labeling is impossible, so is the one with all labels changed."
    yield count // 2, "A line with its sides exchanged gives another labeling: count both."
    yield count - 2, "All corners in one class is a labeling too: the line may pass outside."
    yield 4, "That is the count of corners."


@exercise("VC dimension in R^2", Members('texts such as "0110", in the order ABCD'))
def point_inside_a_triangle() -> Values:
    """Let A = (0, 0), B = (4, 0), C = (0, 4) and D = (1, 1). Which labelings can no line give?
    Give them as a set of texts of four digits in the order ABCD, such as "0110"."""
    impossible = {each.text for each in shatter([[0, 0], [4, 0], [0, 4], [1, 1]]).impossible}
    yield impossible, ""
    yield {min(impossible)}, "A labeling and the one with all labels changed go together."
    yield {max(impossible)}, "A labeling and the one with all labels changed go together."
    yield {"0101", "1010"}, "ABCD is no convex quadrilateral here: where is D?"
    yield {"0000", "1111"}, "A line that passes outside gives these."
    yield {"0111", "1000"}, "A line can cut off a corner of the triangle."
    yield {"0011", "1100"}, "Draw the line between the two pairs."


@exercise("Proof: second step", Numbers(("a_1", "a_2", "a_3"), up_to="factor"))
def dependence() -> Values:
    """Three vectors of the plane are dependent: x_1 = (1, 2), x_2 = (3, 1), x_3 = (5, 5). Find a,
    not all zero, with a_1 x_1 + a_2 x_2 + a_3 x_3 = 0."""
    witness = shatter([[1, 2], [3, 1], [5, 5]], fit_intercept=False).impossible[0]
    assert witness.witness is not None  # an impossible labeling has one
    size = np.array(witness.witness.multipliers, dtype=float)
    sign = np.array([1.0 if label == "1" else -1.0 for label in witness.text])
    a = size * sign
    yield a, ""
    yield size, "The signs: the three terms must cancel."
    yield (1, 1, -1), "The sum of the first two is not the third: weigh them."
    yield (a[1], a[0], a[2]), "Two of the numbers are exchanged."
    yield (a[0], -a[1], a[2]), "The signs: which two are on the same side?"
    yield (1, 3, 5), "These are first coordinates, not coefficients."
    yield (1, 1, 1), "Both coordinates of the sum must be zero."


@exercise("Linear programming as ERM", Numbers())
def factor_to_margin_one() -> Values:
    """The weights (b, w_1, w_2) = (0.2, 0.5, 1) separate the five points. By which factor must
    they at least be multiplied, so that A w >= (1, ..., 1)?"""
    margins = _margins()
    yield 1 / margins.min(), ""
    yield 1.0, "The smallest entry of A w is still below what the program requires."
    yield margins.min(), "This is the smallest margin. What makes it a one?"
    yield 1 / margins.max(), "Every row must reach it, the worst one too."
    yield 1 / margins.mean(), "Not on average: every row must reach it."
    yield 1 / np.sort(margins)[1], "One row still falls short."
    yield margins.min() / np.linalg.norm([0.5, 1.0]), "That is a distance. Look at A w itself."


@exercise("Pseudocode", Numbers(WEIGHTS, sign="which label has the row of the update?"))
def second_update() -> Values:
    """Run the pseudocode on the five points, from zero, going through the points in order again
    and again. What is w, bias first, after the second update?"""
    frames = [frame.weights for frame in replay(Perceptron(), *five_points())]
    X, y = five_points()
    rows = SignedProblem(X, y).signed_rows()
    yield frames[2], ""
    yield frames[1], "This is w after the first update."
    yield frames[3], "This is one update further."
    yield frames[1] - rows[1], "Add y x, where y is the label of the row."
    yield rows[1], "The second update is added to the first, it does not replace it."
    yield frames[1] + rows[2], "Is that row misclassified after the first update?"
    yield frames[1] * 0.2 + rows[1], "The pseudocode has no learning rate: it is one."


@exercise("Perceptron convergence", Numbers())
def mistake_bound() -> Values:
    """What is (R B)^2 for the five points, in homogeneous coordinates?"""
    X, y = five_points()
    proof = novikoff(Perceptron(), X, y)
    plain = np.linalg.norm(X, axis=1).max()
    yield proof.bound, ""
    yield proof.R * proof.B, "Square it."
    yield proof.R**2, "B is missing: the length of the shortest w with margins of at least one."
    yield proof.B**2, "R is missing: the length of the longest row."
    yield (plain * proof.B) ** 2, "R counts the constant of the homogeneous coordinates too."
    yield proof.mistakes, "That many updates are made. The theorem's bound is above."
    yield (proof.R / proof.B) ** 2, "B is the length of w, the inverse of the margin."


@exercise("Perceptron: graphical example", Numbers(WEIGHTS))
def another_rate() -> Values:
    """Run the graphical example with learning rate 0.4: the start (0, 1, 0.5), the five points in
    order, again and again. Which weights, bias first, does it end with?"""
    frames = _frames(0.4, (0.0, 1.0, 0.5))
    yield frames[-1], ""
    yield frames[-2], "A row is still misclassified: go through all of them once more."
    yield frames[1], "This is the first update."
    yield frames[2], "Two updates are not enough here."
    yield _frames(0.2, (0.0, 1.0, 0.5))[-1], "This is the lecture's own run, with its rate."
    yield _frames(1.0, (0.0, 1.0, 0.5))[-1], "This is the end with rate one."
    yield _frames(0.4, (0.0, 0.0, 0.0))[-1], "The run does not start from zero."


EXERCISES = (
    rows_of_a_fold,
    slope_and_intercept,
    signed_row,
    labelings_of_a_square,
    point_inside_a_triangle,
    dependence,
    factor_to_margin_one,
    second_update,
    mistake_bound,
    another_rate,
)


def _frames(rate: float, start: tuple[float, float, float]) -> list[np.ndarray]:
    """Return the weights of the perceptron on the five points, update by update."""
    model = Perceptron(learning_rate=rate, init=list(start))
    return [frame.weights for frame in replay(model, *five_points())]


def _margins() -> np.ndarray:
    """Return A w for the weights of the graphical example."""
    X, y = five_points()
    return SignedProblem(X, y).margins(_frames(0.2, (0.0, 1.0, 0.5))[-1])
