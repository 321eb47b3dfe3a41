"""The limit on linear algebra is the process's: an outer block holds for a whole pool."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import threadpoolctl

from separatrix.solvers.running.drive import one_thread


def blas_threads():
    """Return the threads of every BLAS that counts for the process.

    Torch's, on some machines, is built on OpenMP, which counts for each thread on its own.
    """
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas" and library["threading_layer"] != "openmp"
    ]


def test_blocks_in_the_threads_of_a_pool_keep_the_limit_of_the_outer_one():
    with one_thread():
        pass  # loads the libraries
    before = blas_threads()
    seen = []

    def work(_):
        with one_thread():
            seen.append(blas_threads())

    with one_thread(), ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(4)))
        seen.append(blas_threads())
    assert all(set(threads) == {1} for threads in seen)
    assert blas_threads() == before


def test_a_failure_lifts_the_limit():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert blas_threads() == before


def test_the_library_of_linear_algebra_is_the_one_of_all_scipy():
    """What is limited once scipy.linalg is loaded holds for every solver of SciPy's."""
    code = """
import numpy, scipy.linalg, threadpoolctl
first = {library["filepath"] for library in threadpoolctl.threadpool_info()}
import scipy.optimize, scipy.sparse.linalg
assert {library["filepath"] for library in threadpoolctl.threadpool_info()} == first
"""
    subprocess.run([sys.executable, "-c", code], check=True)
