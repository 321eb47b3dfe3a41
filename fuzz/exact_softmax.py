"""The least objective of the multinomial model, from below and from above.

From below: the dual objective at the exact softmax of the weights. A lower bound up to there is
true. From above, and to a hundred digits: Newton's method in balls of 500 bits, started at the
weights. Every point it comes to has an objective that no lower bound exceeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import arb, arb_mat, ctx, fmpq

from fuzz.exact_judge import Row, ball, class_box, entropy, probabilities, scores

__all__ = ["dual_of_softmax", "least_found"]

_STEPS, _HALVINGS = 30, 12
_STILL = 2.0**-200


def dual_of_softmax(
    rows: Sequence[Row],
    codes: Sequence[int],
    costs: Row,
    W: Sequence[Row],
    b: Row,
    penalty: fmpq | None,
    ridge: int = 1,
) -> arb:
    """Return the dual objective at softmax of the scores; mended where the biases are free."""
    K, d = len(W), len(rows[0])
    shares = [probabilities(z)[0] for z in scores(rows, W, b)]
    c = [ball(v) for v in costs]
    gain = sum((v * entropy(q) for v, q in zip(c, shares, strict=True)), start=arb(0))
    given = [[v * (k == y) for k in range(K)] for v, y in zip(c, codes, strict=True)]
    a = [
        [own - v * share for own, share in zip(mine, q, strict=True)]
        for mine, v, q in zip(given, c, shares, strict=True)
    ]
    excess = [sum((row[k] for row in a), start=arb(0)) for k in range(K)]
    pulls = [_pull(rows, [row[k] for row in a], d) for k in range(K)]
    if penalty == 0:
        masses = [sum((row[k] for row in given), start=arb(0)) for k in range(K)]
        t = _share_to_mend(excess, masses)
        mass = sum(masses, start=arb(0))
        everything = _pull(rows, c, d)
        gain *= 1 - t
        for k in range(K):
            own = _pull(rows, [row[k] for row in given], d)
            mix = (t * masses[k] + (1 - t) * excess[k]) / mass
            pulls[k] = [
                (1 - t) * u + t * x - mix * z
                for u, x, z in zip(pulls[k], own, everything, strict=True)
            ]
    if ridge:
        value = gain - sum((_dot(u, u) for u in pulls), start=arb(0)) / 2
    else:
        box = class_box(rows, costs, W)
        pairs = (
            (u, v) for us, vs in zip(pulls, box, strict=True) for u, v in zip(us, vs, strict=True)
        )
        value = gain - sum((abs(u) * ball(v) for u, v in pairs), start=arb(0))
    return value - _dot(excess, excess) / (2 * ball(penalty)) if penalty else value


def _pull(rows: Sequence[Row], shares: Sequence[arb], d: int) -> list[arb]:
    return [
        sum((a * ball(row[j]) for a, row in zip(shares, rows, strict=True)), start=arb(0))
        for j in range(d)
    ]


def _share_to_mend(excess: Sequence[arb], masses: Sequence[arb]) -> arb:
    """Return a share t that is large enough: t N_k + (1 - t) r_k >= 0 for every class."""
    most = arb(0)
    for r, mass in zip(excess, masses, strict=True):
        lacking = (-r).upper()
        if lacking > 0:
            most = most.max((lacking / (mass + lacking)).upper())
    return most.upper()


def least_found(
    rows: Sequence[Row],
    codes: Sequence[int],
    costs: Row,
    W: Sequence[Row],
    b: Row,
    penalty: fmpq | None,
    ridge: int = 1,
) -> arb:
    """Return the objective at the best point that Newton's steps come to; no bias if None.

    Without a ridge the steps end where they would leave the weights that the bound speaks of.
    """
    box = None if ridge else class_box(rows, costs, W)
    with_bias = penalty is not None
    points = [[ball(v) for v in row] + [arb(1)] * with_bias for row in rows]
    held = [arb(ridge)] * len(rows[0]) + [ball(penalty)] * with_bias  # what a square of each costs
    problem = points, codes, [ball(c) for c in costs], held
    theta = [
        [ball(v) for v in w] + ([ball(v)] if with_bias else []) for w, v in zip(W, b, strict=True)
    ]
    best, step = _value(problem, theta), _step(problem, theta)
    for _ in range(_STEPS):
        if step is None:
            break
        for halving in range(_HALVINGS):
            share = arb(2) ** -halving
            tried = [
                [(v + share * s).mid() for v, s in zip(*pair, strict=True)]
                for pair in zip(theta, step, strict=True)
            ]
            value = _value(problem, tried)
            if value < best and _is_within(tried, box):
                break
        else:
            break
        still = best - value < best * _STILL
        theta, best = tried, value
        if still:
            break
        step = _step(problem, theta)
    return best


def _is_within(theta: Any, box: Any) -> bool:
    """Whether weights are no larger than a box allows, if there is one."""
    if box is None:
        return True
    pairs = (
        pair for w, most in zip(theta, box, strict=True) for pair in zip(w, most, strict=False)
    )
    return all(bool(abs(v) <= ball(most)) for v, most in pairs)


def _shares(problem: Any, theta: Any) -> list[tuple[list[arb], arb]]:
    """Return the probabilities of every row, and the loss of its own class."""
    out = []
    for x, y in zip(problem[0], problem[1], strict=True):
        z = [_dot(x, w) for w in theta]
        top = max(range(len(z)), key=lambda k: float(z[k].mid()) if z[k].is_finite() else 0.0)
        powers = [arb(1) if k == top else (v - z[top]).exp() for k, v in enumerate(z)]
        beside = sum((p for k, p in enumerate(powers) if k != top), start=arb(0))
        loss = beside.log1p() + (z[top] - z[y] if top != y else arb(0))
        out.append(([p / (1 + beside) for p in powers], loss))
    return out


def _dot(a: Sequence[arb], b: Sequence[arb]) -> arb:
    return sum((x * y for x, y in zip(a, b, strict=True)), start=arb(0))


def _value(problem: Any, theta: Any) -> arb:
    _, _, costs, held = problem
    total = sum((h * v * v for w in theta for h, v in zip(held, w, strict=True)), start=arb(0)) / 2
    for c, (_, loss) in zip(costs, _shares(problem, theta), strict=True):
        if not c.is_zero():
            total += c * loss
    return total


def _step(problem: Any, theta: Any) -> list[list[arb]] | None:
    points, codes, costs, held = problem
    K, d = len(theta), len(held)
    gradient = [[h * v for h, v in zip(held, w, strict=True)] for w in theta]
    hessian = arb_mat(K * d, K * d)
    # Adding one number to all free biases changes nothing: a little is charged for them.
    least = min((float(abs(c).mid()) for c in costs if not c.is_zero()), default=1.0)
    for k in range(K):
        for j in range(d):
            hessian[k * d + j, k * d + j] = (
                held[j] if not held[j].is_zero() else arb(least) * arb(2) ** -90
            )
    for x, y, c, (q, _) in zip(points, codes, costs, _shares(problem, theta), strict=True):
        if c.is_zero():
            continue
        for k in range(K):
            off = c * (q[k] - (1 if k == y else 0))
            for j in range(d):
                gradient[k][j] += off * x[j]
            for m in range(k + 1):
                curved = c * q[k] * ((1 if k == m else 0) - q[m])
                for i in range(d):
                    for j in range(d):
                        hessian[k * d + i, m * d + j] += curved * x[i] * x[j]
                        if m != k:
                            hessian[m * d + j, k * d + i] += curved * x[i] * x[j]
    exact = arb_mat(K * d, K * d, [v.mid() for v in hessian.entries()])
    right = arb_mat(K * d, 1, [(-v).mid() for one in gradient for v in one])
    before = ctx.prec
    try:
        ctx.prec = 4 * before
        found = exact.solve(right)
    except (ZeroDivisionError, ValueError):
        return None
    finally:
        ctx.prec = before
    return [[found[k * d + j, 0].mid() for j in range(d)] for k in range(K)]
