"""Settings for all tests: hypothesis never times out, and CI draws the same examples each time."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of torch: small tensors, and a busy machine

from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", deadline=None, suppress_health_check=SLOW)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
