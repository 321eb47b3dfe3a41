"""Ten exercises of lecture 001: lecture notes, "Linear predictors"."""

from __future__ import annotations

import numpy as np

from separatrix.estimators.least_squares import LeastSquares
from separatrix.estimators.linear_svm import LinearSVM
from separatrix.estimators.perceptron import Perceptron, novikoff
from separatrix.estimators.replay import replay
from separatrix.lectures.checking import Members, Numbers, Values, exercise
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Frame

# Four examples of the homogeneous case.
X = np.array([[3.0, 3.0], [3.0, 1.0], [0.0, 1.0], [-2.0, -2.0]])
Y = np.array([1, 1, -1, -1])
START = np.array([4.0, -2.0])  # a vector that satisfies (1.8)
ENTRIES = tuple(f"A_{i}{j}" for i in (1, 2, 3, 4) for j in (1, 2))


@exercise("(1.1) to (1.3)", Numbers(whole=True))
def parameters() -> Values:
    """How many parameters has an affine function of ten features?"""
    rows = np.random.default_rng(0).normal(size=(40, 10))
    model = LeastSquares().fit(rows, np.arange(40) % 2)
    yield model.coef_.size + model.intercept_.size, ""
    yield model.coef_.size, "The bias is missing."
    yield model.coef_.size + 2, "One bias is enough."
    yield 2 * model.coef_.size, "Each feature has one weight."
    yield model.coef_.size**2, "Each feature has one weight."
    yield 2, "There is a weight for each feature."


@exercise("(1.4), (1.5)", Numbers())
def affine_value() -> Values:
    """Let w = (3, -1), b = 2 and x = (2, 3). What is the product of w' and x'?"""
    w, b, x = np.array([3.0, -1.0]), 2.0, np.array([2.0, 3.0])
    yield np.array([b, *w]) @ np.array([1.0, *x]), ""
    yield w @ x, "The bias is missing."
    yield w @ x - b, "The bias is added."
    yield np.abs(w) @ x + b, "A weight is negative."
    yield b * (w @ x), "The bias is added, it is no factor."
    yield w @ x + 2 * b, "The bias counts once: x' begins with a one."


@exercise("1.1 Halfspaces", Numbers(sign="on the hyperplane, w.x + b is zero."))
def crossing() -> Values:
    """Let w = (3, 4) and b = -10. At which height does the hyperplane cross the vertical axis?"""
    w, b = np.array([3.0, 4.0]), -10.0
    yield -b / w[1], ""
    yield -b / w[0], "This is where it crosses the horizontal axis."
    yield -b / np.linalg.norm(w), "This is its distance from the origin."
    yield -b, "Divide by a weight: which feature is not zero on the vertical axis?"
    yield -b / w.sum(), "On the vertical axis the first feature is zero."
    yield -w[0] / w[1], "This is the slope."


@exercise("1.1 Halfspaces", Members('letters, such as "a c"'))
def positive_points() -> Values:
    """Let w = (1, 1) and b = -3. Which of these points are labeled positively? a = (1, 1), b = (2,
    2), c = (4, -2), d = (-1, 5), e = (0.5, 2), f = (3, 1)."""
    points = dict(zip("abcdef", [(1, 1), (2, 2), (4, -2), (-1, 5), (0.5, 2), (3, 1)], strict=True))
    score = {name: sum(point) - 3 for name, point in points.items()}
    positive = {name for name, value in score.items() if value > 0}
    yield positive, ""
    yield set(points), "An acute angle with w is not enough: the bias counts."
    yield set(points) - positive, "These are labeled negatively."
    yield {name for name, value in points.items() if min(value) > 0}, "A feature may be negative."
    yield positive - {"d"}, "One is missing: a feature may be negative."
    yield positive | {"e"}, "One is on the other side, near the hyperplane."


@exercise("(1.8), (1.9)", Numbers(("w_1", "w_2")))
def scaled_to_one() -> Values:
    """Four examples without a bias: (3, 3) and (3, 1) are positive, (0, 1) and (-2, -2) negative.
    The vector w* = (4, -2) satisfies (1.8). Give the vector of the proof that satisfies (1.9)."""
    margins = Y * (X @ START)
    yield START / margins.min(), ""
    yield START, "This one is w* itself: its smallest margin is not a one."
    yield START / margins.max(), "Every margin must reach a one: gamma is the smallest of them."
    yield START / margins.mean(), "Gamma is the smallest margin, not the mean."
    yield START * margins.min(), "Divide by gamma."
    yield START / np.linalg.norm(START), "This one has length one. The margins matter."


@exercise("The matrix A", Numbers(ENTRIES))
def matrix_of_the_program() -> Values:
    """Four examples without a bias: (3, 3) and (3, 1) are positive, (0, 1) and (-2, -2) negative.
    Write down the matrix A of the linear program, row by row in this order."""
    A = SignedProblem(X, Y).signed_rows()[:, 1:]  # the homogeneous case has no constant
    yield A, ""
    yield X, "Each row is multiplied by its label."
    yield -A, "The signs are exchanged: a positive example keeps its features."
    yield A.T, "A row of A belongs to an example, a column to a feature."
    yield np.abs(A), "The features keep their own signs."
    yield A[::-1], "Keep the order of the examples."


@exercise("The dummy objective", Numbers())
def least_feasible() -> Values:
    """One feature, no bias: x = 2 and x = 0.5 are positive, x = -4 is negative. Every w with A w
    >= 1 is equally good. Which is the least of them?"""
    rows, labels = np.array([[2.0], [0.5], [-4.0]]), np.array([1, 1, -1])
    hard = LinearSVM(C=np.inf, fit_intercept=False, tol=1e-9).fit(rows, labels)
    signed = labels * rows[:, 0]
    yield hard.coef_[0, 0], ""
    yield 1 / signed.max(), "One example does not reach a one yet."
    yield signed.min(), "This is the smallest signed feature. Which w makes its margin a one?"
    yield 1.0, "The example nearest to zero does not reach a one yet."
    yield 1 / np.mean(signed), "Not on average: every example must reach a one."
    yield signed.max(), "A smaller one is feasible."


@exercise("Algorithm 1: Batch Perceptron", Numbers(whole=True))
def updates() -> Values:
    """Run Algorithm 1 without a bias on (3, 3) and (3, 1), positive, (0, 1) and (-2, -2),
    negative. Take the examples in this order, again and again. How many updates are made until it
    returns?"""
    frames = _frames()
    yield len(frames) - 1, ""
    yield len(frames), "The start is no update."
    yield len(frames) - 2, "One example is still misclassified."
    yield frames[-1].visits, "These are visits: correct examples cause no update."
    yield 5 * len(X), "These are visits: correct examples cause no update."
    yield 3 * len(X), "Correct examples cause no update."


@exercise("Theorem 1.1.1", Numbers(("R", "B")))
def radius_and_length() -> Values:
    """Give R and B of the theorem for the same examples without a bias: (3, 3) and (3, 1)
    positive, (0, 1) and (-2, -2) negative."""
    R, B, _ = _theorem()
    yield (R, B), ""
    yield (R**2, B**2), "The lengths, not their squares."
    yield (R, 1 / B), "B is the length of the shortest w, not the margin."
    yield (np.sqrt(R**2 + 1), B), "There is no constant in the homogeneous case."
    yield (np.abs(X).max(), B), "R is the length of the longest example."
    yield (R, np.linalg.norm(START)), "A shorter w has margins of at least one."
    yield (R, _scaled()), "A shorter w has margins of at least one."


@exercise("(1.10), (1.15)", Numbers())
def cosine() -> Values:
    """Run Algorithm 1 without a bias on the same examples, (3, 3), (3, 1), (0, 1), (-2, -2) with
    the labels +1, +1, -1, -1, in this order. What is the cosine (1.10) of w* and the w
    returned?"""
    R, B, best = _theorem()
    frames = _frames()
    w = frames[-1].weights[1:]
    yield best @ w / (np.linalg.norm(best) * np.linalg.norm(w)), ""
    yield np.sqrt(len(frames) - 1) / (R * B), "This is the bound (1.15). The cosine is above it."
    yield best @ w, "This is the numerator: divide by both lengths."
    yield best @ w / np.linalg.norm(w), "Divide by the length of w* too."
    yield best @ w / np.linalg.norm(best), "Divide by the length of the w returned too."
    yield 1.0, "The w returned is not a multiple of w*."
    second = frames[-2].weights[1:]
    yield best @ second / (np.linalg.norm(best) * np.linalg.norm(second)), "One update is missing."


EXERCISES = (
    parameters,
    affine_value,
    crossing,
    positive_points,
    scaled_to_one,
    matrix_of_the_program,
    least_feasible,
    updates,
    radius_and_length,
    cosine,
)


def _frames() -> list[Frame]:
    return list(replay(Perceptron(fit_intercept=False), X, Y))


def _theorem() -> tuple[float, float, np.ndarray]:
    """Return R, B and w* of the four examples."""
    proof = novikoff(Perceptron(fit_intercept=False), X, Y)
    best = LinearSVM(C=np.inf, fit_intercept=False, tol=1e-9).fit(X, Y)
    return proof.R, proof.B, best.coef_[0]


def _scaled() -> float:
    return float(np.linalg.norm(START / (Y * (X @ START)).min()))
