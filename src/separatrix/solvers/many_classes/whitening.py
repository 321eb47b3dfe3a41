"""A preconditioner for the multinomial machine: columns made round, each class at its own scale.

The curvature of class k is nearly  I + r_k S  with S the scatter of the rows, weighted by how
undecided they are, and r_k the class's own share of it. With one factorisation

    T^T (I + S) T = I ,     T^T T_0 T = diag(f)   for the part T_0 = I of the penalty,

its inverse is  T diag(1 / (f + r_k (1 - f))) T^T  for every class at once. Columns are scaled
before, so that those of very different sizes lose no digits. Where the scatter is too large to
factor, its diagonal serves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Whitening", "most_columns"]

most_columns = 3000
_LEAST_SHARE = 1e-3
_RIDGES = (1e-14, 1e-10, 1e-7)  # for each column, beside a diagonal of 1


class Whitening:
    """The preconditioner of one point."""

    def __init__(
        self, xp: Any, scatter: Any, classes: Any, masses: Any, bias_penalty: float
    ) -> None:
        mean = xp.mean(classes)
        shares = classes / xp.where(mean > 0.0, mean, xp.ones_like(mean))
        shares = xp.where(shares > _LEAST_SHARE, shares, xp.full_like(shares, _LEAST_SHARE))
        found = _factored(xp, scatter) if scatter.ndim == 2 else None
        if found is None:
            self.T = None
            scatter = scatter if scatter.ndim == 1 else xp.diagonal(scatter)
            scatter = xp.where(scatter > 0.0, scatter, xp.zeros_like(scatter))
            self.scale = 1.0 / (1.0 + scatter[:, None] * shares[None, :])
        else:
            self.T, kept = found
            self.scale = 1.0 / (kept[:, None] + (1.0 - kept)[:, None] * shares[None, :])
        # Where every row is decided nothing holds a bias: a share of the class's mass does.
        self.of_bias = 1.0 / (bias_penalty + classes + _LEAST_SHARE * masses)

    def __call__(self, G: Any, g: Any) -> tuple[Any, Any]:
        """Return the preconditioned gradient."""
        if self.T is None:
            return self.scale * G, self.of_bias * g
        return self.T @ (self.scale * (self.T.T @ G)), self.of_bias * g


def _factored(xp: Any, scatter: Any) -> tuple[Any, Any] | None:
    """Return T and diag(f); None where rounding has left a matrix that cannot be factored."""
    d = len(scatter)
    where = {} if xp is np else {"device": scatter.device}
    eye = xp.eye(d, dtype=xp.float64, **where)
    roots = xp.sqrt(1.0 + xp.diagonal(scatter))
    scaled = (eye + scatter) / roots[:, None] / roots[None, :]
    lower = _root_of(xp, scaled, eye)
    if lower is None:
        return None
    # Rows of the inverse of L, divided by the scale of the columns: L^-1 D^-1.
    if xp is np:
        from scipy.linalg import solve_triangular

        inverse = solve_triangular(lower, np.diag(1.0 / roots), lower=True)
    else:
        inverse = xp.linalg.solve_triangular(lower, xp.diag(1.0 / roots), upper=False)
    kept, turned = xp.linalg.eigh(inverse @ inverse.T)
    zero, one = xp.zeros_like(kept), xp.ones_like(kept)
    kept = xp.where(kept > 0.0, kept, zero)
    return inverse.T @ turned, xp.where(kept < 1.0, kept, one)


def _root_of(xp: Any, scaled: Any, eye: Any) -> Any:
    """Return Cholesky's factor, of a matrix moved from singular by as little as will do."""
    if not bool(xp.isfinite(scaled).all()):
        return None
    for ridge in _RIDGES:
        try:
            lower = xp.linalg.cholesky(scaled + ridge * len(scaled) * eye)
        except xp.linalg.LinAlgError:
            continue
        if bool(xp.isfinite(lower).all()):
            return lower
    return None
