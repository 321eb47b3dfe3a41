"""What a curve gains over the best hyperplane of a study, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.data.encodings.column_features import GAMMAS
from separatrix.selection.choice import standard_error
from separatrix.selection.compared import Compared
from separatrix.selection.kernel_candidate import KernelCompared

__all__ = ["curve_gains"]

_CURVES = ("products", *GAMMAS)


def curve_gains(
    compared: Sequence[Compared], kernel: KernelCompared | None = None
) -> tuple[str, ...]:
    """Say what each curve gains over the best hyperplane, where both met the same folds.

    The interval is Student's, of the differences over the folds.
    """
    first = [each for each in compared if each.n_rows == compared[0].n_rows]
    planes = [each for each in first if each.candidate.features not in _CURVES]
    if not planes:
        return ()
    plane = min(planes, key=lambda one: one.first_errors.mean())
    said = []
    for name, features in (("Products of columns", ("products",)), ("Random cosines", GAMMAS)):
        curves = [each for each in first if each.candidate.features in features]
        if curves:
            curve = min(curves, key=lambda one: one.first_errors.mean())
            said.append(_gain(name, curve.first_errors, plane))
    if kernel is not None:
        limit = f", trained on {kernel.n_trained:,} rows of a fold"
        sampled = limit if kernel.n_trained < 0.9 * _trained(kernel) else ""
        name = f"An RBF kernel (C = {kernel.C:g}, gamma = {kernel.gamma:g}{sampled})"
        said.append(_gain(name, kernel.errors, plane))
    return tuple(said)


def _trained(kernel: KernelCompared) -> float:
    folds = len(kernel.errors)
    return kernel.n_rows * (folds - 1.0) / folds


def _gain(name: str, errors: np.ndarray, plane: Compared) -> str:
    from scipy.special import stdtrit

    gain = plane.first_errors - errors
    folds = len(gain)
    room = float(stdtrit(folds - 1, 0.975)) * standard_error(gain) if folds > 1 else np.inf
    mean, best = float(gain.mean()), float(plane.first_errors.mean())
    verb = "has" if name.startswith("An ") else "have"
    low, high = (100.0 * (mean - room), 100.0 * (mean + room))
    return (
        f"{name} {verb} an error of {100.0 * errors.mean():.2f} %, the best hyperplane "
        f"{100.0 * best:.2f} %: the curved boundary gains {100.0 * mean:.2f} percentage "
        f"points (95 %: {low:.2f} to {high:.2f})."
    )
