"""Ten exercises of lecture 002: Hlaváč, Matas, Drbohlav, "Learning and Linear Classifiers"."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.core.finite_table import FiniteTable
from separatrix.data.lectures import five_points, two_hundred_points, two_points
from separatrix.estimators.kozinec import Kozinec
from separatrix.estimators.perceptron import Perceptron, novikoff
from separatrix.estimators.replay import replay
from separatrix.lectures.checking import Numbers, Values, exercise
from separatrix.problem.signed import SignedProblem
from separatrix.selection.bounds import margin_capacity

WEIGHTS = ("w_0", "w_1", "w_2")
TABLE = [[6, 1], [4, 2], [1, 6]]  # 20 p(x, k): three observations, two classes
LOSS = [[0, 4], [1, 0]]


@exercise("Classifier Design (1)", Numbers())
def bayes_risk() -> Values:
    """An observation x is one of three, a class k one of two, and 20 p(x, k) is the table [[6, 1],
    [4, 2], [1, 6]] with a row for each x. Deciding for the first class where the second is true
    costs 4, the other error costs 1. What is the least risk R(q)?"""
    table = FiniteTable(TABLE, LOSS)
    even = FiniteTable(TABLE).bayes()
    yield table.bayes().risk, ""
    yield _risk([0, 0, 1]), "This strategy is the best for equal costs."
    yield even.risk, "The two errors do not cost the same."
    yield _risk([1, 1, 1]), "Deciding the same for every observation is not the best."
    yield _risk([0, 0, 0]), "Deciding the same for every observation is not the best."
    yield table.bayes().risk * 20, "These are counts: divide by their sum."
    yield _risk([0, 1, 0]), "Decide for each observation on its own: which decision costs less?"


@exercise("Classifier Design (2)", Numbers())
def minimax_risk() -> Values:
    """The same table, 20 p(x, k) = [[6, 1], [4, 2], [1, 6]], both errors at a cost of 1, and the
    p(k) are unknown. A strategy may decide at random. What is the least value of the larger of the
    two classes' error probabilities?"""
    table = FiniteTable(TABLE)
    yield table.minimax().risk, ""
    yield table.bayes().risk, "This is the Bayes risk: it uses the p(k)."
    yield _worst(table, [0, 0, 1]), "A strategy at random does better: where is a change worth it?"
    yield _worst(table, [0, 1, 1]), "A strategy at random does better: where is a change worth it?"
    yield Fraction(1, 2), "That is a coin, without any look at x."
    yield min(table.bayes().class_risks.values()), "This is the smaller one. Look at the larger."
    yield Fraction(3, 20), "Divide each column by its own sum: p(x | k)."


@exercise("Learning in Statistical Pattern Recognition", Numbers())
def empirical_risk() -> Values:
    """What is the empirical risk, with a loss of 1 for an error, of the rule "class 1 where x_2 >
    0, else -1" on the points of sx.lectures.two_hundred_points()?"""
    X, y = two_hundred_points()
    wrong = np.where(X[:, 1] > 0, 1, -1) != y
    yield wrong.mean(), ""
    yield wrong.sum(), "Divide by the number of points."
    yield 1 - wrong.mean(), "These are decided correctly."
    yield (np.where(X[:, 0] > 0, 1, -1) != y).mean(), "This is the rule on the other feature."
    yield (X[:, 1] > 0).mean(), "How often is the decision wrong, not: how often is it 1?"
    yield wrong[y == 1].mean(), "Both classes count."
    yield wrong[y == -1].mean(), "Both classes count."


@exercise("Structural Risk Minimization Principle (2)", Numbers())
def capacity() -> Values:
    """All data lie in a ball of radius R = 3, and the margin is m = 0.5. Which bound on the
    capacity h does the lecture's formula give, without use of the dimension?"""
    R, m = 3.0, 0.5
    yield margin_capacity(R, m), ""
    yield R**2 / m**2, "Something is still to be added."
    yield R / m + 1, "Radius and margin are squared."
    yield R**2 / m + 1, "The margin is squared too."
    yield R / m**2 + 1, "The radius is squared too."
    yield R**2 * m**2 + 1, "A larger margin means a smaller capacity."
    yield R + 1, "The margin matters."


@exercise("Perceptron Classifier, (5)", Numbers(("x''_11", "x''_12", "x''_21", "x''_22")))
def signed_points() -> Values:
    """Two points on a line: x = 2 of class 1 and x = -0.25 of class -1. Write down x''_1 and
    x''_2, the constant first."""
    X, k = two_points()
    rows = SignedProblem(X, k).signed_rows()
    plain = np.column_stack([np.ones(2), X])
    yield rows, ""
    yield plain, "These are x'. The second point is of class -1."
    yield -rows, "The class of each point multiplies it: which one keeps its sign?"
    yield np.column_stack([np.ones(2), rows[:, 1]]), "The constant is multiplied too."
    yield np.column_stack([rows[:, 0], X]), "The feature is multiplied too."
    yield rows[:, ::-1], "The constant comes first."
    yield rows.T, "One point after the other."


@exercise("Perceptron, Example 2", Numbers(whole=True))
def updates_in_reverse() -> Values:
    """Run the perceptron on sx.lectures.two_hundred_points() with the points in reverse order. How
    many updates does it make?"""
    X, y = two_hundred_points()
    frames = list(replay(Perceptron(), X[::-1], y[::-1]))
    forward = len(list(replay(Perceptron(), X, y))) - 1
    yield len(frames) - 1, ""
    yield forward, "This is the lecture's own run: the order matters."
    yield len(frames), "The start at zero is no update."
    yield frames[-1].visits, "These are visits: most points cause no update."
    yield len(X), "These are the points: most of them cause no update."
    yield 2 * len(X), "These are visits: most points cause no update."
    yield forward + 1, "The order of the points matters."


@exercise("Novikoff Theorem, (9)", Numbers())
def novikoff_bound() -> Values:
    """Two points on a line: x = 2 of class 1 and x = -0.25 of class -1. What is the least bound
    D^2 / gamma^2 of the theorem, with the points in the notation of (5)?"""
    X, k = two_points()
    proof = novikoff(Perceptron(), X, k)
    plain = np.abs(X).max()
    yield proof.bound, ""
    yield proof.R * proof.B, "Both are squared."
    yield proof.R**2, "Gamma is missing: what is the largest margin of a unit vector?"
    yield proof.B**2, "D is missing."
    yield (plain * proof.B) ** 2, "D counts the constant too."
    yield proof.mistakes, "That many updates are made. The bound is above."
    yield (proof.R * np.linalg.norm([0.0, 1.0]) / 0.25) ** 2, "Another u has a larger margin."


@exercise("Perceptron Learning as an Optimisation Problem (2), (28)", Numbers(WEIGHTS))
def gradient() -> Values:
    """What is the gradient of J_p at w = (0, 1, 0.5) for sx.lectures.five_points()?"""
    X, k = five_points()
    rows = SignedProblem(X, k).signed_rows()
    w = np.array([0.0, 1.0, 0.5])
    wrong = rows[rows @ w <= 0]
    yield -wrong.sum(axis=0), ""
    yield wrong.sum(axis=0), "This is the step. The gradient points the other way."
    yield -rows.sum(axis=0), "Only misclassified points count."
    yield -wrong[0], "All misclassified points count."
    yield -wrong[1], "All misclassified points count."
    yield -wrong.mean(axis=0), "It is a sum, not a mean."
    yield w - wrong.sum(axis=0), "The gradient alone, without w."


@exercise("Training Algorithm 2, Kozinec (1973)", Numbers(WEIGHTS))
def kozinec_step() -> Values:
    """Run Kozinec's algorithm on sx.lectures.five_points(), from the first point, in the notation
    of (5). Which w does it have after its first update?"""
    X, k = five_points()
    rows = SignedProblem(X, k).signed_rows()
    frames = [frame.weights for frame in replay(Kozinec(), X, k, exact=True)]
    yield frames[1], ""
    yield frames[0], "This is the start."
    yield frames[2], "This is one update further."
    yield rows[0] + rows[1], "This is the perceptron's update."
    yield (rows[0] + rows[1]) / 2, "The middle is not the nearest point: which kappa is the best?"
    yield rows[1], "Between the two points one is nearer to the origin."
    yield frames[-1], "This is the end."
    yield rows[0] + rows[1] - frames[1], "The two weights of the points are exchanged."


@exercise("Lifting, Example 1, Result, (33)", Numbers(("the smaller x", "the larger x")))
def thresholds() -> Values:
    """At which two x does the discriminant (33), -0.12 - 1.5 x + 3.12 x^2, change its sign? Give
    the smaller one first."""
    low, high = np.sort(np.roots([3.12, -1.5, -0.12]))
    yield (low, high), ""
    yield (-high, -low), "The sign of the middle term is lost."
    yield np.sort(np.roots([3.12, -1.5, 0.12])), "The sign of the constant is lost."
    yield np.sort(np.roots([3.12, 0.0, -0.12])), "The middle term counts."
    yield (0.0, 1.5 / 3.12), "The constant counts."
    yield 2 * np.array([low, high]), "Divide by twice the leading coefficient."
    yield (-0.12, 3.12), "These are coefficients."


EXERCISES = (
    bayes_risk,
    minimax_risk,
    empirical_risk,
    capacity,
    signed_points,
    updates_in_reverse,
    novikoff_bound,
    gradient,
    kozinec_step,
    thresholds,
)


def _risk(decisions: list[int]) -> Fraction:
    """Return the risk of a strategy under the unequal costs."""
    table = FiniteTable(TABLE, LOSS)
    return sum(
        (table.p[x][k] * table.loss[d][k] for x, d in enumerate(decisions) for k in (0, 1)),
        Fraction(0),
    )


def _worst(table: FiniteTable, decisions: list[int]) -> Fraction:
    """Return the larger of the two classes' error probabilities."""
    errors = [Fraction(0), Fraction(0)]
    for x, decided in enumerate(decisions):
        errors[1 - decided] += table.p[x][1 - decided] / table.priors[1 - decided]
    return max(errors)
