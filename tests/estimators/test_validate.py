"""Labels as numbers."""

import numpy as np
import pytest

from separatrix.core.checks import numbered


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint64, bool, np.float64])
def test_labels_counted_are_labels_sorted(kind):
    for low, high in ((0, 2), (-100, 100), (0, 2**62)):
        y = np.random.default_rng(0).integers(low, high, 20_000).astype(kind)
        wanted, given = np.unique(y, return_inverse=True), numbered(y)
        for mine, theirs in zip(given, wanted, strict=True):
            assert np.array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype
