"""Scalers and pipelines without scikit-learn give what scikit-learn's give, to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import pipeline as their_pipeline
from sklearn import preprocessing as theirs

from separatrix.core import models as ours
from separatrix.core.models import settings_of
from separatrix.errors import DataError

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(40, 5)) * 10.0 ** RNG.integers(-5, 5, size=5)
DENSE[:, 3] = 7.0
NEW = DENSE * 1.7 + 0.3
SPARSE = sp.random_array((40, 5), density=0.4, rng=0, format="csr")


def plain(scaler):
    """Return the scaler of ours with the same settings, and what theirs has learned."""
    one = getattr(ours, type(scaler).__name__)(**settings_of(scaler))
    for name, value in vars(scaler).items():
        setattr(one, name, value)
    return one


@pytest.mark.parametrize(
    "scaler",
    [
        theirs.StandardScaler(),
        theirs.StandardScaler(with_mean=False),
        theirs.StandardScaler(with_std=False),
        theirs.StandardScaler(with_mean=False, with_std=False),
        theirs.MinMaxScaler(),
        theirs.MinMaxScaler(feature_range=(-2, 3), clip=True),
        theirs.MaxAbsScaler(),
        theirs.MaxAbsScaler(clip=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_dense_rows(scaler, kind):
    rows = NEW.astype(kind)
    scaler.fit(DENSE)
    for new in (rows, np.asfortranarray(rows)):
        given = new.copy()
        wanted, found = scaler.transform(new), plain(scaler).transform(new)
        assert found.tobytes("A") == wanted.tobytes("A")
        assert found.dtype == wanted.dtype
        assert found.flags.f_contiguous == wanted.flags.f_contiguous
        assert (new == given).all(), "rows are left as they are"


@pytest.mark.parametrize(
    "scaler",
    [
        theirs.StandardScaler(with_mean=False),
        theirs.StandardScaler(with_mean=False, with_std=False),
        theirs.MaxAbsScaler(),
        theirs.MaxAbsScaler(clip=True),
    ],
    ids=str,
)
def test_sparse_rows(scaler):
    scaler.fit(SPARSE)
    new = 3.0 * SPARSE
    wanted, found = scaler.transform(new), plain(scaler).transform(new)
    assert found.data.tobytes() == wanted.data.tobytes()
    assert (found != wanted).nnz == 0


def test_what_cannot_be_scaled_is_refused():
    for scaler in (theirs.StandardScaler(), theirs.MinMaxScaler()):
        with pytest.raises(DataError, match="sparse rows"):
            plain(scaler.fit(DENSE)).transform(SPARSE)
    with pytest.raises(DataError, match="3 features, but StandardScaler is expecting 5"):
        plain(theirs.StandardScaler().fit(DENSE)).transform(DENSE[:, :3])


def test_settings_are_those_of_scikit_learn():
    for name in ("MaxAbsScaler", "MinMaxScaler", "StandardScaler"):
        assert settings_of(getattr(ours, name)()) == getattr(theirs, name)().get_params()
    steps = [("scale", theirs.StandardScaler())]
    wanted = their_pipeline.Pipeline(steps).get_params(deep=False)
    assert settings_of(ours.Pipeline(steps)) == wanted


def test_a_pipeline_has_what_its_last_step_has():
    line = ours.Pipeline([("scale", plain(theirs.StandardScaler().fit(DENSE)))])
    assert line.n_features_in_ == 5
    assert line.transform(NEW).shape == NEW.shape
    assert not hasattr(line, "predict_proba")
