"""How a run goes on where its proof falls short of the tolerance."""

from types import SimpleNamespace

import pytest

from separatrix.core.proving import Hyperplane
from separatrix.solvers.running.drive import Status


def lower_aim(aim, gap, is_rough=False):
    machine = SimpleNamespace(
        aim=aim, is_rough=is_rough, proof=SimpleNamespace(gap=gap), effort=SimpleNamespace(tol=1e-4)
    )
    assert Hyperplane.tighten(machine, Status.OPTIMAL)
    return machine.aim


def test_a_proof_that_misses_by_little_asks_for_little_more():
    """A run was sent on to a thousandth of the tolerance, for want of three parts in a thousand."""
    assert lower_aim(1e-4, 1.003e-4) == 5e-5
    # What is left is rounding, or that little was not enough.
    assert lower_aim(1e-4, 1e-2) == pytest.approx(1e-7)
    assert lower_aim(1e-4, float("inf")) == pytest.approx(1e-7)
    assert lower_aim(5e-5, 1.003e-4) == pytest.approx(5e-8)
    assert lower_aim(1e-4, 1.003e-4, is_rough=True) == pytest.approx(1e-5)
