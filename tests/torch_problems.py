"""What the tests on tensors share: torch, or a skip that says why."""

import numpy as np

from separatrix.problem.device_rows import DeviceRows
from separatrix.problem.losses import CODES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from tests import optional

torch = optional.torch()
CPU = torch.device("cpu")


def rows(X, **settings):
    return DeviceRows(np.array(X), CPU, **settings)


def pair(X, signs, costs, loss, *, intercept=True, penalty=0.0, **settings):
    """The same machine for the processor and, on the same numbers, for torch."""
    here = SignedProblem(np.asarray(X), signs, intercept)
    there = SignedProblem(rows(X, **settings), signs, intercept)
    code = CODES[loss]
    return MachineProblem(here, costs, code, penalty), MachineProblem(there, costs, code, penalty)
