"""The names of data: one for the same numbers, however they are stored, cut or placed."""

import hashlib
import itertools
import json
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from tests.amounts import cases
from tests.naive import fingerprint as naive

import separatrix as sx
from separatrix import checker
from separatrix.certificates.reading import from_json
from separatrix.problem.canonical import as_checker_data, data_of
from separatrix.problem.fingerprint import (
    fingerprint,
    fingerprint_of_blocks,
    fingerprint_of_squares,
    fingerprint_on_device,
)

VALUES = {
    "bytes": lambda rng, size: rng.integers(0, 256, size).astype(float),
    "just no bytes": lambda rng, size: rng.integers(-1, 257, size).astype(float),
    "singles": lambda rng, size: rng.normal(size=size).astype(np.float32).astype(float),
    "doubles": lambda rng, size: rng.normal(size=size),
    "huge": lambda rng, size: 10.0 ** rng.uniform(-300, 300, size) * rng.choice([-1, 1], size),
    "around float32's ends": lambda rng, size: rng.choice(
        [1e-45, 1.5e-45, 3.4028234663852886e38, 3.5e38, 1.0, 2.0**-149, 2.0**-150], size
    ),
    "zeros of both signs": lambda rng, size: rng.choice([0.0, -0.0], size),
}


def drawn(seed, rows=None):
    """Return rows of any kind of value and density, and class numbers."""
    rng = np.random.default_rng(seed)
    kind = sorted(VALUES)[seed % len(VALUES)]
    size = rows or int(rng.integers(1, 30)), int(rng.integers(1, 12))
    X = VALUES[kind](rng, size)
    X[rng.random(size) < rng.choice([0.0, 0.2, 0.5, 0.95])] = rng.choice([0.0, -0.0])
    K = int(rng.integers(2, 5))
    return X, rng.integers(0, K, size[0]), K


def stored_otherwise(X, rng):
    """Return the same numbers as CSR with stored zeros, columns in any order."""
    own = sp.csr_array(X)
    kept = sp.csr_array(np.where(X == 0.0, 1.0, X))
    kept.data[np.asarray(X).ravel() == 0.0] = 0.0
    order = np.concatenate(
        [begin + rng.permutation(X.shape[1]) for begin in range(0, X.size, X.shape[1])]
    )
    return own, sp.csr_array((kept.data[order], kept.indices[order], kept.indptr), kept.shape)


@pytest.mark.parametrize("like", ["2-", ""])
def test_every_storage_has_the_name_that_the_definition_gives(like):
    for seed in cases(300):
        X, codes, K = drawn(seed)
        rng = np.random.default_rng(seed)
        slow = naive.fingerprint if like else naive.first_fingerprint
        known = slow(X.tolist(), codes.tolist(), K)
        for stored in (X, np.asfortranarray(X), *stored_otherwise(X, rng)):
            assert fingerprint(data_of(stored, codes, K, True), like) == known
        with np.errstate(over="ignore"):
            short = X.astype(np.float32)
        if like and (short == X).all():
            assert fingerprint_on_device(short, codes, X.shape, K) == known
        assert as_checker_data(data_of(X, codes, K, True)).fingerprint(like) == known


def test_blocks_of_any_height_have_the_name_of_the_whole():
    for seed in cases(20):
        rng = np.random.default_rng([seed, 1])
        X, codes, K = drawn(seed, rows=int(rng.choice([1, 4095, 4096, 4097, 9000])))
        known = naive.fingerprint(X.tolist(), codes.tolist(), K)
        cuts = np.sort(rng.integers(0, len(X) + 1, 5))
        for stored in (X, sp.csr_array(X)):
            ends = [0, *cuts, len(X)]
            pairs = [(stored[a:b], codes[a:b]) for a, b in itertools.pairwise(ends) if a < b]
            for like in ("2-", ""):
                own = fingerprint(data_of(stored, codes, K, True), like)
                found = fingerprint_of_blocks(lambda pairs=pairs: pairs, X.shape, K, like, 2)
                assert found == own
            assert fingerprint(data_of(stored, codes, K, True)) == known


def test_rows_of_many_columns_have_wider_column_numbers():
    for d in (2**16, 2**16 + 1):
        X = np.zeros((2, d))
        X[0, -1], X[1, 0] = 0.1, 3.0
        known = naive.fingerprint(X.tolist(), [1, 0], 2)
        assert fingerprint(data_of(sp.csr_array(X), np.array([1, 0]), 2, True)) == known
        assert fingerprint(data_of(X, np.array([1, 0]), 2, True)) == known


def test_every_change_of_a_number_a_label_or_the_shape_changes_the_name():
    for seed in cases(100):
        X, codes, K = drawn(seed)
        known = fingerprint(data_of(X, codes, K, True))
        rng = np.random.default_rng([seed, 2])
        i, j = (int(rng.integers(size)) for size in X.shape)
        other = X.copy()
        other[i, j] = np.nextafter(other[i, j], np.inf)
        changed = [(other, codes, K), (X, codes, K + 1)]
        relabelled = codes.copy()
        relabelled[i] = (codes[i] + 1) % K
        changed.append((X, relabelled, K))
        changed.append((np.column_stack([X, np.zeros(len(X))]), codes, K))
        changed.append((np.vstack([X, np.zeros(X.shape[1])]), np.append(codes, 0), K))
        names = [fingerprint(data_of(*each, True)) for each in changed]
        assert known not in names


def test_least_squares_name_rows_targets_and_weights():
    X, T, s = squares()
    leaf = naive._leaf(X.tolist(), 3)
    whole = b"separatrix-least-squares-2\n" + struct.pack("<qqq", 4, 3, 1)
    for part in (T, s):
        whole += hashlib.sha256(struct.pack("<4d", *part.ravel())).digest()
    whole += hashlib.sha256(leaf).digest()
    assert fingerprint_of_squares(X, T, s) == "2-" + hashlib.sha256(whole).hexdigest()
    assert fingerprint_of_squares(sp.csr_array(X), T, s) == fingerprint_of_squares(X, T, s)
    assert fingerprint_of_squares(X, -T, s) != fingerprint_of_squares(X, T, s)
    assert fingerprint_of_squares(X, T, 2.0 * s) != fingerprint_of_squares(X, T, s)


def squares():
    X = np.array([[0.5, -3.0, 0.0], [0.0, 0.0, 0.0], [1e300, 2.0, -1e-300], [7.0, 255.0, 0.0]])
    return X, np.array([[1.0], [-1.0], [1.0], [0.5]]), np.array([1.0, 2.0, 1.0, 0.25])


def test_names_of_version_0_1_are_those_that_it_gave():
    X, T, s = squares()
    of_data = "09af08287be98553c70ac2e5bd81ddb7098137cc7b705363be588f368db95d93"
    of_squares = "1b21c59790913bf6ceb570e1ece752b5e544afba4e8f440678cd479217837da7"
    assert fingerprint(data_of(X, np.array([1, 0, 2, 1]), 3, True), of_data) == of_data
    assert fingerprint_of_squares(X, T, s, of_squares) == of_squares


def test_certificates_of_version_0_1_still_hold():
    """And no name of one kind passes for one of the other."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.5]]), np.array([0, 0, 1, 1])
    data = data_of(X, y, 2, True)
    old, new = fingerprint(data, ""), fingerprint(data)
    for proof in (sx.LinearSVM().fit(X, y).certificate_, sx.separability(X, y).certificate):
        whole = json.loads(proof.to_json())
        assert whole["data"]["sha256"] == new
        for name, holds in ((new, True), (old, True), ("2-" + old, False), (new[2:], False)):
            whole["data"]["sha256"] = name
            assert from_json(json.dumps(whole)).check(X, y) is holds
            try:
                checker.check(whole, as_checker_data(data))
                accepted = True
            except checker.Refused:
                accepted = False
            assert accepted is holds
