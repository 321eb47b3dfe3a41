"""How well a model fits: deviances, AIC, BIC, McFadden's share, Hosmer and Lemeshow's test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from separatrix.infer.model import Design
from separatrix.infer.tails import chi_squared_tail

_GROUPS = 10


@dataclass(frozen=True)
class Measures:
    """Figures of the whole model."""

    log_likelihood: float
    null_log_likelihood: float
    deviance: float
    null_deviance: float
    aic: float
    bic: float
    mcfadden: float
    lr: float  # of all coefficients but the intercept together
    lr_freedom: int
    lr_p_value: float
    hosmer_lemeshow: float
    hosmer_lemeshow_freedom: int
    hosmer_lemeshow_p_value: float


def measures(
    design: Design, log_likelihood: float, fitted: np.ndarray, parameters: int
) -> Measures:
    """Return the figures of a fit with so many parameters; weights are counts of rows."""
    null = null_log_likelihood(design)
    rows = float(design.weights.sum())
    freedom = parameters - int(design.intercept)
    lr = max(0.0, 2.0 * (log_likelihood - null))
    statistic, groups = hosmer_lemeshow(design, fitted)
    return Measures(
        log_likelihood=log_likelihood,
        null_log_likelihood=null,
        deviance=-2.0 * log_likelihood,
        null_deviance=-2.0 * null,
        aic=2.0 * parameters - 2.0 * log_likelihood,
        bic=parameters * float(np.log(rows)) - 2.0 * log_likelihood,
        mcfadden=1.0 - log_likelihood / null if null < 0.0 else np.nan,
        lr=lr,
        lr_freedom=freedom,
        lr_p_value=float(chi_squared_tail(lr, freedom)) if freedom > 0 else np.nan,
        hosmer_lemeshow=statistic,
        hosmer_lemeshow_freedom=groups - 2,
        hosmer_lemeshow_p_value=(
            float(chi_squared_tail(statistic, groups - 2)) if groups > 2 else np.nan
        ),
    )


def null_log_likelihood(design: Design) -> float:
    """Return the log-likelihood of the intercept alone, or of nothing where there is none."""
    w, y, offset = design.weights, design.y, design.offset
    b = 0.0
    if design.intercept:
        b = float(logit(np.clip(w @ y / w.sum(), 1e-12, 1.0 - 1e-12))) if not offset.any() else 0.0
        for _ in range(100 if offset.any() else 0):
            p = expit(b + offset)
            step = float(w @ (y - p)) / max(float(w @ (p * (1.0 - p))), 1e-300)
            b += float(np.clip(step, -2.0, 2.0))
            if abs(step) < 1e-14:
                break
    eta = b + offset
    return -float(w @ np.logaddexp(0.0, np.where(y > 0.5, -eta, eta)))


def hosmer_lemeshow(design: Design, fitted: np.ndarray) -> tuple[float, int]:
    """Return the statistic and the number of groups: ten by the quantiles of the probabilities."""
    order = np.argsort(fitted, kind="stable")
    p, y, w = fitted[order], design.y[order], design.weights[order]
    before = np.cumsum(w) - 0.5 * w
    cuts = np.minimum((before * (_GROUPS / w.sum())).astype(int), _GROUPS - 1)
    # Equal probabilities stay in one group.
    first = np.searchsorted(p, p, side="left")
    cuts = cuts[first]
    total, groups = 0.0, 0
    for group in np.unique(cuts):
        own = cuts == group
        n, seen, expected = (float(v) for v in (w[own].sum(), w[own] @ y[own], w[own] @ p[own]))
        groups += 1
        if 0.0 < expected < n:
            total += (seen - expected) ** 2 / (expected * (1.0 - expected / n))
        elif seen != expected:
            return np.inf, groups
    return total, groups
