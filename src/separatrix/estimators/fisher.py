"""Fisher's linear discriminant as a scikit-learn classifier and transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.certificates.fisher import check_fisher, prove_fisher_directions
from separatrix.core.checks import one_of, positive, several_classes, share_or_name
from separatrix.core.models import with_settings
from separatrix.core.thresholds import as_loss_matrix, as_priors, log_odds_threshold
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import (
    brought,
    new_data,
    present_rows,
    training_data,
    weighted_rows,
    worked_on,
)
from separatrix.solvers.closed_forms.fisher import FORMED, Discriminant, solve_fisher
from separatrix.solvers.closed_forms.gaussian import shared_covariance
from separatrix.solvers.running.drive import Status

_NAMED_SHRINKAGES = ("auto", "ledoit-wolf", "pseudo-inverse")


def _laid_out(place: Any, X: Any, codes: Any, weights: Any, n_classes: int) -> Any:
    """Return the rows on their device; None where the processor is the place for them."""
    if place is None or not X.shape[1] <= min(X.shape[0], FORMED):
        return None
    from separatrix.problem.device_rows import DeviceRows
    from separatrix.solvers.closed_forms.device_sums import within_rows_on

    return within_rows_on(DeviceRows(X, place), codes, weights, n_classes)


@with_settings
class Fisher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearClassifier):
    """Fisher's discriminant: project on the directions of largest scatter ratio, then decide.

    For two classes ``w = S_W^-1 (m_2 - m_1)``. `transform` gives the projections: at most one
    fewer than the number of classes.

    Parameters
    ----------
    threshold : {"mean", "gaussian"} or 2 x 2 array, default="mean"
        "mean": at the mean of all rows, ``w.x = w.m``, as in the lecture (for many classes, where
        it gives no rule, the nearest class mean in the projection). "gaussian": where
        Gaussian classes of equal covariance are equally probable. An array is a loss
        W(decision, class): where both decisions lose the same, for such classes.
    direction : {"fisher", "means"}, default="fisher"
        "means" is the naive ``m_2 - m_1``, for comparison.
    shrinkage : {"auto", "ledoit-wolf", "pseudo-inverse"} or float from 0 to 1, default="auto"
        How S_W is regularised, in columns of unit variance. "auto" leaves it unchanged unless it is
        singular; then it is shrunk towards its diagonal by Ledoit and Wolf's estimate. A number is
        the share of the diagonal.
    priors : array or None, default=None
        Probabilities of the classes for the Gaussian thresholds; None takes their frequencies.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        Where the scatter of dense rows is computed, if they outnumber the columns (extra gpu).
    n_components : int or None, default=None
        The most directions that `transform` gives; None gives all. There are fewer than classes
        minus one where class means lie on a line or in a plane.
    store_covariance : bool, default=False
        Whether `fit` leaves `covariance_`.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane, or one row of scores for each of many classes.
    scalings_ : array (features, components)
        The directions, best first, of unit variance within classes.
    explained_variance_ratio_ : array
        The share of each direction in the scatter between classes.
    means_, xbar_ : arrays
        The mean of each class, and of all rows.
    shrinkage_ : float or None
        The shrinkage used: 0 for S_W itself, None for the pseudo-inverse or the naive direction.
    covariance_ : array (features, features)
        With ``store_covariance=True``: that within the classes, shrunk by `shrinkage_`.
    method_ : str
        How the system with S_W was solved.
    certificate_ : FisherDirection, FisherDirections or None
        For S_W without shrinkage: no direction has a larger ratio, enclosed by the bounds stated.
        For several classes the ratio of every direction is enclosed (up to 400 columns). None
        otherwise: the ratio of these data is then not what is maximised.
    status_, n_iter_, n_passes_
        How it ended, the iterations of conjugate gradients (1 where there were none), and passes.

    See Also
    --------
    GaussianPlugIn : Gaussian classes whose covariances may differ.
    LeastSquares : the same direction for two classes.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [1.0, 1.5], [2.0, 2.0], [1.0, 0.0], [2.0, 1.5], [3.0, 2.0]], "aaabbb"
    >>> model = sx.Fisher().fit(X, list(y))
    >>> model.score(X, list(y)), sx.Fisher(direction="means").fit(X, list(y)).score(X, list(y))
    (1.0, 0.6666666666666666)
    """

    threshold: Any = "mean"
    _: KW_ONLY
    direction: str = "fisher"
    shrinkage: float | str = "auto"
    priors: Any = None
    n_components: int | None = None
    device: str = "cpu"
    store_covariance: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Fisher:
        """Find the directions and the threshold."""
        with worked_on(self, X):
            return self._fitted(X, y, sample_weight)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> Fisher:
        self._check_parameters()
        _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        place, X, y, sample_weight = brought(self.device, X, y, sample_weight)
        X, y = training_data(self, X, y)
        X, y, weights = weighted_rows(X, y, sample_weight)
        self.classes_, codes = several_classes(self, y)
        n_classes = len(self.classes_)
        loss = None
        if not isinstance(self.threshold, str):
            if n_classes > 2:
                raise ValueError(
                    "a loss as threshold is for two classes. Use "
                    "GaussianPlugIn(covariance='shared', loss_matrix=...) for more."
                )
            loss = as_loss_matrix(self.threshold, 2)
        priors = None if self.priors is None else as_priors(self.priors, n_classes)
        threshold = "mean" if isinstance(self.threshold, str) and self.threshold == "mean" else ""
        found = solve_fisher(
            X,
            codes,
            weights,
            n_classes,
            self.direction,
            threshold or "gaussian",
            priors,
            self.shrinkage,
            _laid_out(place, X, codes, weights, n_classes),
        )
        self._adopt(found, 0.0 if loss is None else log_odds_threshold(loss))
        self._keep_covariance(X, codes, weights)
        self._certify(X, y, codes, weights, found.directions)
        return self

    def _keep_covariance(self, X: Any, codes: Any, weights: Any) -> None:
        self.__dict__.pop("covariance_", None)
        if self.store_covariance:
            n_classes = len(self.classes_)
            self.covariance_ = shared_covariance(X, codes, weights, n_classes, self.shrinkage_)

    def _check_parameters(self) -> None:
        if isinstance(self.threshold, str):
            one_of("threshold", self.threshold, ("mean", "gaussian"))
        one_of("direction", self.direction, ("fisher", "means"))
        share_or_name("shrinkage", self.shrinkage, _NAMED_SHRINKAGES)
        positive("n_components", self.n_components, whole=True, optional=True)

    def _adopt(self, found: Discriminant, shift: float) -> None:
        two = len(self.classes_) == 2
        with np.errstate(over="ignore", invalid="ignore"):
            coef = found.W[1:] - found.W[:1] if two else found.W
            intercept = found.b[1:] - found.b[:1] - shift if two else found.b
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise DataError(f"Fisher: {Status.OVERFLOW.cause}. Divide large columns first.")
        most = min(len(self.classes_) - 1, found.W.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components must be at most {most}, the number of classes less one or of "
                f"features. Got {self.n_components} instead."
            )
        count = min(self.n_components or most, found.directions.shape[1])
        self.scalings_ = found.directions[:, :count]
        self._n_features_out = count
        self.explained_variance_ratio_ = found.ratios[:count]
        self.means_, self.xbar_ = found.class_means, found.mean
        self.shrinkage_, self.method_ = found.shrinkage, found.method
        self.n_iter_, self.n_passes_ = max(1, found.iterations), 2.0 + 2.0 * found.iterations
        self.status_ = Status.OPTIMAL
        self.coef_, self.intercept_ = coef, intercept

    def _certify(self, X: Any, y: Any, codes: Any, weights: Any, directions: np.ndarray) -> None:
        self.certificate_ = None
        if self.direction != "fisher" or self.shrinkage_ != 0.0:
            return
        if len(self.classes_) == 2:
            self.certificate_ = check_fisher(X, y, self.coef_[0], weights)
        else:
            self.certificate_ = prove_fisher_directions(
                X, codes, weights, directions, self.coef_, self._class_names()
            )
        if self.certificate_ is not None and not self.certificate_.holds:
            self.status_ = Status.UNPROVED
            self._warn(f"{self.status_.cause}. {self.certificate_}.")

    def transform(self, X: Any) -> np.ndarray:
        """Return the rows' projections on the directions, the mean of the training rows at 0."""
        check_is_fitted(self)
        X = new_data(self, X)
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(X):
                return np.asarray(X @ self.scalings_ - self.xbar_ @ self.scalings_)
            return np.asarray((X - self.xbar_) @ self.scalings_)

    def _work(self) -> str:
        return ""

    def _facts(self) -> list[tuple[str, str]]:
        facts = super()._facts()
        where = "loss" if not isinstance(self.threshold, str) else self.threshold
        said = f"direction {self.direction!r}, threshold by {where}; {self.method_}"
        return [*facts, ("method", said)]
