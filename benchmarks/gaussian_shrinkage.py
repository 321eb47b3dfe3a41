"""Accuracy lost by shrinking covariances of Gaussian classes, against the best pair in hindsight.

    python -m benchmarks.gaussian_shrinkage

Two classes of d = 20 columns, with half, one and a half and four times as many rows each as there
are columns; then real data, in halves. A column is a setting of `sx.GaussianPlugIn("full",
shrinkage=...)`; "best" is the highest accuracy of any pair that "held-out" chooses from, seen by
the test rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

import separatrix as sx
from separatrix.solvers.closed_forms.gaussian_shrinkage import candidates

FAMILIES = ("equal", "variances", "correlated", "each correlated", "correlated, variances")
SETTINGS = {"own 0.3": 0.3, "pooled 0.3": (0.3, 1.0), "ledoit-wolf": "ledoit-wolf"}
SETTINGS |= {"auto": "auto", "held-out": "held-out"}
COLUMNS, DRAWS = 20, 4
Draw = Callable[[int], tuple[np.ndarray, np.ndarray]]


def family(name: str, rng: np.random.Generator, d: int = COLUMNS) -> Draw:
    """Return what draws so many rows of each of two classes."""

    def correlation() -> np.ndarray:
        factors = rng.normal(size=(d, d // 4))
        C = factors @ factors.T / (d // 4) + 0.3 * np.eye(d)
        roots = np.sqrt(np.diag(C))
        return C / roots / roots[:, None]

    shared = correlation()
    covariances, means = [], []
    for _ in range(2):
        C = {"equal": np.eye(d), "variances": np.eye(d), "each correlated": correlation()}
        widths = np.exp(rng.normal(size=d)) if "variances" in name else np.ones(d)
        covariances.append(C.get(name, shared) * widths * widths[:, None])
        away = rng.normal(size=d)
        means.append(1.2 * away / np.linalg.norm(away))

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        each = zip(means, covariances, strict=True)
        rows = [rng.multivariate_normal(mean, C, size=count) for mean, C in each]
        return np.vstack(rows), np.repeat([0, 1], count)

    return draw


def accuracies(train: tuple[np.ndarray, ...], test: tuple[np.ndarray, ...]) -> list[float]:
    """Return the best accuracy of any pair, and that of every setting less it."""

    def accuracy(shrinkage: object) -> float:
        return float(sx.GaussianPlugIn("full", shrinkage=shrinkage).fit(*train).score(*test))

    best = max(accuracy(tuple(pair)) for pair in candidates() if pair.share > 0.0)
    return [best, *(accuracy(setting) - best for setting in SETTINGS.values())]


def main() -> None:
    """Print a line for every family and size."""
    warnings.simplefilter("ignore")
    print(f"{'':<32}{'best':>8}" + "".join(f"{name:>13}" for name in SETTINGS))
    lines = []
    for name in FAMILIES:
        for times in (0.5, 1.5, 4.0):
            found = []
            for seed in range(DRAWS):
                draw = family(name, np.random.default_rng(seed))
                found.append(accuracies(draw(int(times * COLUMNS)), draw(1000)))
            lines.append(np.mean(found, axis=0))
            say(f"{name}, {int(times * COLUMNS)} rows a class", lines[-1])
    for load in (load_digits, load_breast_cancer, load_wine):
        X, y = load(return_X_y=True)
        found = []
        for seed in range(DRAWS):
            X1, X2, y1, y2 = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
            found.append(accuracies((X1, y1), (X2, y2)))
        lines.append(np.mean(found, axis=0))
        say(load.__name__[5:], lines[-1])
    say("mean", np.mean(lines, axis=0))
    say("worst", np.min(lines, axis=0))


def say(what: str, numbers: np.ndarray) -> None:
    """Print one line."""
    print(f"{what:<32}{numbers[0]:>8.3f}" + "".join(f"{n:>13.3f}" for n in numbers[1:]), flush=True)


if __name__ == "__main__":
    main()
