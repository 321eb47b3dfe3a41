"""Settings for every test."""

from hypothesis import settings

from separatrix._compiled import is_interpreted

# The first call of a loop compiles it: no deadline can be fair.
settings.register_profile(
    "separatrix",
    deadline=None,
    derandomize=True,
    max_examples=25 if is_interpreted() else 150,
)
settings.load_profile("separatrix")
