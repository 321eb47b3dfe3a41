"""`separatrix fit --cluster local`: a cluster that no other computer can reach."""

import numpy as np
import psutil
import pytest

from separatrix._compiled import is_interpreted
from tests.cli.command import separatrix as run

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),  # Dask's own, of sockets that it closes later
    pytest.mark.skipif(
        is_interpreted(),
        reason="workers are processes of their own: coverage does not see into them",
    ),
]


def listening():
    """Addresses on which this process and its children listen."""
    me = psutil.Process()
    found = set()
    for process in (me, *me.children(recursive=True)):
        found |= {c.laddr for c in process.net_connections() if c.status == psutil.CONN_LISTEN}
    return found


def test_it_listens_on_this_machine_alone(tmp_path, monkeypatch):
    from separatrix.distributed.machines import LinearSVM

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "0.npz", X=X, y=(X[:, 0] > 0).astype(int))
    before, seen, fit = listening(), set(), LinearSVM.fit

    def watched(self, *given):
        seen.update(listening() - before)
        return fit(self, *given)

    monkeypatch.setattr(LinearSVM, "fit", watched)
    done = run("fit", tmp_path / "data", "--cluster", "local")
    assert done.returncode == 0, done.stderr
    assert seen
    assert {address.ip for address in seen} == {"127.0.0.1"}
