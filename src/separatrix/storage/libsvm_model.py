"""LIBSVM's model files, read and written: predictions are those of its own programs.

Every pair (i, j) of classes, in the order of the labels, has a score that speaks for i where
``sum_s c_s K(x_s, x) - rho`` is above zero; a support vector of class i has its coefficient for the
pair in column j - 1, one of class j in column i.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit

from separatrix._sparse import sparse as sp
from separatrix._write_aside import write_whole
from separatrix.core.linear_model import available_unless, decided
from separatrix.errors import ModelFileError
from separatrix.estimators.kernel_svm import KernelSVM
from separatrix.storage.liblinear_model import (
    Head,
    as_read,
    finite,
    label_texts,
    number_text,
    read_peer,
)

_KERNELS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid"}
_MOST_SHARES = 1 << 24
_MOST_DEGREE = 100
_LEAST_SHARE = 1e-7  # LIBSVM takes no probability within a pair for less


def read_libsvm_model(path: str | os.PathLike[str], n_features: int | None = None) -> Any:
    """Return the model of a LIBSVM model file, predicting as LIBSVM does.

    `n_features` is the width of the data where that is more than the support vectors show.
    """
    return read_peer(path, "SV", lambda head: _read(head, n_features))


def _read(head: Head, n_features: int | None) -> Any:
    kind, kernel = head.text("svm_type"), head.text("kernel_type")
    if kind not in ("c_svc", "nu_svc"):
        raise ModelFileError(f"the model {kind!r:.40} is no classifier, and only those are read.")
    if kernel not in _KERNELS:
        raise ModelFileError(
            f"the kernel {kernel!r:.40} is not read: of a precomputed one the file does not say "
            "how many rows it had."
        )
    k, total = head.class_count(), head.whole("total_sv")
    lines = [line for line in head.lines if line.strip()]
    pairs = k * (k - 1) // 2
    if len(lines) != total or pairs * max(1, total) > _MOST_SHARES:
        raise ModelFileError(f"there must be {total} support vectors, and fewer for {k} classes.")
    labels, rho = head.wholes("label", k), head.numbers("rho", pairs)
    counts = head.wholes("nr_sv", k)
    if len(set(labels)) != k or min(counts) < 0 or sum(counts) != total:
        raise ModelFileError("labels must differ, and support vectors be counted by class.")
    columns, vectors = _support(lines, k - 1, n_features)
    found = _kernel(head, _KERNELS[kernel])
    order = np.argsort(labels)
    # Of two classes LIBSVM gives a positive score to the first of the file, we to the larger.
    sign = -1.0 if k == 2 and order[0] == 0 else 1.0
    sigmoids = {}
    if head.has("probA") or head.has("probB"):
        slopes, shifts = head.numbers("probA", pairs), head.numbers("probB", pairs)
        sigmoids = {"probA_": slopes, "probB_": sign * shifts}
    return as_read(
        LibsvmMachine(kernel=found.name, gamma=found.gamma, degree=found.degree, coef0=found.coef0),
        vectors.shape[1],
        classes_=np.array(labels)[order],
        label_order_=np.argsort(order),
        n_support_=np.array(counts)[order],
        kernel_=found,
        dual_coef_=sign * _shares(columns, counts),
        intercept_=-sign * rho,
        support_=np.arange(total),
        support_vectors_=vectors,
        **sigmoids,
    )


def _kernel(head: Head, name: str) -> Any:
    from separatrix.problem.kernels import Kernel

    gamma = head.number("gamma") if name != "linear" else 1.0
    degree = head.whole("degree") if name == "poly" else 3
    coef0 = head.number("coef0") if name in ("poly", "sigmoid") else 0.0
    if gamma <= 0.0 or degree > _MOST_DEGREE:
        raise ModelFileError(f"gamma must be above 0, and degree at most {_MOST_DEGREE}.")
    return Kernel(name, gamma, degree, coef0)


def _support(lines: list[bytes], width: int, n_features: int | None) -> tuple[np.ndarray, Any]:
    """Return coefficients, a row a support vector, and the vectors."""
    columns = np.zeros((len(lines), width))
    pointers, indices, texts = [0], [], []
    for row, line in enumerate(lines):
        words = line.split()
        if len(words) < width:
            raise ModelFileError("a support vector has too few coefficients.")
        columns[row] = finite(words[:width], "coefficients")
        previous = 0
        for word in words[width:]:
            index, colon, value = word.partition(b":")
            if not colon or not index.isdigit() or len(index) > 10:
                raise ModelFileError("a support vector must be pairs index:value.")
            number = int(index)
            if not previous < number < 2**31 - 1:
                raise ModelFileError("indices of a support vector must be above 0 and ascend.")
            previous = number
            indices.append(number - 1)
            texts.append(value)
        pointers.append(len(indices))
    found = max(indices, default=0) + 1
    if n_features is not None and n_features < found:
        raise ModelFileError(f"the support vectors have {found} features, more than {n_features}.")
    shape = (len(lines), n_features or found)
    parts = (finite(texts, "values"), np.array(indices, dtype=np.int32), np.array(pointers))
    return columns, sp.csr_array(parts, shape=shape)


def _shares(columns: np.ndarray, counts: list[int]) -> np.ndarray:
    """Return the share of every support vector in every score, a row a pair of classes."""
    ends = np.cumsum(counts)
    rows = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    pairs = list(combinations(range(len(counts)), 2))
    shares = np.zeros((len(pairs), len(columns)))
    for pair, (i, j) in enumerate(pairs):
        shares[pair, rows[i]] = columns[rows[i], j - 1]
        shares[pair, rows[j]] = columns[rows[j], i]
    return shares


# ---- writing


def write_libsvm_model(
    model: Any, path: str | os.PathLike[str], *, number_classes: bool = False
) -> None:
    """Write a model with a kernel as LIBSVM's programs read it; a linear one of two classes too.

    Where several classes have equally many votes LIBSVM takes the first, `KernelSVM` the one whose
    scores add up to more: such rows may be predicted otherwise.
    """
    if hasattr(model, "kernel_"):
        labels, columns, counts, order, rho = _layout(model, number_classes)
        vectors, kernel = _rows_to_write(model, order), model.kernel_
    else:
        labels, columns, counts, rho, vectors, kernel = _of_linear(model, number_classes)
    names = {ours: theirs for theirs, ours in _KERNELS.items()} | {"precomputed": "precomputed"}
    head = ["svm_type c_svc", f"kernel_type {names[kernel.name]}"]
    head += [f"degree {kernel.degree}"] if kernel.name == "poly" else []
    if kernel.name in ("poly", "rbf", "sigmoid"):
        head.append(f"gamma {number_text(kernel.gamma)}")
    if kernel.name in ("poly", "sigmoid"):
        head.append(f"coef0 {number_text(kernel.coef0)}")
    head += [
        f"nr_class {len(labels)}",
        f"total_sv {len(columns)}",
        f"rho {' '.join(number_text(value) for value in rho.tolist())}",
        f"label {' '.join(labels)}",
    ]
    for word in ("probA", "probB"):
        numbers = getattr(model, f"{word}_", None)
        if numbers is not None:
            head.append(f"{word} {' '.join(number_text(value) for value in numbers.tolist())}")
    head += [f"nr_sv {' '.join(map(str, counts))}", "SV"]
    write_whole(path, _pieces(head, columns, vectors, kernel.name == "precomputed"))


def _layout(model: Any, number_classes: bool) -> tuple[list[str], np.ndarray, Any, Any, np.ndarray]:
    """Return labels, coefficients, counts, the order of support vectors, and rho.

    With the labels backwards, LIBSVM's pairs speak for the same class as ours, zero included.
    """
    if model.kernel_.name == "callable":
        raise ValueError("The kernel is a function, and LIBSVM's files hold no code.")
    k = len(model.classes_)
    names = label_texts(model.classes_, number_classes)
    if type(model).__name__ == "LibsvmMachine" and k > 2:
        order_of, of_file = list(range(k)), file_order(model)
        names = [names[code] for code in of_file]
    else:
        order_of = list(range(k))[::-1]
    columns, counts, order, rho = in_libsvm_order(model, order_of)
    return [names[code] for code in order_of], columns, counts, order, rho


def in_libsvm_order(
    model: Any, order_of: list[int]
) -> tuple[np.ndarray, list[int], np.ndarray, np.ndarray]:
    """Return coefficients, counts, the order of support vectors, and rho, LIBSVM's way.

    `order_of` are the class numbers as LIBSVM is to have them.
    """
    k = len(model.classes_)
    if k > 2 and model.multi_class != "ovo":
        raise ValueError("LIBSVM sets each class against each. Fit with multi_class='ovo'.")
    first_is_positive = type(model).__name__ == "LibsvmMachine" and k > 2
    pairs = list(combinations(range(k), 2))
    own = np.zeros(len(model.support_), dtype=np.int64)
    for pair, (low, high) in enumerate(pairs):
        shares = model.dual_coef_[pair] * (1.0 if first_is_positive else -1.0)
        own[shares > 0.0] = low
        own[shares < 0.0] = high
    place = np.argsort(order_of)
    order = np.argsort(place[own], kind="stable")
    columns, rho = np.zeros((len(own), k - 1)), []
    for i, j in combinations(range(k), 2):  # places in LIBSVM's order: positive speaks for i
        low, high = sorted((order_of[i], order_of[j]))
        pair = pairs.index((low, high))
        sign = 1.0 if order_of[i] == (low if first_is_positive else high) else -1.0
        of_i, of_j = own == order_of[i], own == order_of[j]
        columns[of_i, j - 1] = sign * model.dual_coef_[pair, of_i]
        columns[of_j, i] = sign * model.dual_coef_[pair, of_j]
        rho.append(-sign * model.intercept_[pair])
    counts = [int((own == code).sum()) for code in order_of]
    return columns[order], counts, order, np.array(rho)


def _rows_to_write(model: Any, order: np.ndarray) -> Any:
    if model.kernel_.name == "precomputed":
        return model.support_[order] + 1
    return sp.csr_array(model.support_vectors_)[order]


def _of_linear(model: Any, number_classes: bool) -> Any:
    """Return one support vector, the weights themselves, for two classes."""
    from separatrix.core.explanation import linear_form
    from separatrix.problem.kernels import Kernel

    form = linear_form(model).decided_by_weights("LIBSVM").at_zero
    if len(form.weights) != 1:
        raise ValueError(
            "LIBSVM has no form for linear models of several classes. Use LIBLINEAR's."
        )
    labels = label_texts(form.classes, number_classes)[::-1]
    vectors, rho = sp.csr_array(form.weights), -form.intercepts
    return labels, np.ones((1, 1)), [1, 0], rho, vectors, Kernel("linear")


def _pieces(head: list[str], columns: np.ndarray, vectors: Any, given: bool) -> Iterator[bytes]:
    yield ("\n".join(head) + "\n").encode()
    for row, shares in enumerate(columns.tolist()):
        words = [number_text(value) for value in shares]
        if given:
            words.append(f"0:{vectors[row]}")
        else:
            part = slice(vectors.indptr[row], vectors.indptr[row + 1])
            pairs = zip(vectors.indices[part].tolist(), vectors.data[part].tolist(), strict=True)
            words += [f"{index + 1}:{number_text(value)}" for index, value in pairs if value]
        yield (" ".join(words) + " \n").encode()


# ---- predicting


def _without_sigmoids(model: Any) -> str | None:
    if hasattr(model, "probA_"):
        return None
    return "its file has no probA and probB. Train with LIBSVM's option -b 1."


class LibsvmMachine(KernelSVM):
    """`KernelSVM` read from LIBSVM's file: it votes by LIBSVM's rules.

    The score of a pair of classes votes for the first of them, in the order of the file, where it
    is above zero; of classes with equally many votes the first of the file wins. `classes_` are
    sorted; ``label_order_[i]`` is the number there of the i-th label of the file. Where the file
    has probA and probB (``svm-train -b 1``) there are probabilities, as LIBSVM makes them; their
    largest may be another class than that of most votes, which `predict` returns. It carries no
    certificate.
    """

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores: of two classes above zero for the second, of several their votes."""
        scores = self._machine_scores(X)
        if len(self.classes_) == 2:
            return scores.ravel()
        return _votes(scores, len(self.classes_))[:, np.argsort(file_order(self))]

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every row; of equal votes the first label of the file."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return decided(self.classes_, scores)
        order = file_order(self)
        return decided(self.classes_[order], scores[:, order])

    @available_unless(_without_sigmoids)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class: of two by Platt's sigmoid, of several coupled."""
        scores = self._machine_scores(X)
        # The share of the second class, or of the first of a pair in the order of the file.
        shares = expit(-(self.probA_ * scores + self.probB_))
        shares = np.clip(shares, _LEAST_SHARE, 1.0 - _LEAST_SHARE)
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - shares[:, 0], shares[:, 0]])
        return coupled(shares, len(self.classes_))[:, np.argsort(file_order(self))]

    @available_unless(_without_sigmoids)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of every probability."""
        return np.log(self.predict_proba(X))


def coupled(shares: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities of the classes from those within pairs (0, 1), (0, 2), ..., a row each.

    The second method of Wu, Lin and Weng (2004), with the steps and the tolerance of LIBSVM:
    minimise sum_ij (r_ji p_i - r_ij p_j)^2 over p >= 0 with sum 1.

    >>> coupled(np.array([[0.5, 0.5, 0.5]]), 3).round(6).tolist()
    [[0.333333, 0.333333, 0.333333]]
    """
    n, k = len(shares), n_classes
    r = np.zeros((n, k, k))
    for pair, (i, j) in enumerate(combinations(range(k), 2)):
        r[:, i, j], r[:, j, i] = shares[:, pair], 1.0 - shares[:, pair]
    Q = -np.transpose(r, (0, 2, 1)) * r
    Q[:, np.arange(k), np.arange(k)] = (r**2).sum(axis=1)
    p, open_ = np.full((n, k), 1.0 / k), np.arange(n)
    for _ in range(max(100, k)):
        Qp = np.einsum("ntj,nj->nt", Q[open_], p[open_])
        pQp = np.einsum("nt,nt->n", p[open_], Qp)
        far = abs(Qp - pQp[:, None]).max(axis=1) >= 0.005 / k
        open_, Qp, pQp = open_[far], Qp[far], pQp[far]
        if not len(open_):
            break
        for t in range(k):
            own = Q[open_, t, t]
            step = (pQp - Qp[:, t]) / own
            whole = 1.0 + step
            pQp = (pQp + step * (step * own + 2.0 * Qp[:, t])) / whole / whole
            Qp = (Qp + step[:, None] * Q[open_, t]) / whole[:, None]
            p[open_, t] += step
            p[open_] /= whole[:, None]
    return p


def file_order(model: Any) -> np.ndarray:
    """Return the numbers in `classes_` of the labels as the file has them."""
    # A model file of an earlier version has its classes in the order of LIBSVM's file.
    numbers = np.arange(len(model.classes_))
    order = np.asarray(getattr(model, "label_order_", numbers))
    if order.dtype.kind != "i" or not np.array_equal(np.sort(order), numbers):
        raise ModelFileError("label_order_ of the model file does not number its classes.")
    return order


def _votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes for every class; scores stand in the order (0, 1), (0, 2), ...

    >>> _votes(np.array([[0.0, -1.0, 2.0]]), 3).tolist()
    [[0.0, 2.0, 1.0]]
    """
    votes = np.zeros((len(scores), n_classes))
    pair = 0
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            won = scores[:, pair] > 0.0
            votes[:, first] += won
            votes[:, second] += ~won
            pair += 1
    return votes
