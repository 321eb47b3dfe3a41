"""Whether a model carries a proof, and which of its steps does."""

from __future__ import annotations

from typing import Any

__all__ = ["has_proof", "last_step", "needs_estimator"]


def last_step(model: Any) -> tuple[Any, list[Any]]:
    """Return the model that predicts, and the steps before it."""
    steps = [step for _, step in getattr(model, "steps", [])]
    return (steps[-1], steps[:-1]) if steps else (model, [])


def has_proof(model: Any) -> bool:
    """Whether the model carries a certificate that can be checked."""
    model = last_step(model)[0]
    if hasattr(model, "certificates_"):
        return all(hasattr(proof, "check") for proof in model.certificates_)
    return hasattr(getattr(model, "certificate_", None), "check")


def needs_estimator(model: Any) -> bool:
    """Whether a proof makes parts of the model anew: steps before it, or held-out folds."""
    return hasattr(model, "steps") or bool(getattr(model, "probability", False))
