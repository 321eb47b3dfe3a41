"""Every labeling of three points.

Lines make all eight, so the VC dimension of lines in the plane is at least three; for four points
there is always one they cannot make.
"""

import separatrix as sx
from separatrix.plots.separability import save_shattering


def draw(path="shatter.svg"):
    """Draw all labelings of three points."""
    result = sx.shatter([[0, 0], [1, 0], [0, 1]])
    assert result.shattered
    save_shattering(result, path)


if __name__ == "__main__":
    draw()
