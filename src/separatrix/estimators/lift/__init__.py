"""Lifting: transformers that add basis functions, so that a hyperplane can bend.

After a lift a hyperplane of the new columns is a curved surface of the old ones; `sx.separability`
and every machine work on it as on any data.
"""

from separatrix.estimators.lift.centres import RadialBasis, Sigmoid
from separatrix.estimators.lift.kernel_features import Nystrom, RandomFourier
from separatrix.estimators.lift.polynomial import Polynomial

__all__ = ["Nystrom", "Polynomial", "RadialBasis", "RandomFourier", "Sigmoid"]
