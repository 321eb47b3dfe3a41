"""Basis functions, one entry at a time."""

from itertools import combinations, combinations_with_replacement
from math import cos, exp, prod, sqrt, tanh

import numpy as np


def monomials(X, degree, interaction_only=False, bias=False):
    choose = combinations if interaction_only else combinations_with_replacement
    d = X.shape[1]
    factors = [f for g in range(0 if bias else 1, degree + 1) for f in choose(range(d), g)]
    return np.array([[prod((x[j] for j in f), start=1.0) for f in factors] for x in X])


def radial(X, centres, width):
    return np.array([[exp(-sum((x - c) ** 2) / (2 * width**2)) for c in centres] for x in X])


def sigmoids(X, centres, slope, offset):
    return np.array([[tanh(slope * (x @ c) + offset) for c in centres] for x in X])


def cosines(X, directions, offsets):
    D = len(offsets)
    return np.array(
        [[sqrt(2 / D) * cos(x @ directions[:, k] + offsets[k]) for k in range(D)] for x in X]
    )
