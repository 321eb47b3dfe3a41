"""Feature maps as transformers: new columns, in which a hyperplane is a curved surface.

`sx.separability` and every model take the mapped rows as they take any data.

See Also
--------
KernelSVM : feature maps that are never computed.
Encoder : columns of texts and categories.

Examples
--------
>>> import separatrix as sx
>>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
>>> lifted = Polynomial(degree=2, interaction_only=True).fit_transform(X)
>>> sx.separability(X, y).kind, sx.separability(lifted, y).kind
('overlapping', 'separable')
"""

from separatrix.estimators.lift.basis_functions import Polynomial, RadialBasis, Sigmoid
from separatrix.estimators.lift.kernel_features import Nystrom, RandomFourier

__all__ = ["Nystrom", "Polynomial", "RadialBasis", "RandomFourier", "Sigmoid"]
