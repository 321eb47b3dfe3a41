"""Gaussian classes: that their parameters are those of the data, proved from the data alone.

The exact means and covariances (maximum likelihood, shrunk by the share stated) are enclosed, and
what the model holds is compared with them:

    shared      C w_k = m_k - m + r_k: the weights belong to means moved by r_k, and |m_k - held|
    full        |V_k' C_k V_k - I|, where V_k V_k' stands for the inverse of C_k
    diagonal    |v_kj / c_kj - 1| of the variances, none of which is taken below 1e-9

A threshold between two classes is the best for losses and priors where it is the logarithm of
their ratio; those of minimax and Neyman-Pearson rest on the normal distribution and are not proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.certificates.class_scatter import (
    ClassScatter,
    class_scatter,
    quadratic_form,
    total,
)
from separatrix.certificates.enclosed_functions import log
from separatrix.certificates.enclosed_sums import ROOM
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.fisher import in_deviations, lacking
from separatrix.certificates.two_bounds import AboutData, are_arrays
from separatrix.checker.exact import at_most
from separatrix.problem.canonical import codes_of
from separatrix.problem.centred import NO_SPREAD

_ENOUGH = 1e-6
_LEAST_VARIANCE = 1e-9
_ABOUT = 1e-3
_OPEN = math.inf, math.inf, math.inf  # no error is bounded


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianEstimates(AboutData):
    """The parameters of Gaussian classes are those of the data, to within the errors stated.

    `means` are in standard deviations, `covariances` relative, `offsets` and `threshold` in units
    of the logarithm of a likelihood ratio; `threshold` is NaN where none is claimed.
    """

    gaussians: Any
    priors: np.ndarray
    loss: np.ndarray
    limit: float | None
    means: float
    covariances: float
    offsets: float
    threshold: float

    @property
    def errors(self) -> tuple[float, ...]:
        """All errors that are claimed."""
        found = (self.means, self.covariances, self.offsets)
        return found if self.limit is None else (*found, self.threshold)

    @property
    def holds(self) -> bool:
        """Whether every error is below a millionth."""
        return all(error <= _ENOUGH for error in self.errors)

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove the claim again from the data; other data are refused."""
        given = self.weighted_problem(X, y, sample_weight)
        if given is None or not are_arrays(self.priors, self.loss):
            return False
        problem, s = given
        again = prove_gaussian_estimates(self, problem.X, codes_of(problem), s, wider=1.0)
        if again is None:
            return False
        return all(new <= old for new, old in zip(again.errors, self.errors, strict=True))

    def _sentence(self) -> str:
        if not self.holds:
            return "not proved: rounding leaves means or covariances open"
        rule, means = "", at_most(self.means, 2)
        if self.limit is not None:
            rule = "; the threshold between them is the best for these priors and losses"
        if self.gaussians.linear is not None:
            return (
                "proved: the weights are those of the data's covariance and of means within "
                f"{means} standard deviations of the data's{rule}"
            )
        return (
            f"proved: means to within {means} standard deviations and covariances to "
            f"within {at_most(self.covariances, 2)} are those of the data{rule}"
        )


def prove_gaussian_estimates(
    claim: GaussianEstimates, X: Any, codes: np.ndarray, s: np.ndarray, wider: float = ROOM
) -> GaussianEstimates | None:
    """Return the claim with its errors; None where the scatter is too large to form."""
    found = class_scatter(X, codes, s, len(claim.classes))
    if found is None:
        return None
    with np.errstate(all="ignore"):
        errors = (_shared if claim.gaussians.linear is not None else _each)(claim, found)
        threshold = _threshold_error(claim) if claim.limit is not None else math.nan
    means, covariances, offsets = (error * wider for error in errors)
    return replace(
        claim, means=means, covariances=covariances, offsets=offsets, threshold=threshold * wider
    )


def _shared(claim: GaussianEstimates, found: ClassScatter) -> tuple[float, float, float]:
    """Return by how much means are off or would have to move, 0, and the error of the offsets."""
    (W, b), held = map(np.asarray, claim.gaussians.linear), np.asarray(claim.gaussians.means)
    K, d = len(claim.classes), len(found.kept)
    if not (W.shape == held.shape == (K, d) and b.shape == (K,)) or found.leaves_out(W):
        return _OPEN
    if not _has_no_scale(claim.gaussians, K, d):
        return _OPEN
    if not (np.isfinite(held).all() and (held[:, ~found.kept] == found.flat).all()):
        return _OPEN
    shrunk = _shrunk(found.within(), claim.gaussians.shares[0])
    C, mean, offsets, divided = shrunk / found.mass(), found.mean(), 0.0, found.divided(W)
    rest = lacking(C, [own - mean for own in found.means], divided)
    near = Enclosure.exact(np.ldexp(held[:, found.kept], -found.exponents)) - found.origin
    rest += [own - near[k] for k, own in enumerate(found.means)]
    moved = max(float(in_deviations(C, r).high.max(initial=0.0)) for r in rest)
    for k, own in enumerate(found.means):
        along = (((own + mean).halved() + found.origin) * divided[k]).sum()  # 1/2 (m_k - m) w + m w
        exact = -log(float(K)) - along
        # The weights of columns of one value are zero: they add nothing.
        offsets = max(offsets, float((exact - float(b[k])).size().high))
    return moved, 0.0, offsets


def _has_no_scale(held: Any, K: int, d: int) -> bool:
    """Whether columns are held as they are given, and no class has a determinant of its own."""
    given = (held.kept, held.exponents, held.spreads, held.log_roots)
    plain = (np.arange(d), np.zeros(d), np.ones(d), np.zeros(K))
    return all(map(np.array_equal, given, plain))


def _shrunk(scatter: Enclosure, share: float) -> Enclosure:
    """Return (1 - a) S + a diag(S)."""
    if share == 0.0:
        return scatter
    off = scatter * (Enclosure.exact(1.0) - share)
    on = np.eye(len(scatter.low), dtype=bool)
    return Enclosure(np.where(on, scatter.low, off.low), np.where(on, scatter.high, off.high))


def _each(claim: GaussianEstimates, found: ClassScatter) -> tuple[float, float, float]:
    """Return the errors of means, of covariances or variances, and of the log-determinants."""
    held = claim.gaussians
    sized = _is_sized(held, len(found.means), len(found.exponents))
    if not (sized and np.array_equal(held.kept, np.flatnonzero(found.kept))
            and np.array_equal(held.exponents, found.exponents)
            and _are_deviations(held.spreads, found)):  # fmt: skip
        return _OPEN
    means = covariances = offsets = 0.0
    for k, own in enumerate(found.means):
        away = ((own + found.origin) / held.spreads - held.means[k]).size().high
        means = max(means, float(away.max(initial=0.0)))
        C = found.scatters[k] / found.masses[k] / held.spreads / held.spreads[:, None]
        if held.variances is not None:
            variances = C.diagonal().at_least(_LEAST_VARIANCE)
            wrong = (Enclosure.exact(held.variances[k]) / variances - 1.0).size().high
            root = log(Enclosure.exact(held.variances[k])).sum().halved()
        else:
            V = np.asarray(held.whiteners[k])
            inner = quadratic_form(_shrunk_class(C, claim.gaussians, k, found), V)
            wrong = (inner - np.eye(len(V))).size().high
            root = -log(Enclosure.exact(np.diag(V))).sum()
            if np.tril(V, -1).any() or not (np.diag(V) > 0.0).all():
                return _OPEN
        covariances = max(covariances, float(wrong.max(initial=0.0)))
        offsets = max(offsets, float((root - float(held.log_roots[k])).size().high))
    return means, covariances, offsets


def _is_sized(held: Any, K: int, d: int) -> bool:
    """Whether there is a number for every class and column: NumPy repeats what is missing."""
    if held.variances is not None:
        own = held.variances.shape == (K, d)
    else:
        counts = len(held.shares or ()), len(held.pooled or (0.0,) * K)
        own = counts == (K, K) and [V.shape for V in held.whiteners] == [(d, d)] * K
    found = held.means.shape, held.spreads.shape, held.log_roots.shape
    return own and found == ((K, d), (d,), (K,))


def _are_deviations(spreads: np.ndarray, found: ClassScatter) -> bool:
    """Whether these are about the standard deviations within the classes: the units of errors.

    Where there is next to none within, that of all rows serves.
    """
    mean, within = found.mean(), found.within().diagonal()
    apart = [
        (own - mean).square() * mass for own, mass in zip(found.means, found.masses, strict=True)
    ]
    whole = within + total(tuple(apart))
    varies = within.high > NO_SPREAD**2 * whole.low
    ends = (np.where(varies, a, b) for a, b in ((within.low, whole.low), (within.high, whole.high)))
    deviations = (Enclosure(*ends) / found.mass()).root()
    return bool(((spreads / deviations - 1.0).size().high <= _ABOUT).all())


def _shrunk_class(C: Enclosure, held: Any, k: int, found: ClassScatter) -> Enclosure:
    """Return (1 - a) C + a ((1 - p) D + p P), P the covariance within all classes."""
    share, part = held.shares[k], held.pooled[k] if held.pooled else 0.0
    if part == 0.0 or share == 0.0:
        return _towards_variances(C, share)
    if not 0.0 <= part <= 1.0:
        return C * math.nan
    pooled = found.within() / found.mass() / held.spreads / held.spreads[:, None]
    kept = Enclosure.exact(1.0)
    target = _diagonal_of(C) * (kept - part) + pooled * part
    return C * (kept - share) + target * share


def _towards_variances(C: Enclosure, share: float) -> Enclosure:
    """Return (1 - a) C + a D with D the diagonal of C."""
    if share == 0.0:
        return C
    return C * (Enclosure.exact(1.0) - share) + _diagonal_of(C) * share


def _diagonal_of(C: Enclosure) -> Enclosure:
    """Return the diagonal of C; 1 where that is below the least variance.

    The columns have unit variance within all classes together. Where rounding leaves it open
    whether a variance is below the least one, the enclosure holds both.
    """
    own = C.diagonal()
    varies, is_flat = own.low > _LEAST_VARIANCE, own.high <= _LEAST_VARIANCE
    low = np.select([is_flat, varies], [1.0, own.low], np.minimum(own.low, 1.0))
    high = np.select([is_flat, varies], [1.0, own.high], np.maximum(own.high, 1.0))
    return Enclosure(low, high).diagonal()


def _threshold_error(claim: GaussianEstimates) -> float:
    """Bound the distance of the threshold from log (p_0 loss of a false alarm / p_1 of a miss)."""
    loss, priors = claim.loss, claim.priors
    false_alarm = Enclosure.exact(loss[1, 0]) - loss[0, 0]
    miss = Enclosure.exact(loss[0, 1]) - loss[1, 1]
    exact = log(false_alarm) - log(miss) + log(priors[0]) - log(priors[1])
    return float((exact - float(claim.limit or 0.0)).size().high)
