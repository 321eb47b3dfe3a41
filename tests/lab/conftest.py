"""One lab for all tests that need a real one: starting it costs seconds."""

import pytest

from tests.lab.browsing import running_lab


@pytest.fixture(scope="session")
def address():
    with running_lab() as found:
        yield found
