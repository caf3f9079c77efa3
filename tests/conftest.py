"""What all tests share: the random ones try the same cases every time, unless they are told to wander."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
settings.register_profile("wandering", derandomize=False, print_blob=True)
settings.load_profile("wandering" if os.environ.get("RECONCILER_TEST_RANDOM") else "steady")
