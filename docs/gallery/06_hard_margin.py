"""The widest street between two irises.

The hard margin: no flower on the street, three on its edges, and these alone hold it.
"""

import separatrix as sx
from separatrix.data.lectures import two_irises
from separatrix.plots.regions import save_machine


def draw(path="hard_margin.svg"):
    """Draw the machine of hard margin."""
    flowers = two_irises()
    machine = sx.LinearSVM(C=float("inf")).fit(flowers.X, flowers.y)
    save_machine(machine, flowers.X, flowers.y, path, flowers.feature_names)


if __name__ == "__main__":
    draw()
