"""The limit on linear algebra is the process's, and blocks in several threads share it."""

import threading

import threadpoolctl

from separatrix.solvers._threads import one_thread


def blas_threads():
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


def test_blocks_that_overlap_leave_the_limit_as_it_was():
    with one_thread():
        pass  # loads the libraries
    before = blas_threads()
    inside, go = threading.Event(), threading.Event()
    seen = []

    def other():
        with one_thread():
            inside.set()
            go.wait(10)
            seen.extend(blas_threads())

    thread = threading.Thread(target=other)
    with one_thread():
        thread.start()
        assert inside.wait(10)
    go.set()
    thread.join()
    assert set(seen) == {1}
    assert blas_threads() == before
