"""What every linear classifier here shares: predicting, and telling what was found."""

from __future__ import annotations

import html
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from separatrix.core.linear_model import LinearModel
from separatrix.estimators._kind import AnswersInKind
from separatrix.estimators._validate import new_data, scores_on_device
from separatrix.solvers.running.drive import Status

_WEIGHTS_SHOWN = 5


class LinearClassifier(AnswersInKind, LinearModel, ClassifierMixin, BaseEstimator):
    """A classifier by the sign, or the largest, of ``w.x + b``."""

    takes_many_classes = True
    status_: Status
    n_iter_: Any
    n_passes_: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.takes_many_classes
        return tags

    def _new_rows(self, X: Any) -> Any:
        return new_data(self, X)

    def _raw_scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        scores = scores_on_device(self, X)
        return super()._raw_scores(X) if scores is None else scores

    # ---- telling

    def _is_fitted(self) -> bool:
        return hasattr(self, "coef_")

    def _facts(self) -> list[tuple[str, str]]:
        """Return what was found, as pairs of a word and a sentence."""
        classes = [str(c) for c in self.classes_]
        sides = (
            f"{classes[0]} (-) and {classes[1]} (+)" if len(classes) == 2 else ", ".join(classes)
        )
        facts = [
            ("status", f"{self.status_}: {self.status_.cause}"),
            ("classes", sides),
            (
                "work",
                f"{np.max(self.n_iter_):,} updates in {self.n_passes_:,.1f} passes over the rows",
            ),
        ]
        if self.certificate_ is not None:
            facts.append(("proof", str(self.certificate_)))
        if len(getattr(self, "coef_", ())) == 1:
            facts.append(("weights", self._largest_weights()))
        return facts

    def _largest_weights(self) -> str:
        names = getattr(self, "feature_names_in_", None)
        largest = np.argsort(-abs(self.coef_[0]), kind="stable")[:_WEIGHTS_SHOWN]
        parts = [
            f"{names[j] if names is not None else f'x{j}'} {self.coef_[0, j]:+.4g}" for j in largest
        ]
        more = self.coef_.shape[1] - len(largest)
        rest = f" and {more} more" if more > 0 else ""
        return f"{', '.join(parts)}{rest}; intercept {self.intercept_[0]:+.4g}"

    def __str__(self) -> str:
        """Return the parameters and, once fitted, what was found."""
        if not self._is_fitted():
            return repr(self)
        lines = [f"  {word:<8} {sentence}" for word, sentence in self._facts()]
        return "\n".join([repr(self), *lines])

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()
        if not self._is_fitted():
            return diagram
        rows = "".join(
            f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(word)}</th>"
            f"<td style='text-align:left'>{html.escape(sentence)}</td></tr>"
            for word, sentence in self._facts()
        )
        return f"{diagram}<table>{rows}</table>"

    # ---- ending a fit

    def _warn(self, sentence: str) -> None:
        text = f"{type(self).__name__}: {sentence}"
        remedy = self.status_.remedy
        warnings.warn(
            f"{text} What to do: {remedy}." if remedy else text, ConvergenceWarning, stacklevel=3
        )

    def _class_names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.classes_)
