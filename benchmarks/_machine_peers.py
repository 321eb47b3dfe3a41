"""Peers run to a given distance from the optimum, so that times can be compared.

A peer stops by a rule of its own. So its tolerance is tightened step by step until the objective
it reaches, computed here, lies within the relative distance asked of the certified optimum; the
time is that of the first run that does. Runs are capped by iterations for about `limit` seconds.
"""

import statistics
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem

LADDER = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-8)
CLOCK = time.perf_counter
LOSSES = {"hinge": 0, "squared_hinge": 1, "logistic": 2}


def objective(X, y, C, loss, coef, intercept, penalty=0.0):
    """The objective in plain float64, whoever found the weights."""
    rows = SignedProblem(X, y)
    problem = MachineProblem(rows, np.full(X.shape[0], C), LOSSES[loss], penalty)
    return problem.primal(np.concatenate([np.ravel(intercept), np.ravel(coef)]))


class Reach:
    """When a run came within the distance asked, or how far it got."""

    def __init__(self):
        self.points = []  # (seconds, distance), in the order they were run
        self.seconds, self.distance = None, np.inf

    def add(self, seconds, distance, target):
        self.points.append((seconds, distance))
        self.distance = min(self.distance, distance)
        if distance <= target and self.seconds is None:
            self.seconds = seconds
        return distance <= target

    def __str__(self):
        if self.seconds is not None:
            return f"{self.seconds:.3g}"
        spent = max(seconds for seconds, _ in self.points)
        return f"> {spent:.3g} (at {self.distance:.0e})"

    def ratio(self, ours):
        """How many times our time it took; at least so many where it never came."""
        spent = self.seconds or max(seconds for seconds, _ in self.points)
        return spent / ours


def _never(model, seconds):
    return False


def climb(fit, distance_of, target, repeats=1, cut_short=_never, exhausted=_never):
    """Run fit(tol) down the ladder until the target is met.

    A run that its iterations cut short is made again with more; one that is exhausted is the last.
    """
    reach = Reach()
    for tol in LADDER:
        seconds, model = timed(lambda tol=tol: fit(tol), 1)
        while cut_short(model, seconds):
            seconds, model = timed(lambda tol=tol: fit(tol), 1)
        distance = distance_of(model)
        if distance <= target and seconds < 2.0 and repeats > 1:
            seconds, model = timed(lambda tol=tol: fit(tol), repeats)
        if reach.add(seconds, distance, target):
            break
        if seconds > 30.0 or exhausted(model, seconds):
            break
    return reach


def timed(work, repeats):
    """Median seconds and the last result, warnings of peers that did not converge kept quiet."""
    taken, result = [], None
    for _ in range(repeats):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", FutureWarning)
            begun = CLOCK()
            result = work()
            taken.append(CLOCK() - begun)
    return statistics.median(taken), result


def linear_svc(X, y, C, loss, target, best, limit=30.0, repeats=3, dual=True):
    """LinearSVC, whose bias is penalised: `best` is the optimum of that objective."""
    options = {"loss": loss, "dual": dual, "random_state": 0}
    most = [500]

    def fit(tol):
        return LinearSVC(C=C, tol=tol, max_iter=most[0], **options).fit(X, y)

    def cut_short(model, seconds):
        more = model.n_iter_ >= most[0] and seconds < 0.3 * limit
        most[0] *= 3 if more else 1
        return more

    def distance(model):
        value = objective(X, y, C, loss, model.coef_, model.intercept_, penalty=1.0)
        return (value - best) / value

    def exhausted(model, seconds):
        return model.n_iter_ >= most[0]

    return climb(fit, distance, target, repeats, cut_short, exhausted)


def liblinear_itself(X, y, C, target, best, code=3, loss="hinge", repeats=3):
    """LIBLINEAR's own package; None where it is not installed (make .venv/.peers)."""
    try:
        from liblinear.liblinearutil import problem, train
    except ImportError:
        return None

    def fit(tol):
        # All begin with the same matrix: laying it out is part of the work, as it is of ours.
        return train(problem(y, sp.csr_matrix(X), bias=1), f"-s {code} -c {C} -e {tol} -B 1 -q")

    def distance(model):
        w, b = model.get_decfun()
        sign = 1.0 if model.get_labels()[0] == 1 else -1.0
        value = objective(X, y, C, loss, sign * np.array(w), sign * b, penalty=1.0)
        return (value - best) / value

    return climb(fit, distance, target, repeats)


def logistic_peers(X, y, C, target, best_free, best_penalised, narrow, repeats=3):
    """Every solver of scikit-learn's LogisticRegression that suits the shape; the fastest wins."""
    found = {}
    solvers = ["lbfgs", "liblinear", "newton-cg"] + ["newton-cholesky"] * narrow
    for solver in solvers:
        penalty = float(solver == "liblinear")

        def fit(tol, solver=solver):
            return LogisticRegression(
                C=C, solver=solver, tol=tol, max_iter=3000, random_state=0
            ).fit(X, y)

        def distance(model, penalty=penalty):
            value = objective(X, y, C, "logistic", model.coef_, model.intercept_, penalty)
            return (value - (best_penalised if penalty else best_free)) / value

        found[solver] = climb(fit, distance, target, repeats)
    return found
