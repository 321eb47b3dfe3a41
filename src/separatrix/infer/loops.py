"""Newton's method for a logistic (penalised) log-likelihood of few columns, compiled.

The rows Z are in a good basis. At a point the information is L L', and in whitened coordinates
(the rows s = L^-1 z) it is the identity. Firth's negative Hessian is there

    A = 1 - 1/2 sum w v (1 - 6 v) q s s' + 1/2 (sum_ab T_kab T_lab)_kl,
    T = sum w v (1 - 2 p) s s s,   q = |s|^2,

which takes n d^3 / 6 products. Without the penalty A is the identity.

The file is long because compiled loops have no matrix algebra: small steps stand here in full.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled

ROUGH = 1e-7
MOST_STEPS = 200
FARTHEST = 6.0  # change of the linear predictor in the first step
NEARBY = 0.1
SMALL_LEVERAGE = 0.4
NOISE = 4e-16
LEAST_CURVATURE = 0.05
_SLOW, _AT_LAST = 0.1, 0.03  # steps below the second should shrink to the first of them
_STRONG_BEND = 1.0  # of the penalty, beyond which the information says little of the curvature
_LITTLE_WORK = 3e4
_BLOCK = 1024  # rows
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # of 33 bits, and more
_PER_LN2 = 1.0 / math.log(2.0)
_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(14))
_ATANH = tuple(1.0 / (2 * n + 1) for n in range(16))
_CLOSE_END, _MOST_END_STEPS, _FARTHEST_END = 1e-11, 40, 5.0


class Posed(NamedTuple):
    """A likelihood as arrays; the ridge is 1/2 |ridge theta + pull|^2, of no rows for none."""

    Z: np.ndarray  # a line for each column: sums over rows are fast
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    ridge: np.ndarray
    pull: np.ndarray
    firth: bool


class Look(NamedTuple):
    """Where a point's numbers are kept."""

    eta: np.ndarray
    p: np.ndarray
    rest: np.ndarray
    c: np.ndarray  # w p (1 - p)
    room: np.ndarray  # and the next five: of a stretch of rows
    q: np.ndarray
    bend: np.ndarray
    skew: np.ndarray
    both: np.ndarray
    S: np.ndarray
    factor: np.ndarray  # L
    turn: np.ndarray  # its inverse
    score: np.ndarray
    A: np.ndarray
    third: np.ndarray
    facts: np.ndarray  # largest q; most bend of the penalty; whether A is exact; the value


@compiled
def new_look(n: Any, d: Any) -> Any:
    """Return room for the numbers of a point."""
    square, m = (d, d), min(n, _BLOCK)
    return Look(
        np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(m), np.zeros(m), np.zeros(m),
        np.zeros(m), np.zeros(m), np.zeros((d, m)), np.zeros(square), np.zeros(square), np.zeros(d),
        np.zeros(square), np.zeros((d, d, d)), np.zeros(4),
    )  # fmt: skip


@compiled
def copy_into(target: Any, values: Any) -> Any:
    """Copy values; ``target[:] = values`` takes numba seconds to compile."""
    for i in range(len(target)):
        target[i] = values[i]


@compiled
def copy_square(target: Any, values: Any) -> Any:
    """Copy a square matrix."""
    d = len(target)
    for a in range(d):
        for b in range(d):
            target[a, b] = values[a, b]


@compiled
def cholesky(matrix: Any, damp: Any, L: Any) -> Any:
    """Factor a matrix with `damp` on its diagonal; return whether it is positive definite."""
    d = len(matrix)
    for a in range(d):
        for b in range(a + 1):
            left = matrix[a, b]
            if a == b:
                left += damp
            for k in range(b):
                left -= L[a, k] * L[b, k]
            if a > b:
                L[a, b] = left / L[b, b]
            elif left > 0.0 and left < math.inf:
                L[a, a] = math.sqrt(left)
            else:
                return False
    return True


@compiled
def value_at(posed: Any, theta: Any, look: Any, information: Any) -> Any:
    """Return the value, NaN where there is none; keep predictor, probabilities and factor."""
    d, n = posed.Z.shape
    information[:] = 0.0
    total = -_add_ridge(posed, theta, information)
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        eta, c = look.eta[begin:end], look.c[begin:end]
        copy_into(eta, posed.offset[begin:end])
        for a in range(d):
            z, t = posed.Z[a, begin:end], theta[a]
            for i in range(len(eta)):
                eta[i] += t * z[i]
        total -= _losses(posed, look, begin, end)
        own = look.room[: end - begin]
        for a in range(d):
            z = posed.Z[a, begin:end]
            for i in range(len(own)):
                own[i] = c[i] * z[i]
            for b in range(a + 1):
                information[a, b] += _dot(own, posed.Z[b, begin:end])
    damp = 0.0
    while not cholesky(information, damp, look.factor):
        if posed.firth or not math.isfinite(total):
            return math.nan
        if damp == 0.0:
            for a in range(d):
                damp = max(damp, information[a, a])
            damp = max(damp, 1e-250) * 1e-13
        damp *= 10.0
        if not damp < 1e290:
            return math.nan
    if posed.firth:
        for a in range(d):
            total += math.log(look.factor[a, a])
    return total


@compiled
def _add_ridge(posed: Any, theta: Any, information: Any) -> Any:
    """Return the ridge's penalty; add its curvature."""
    total = 0.0
    for k in range(len(posed.pull)):
        own = posed.ridge[k]
        pulled = posed.pull[k] + _dot(own, theta)
        total += 0.5 * pulled * pulled
        for a in range(len(own)):
            for b in range(a + 1):
                information[a, b] += own[a] * own[b]
    return total


@compiled
def _dot(one: Any, other: Any) -> Any:
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@compiled
def _losses(posed: Any, look: Any, begin: Any, end: Any) -> Any:
    """Return the losses of a stretch of rows; keep probabilities, and weights w v.

    The sum has a loop of its own. A loop that writes, too, would add in another order where arrays
    happen to lie near each other, and two runs would differ in the last digit.
    """
    m = end - begin
    powers, logs = look.skew[:m], look.bend[:m]
    exp_and_log1p(look.eta[begin:end], powers, logs, look.both[:m])
    for k in range(m):
        i = begin + k
        eta, e = look.eta[i], powers[k]
        more = 1.0 / (1.0 + e)
        less = e * more
        above = eta >= 0.0
        if above != (posed.y[i] > 0.5):
            logs[k] += abs(eta)
        look.p[i] = more if above else less
        look.rest[i] = less if above else more
        look.c[i] = posed.weights[i] * more * less
    return _dot(posed.weights[begin:end], logs)


@compiled
def exp_and_log1p(eta: Any, powers: Any, logs: Any, room: Any) -> Any:
    """Keep e^-|eta| and log(1 + e^-|eta|), to a few units: loops of vector instructions.

    e^x is 2^k times a Taylor series, log(1 + e) is 2 atanh(e / (2 + e)). Beyond 700 e^-700 is kept.
    """
    bits = room.view(np.int64)
    for i in range(len(eta)):
        x = max(-abs(eta[i]), -700.0)
        k = math.floor(x * _PER_LN2 + 0.5)
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        value = _TAYLOR[13]
        for n in range(12, -1, -1):
            value = value * r + _TAYLOR[n]
        powers[i] = value
        bits[i] = (int(k) + 1023) << 52
    for i in range(len(eta)):
        e = powers[i] * room[i]
        powers[i] = e
        s = e / (2.0 + e)
        square = s * s
        value = _ATANH[15]
        for n in range(14, -1, -1):
            value = value * square + _ATANH[n]
        logs[i] = 2.0 * s * value


@compiled
def invert_lower(L: Any, turn: Any) -> Any:
    """Keep the inverse of a lower triangular matrix."""
    d = len(L)
    turn[:] = 0.0
    for c in range(d):
        turn[c, c] = 1.0 / L[c, c]
        for a in range(c + 1, d):
            left = 0.0
            for k in range(c, a):
                left -= L[a, k] * turn[k, c]
            turn[a, c] = left / L[a, a]


@compiled
def slopes_at(posed: Any, theta: Any, look: Any, exact: Any) -> Any:
    """Keep the score and the negative Hessian in whitened coordinates, of a point looked at."""
    d, n = posed.Z.shape
    score, A, T = look.score, look.A, look.third
    invert_lower(look.factor, look.turn)
    score[:] = 0.0
    A[:] = 0.0
    T[:] = 0.0
    for a in range(d):
        A[a, a] = 1.0
    for k in range(len(posed.pull)):
        pulled = posed.pull[k] + _dot(posed.ridge[k], theta)
        for a in range(d):
            score[a] -= posed.ridge[k, a] * pulled
    exact = exact and posed.firth
    look.facts[0] = look.facts[1] = 0.0
    look.facts[2] = 1.0 if exact else 0.0
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        r = look.room[: end - begin]
        for k in range(len(r)):
            i = begin + k
            r[k] = posed.weights[i] * (look.rest[i] if posed.y[i] > 0.5 else -look.p[i])
        if posed.firth:
            _add_penalty(posed, look, begin, end, exact)
        for a in range(d):
            score[a] += _dot(r, posed.Z[a, begin:end])
    if exact:
        _add_third(A, T)


@compiled
def _add_penalty(posed: Any, look: Any, begin: Any, end: Any, exact: Any) -> Any:
    """Add the penalty of a stretch of rows to the residuals, and its bends to the Hessian."""
    d = len(look.turn)
    m = end - begin
    r, q, bend, skew = look.room[:m], look.q[:m], look.bend[:m], look.skew[:m]
    q[:] = 0.0
    for a in range(d):
        s = look.S[a, :m]
        s[:] = 0.0
        for b in range(a + 1):
            t, z = look.turn[a, b], posed.Z[b, begin:end]
            for k in range(m):
                s[k] += t * z[k]
        for k in range(m):
            q[k] += s[k] * s[k]
    most, bent = look.facts[0], look.facts[1]
    for k in range(m):
        p, rest, c = look.p[begin + k], look.rest[begin + k], look.c[begin + k]
        v = p * rest
        most = max(most, q[k])
        bent = max(bent, v * q[k], (0.5 - 3.0 * v) * q[k])
        r[k] += c * q[k] * (0.5 - p)
        bend[k] = 0.5 * c * (1.0 - 6.0 * v) * q[k]
        skew[k] = c * (rest - p)
    look.facts[0], look.facts[1] = most, bent
    if exact:
        _add_bends(look, m)


@compiled
def _add_bends(look: Any, m: Any) -> Any:
    d = len(look.turn)
    bend, skew, both = look.bend[:m], look.skew[:m], look.both[:m]
    for a in range(d):
        s = look.S[a, :m]
        for b in range(a + 1):
            t, total = look.S[b, :m], 0.0
            for k in range(m):
                total += bend[k] * (s[k] * t[k])
            for k in range(m):
                both[k] = skew[k] * (s[k] * t[k])
            look.A[a, b] -= total
            for c in range(b + 1):
                look.third[a, b, c] += _dot(both, look.S[c, :m])


@compiled
def _add_third(A: Any, T: Any) -> Any:
    """Add half the squares of the symmetric T to A."""
    d = len(A)
    for a in range(d):
        for b in range(a + 1):
            for c in range(b + 1):
                t = T[a, b, c]
                T[a, c, b] = T[b, a, c] = T[b, c, a] = T[c, a, b] = T[c, b, a] = t
    for k in range(d):
        for m in range(k + 1):
            total = 0.0
            for a in range(d):
                for b in range(d):
                    total += T[k, a, b] * T[m, a, b]
            A[k, m] += 0.5 * total
            A[m, k] = A[k, m]


@compiled
def _whitened(turn: Any, vector: Any) -> Any:
    d = len(vector)
    out = np.zeros(d)
    for a in range(d):
        for b in range(a + 1):
            out[a] += turn[a, b] * vector[b]
    return out


@compiled
def _unwhitened(turn: Any, vector: Any) -> Any:
    d = len(vector)
    out = np.zeros(d)
    for a in range(d):
        for b in range(a + 1):
            out[b] += turn[a, b] * vector[a]
    return out


@compiled
def _damped_solve(A: Any, g: Any) -> Any:
    """Solve A s = g with as much of the identity added as makes A safely positive definite."""
    d = len(g)
    L, s = np.zeros((d, d)), g.copy()
    damp = 0.0
    while True:
        fine = cholesky(A, damp, L)
        for a in range(d):
            fine = fine and L[a, a] * L[a, a] > LEAST_CURVATURE
        if fine or not damp < 1e12:
            break
        damp = 0.5 if damp == 0.0 else 2.0 * damp
    for a in range(d):
        for k in range(a):
            s[a] -= L[a, k] * s[k]
        s[a] /= L[a, a]
    for a in range(d - 1, -1, -1):
        for k in range(a + 1, d):
            s[a] -= L[k, a] * s[k]
        s[a] /= L[a, a]
    return s


@compiled
def _free_step(A: Any, g: Any, c: Any) -> Any:
    """Solve in the directions normal to c, turned onto the first axis by a reflection."""
    d = len(g)
    u = c.copy()
    size = math.sqrt(_dot(c, c))
    u[0] += size if c[0] >= 0.0 else -size
    half = 0.5 * _dot(u, u)
    if half == 0.0:
        return _damped_solve(A, g)
    B, turned = A.copy(), _reflected(g, u, half)
    for a in range(d):
        share = _dot(u, B[a]) / half
        for b in range(d):
            B[a, b] -= u[b] * share
    for b in range(d):
        share = 0.0
        for a in range(d):
            share += u[a] * B[a, b]
        share /= half
        for a in range(d):
            B[a, b] -= u[a] * share
    s = np.zeros(d)
    copy_into(s[1:], _damped_solve(B[1:, 1:].copy(), turned[1:]))
    return _reflected(s, u, half)


@compiled
def _reflected(vector: Any, u: Any, half: Any) -> Any:
    share, out = _dot(u, vector) / half, np.zeros(len(u))
    for a in range(len(u)):
        out[a] = vector[a] - u[a] * share
    return out


@compiled
def _is_some(held: Any) -> Any:
    largest = 0.0
    for value in held:
        largest = max(largest, abs(value))
    return largest > 0.0


@compiled
def newton_step(look: Any, held: Any) -> Any:
    """Return the step from a point, and its length in standard errors; no held form: all zeros."""
    g = _whitened(look.turn, look.score)
    if _is_some(held):
        s = _free_step(look.A, g, _whitened(look.turn, held))
    else:
        s = _damped_solve(look.A, g)
    return _unwhitened(look.turn, s), math.sqrt(_dot(s, s))


@compiled
def largest_move(posed: Any, step: Any, look: Any) -> Any:
    """Return how far a step moves the linear predictor of any row."""
    d, n = posed.Z.shape
    most = 0.0
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        along = look.room[: end - begin]
        along[:] = 0.0
        for a in range(d):
            z, t = posed.Z[a, begin:end], step[a]
            for k in range(len(along)):
                along[k] += t * z[k]
        for k in range(len(along)):
            most = max(most, abs(along[k]))
    return most


@compiled
def _take_exact(posed: Any, look: Any, share: Any) -> Any:
    """Whether the exact Hessian pays: steps last shrank to this share."""
    d, n = posed.Z.shape
    if not posed.firth or look.facts[2] > 0.0 or n * d**3 < _LITTLE_WORK:
        return posed.firth
    return look.facts[1] > _STRONG_BEND or share > _SLOW


@compiled
def climb(posed: Any, start: Any, held: Any, target: Any, usual: Any, close: Any, look: Any) -> Any:
    """Climb to a maximum, the form `held` at its target; no form: all zeros.

    Where the exact Hessian does not pay, `usual` stands in for it in whitened coordinates.

    Return the point, its value, the length of the last step, and how many there were.
    """
    d, n = posed.Z.shape
    information = np.zeros((d, d))
    theta, steps, last, size = start.copy(), 0, math.inf, math.inf
    share, before, square = 0.0, math.inf, _dot(held, held)
    far = FARTHEST
    is_held = square > 0.0
    look.facts[:] = 0.0
    value = value_at(posed, theta, look, information)
    if math.isnan(value):
        return theta, value, size, steps
    while steps < MOST_STEPS:
        exact = _take_exact(posed, look, share)
        slopes_at(posed, theta, look, exact)
        if not exact:
            copy_square(look.A, usual)
        step, size = newton_step(look, held)
        share = size / last if size < _AT_LAST else 0.0
        if size < close or not math.isfinite(size):
            break
        moved = largest_move(posed, step, look)
        sure = moved < NEARBY and size < 0.5 * last
        if posed.firth and look.facts[0] >= SMALL_LEVERAGE:
            sure = False
        gain = _dot(look.score, step)
        scale = min(1.0, far / moved) if moved > 0.0 else 1.0
        first = scale
        noise = NOISE * (abs(value) + math.sqrt(n))
        better, ahead = math.nan, theta
        # Next to the maximum steps shrink for certain, and the value is too flat to compare.
        for _ in range(40):
            ahead = theta + (1.0 if sure else scale) * step
            if is_held:  # rounding moves the form a little, most of all from far away
                ahead += held * ((target - _dot(held, ahead)) / square)
            better = value_at(posed, ahead, look, information)
            if sure or better >= value + 1e-4 * scale * gain - noise:
                break
            better = math.nan
            scale *= 0.5 if scale < 0.1 else 0.25
        if math.isnan(better) or (size < ROUGH and size > 0.5 * before):
            break  # rounding hides what is left
        before = size
        # A row far out may have a long way to go: the cap grows while steps at it are good.
        far = 2.0 * far if scale == first else max(FARTHEST, 0.5 * far)
        theta, value = ahead, better
        last = size if sure or scale == 1.0 else math.inf
        steps += 1
        if sure and size * share < close and share > 0.0:
            size *= share  # the next step would be as short as that
            break
    return theta, value, size, steps


@compiled
def _solve_two(A: Any, first: Any, second: Any) -> Any:
    """Solve A x = b for two right sides by elimination with pivots; return whether it went."""
    d = len(first)
    B = A.copy()
    x, z = first.copy(), second.copy()
    for k in range(d):
        best = k
        for a in range(k + 1, d):
            if abs(B[a, k]) > abs(B[best, k]):
                best = a
        if not abs(B[best, k]) > 0.0:
            return x, z, False
        if best != k:
            for b in range(d):
                B[k, b], B[best, b] = B[best, b], B[k, b]
            x[k], x[best] = x[best], x[k]
            z[k], z[best] = z[best], z[k]
        for a in range(k + 1, d):
            share = B[a, k] / B[k, k]
            for b in range(k, d):
                B[a, b] -= share * B[k, b]
            x[a] -= share * x[k]
            z[a] -= share * z[k]
    for k in range(d - 1, -1, -1):
        for b in range(k + 1, d):
            x[k] -= B[k, b] * x[b]
            z[k] -= B[k, b] * z[b]
        x[k] /= B[k, k]
        z[k] /= B[k, k]
    return x, z, True


@compiled
def _joint_step(look: Any, held: Any, value: Any, level: Any, side: Any) -> Any:
    """Return the step to the level and to a free score of zero, and its length; NaN for none."""
    g, c = _whitened(look.turn, look.score), _whitened(look.turn, held)
    s, along, fine = _solve_two(look.A, g, c)
    reach = _dot(c, along)
    if not fine or reach == 0.0:
        return s, math.nan
    along = along / reach
    s = s - along * _dot(c, s)
    k, slope = 1.0 / reach, _dot(g, along)
    above = value + 0.5 * _dot(g, s) - level
    root = slope * slope + 2.0 * k * above
    if k > 0.0 and root >= 0.0:
        s = s + along * ((slope + side * math.sqrt(root)) / k)
    elif slope * side >= 0.0:
        return s, math.nan
    else:
        s = s - along * (above / slope)
    return _unwhitened(look.turn, s), math.sqrt(_dot(s, s))


@compiled
def look_at(posed: Any, theta: Any, look: Any) -> Any:
    """Keep all numbers of a point, the exact Hessian among them; return its value."""
    value = value_at(posed, theta, look, np.zeros((len(theta), len(theta))))
    look.facts[3] = value
    if not math.isnan(value):
        slopes_at(posed, theta, look, posed.firth)
    return value


@compiled
def score_test(posed: Any, theta: Any, held: Any, look: Any) -> Any:
    """Return the score statistic of a linear form at the fit that holds it; NaN for none."""
    value = value_at(posed, theta, look, np.zeros((len(theta), len(theta))))
    if math.isnan(value):
        return value
    slopes_at(posed, theta, look, False)
    g, c = _whitened(look.turn, look.score), _whitened(look.turn, held)
    return _dot(g, c) ** 2 / _dot(c, c)


@compiled
def joint_end(
    posed: Any, start: Any, first: Any, held: Any, level: Any, side: Any, look: Any
) -> Any:
    """Close in on level and free score together; return point, value, and whether it settled.

    `first` are the numbers of the start, which many ends share. Where the exact Hessian does not
    pay, the start's stands in for it: in whitened coordinates it changes slowly.
    """
    d = len(start)
    information = np.zeros((d, d))
    theta, last, share = start.copy(), math.inf, 0.0
    look.facts[:] = 0.0
    value = first.facts[3]
    for count in range(_MOST_END_STEPS):
        if math.isnan(value):
            return theta, value, False
        if count == 0:
            step, size = _joint_step(first, held, value, level, side)
        else:
            exact = _take_exact(posed, look, share)
            slopes_at(posed, theta, look, exact)
            if not exact:
                copy_square(look.A, first.A)
            step, size = _joint_step(look, held, value, level, side)
        if not math.isfinite(size):
            return theta, value, False
        share = size / last if size < _AT_LAST else 0.0
        moved = largest_move(posed, step, look)
        theta = theta + min(1.0, _FARTHEST_END / max(moved, 1e-300)) * step
        value = value_at(posed, theta, look, information)
        ahead = size * share if share > 0.0 else size
        if ahead < _CLOSE_END or (size < 1e-8 and size >= 0.5 * last):
            return theta, value, not math.isnan(value)
        last = size
    return theta, value, False
