"""Lifting: transformers that add basis functions, so that a hyperplane can bend.

After a lift a hyperplane of the new columns is a curved surface of the old ones; `sx.separability`
and every machine work on it as on any data.

>>> import separatrix as sx
>>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
>>> lifted = Polynomial(degree=2, interaction_only=True).fit_transform(X)
>>> sx.separability(X, y).kind, sx.separability(lifted, y).kind
('overlapping', 'separable')
"""

from separatrix.estimators.lift.basis_functions import Polynomial, RadialBasis, Sigmoid
from separatrix.estimators.lift.kernel_features import Nystrom, RandomFourier

__all__ = ["Nystrom", "Polynomial", "RadialBasis", "RandomFourier", "Sigmoid"]
