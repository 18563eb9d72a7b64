"""Settings for all tests: hypothesis never times out, and CI draws the same examples each time."""

import os
import signal

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of torch: small tensors, and a busy machine
# In the background of a script SIGINT is ignored, and the programs that tests start inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", deadline=None, suppress_health_check=SLOW)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
