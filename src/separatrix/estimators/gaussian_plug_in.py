"""Plug-in Bayes with Gaussian classes, and the tasks beside it, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from separatrix.certificates.gaussian_estimates import (
    GaussianEstimates,
    prove_gaussian_estimates,
)
from separatrix.core.checks import one_of, positive, several_classes, share_or_name
from separatrix.core.models import with_settings
from separatrix.core.thresholds import as_loss_matrix, as_priors, log_odds_threshold
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import new_data, present_rows, training_data, weighted_rows
from separatrix.problem.canonical import data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.solvers.closed_forms.gaussian import (
    Gaussians,
    class_covariances,
    estimate_gaussians,
    shared_covariance,
)
from separatrix.solvers.closed_forms.gaussian_tasks import (
    bayes_threshold,
    minimax_threshold,
    neyman_pearson_threshold,
    ratio_law,
)
from separatrix.solvers.closed_forms.mixtures import Mixtures, estimate_mixtures
from separatrix.solvers.running.drive import Status, one_thread

_SHRINKAGES = ("auto", "held-out", "ledoit-wolf")
_TASKS = ("bayes", "minimax", "neyman-pearson")


@with_settings
class GaussianPlugIn(LinearClassifier):
    """Plug-in Bayes rule: estimate a Gaussian for each class, then decide by the estimates.

    ``task="bayes"`` minimises the expected loss W(decision, class). With a shared covariance the
    rule is linear; else it is quadratic. Good estimates do not guarantee a good rule: where
    classes are not Gaussian, it may be arbitrarily bad.

    Parameters
    ----------
    covariance : {"shared", "full", "diagonal"}, default="shared"
        One for all classes, one for each, or variances alone for each (naive Bayes).
    priors : array or None, default=None
        Probabilities of the classes; None takes their frequencies. For ``task="bayes"``.
    loss_matrix : array or None, default=None
        What decision i loses if the class is j; None loses 1 for every error.
    reject_cost : float or None, default=None
        What it costs not to decide. Rows whose least expected loss is larger are rejected:
        `predict` gives `reject_label` for them. For ``task="bayes"``.
    reject_label : str, default="reject"
        What `predict` returns for rejected rows. Where labels are not text, it returns objects.
    task : {"bayes", "minimax", "neyman-pearson"}, default="bayes"
        For two classes with unknown priors, "minimax" minimises the larger of the two conditional
        risks. "neyman-pearson" keeps the error on `bounded_class` at `bound` and minimises the
        other.
    bound : float, default=0.05
        For Neyman-Pearson: the largest error allowed on the bounded class.
    bounded_class : label or None, default=None
        For Neyman-Pearson; None is ``classes_[0]``, which bounds the false alarms.
    shrinkage : {"auto", "held-out", "ledoit-wolf"}, float or pair of floats, default="auto"
        A share a from 0 to 1 shrinks covariances towards their own variances: 1 is the diagonal
        model. A pair (a, p), for ``covariance="full"``, lets the part p of a go to the covariance
        within all classes: (1, 1) is the shared model. "held-out" takes the pair of fewest errors
        on held-out rows (Friedman 1989), "ledoit-wolf" their share for each class. "auto" shrinks
        only if a covariance is singular: full ones by "held-out" where rows suffice for it, else
        by "ledoit-wolf". A column in which a class does not vary has there the variance within all
        classes.
    store_covariance : bool, default=False
        Whether `fit` leaves `covariance_`.
    components : int, default=1
        Above 1 each class is a mixture of so many Gaussians, by expectation maximisation: a local
        maximum of the likelihood from fixed starts, without certificate. For "full" or "diagonal"
        covariances and ``task="bayes"``. A class of n different rows has at most n / 2 of them.

    Attributes
    ----------
    means_ : array
        The mean of each class.
    priors_ : array
        The priors used; for minimax the least favourable ones, for Neyman-Pearson those for which
        Bayes' rule with this loss is the same.
    threshold_ : float or None
        For two classes: decide for ``classes_[1]`` where log p(x|1) - log p(x|0) is above it.
    error_rates_ : array or None
        For two classes: the probabilities of an error on each, if the estimates were the truth
        (None with rejection, and for mixtures).
    linear_ : bool
        Whether the rule is linear; `coef_` and `intercept_` are there if so.
    covariance_ : array
        With ``store_covariance=True``, in the units of the data and shrunk as used: features x
        features where it is shared, classes x features x features for "full", and the variances,
        classes x features, for "diagonal".
    component_means_, component_weights_, component_classes_ : arrays
        With ``components`` above 1: the mean of every component, its share in its class, and the
        number of that class.
    method_ : str
        How covariances were estimated.
    certificate_ : GaussianEstimates or None
        Means and covariances are those of the data, to within the errors stated, and the threshold
        between two classes is optimal for priors and losses (``task="bayes"``): enclosed, up to 400
        columns. Thresholds of the other tasks rest on the normal distribution and are not proved.
        None for a pseudo-inverse, which is the inverse of no covariance.
    status_, n_iter_, n_passes_
        As on every estimator.

    See Also
    --------
    Fisher : the linear rule of a shared covariance, with projections.
    FiniteTable : the same tasks for a table of probabilities, exact.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]], ["low"] * 3 + ["high"] * 3
    >>> model = sx.GaussianPlugIn().fit(X, y)
    >>> model.predict([[2.9], [3.1]]).tolist(), model.linear_
    (['low', 'high'], True)
    """

    covariance: str = "shared"
    _: KW_ONLY
    priors: Any = None
    loss_matrix: Any = None
    reject_cost: float | None = None
    reject_label: str = "reject"
    task: str = "bayes"
    bound: float = 0.05
    bounded_class: Any = None
    shrinkage: Any = "auto"
    store_covariance: bool = False
    components: int = 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.task == "bayes"
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianPlugIn:
        """Estimate the Gaussians and settle how to decide."""
        self._check_parameters()
        _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        X, y = training_data(self, X, y)
        X, y, weights = weighted_rows(X, y, sample_weight)
        self.classes_, codes = several_classes(self, y)
        n_classes = len(self.classes_)
        if n_classes > 2 and self.task != "bayes":
            raise ValueError(
                f"Only binary classification is supported with task={self.task!r}: "
                f"got {n_classes} classes. Use task='bayes' with priors."
            )
        self.loss_matrix_ = as_loss_matrix(self.loss_matrix, n_classes)
        frequencies = np.bincount(codes, weights / weights.sum())
        priors = frequencies if self.priors is None else as_priors(self.priors, n_classes)
        self.priors_: np.ndarray = priors
        self._warn_of_single_rows(codes)
        self.n_iter_, self.n_passes_, self.status_ = 1, 2.0, Status.OPTIMAL
        gaussians: Any
        if self.components > 1:
            with one_thread():  # small matrices, many times: threads would wait for each other
                gaussians, self.n_iter_ = estimate_mixtures(
                    X, codes, weights, n_classes, self.covariance, self.components
                )
            self.n_passes_, self.status_ = float(self.n_iter_), Status.SETTLED
        else:
            gaussians = estimate_gaussians(
                X, codes, weights, n_classes, self.covariance, self.shrinkage
            )
        self.method_ = gaussians.method
        self._settle(gaussians)
        self.gaussians_ = gaussians
        self.means_ = gaussians.class_means(X)
        self._keep_components(X)
        self._keep_covariance(X, codes, weights)
        self._certify(X, codes, weights)
        return self

    def _keep_components(self, X: Any) -> None:
        for name in ("means", "weights", "classes"):
            self.__dict__.pop(f"component_{name}_", None)
        if isinstance(self.gaussians_, Mixtures):
            self.component_means_ = self.gaussians_.gaussians.class_means(X)
            self.component_weights_ = np.exp(self.gaussians_.log_shares)
            self.component_classes_ = self.gaussians_.owners

    def _keep_covariance(self, X: Any, codes: Any, weights: Any) -> None:
        self.__dict__.pop("covariance_", None)
        if not self.store_covariance:
            return
        held = self.gaussians_
        if held.linear is None:
            self.covariance_ = class_covariances(held, X.shape[1])
        else:
            share = held.shares[0] if held.shares else None
            self.covariance_ = shared_covariance(X, codes, weights, len(self.classes_), share)

    def _warn_of_single_rows(self, codes: np.ndarray) -> None:
        """Say where there is nothing to estimate a variance from."""
        counts = np.bincount(codes, minlength=len(self.classes_))
        single = self.classes_[counts == 1]
        if not len(single) or (self.covariance == "shared" and counts.max() > 1):
            return
        names = ", ".join(map(repr, single[:8].tolist()))
        instead = {
            "shared": "A column counts by its variance over all rows",
            "full": "The variances within all classes together stand in for its own",
            "diagonal": "Its variances are taken as 1e-9 of those within all classes together",
        }[self.covariance]
        warnings.warn(
            f"GaussianPlugIn: one row only of class {names}: it has no covariance to estimate. "
            f"{instead}, and its probabilities mean little. Leave the class out, or find more rows "
            "of it.",
            UserWarning,
            stacklevel=3,
        )

    def _certify(self, X: Any, codes: Any, weights: Any) -> None:
        """Prove that the parameters are those of the data, where their scatter can be formed."""
        self.certificate_ = None
        if self.gaussians_.shares is None:
            return
        n_classes = len(self.classes_)
        proved = self.task == "bayes" and n_classes == 2 and bool((self.priors_ > 0.0).all())
        claim = GaussianEstimates(
            gaussians=self.gaussians_,
            priors=self.priors_,
            loss=self.loss_matrix_,
            limit=self.threshold_ if proved else None,
            means=np.nan,
            covariances=np.nan,
            offsets=np.nan,
            threshold=np.nan,
            data_sha256=fingerprint(data_of(X, codes, n_classes, True)),
            n_rows=X.shape[0],
            n_features=X.shape[1],
            classes=self._class_names(),
        )
        self.certificate_ = prove_gaussian_estimates(claim, X, codes, weights)
        if self.certificate_ is not None and not self.certificate_.holds:
            self.status_ = Status.UNPROVED
            self._warn(f"{self.status_.cause}. {self.certificate_}.")

    def _check_parameters(self) -> None:
        one_of("covariance", self.covariance, ("shared", "full", "diagonal"))
        one_of("task", self.task, _TASKS)
        self._check_shrinkage()
        positive("reject_cost", self.reject_cost, zero=True, optional=True)
        positive("bound", self.bound)
        if self.bound >= 1.0:
            raise ValueError(f"bound must be below 1. Got {self.bound!r} instead.")
        if self.task != "bayes" and (self.reject_cost is not None or self.priors is not None):
            raise ValueError(f"priors and reject_cost go with task='bayes', not {self.task!r}.")
        positive("components", self.components, whole=True)
        if self.components > 1:
            self._check_mixtures()

    def _check_mixtures(self) -> None:
        needed = {
            "covariance": (self.covariance in ("full", "diagonal"), "'full' or 'diagonal'"),
            "task": (self.task == "bayes", "'bayes'"),
            "shrinkage": (isinstance(self.shrinkage, str) and self.shrinkage == "auto", "'auto'"),
            "store_covariance": (not self.store_covariance, "False"),
        }
        for name, (fits, allowed) in needed.items():
            if not fits:
                raise ValueError(
                    f"components={self.components} needs {name}={allowed}. "
                    f"Got {getattr(self, name)!r} instead."
                )

    def _check_shrinkage(self) -> None:
        is_pair = np.ndim(self.shrinkage) == 1 and len(self.shrinkage) == 2
        for share in self.shrinkage if is_pair else [self.shrinkage]:
            share_or_name("shrinkage", share, () if is_pair else _SHRINKAGES)
        named = isinstance(self.shrinkage, str) and self.shrinkage == "held-out"
        if (is_pair or named) and self.covariance != "full":
            raise ValueError(
                f"shrinkage={self.shrinkage!r} mixes covariances of a class and of all classes: it "
                "goes with covariance='full'. Use 'auto', 'ledoit-wolf' or a number."
            )

    def _settle(self, gaussians: Gaussians) -> None:
        """Find the threshold between two classes, and the linear rule where there is one."""
        for name in ("coef_", "intercept_"):
            if hasattr(self, name):
                delattr(self, name)
        self.threshold_: float | None = None
        two = len(self.classes_) == 2
        coef, offset = self._linear_scores(gaussians, two)
        if two:
            self._settle_two(gaussians)
        plain = (two or self.loss_matrix is None) and self.reject_cost is None
        self.linear_ = coef is not None and plain
        if self.linear_:
            shift = -self.threshold_ if self.threshold_ is not None else _log(self.priors_)
            self.coef_, self.intercept_ = coef, offset + shift

    @staticmethod
    def _linear_scores(gaussians: Gaussians, two: bool) -> tuple[Any, Any]:
        if gaussians.linear is None:
            return None, None
        W, b = gaussians.linear
        with np.errstate(over="ignore", invalid="ignore"):
            coef, offset = (W[1:] - W[:1], b[1:] - b[:1]) if two else (W, b)
        if not (np.isfinite(coef).all() and np.isfinite(offset).all()):
            raise DataError(f"GaussianPlugIn: {Status.OVERFLOW.cause}. Divide large columns first.")
        return coef, offset

    def _settle_two(self, gaussians: Gaussians) -> None:
        shift = log_odds_threshold(self.loss_matrix_)
        if self.task == "bayes":
            self.threshold_ = bayes_threshold(self.priors_, shift)
            return
        law = ratio_law(gaussians)
        if self.task == "minimax":
            threshold = minimax_threshold(law, self.loss_matrix_)
        else:
            threshold = neyman_pearson_threshold(law, self.bound, self._bounded())
        self.threshold_ = threshold
        odds = shift - threshold  # log p_1 / p_0 for which Bayes' rule has this threshold
        self.priors_ = np.exp(log_softmax([0.0, odds]))

    @property
    def error_rates_(self) -> np.ndarray | None:
        """The probabilities of an error on each of two classes, if the estimates were the truth."""
        mixed = isinstance(self.gaussians_, Mixtures)
        if self.threshold_ is None or self.reject_cost is not None or mixed:
            return None
        law = ratio_law(self.gaussians_)
        return np.array([law.false_alarm(self.threshold_), law.miss(self.threshold_)])

    def _bounded(self) -> int:
        if self.bounded_class is None:
            return 0
        found = np.flatnonzero(self.classes_ == self.bounded_class)
        if len(found) == 0:
            raise ValueError(
                f"bounded_class must be one of {self.classes_.tolist()}. "
                f"Got {self.bounded_class!r} instead."
            )
        return int(found[0])

    # ---- deciding

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the classes' probabilities, if the estimates were the truth."""
        check_is_fitted(self)
        scores = self.gaussians_.log_densities(new_data(self, X)) + _log(self.priors_)
        return np.asarray(log_softmax(scores, axis=1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the classes' probabilities, if the estimates were the truth."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def expected_loss(self, X: Any) -> np.ndarray:
        """Return what each decision (column) loses on average on each row."""
        return np.asarray(self.predict_proba(X) @ self.loss_matrix_.T)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return how far the log-likelihood ratio is above the threshold.

        For many classes: log-probabilities, or with a loss matrix the expected losses negated.
        """
        check_is_fitted(self)
        if self.threshold_ is not None:
            scores = self.gaussians_.log_densities(new_data(self, X))
            return np.asarray(scores[:, 1] - scores[:, 0] - self.threshold_)
        return self.predict_log_proba(X) if self.loss_matrix is None else -self.expected_loss(X)

    def rejected(self, X: Any) -> np.ndarray:
        """Return for which rows every decision would lose more than `reject_cost`."""
        least = self.expected_loss(X).min(axis=1)
        limit = np.inf if self.reject_cost is None else self.reject_cost
        return np.asarray(least > limit)

    def predict(self, X: Any) -> np.ndarray:
        """Return the decision for every row: a class, or `reject_label`."""
        decided = super().predict(X)
        if self.reject_cost is None:
            return decided
        kind = "U" if decided.dtype.kind == "U" else "O"
        decided = decided.astype(
            np.result_type(decided, np.array(self.reject_label)) if kind == "U" else object
        )
        decided[self.rejected(X)] = self.reject_label
        return decided

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows decided rightly; a rejected row is not."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    # ---- telling

    def _is_fitted(self) -> bool:
        return hasattr(self, "means_")

    def _work(self) -> str:
        return ""

    def _facts(self) -> list[tuple[str, str]]:
        facts = super()._facts()
        rule = "linear" if self.linear_ else "quadratic" if self.components == 1 else "mixtures"
        if not self.linear_ and self.covariance == "shared":
            rule = "linear in the log-probabilities, with losses between them"
        facts.append(("rule", f"{rule}; {self.task}, {self.covariance} covariance; {self.method_}"))
        rates = self.error_rates_
        if rates is not None:
            first, second = rates
            facts.append(
                ("errors", f"{first:.4g} and {second:.4g}, if the estimates were the truth")
            )
        return facts


def _log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(values), -1e300))
