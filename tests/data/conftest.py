"""Property tests of the readers: no deadline, since the first example compiles."""

from hypothesis import settings

from separatrix._compiled import is_interpreted

settings.register_profile("reading", deadline=None, max_examples=25 if is_interpreted() else 150)
settings.load_profile("reading")
