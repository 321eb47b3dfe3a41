"""scikit-learn's callbacks (version 1.9 and later), where it has them."""

from __future__ import annotations

from typing import Any

__all__ = ["CallbackSupport", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method
