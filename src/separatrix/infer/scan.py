"""One test for each of many columns, all with the same covariates: ``sx.inference(each=...)``.

Each column gives a Firth fit of its own and the likelihood-ratio test of its coefficient. Many
columns are worked on together. In an orthonormal basis Z of the covariates, with what is left of
the column g beside it, the information of all fits is one product of matrices: the pairs of columns
of Z, times the weights of all fits. Fisher scoring does the rest, halved where a value falls; a
column for which that is slow is fitted on its own by Newton's method.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from separatrix._sparse import sparse as sp
from separatrix.data.readers.typed_tables import frame_to_arrow, is_frame
from separatrix.infer.given import Given
from separatrix.infer.likelihood import Likelihood, chi_squared_tail
from separatrix.infer.model import Task
from separatrix.infer.newton import best_maximum, independent_columns, maximise, orthonormal
from separatrix.solvers.running.drive import cores, one_thread

_ENTRIES_AT_A_TIME = 1 << 18
_CLOSE = 1e-9
_MOST_STEPS = 40
_FARTHEST = 4.0
_ALIASED = 1e-11


@dataclass(eq=False)
class Scan:
    """A row for each column tested: estimate, standard error, tests."""

    names: list[str]
    table: dict[str, np.ndarray]
    n_rows: int

    def __len__(self) -> int:
        return len(self.names)

    def to_frame(self) -> Any:
        """Return the table as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.table, index=pd.Index(self.names, name="term"))

    def __str__(self) -> str:
        least = int(np.nanargmin(self.table["p_value"])) if len(self.names) else 0
        first = (
            f"; the smallest p-value is {self.table['p_value'][least]:.3g}, of {self.names[least]}"
            if len(self.names)
            else ""
        )
        return f"{len(self.names)} columns tested on {self.n_rows} rows{first}"


def scan(data: Given, each: Any, task: Task) -> Scan:
    """Test each column beside the covariates."""
    if task.method != "firth":
        raise ValueError("each= is for method='firth', whose estimates are always finite.")
    if task.groups is not None or task.errors != "information":
        raise ValueError("each= has standard errors from the information alone.")
    G, names, left = _columns(data, each)
    design = data.design()
    X = design.X if left is None else design.X[:, left]
    with one_thread():
        kept = independent_columns(X)
        Z = orthonormal(X[:, kept])[0] if len(kept) else np.empty((len(X), 0))
        like = Likelihood(Z, design.y, design.weights, design.offset, firth=True)
        if Z.shape[1]:
            Z = np.linalg.qr(Z)[0] if Z is X else Z
            like = Likelihood(Z, design.y, design.weights, design.offset, firth=True)
            null = best_maximum(like)[0].point.theta
        else:
            null = np.zeros(0)
        shared = _Shared(like, null)
        step = max(1, _ENTRIES_AT_A_TIME // len(X))
        starts = range(0, len(names), step)

        def batch(begin: int) -> np.ndarray:
            part = G[:, begin : begin + step]
            dense = part.toarray() if sp.issparse(part) else np.asarray(part, dtype=np.float64)
            return _batch(shared, dense)

        with ThreadPoolExecutor(min(cores(), max(1, len(starts)))) as pool:
            found = np.concatenate([np.empty((4, 0)), *pool.map(batch, starts)], axis=1)
    estimate, error, lr, score = found
    table = {
        "estimate": estimate,
        "std_error": error,
        "lr": lr,
        "p_value": chi_squared_tail(lr),
        "score": score,
        "p_score": chi_squared_tail(score),
        "odds_ratio": np.exp(np.minimum(estimate, 700.0)),
    }
    return Scan(names, table, len(design.y))


def _columns(data: Given, each: Any) -> tuple[Any, list[str], np.ndarray | None]:
    """Return the columns to test, their names, and which columns of the design are covariates."""
    listed = isinstance(each, list | tuple) and all(isinstance(k, str | int) for k in each)
    if listed and each:
        known = {name: j for j, name in enumerate(data.names)}
        for name in each:
            if (isinstance(name, str) and name not in known) or (
                isinstance(name, int) and not 0 <= name < len(data.names)
            ):
                raise ValueError(f"each: there is no column {name!r}.")
        chosen = [known[k] if isinstance(k, str) else int(k) for k in each]
        tested = set(chosen)
        places = [p for p, j in enumerate(data.used) if j not in tested]
        left = np.array(places, dtype=np.int64) + int(data.intercept)
        if data.intercept:
            left = np.concatenate([[0], left])
        return data.X[:, chosen], [data.names[j] for j in chosen], left
    names: list[str] = []
    if is_frame(each):
        arrow = frame_to_arrow(each)
        names = [str(name) for name in arrow.column_names]
        each = np.column_stack([arrow.column(k).to_numpy() for k in range(arrow.num_columns)])
    matrix = sp.csc_array(each) if sp.issparse(each) else np.asarray(each, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != len(data.counted):
        raise ValueError(
            f"each must be a matrix of {len(data.counted)} rows. Got shape {matrix.shape}."
        )
    values = matrix.data if sp.issparse(matrix) else matrix
    if not np.isfinite(values).all():
        raise ValueError("each must hold finite numbers.")
    if not data.counted.all():
        matrix = matrix[data.counted]
    return matrix, names or [f"x{j}" for j in range(matrix.shape[1])], None


class _Shared:
    """What all fits share: the basis, its pairs of columns, and the fit of the covariates alone."""

    def __init__(self, like: Likelihood, null: np.ndarray) -> None:
        self.like, self.null = like, null
        Z = like.Z
        self.upper = np.triu_indices(Z.shape[1])
        self.pairs = Z[:, self.upper[0]] * Z[:, self.upper[1]]
        self.doubled = np.where(self.upper[0] == self.upper[1], 1.0, 2.0)


class _Points:
    """A point of each of several fits: theta is (d + 1) x m, the tested coefficient last."""

    def __init__(self, shared: _Shared, G: np.ndarray, theta: np.ndarray) -> None:
        like, self.shared, self.G, self.theta = shared.like, shared, G, theta
        Z, w = like.Z, like.weights[:, None]
        d, m = Z.shape[1], G.shape[1]
        self.eta = Z @ theta[:d] + G * theta[d] + like.offset[:, None]
        p, rest = expit(self.eta), expit(-self.eta)
        wv = w * p * rest
        self.information = np.empty((m, d + 1, d + 1))
        inner = shared.pairs.T @ wv
        rows, columns = shared.upper
        self.information[:, rows, columns] = inner.T
        self.information[:, columns, rows] = inner.T
        cross, own = Z.T @ (wv * G), np.einsum("ij,ij,ij->j", wv, G, G)
        self.information[:, :d, d] = self.information[:, d, :d] = cross.T
        self.information[:, d, d] = own
        with np.errstate(all="ignore"):
            sign, self.log_det = np.linalg.slogdet(self.information)
            self.log_det = np.where(sign > 0.0, self.log_det, -np.inf)
        safe = self.information.copy()
        safe[~np.isfinite(self.log_det)] = np.eye(d + 1)
        self.inverse = np.linalg.inv(safe)
        margins = np.where(like.y[:, None] > 0.5, self.eta, -self.eta)
        losses = np.logaddexp(0.0, -margins)
        self.value = 0.5 * self.log_det - like.weights @ losses
        M = self.inverse
        q = shared.pairs @ (M[:, rows, columns] * shared.doubled).T
        q += G * (2.0 * (Z @ M[:, :d, d].T) + G * M[:, d, d])
        residual = w * np.where(like.y[:, None] > 0.5, rest, -p) + wv * q * (0.5 - p)
        self.score = np.vstack([Z.T @ residual, np.einsum("ij,ij->j", G, residual)[None]])

    def step(self, held: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return Fisher's step of each fit and its squared length in standard errors."""
        if held:
            d = self.theta.shape[0] - 1
            M = self.inverse
            # The inverse of the leading block, from the whole inverse.
            part = M[:, :d, :d] - (
                M[:, :d, d][:, :, None] * M[:, d, :d][:, None, :] / M[:, d, d][:, None, None]
            )
            s = np.einsum("mij,jm->im", part, self.score[:d])
            s = np.vstack([s, np.zeros((1, s.shape[1]))])
        else:
            s = np.einsum("mij,jm->im", self.inverse, self.score)
        return s, np.einsum("im,im->m", s, self.score)


def _climb(shared: _Shared, G: np.ndarray, held: bool) -> tuple[np.ndarray, np.ndarray, _Points]:
    """Return theta and value of every fit, and the points of all."""
    like, m = shared.like, G.shape[1]
    theta = np.zeros((like.Z.shape[1] + 1, m))
    theta[:-1] = shared.null[:, None]
    out, value = theta.copy(), np.full(m, -np.inf)
    active = np.arange(m)
    points = _Points(shared, G, theta)
    slow: list[int] = []
    for count in range(_MOST_STEPS):
        step, size = points.step(held)
        done = size < _CLOSE**2
        value[active], out[:, active] = points.value, points.theta
        if count == _MOST_STEPS - 1:
            slow += active[~done].tolist()
        going = ~done
        if not going.any() or count == _MOST_STEPS - 1:
            break
        active, step = active[going], step[:, going]
        own = G[:, active]
        base, before = points.theta[:, going], points.value[going]
        moved = abs(like.Z @ step[:-1] + own * step[-1]).max(axis=0)
        scale = np.minimum(1.0, _FARTHEST / np.maximum(moved, 1e-300))
        points = _Points(shared, own, base + scale * step)
        worse = points.value < before - 1e-10 * (1.0 + abs(before))
        for _ in range(20):
            if not worse.any():
                break
            scale = np.where(worse, 0.4 * scale, scale)
            points = _Points(shared, own, base + scale * step)
            worse = points.value < before - 1e-10 * (1.0 + abs(before))
    for j in slow:
        whole = Likelihood(
            np.column_stack([like.Z, G[:, j]]), like.y, like.weights, like.offset, firth=True
        )
        form = np.eye(len(theta))[-1] if held else None
        start = out[:, j] if np.isfinite(out[:, j]).all() else np.zeros(len(theta))
        best = maximise(whole, start, form).point
        out[:, j], value[j] = best.theta, best.value
    return out, value, _Points(shared, G, out)


def _batch(shared: _Shared, G: np.ndarray) -> np.ndarray:
    """Return estimate, standard error, LR and score statistic of each column."""
    Z = shared.like.Z
    lengths = np.linalg.norm(G, axis=0)
    rest = G - Z @ (Z.T @ G)
    rest -= Z @ (Z.T @ rest)
    sizes = np.linalg.norm(rest, axis=0)
    good = sizes > _ALIASED * np.maximum(lengths, 1e-300)
    found = np.full((4, G.shape[1]), np.nan)
    if not good.any():
        return found
    own = rest[:, good] / sizes[good]
    theta, value, points = _climb(shared, own, held=False)
    _, at_zero, _ = _climb(shared, own, held=True)
    start = np.zeros_like(theta)
    start[:-1] = shared.null[:, None]
    null = _Points(shared, own, start)
    found[0, good] = theta[-1] / sizes[good]
    found[1, good] = np.sqrt(points.inverse[:, -1, -1]) / sizes[good]
    found[2, good] = np.maximum(0.0, 2.0 * (value - at_zero))
    found[3, good] = _plain_score(null)
    return found


def _plain_score(null: _Points) -> np.ndarray:
    """Return the score statistic of the column at the fit of the covariates alone."""
    like = null.shared.like
    p = expit(null.eta)
    residual = like.weights[:, None] * (like.y[:, None] - p)
    along = np.einsum("ij,ij->j", null.G, residual)
    free = like.Z.T @ residual
    M = null.inverse
    # u_g - I_gz I_zz^-1 u_z = (M u)_g / M_gg, of variance 1 / M_gg.
    turned = M[:, -1, -1] * along + np.einsum("mj,jm->m", M[:, -1, :-1], free)
    return np.asarray(turned**2 / M[:, -1, -1])
