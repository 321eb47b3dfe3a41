"""``sx.novikoff``: the bound on a perceptron's mistakes, with both halves of its proof."""

from __future__ import annotations

from typing import Any

from separatrix.core.novikoff import NovikoffProof, novikoff_proof
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.replay import replay

__all__ = ["novikoff"]


def novikoff(model: Perceptron, X: Any, y: Any) -> NovikoffProof:
    """Bound the mistakes of a perceptron by (R B)^2, and follow the proof update by update.

    Parameters
    ----------
    model : Perceptron
        With single updates and a fixed rate. It is run again; it need not be fitted.
    X, y : arrays
        Rows, and labels of two classes.

    Returns
    -------
    NovikoffProof
        R, B, the bound, and the sequences `least` <= `along` <= `length` <= `most`.

    See Also
    --------
    Perceptron : the rule whose mistakes are bounded.
    replay : every update, one by one.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 1], [2, -2], [-1, -1.5], [-2, 1], [1.5, -0.5]], [1, -1, -1, 1, 1]
    >>> proof = sx.novikoff(sx.Perceptron(), X, y)
    >>> print(proof)
    R = 3, B = 1.86052: at most 31 mistakes; 3 were made
    >>> bool((proof.least <= proof.along + 1e-9).all()), bool((proof.length <= proof.most).all())
    (True, True)
    """
    if not isinstance(model, Perceptron) or model.update != "single" or model.decay != 0.0:
        raise ValueError(
            "Novikoff's bound is for a Perceptron with update='single' and decay=0. "
            f"Got {model!r} instead."
        )
    if model.scale or model.average:
        raise ValueError("Novikoff's proof follows the weights: use scale=False, average=False.")
    frames = list(replay(model, X, y))
    run = model._run(X, y)
    return novikoff_proof(
        run.problem, [frame.weights for frame in frames], float(model.learning_rate)
    )
