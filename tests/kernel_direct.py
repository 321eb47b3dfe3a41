"""Claims about the direct machine with a kernel, made without its solver, and exact values of them.

Whether multipliers are feasible does not depend on the kernel: any balanced ones will do, and so
will those of a linear machine, whatever the kernel of the claim.
"""

import warnings
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

import separatrix as sx
from separatrix.certificates.kernel_gap import KernelMulticlassGap, least_eigenvalue, shares_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.certificates.multiclass_gap import Named
from separatrix.problem.canonical import data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.kernels import Kernel
from tests.problems_many import many

RBF, LINEAR, POLY = Kernel("rbf", 0.7), Kernel("linear"), Kernel("poly", 0.5, 3, 1.0)


def balanced(rng, codes, K, costs, rings=12, most=8):
    """Multipliers around rings of classes, on the grid of an eighth of the least cost."""
    masses = np.zeros((len(codes), K))
    if not (costs > 0.0).any():
        return named(masses)
    unit = 2.0 ** np.floor(np.log2(costs[costs > 0.0].min())) / most
    members = [np.flatnonzero((codes == k) & (costs > 0.0)) for k in range(K)]
    present = [k for k in range(K) if len(members[k])]
    for _ in range(rings if len(present) > 1 else 0):
        ring = rng.permutation(present)[: rng.integers(2, len(present) + 1)]
        rows = [int(rng.choice(members[k])) for k in ring]
        step = unit * int(rng.integers(1, 4))
        if all(masses[row].sum() + step <= costs[row] for row in rows):
            for row, rival in zip(rows, np.roll(ring, -1), strict=True):
                masses[row, rival] += step
    return named(masses)


def named(masses):
    rows, rivals = np.nonzero(masses)
    return Named(rows, rivals, masses[rows, rivals])


def of_linear_machine(features, codes, costs, tol=1e-4):
    """The multipliers and biases that the linear machine finds for rows of these features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = sx.LinearSVM(1.0, multi_class="direct", tol=tol).fit(features, codes, costs)
    proof = machine.certificate_
    return Named(proof.rows, proof.rivals, proof.multipliers), proof.weights[:, 0].copy()


def claimed(kernel, X, codes, K, costs, multipliers, biases, **settings):
    """The certificate as an estimator makes it."""
    rows, shares = KernelRowsInProof(kernel, X), shares_of(codes, *multipliers, K)
    return KernelMulticlassGap.proved(
        kernel=kernel,
        sides=codes,
        costs=costs,
        **multipliers._asdict(),
        biases=np.asarray(biases),
        X=kernel_scores(rows, shares),
        n_features=X.shape[1],
        smallest=least_eigenvalue(rows, np.flatnonzero(shares.any(axis=1))),
        data_sha256=fingerprint(data_of(X, codes, K, True)),
        classes=tuple(map(str, range(K))),
        **settings,
    )


def features_of(gram):
    """Rows whose products are the kernel's values."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def solved(seed, kernel=RBF, tol=1e-6):
    """The claim of a machine that is near its best, found as a linear one among the features."""
    X, codes, K, weights, C = many(seed)
    costs = C * weights
    features = features_of(kernel.block(X, X))
    multipliers, biases = of_linear_machine(features, codes, costs, tol)
    return claimed(kernel, X, codes, K, costs, multipliers, biases), X, codes


def exact_values(kernel, X):
    """Kernel values as fractions: without rounding, but for exp, which is right to fifty digits."""
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    if kernel.name == "rbf":
        return [[_gauss(Fraction(kernel.gamma), x, z) for z in rows] for x in rows]
    gram = [[sum(a * b for a, b in zip(x, z, strict=True)) for z in rows] for x in rows]
    if kernel.name == "linear":
        return gram
    gamma, shift = Fraction(kernel.gamma), Fraction(kernel.coef0)
    return [[(gamma * value + shift) ** kernel.degree for value in row] for row in gram]


def _gauss(gamma, x, z):
    power = gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))
    if power > 10**6:
        return Fraction(0)  # less than any number by far
    with localcontext() as context:
        context.prec = 60
        return Fraction((-Decimal(power.numerator) / Decimal(power.denominator)).exp())


def exact_objectives(gram, codes, K, costs, multipliers, biases):
    """Both objectives at the claimed point, without rounding."""
    n = len(codes)
    shares = [[Fraction(0)] * K for _ in range(n)]
    total = Fraction(0)
    for row, rival, value in zip(*(part.tolist() for part in multipliers), strict=True):
        shares[row][codes[row]] += Fraction(value)
        shares[row][rival] -= Fraction(value)
        total += Fraction(value)
    carrying = [i for i in range(n) if any(shares[i])]
    scores = [[sum((gram[i][j] * shares[j][k] for j in carrying), Fraction(0)) for k in range(K)]
              for i in range(n)]  # fmt: skip
    square = sum((shares[i][k] * scores[i][k] for i in carrying for k in range(K)), Fraction(0))
    loss = Fraction(0)
    for i, own in enumerate(codes.tolist()):
        values = [scores[i][k] + Fraction(float(biases[k])) for k in range(K)]
        worst = max(values[k] + (k != own) - values[own] for k in range(K))
        loss += Fraction(float(costs[i])) * worst
    return square / 2 + loss, total - square / 2
