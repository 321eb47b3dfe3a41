"""One cluster of two worker processes for all tests of this folder."""

from __future__ import annotations

import warnings

import pytest


@pytest.fixture(scope="session")
def cluster():
    import dask
    from dask.distributed import LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            dask.config.set({"distributed.nanny.environ.PYTHONWARNINGS": "ignore"}),
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as made,
        ):
            yield made


@pytest.fixture
def client(cluster):
    from dask.distributed import Client

    with warnings.catch_warnings():
        # Dask's own, of sockets and loops that it closes later.
        warnings.simplefilter("ignore")
        with Client(cluster) as made:
            made.wait_for_workers(2)
            yield made
