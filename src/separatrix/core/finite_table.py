"""Strategies for a finite table p(x, k): Bayes, minimax and Neyman-Pearson, with exact proof.

A strategy q gives every observation x a decision d, or several with probabilities q(d | x). The
risk of class k is R_k(q) = sum over x of p(x | k) sum over d of q(d | x) W(d, k). The last two
tasks are linear programs: minimise the largest R_k of the classes of a goal, while R_k <= e_k for
others. For multipliers m_k >= 0 that sum to 1 over the goal, no strategy is better than

    sum over x of min over d of sum over k of m_k p(x | k) W(d, k)  -  sum over k of m_k e_k .

Strategy and multipliers are found as fractions. The value of the one and the bound of the other
are equal, which proves both.

The linear program of a strategy on a finite table, solved in floats and again in fractions.

Minimise t over q(d | x) >= 0 with sum 1 for every x, where R_k(q) - t <= offset_k for the classes
of the goal and R_k(q) <= limit_k for the others that are bounded. HiGHS finds a vertex: which q are
above zero and which bounds are tight. These equations are then solved exactly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.checker.exact import at_least

_ZERO = Fraction(0)


class FiniteTable:
    """A table of probabilities p(x, k) with a loss; its strategies are proved optimal, exactly.

    Numbers are taken exactly: integers, fractions ("1/3" too), and floats for the binary fractions
    that they are.

    Parameters
    ----------
    p : sequence of rows
        A row for each observation, a column for each class: p(x, k), or counts. They are divided by
        their sum.
    loss : sequence of rows or None, default=None
        W(d, k): a row for each decision, a column for each class. Without it the decisions are the
        classes, and every error costs 1.
    observations, classes, decisions : sequences of str or None, default=None
        Names; numbers from 0 without them.

    Attributes
    ----------
    p, loss : tuples of rows of Fraction
        The probabilities and the losses.
    priors : tuple of Fraction
        p(k).

    See Also
    --------
    GaussianPlugIn : the same tasks where p(x | k) is a normal density, estimated from rows.

    Examples
    --------
    >>> import separatrix as sx
    >>> table = sx.FiniteTable([[3, 1], [2, 2], [1, 6]], classes=["healthy", "ill"])
    >>> print(table.bayes())
    Bayes: risk 4/15 = 0.267, proved the least
    0: healthy
    1: healthy
    2: ill
    >>> print(table.minimax())
    minimax: risk 4/15 = 0.267, proved the least
    0: healthy
    1: healthy 7/10, ill 3/10
    2: ill
    >>> print(table.neyman_pearson({"ill": "1/9"}).risk)
    1/2
    """

    def __init__(
        self,
        p: Sequence[Sequence[Any]],
        loss: Sequence[Sequence[Any]] | None = None,
        *,
        observations: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        decisions: Sequence[str] | None = None,
    ) -> None:
        table = _exact_rows(p, "p")
        total = sum((sum(row, _ZERO) for row in table), _ZERO)
        if min(min(row) for row in table) < 0 or total == 0:
            raise ValueError("p must hold numbers at least 0, and not zeros alone.")
        self.p = tuple(tuple(v / total for v in row) for row in table)
        n_classes = len(table[0])
        if loss is None:
            loss = [[int(d != k) for k in range(n_classes)] for d in range(n_classes)]
            decisions = classes if decisions is None else decisions
        self.loss = _exact_rows(loss, "loss")
        if len(self.loss[0]) != n_classes:
            raise ValueError(
                f"the loss must have a column for each of the {n_classes} classes. Got "
                f"{len(self.loss[0])} columns instead."
            )
        self.observations = _names(observations, len(table), "observations")
        self.classes = _names(classes, n_classes, "classes")
        self.decisions = _names(decisions, len(self.loss), "decisions")
        self.priors = tuple(sum(column, _ZERO) for column in zip(*self.p, strict=True))

    def given_class(self) -> tuple[Numbers, ...]:
        """Return p(x | k) as fractions, a row for each observation."""
        if 0 in self.priors:
            absent = self.classes[self.priors.index(_ZERO)]
            raise ValueError(f"the class {absent} has probability 0, so its p(x | k) is unknown.")
        return tuple(tuple(v / s for v, s in zip(row, self.priors, strict=True)) for row in self.p)

    def bayes(self) -> Strategy:
        """Return the strategy of least risk, the sum of p(x, k) W(q(x), k).

        Returns
        -------
        Strategy
        """
        n = len(self.loss)
        scores = _scores(self.p, self.loss)
        chosen = [min(range(n), key=row.__getitem__) for row in scores]
        q = tuple(tuple(Fraction(int(d == best)) for d in range(n)) for best in chosen)
        return Strategy("Bayes", self, q, dict(zip(self.classes, self.priors, strict=True)))

    def minimax(self) -> Strategy:
        """Return the strategy whose worst class risk is least; the priors play no part.

        Returns
        -------
        Strategy
            Its multipliers are the priors that are worst for the best strategy.
        """
        return self._programmed("minimax", dict.fromkeys(range(len(self.classes)), _ZERO), {})

    def neyman_pearson(self, at_most: Mapping[str, Any]) -> Strategy:
        """Return the strategy of least risk for the other classes, among those within the bounds.

        Parameters
        ----------
        at_most : dict
            The largest risk allowed, by class. Of several other classes the worst one counts.

        Returns
        -------
        Strategy
        """
        names = [str(name) for name in at_most]
        if not names or not set(names) < set(self.classes):
            raise ValueError(
                f"at_most must name some of the classes {', '.join(self.classes)}, not all. Got "
                f"{', '.join(names) or 'none'} instead."
            )
        limits = {self.classes.index(str(k)): _exact(v, "at_most") for k, v in at_most.items()}
        safest, weights = solve(self.given_class(), self.loss, limits, {})
        missed = _bound(self, weights, limits)
        if missed > 0:
            raise ValueError(
                f"no strategy keeps these bounds: some class misses its own by {missed} or more."
            )
        goal = {k: _ZERO for k in range(len(self.classes)) if k not in limits}
        return self._programmed("Neyman-Pearson", goal, limits, safest)

    def _programmed(
        self, kind: str, goal: Bounds, limits: Bounds, safest: tuple[Numbers, ...] = ()
    ) -> Strategy:
        q, multipliers = solve(self.given_class(), self.loss, goal, limits)
        q = _within(self, q, safest, limits)
        weights = dict(zip(self.classes, multipliers, strict=True))
        return Strategy(kind, self, q, weights, {self.classes[k]: e for k, e in limits.items()})


@dataclass(frozen=True, eq=False)
class Strategy:
    """Decisions for every observation of a table, with what proves that none are better.

    Attributes
    ----------
    kind : str
        Bayes, minimax or Neyman-Pearson.
    probabilities : tuple of rows of Fraction
        q(d | x): a row for each observation, a column for each decision.
    multipliers : dict
        By class: those of the bound. Those of minimax are the worst priors.
    at_most : dict
        The bounds that had to be kept, by class.
    risk : Fraction
        What is least: the risk, or the largest class risk.
    risk_at_least : Fraction
        No strategy has a smaller one; equal to `risk` where the program was solved exactly.
    class_risks : dict
        R_k by class.
    """

    kind: str
    table: FiniteTable
    probabilities: tuple[Numbers, ...]
    multipliers: dict[str, Fraction]
    at_most: dict[str, Fraction] = field(default_factory=dict)

    @property
    def class_risks(self) -> dict[str, Fraction]:
        """R_k by class; 0 for a class that does not occur."""
        return dict(
            zip(self.table.classes, _class_risks(self.table, self.probabilities), strict=True)
        )

    @property
    def risk(self) -> Fraction:
        """The risk, or the largest class risk of those without a bound."""
        risks = self.class_risks
        if self.kind == "Bayes":
            shares = zip(self.table.priors, risks.values(), strict=True)
            return sum((share * risk for share, risk in shares), _ZERO)
        return max(risk for name, risk in risks.items() if name not in self.at_most)

    @property
    def risk_at_least(self) -> Fraction:
        """No strategy has a smaller risk: the bound of the multipliers."""
        if self.kind == "Bayes":
            return sum((min(row) for row in _scores(self.table.p, self.table.loss)), _ZERO)
        limits = {self.table.classes.index(name): e for name, e in self.at_most.items()}
        return _bound(self.table, tuple(self.multipliers.values()), {}, limits)

    def check(self) -> bool:
        """Whether exact arithmetic finds a strategy, within its bounds, and none better."""
        rows = self.probabilities
        return (
            len(rows) == len(self.table.p)
            and all(min(row) >= 0 and sum(row, _ZERO) == 1 for row in rows)
            and all(len(row) == len(self.table.loss) for row in rows)
            and all(self.class_risks[name] <= e for name, e in self.at_most.items())
            and self.risk == self.risk_at_least
        )

    def decide(self, observation: str) -> dict[str, Fraction]:
        """Return the decisions for an observation, each with its probability above zero.

        Parameters
        ----------
        observation : str
            Its name.

        Returns
        -------
        dict
        """
        row = self.probabilities[self.table.observations.index(str(observation))]
        return {name: q for name, q in zip(self.table.decisions, row, strict=True) if q}

    def to_json(self) -> str:
        """Return all of it as JSON; fractions are texts.

        Returns
        -------
        str
        """
        names = ("multipliers", "at_most", "class_risks")
        kept = {name: {k: str(v) for k, v in getattr(self, name).items()} for name in names}
        decisions = {
            name: {d: str(q) for d, q in self.decide(name).items()}
            for name in self.table.observations
        }
        risks = {"risk": str(self.risk), "risk_at_least": str(self.risk_at_least)}
        return json.dumps({"kind": self.kind, **risks, "decisions": decisions, **kept})

    def __str__(self) -> str:
        proved = (
            "proved the least" if self.check() else f"at least {at_least(self.risk_at_least, 3)}"
        )
        lines = [f"{self.kind}: risk {self.risk} = {float(self.risk):.3g}, {proved}"]
        for name in self.table.observations:
            shares = self.decide(name)
            texts = [d if q == 1 else f"{d} {q}" for d, q in shares.items()]
            lines.append(f"{name}: {', '.join(texts)}")
        return "\n".join(lines)


def _scores(rows: Sequence[Numbers], loss: Sequence[Numbers]) -> list[list[Fraction]]:
    """Return the sum over classes of row times loss, for every row and decision."""
    return [
        [sum((v * w for v, w in zip(row, costs, strict=True)), _ZERO) for costs in loss]
        for row in rows
    ]


def _class_risks(table: FiniteTable, q: Sequence[Numbers]) -> Numbers:
    joint = [_ZERO] * len(table.classes)
    for row, shares in zip(table.p, q, strict=True):
        for k, v in enumerate(row):
            costs = (s * w[k] for s, w in zip(shares, table.loss, strict=True))
            joint[k] += v * sum(costs, _ZERO)
    pairs = zip(joint, table.priors, strict=True)
    return tuple(risk / share if share else _ZERO for risk, share in pairs)


def _bound(
    table: FiniteTable, multipliers: Numbers, goal: Bounds, limits: Bounds | None = None
) -> Fraction:
    """Return a value below which no strategy comes, by the multipliers."""
    limits = limits or {}
    free = sum((m for k, m in enumerate(multipliers) if k not in limits), _ZERO)
    if min(multipliers) < 0 or free != 1:
        raise ValueError("the multipliers must be at least 0 and sum to 1 over the goal.")
    rows = [
        tuple(m * v for m, v in zip(multipliers, row, strict=True)) for row in table.given_class()
    ]
    best = sum((min(row) for row in _scores(rows, table.loss)), _ZERO)
    return best - sum((multipliers[k] * e for k, e in {**goal, **limits}.items()), _ZERO)


def _within(
    table: FiniteTable, q: tuple[Numbers, ...], safest: tuple[Numbers, ...], limits: Bounds
) -> tuple[Numbers, ...]:
    """Move a strategy that rounding put out of its bounds towards the safest one."""
    risks, safe = _class_risks(table, q), _class_risks(table, safest) if safest else ()
    share = _ZERO
    for k, limit in limits.items():
        if risks[k] > limit:
            if safe[k] >= limit:
                return safest
            share = max(share, (risks[k] - limit) / (risks[k] - safe[k]))
    if not share:
        return q
    return tuple(
        tuple(a + share * (b - a) for a, b in zip(left, right, strict=True))
        for left, right in zip(q, safest, strict=True)
    )


def _exact(value: Any, what: str) -> Fraction:
    try:
        return Fraction(value if isinstance(value, str | int | Fraction) else float(value))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f"{what} must hold finite numbers. Got {value!r} instead.") from None


def _exact_rows(rows: Any, what: str) -> tuple[Numbers, ...]:
    exact = tuple(tuple(_exact(value, what) for value in row) for row in rows)
    if not exact or not exact[0] or len({len(row) for row in exact}) != 1:
        raise ValueError(f"{what} must have rows of one length, and at least one number.")
    return exact


def _names(names: Sequence[str] | None, n: int, what: str) -> tuple[str, ...]:
    given = tuple(str(name) for name in (range(n) if names is None else names))
    if len(given) != n or len(set(given)) != n:
        raise ValueError(f"{what} must be {n} different names. Got {list(given)} instead.")
    return given


# ---- the linear program of a strategy on a finite table, solved in floats and again in fractions


Numbers = tuple[Fraction, ...]
Bounds = Mapping[int, Fraction]
_TINY = 1e-9  # what is below it in floats is zero in the vertex
_DENOMINATOR = 10**9


def solve(
    given: Sequence[Numbers], loss: Sequence[Numbers], goal: Bounds, limits: Bounds
) -> tuple[tuple[Numbers, ...], Numbers]:
    """Return the strategy q(d | x) and a multiplier for each class.

    >>> half, zero, one = Fraction(1, 2), Fraction(0), Fraction(1)
    >>> errors = [(zero, one), (one, zero)]
    >>> q, m = solve([(half, zero), (half, one)], errors, {0: zero, 1: zero}, {})
    >>> [str(v) for v in q[1]], [str(v) for v in m]
    (['1/3', '2/3'], ['2/3', '1/3'])
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    classes = [*goal, *limits]
    n_rows, n_decisions = len(given), len(loss)
    n = n_rows * n_decisions
    risks = np.array([[v[k] * w[k] for v in given for w in loss] for k in classes], dtype=float)
    slack = np.array([-1.0] * len(goal) + [0.0] * len(limits))
    sums = coo_array((np.ones(n), (np.arange(n) // n_decisions, np.arange(n))), (n_rows, n + 1))
    found = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack([risks, slack]),
        b_ub=[float({**goal, **limits}[k]) for k in classes],
        A_eq=sums,
        b_eq=np.ones(n_rows),
        bounds=[(0, 1)] * n + [(None, None)],
    )
    if found.x is None:
        raise ArithmeticError(f"the linear program was not solved: {found.message}")
    q = np.maximum(found.x[:n].reshape(n_rows, n_decisions), 0.0)
    weights = np.maximum(-found.ineqlin.marginals, 0.0)
    tight = [k for k, weight in zip(classes, weights, strict=True) if weight > _TINY]
    strategy = _strategy_of_vertex(given, loss, q, tight, goal, limits)
    floats = dict(zip(classes, weights.tolist(), strict=True))
    return strategy, _multipliers_of_vertex(given, loss, q, floats, goal)


def _strategy_of_vertex(
    given: Sequence[Numbers],
    loss: Sequence[Numbers],
    q: np.ndarray,
    tight: Sequence[int],
    goal: Bounds,
    limits: Bounds,
) -> tuple[Numbers, ...]:
    """Solve sums of 1 and tight bounds for the entries above zero, and for t."""
    places = [(x, d) for x, row in enumerate(q) for d in np.flatnonzero(row > _TINY).tolist()]
    equations = [
        [Fraction(int(x == each)) for x, _ in places] + [Fraction(0), Fraction(1)]
        for each in range(len(given))
    ]
    for k in tight:
        values = [given[x][k] * loss[d][k] for x, d in places]
        equations.append([*values, Fraction(-int(k in goal)), {**goal, **limits}[k]])
    guess = [_near(q[place]) for place in places] + [Fraction(0)]
    exact = _solved(equations, guess)
    if exact is None or min(exact[:-1]) < 0:
        return tuple(_shares([Fraction(v) for v in row]) for row in q.tolist())
    entries = dict(zip(places, exact, strict=False))
    return tuple(
        tuple(entries.get((x, d), Fraction(0)) for d in range(len(loss))) for x in range(len(given))
    )


def _multipliers_of_vertex(
    given: Sequence[Numbers],
    loss: Sequence[Numbers],
    q: np.ndarray,
    weights: Mapping[int, float],
    goal: Bounds,
) -> Numbers:
    """Solve a sum of 1 over the goal, and equal scores of decisions that share an observation."""
    support = [k for k, weight in weights.items() if weight > _TINY]
    equations = [[Fraction(int(k in goal)) for k in support] + [Fraction(1)]]
    for x, row in enumerate(q):
        first, *others = np.flatnonzero(row > _TINY).tolist()
        for d in others:
            differences = [given[x][k] * (loss[d][k] - loss[first][k]) for k in support]
            equations.append([*differences, Fraction(0)])
    exact = _solved(equations, [_near(weights[k]) for k in support])
    if exact is None or min(exact) < 0:
        total = sum((Fraction(weights[k]) for k in support if k in goal), Fraction(0))
        exact = [Fraction(weights[k]) / total for k in support]
    found = dict(zip(support, exact, strict=True))
    return tuple(found.get(k, Fraction(0)) for k in range(len(given[0])))


def _near(value: float) -> Fraction:
    return Fraction(value).limit_denominator(_DENOMINATOR)


def _shares(row: Sequence[Fraction]) -> Numbers:
    total = sum(row, Fraction(0))
    return tuple(v / total for v in row)


def _solved(equations: list[list[Fraction]], guess: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve equations, the last entry of each its right side; free unknowns keep their guess."""
    rows, pivots = [list(row) for row in equations], list[int]()
    for column in range(len(guess)):
        at = len(pivots)
        found = next((i for i in range(at, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        scale = rows[at][column]
        rows[at] = [v / scale for v in rows[at]]
        for i, row in enumerate(rows):
            if i != at and (factor := row[column]):
                rows[i] = [v - factor * p for v, p in zip(row, rows[at], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = list(guess)
    free = [j for j in range(len(guess)) if j not in pivots]
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[-1] - sum((row[j] * guess[j] for j in free), Fraction(0))
    return solution
