"""Training on parts while workers are killed, for the tests of executors."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from caesura.features import word

FEATURES = [word[0], word[-1], word[0] & word[1]]
SETTINGS: dict[str, Any] = {"features": FEATURES, "c2": 0.1, "max_iterations": 12}


def same(a: Any, b: Any) -> bool:
    return bool(a.weights_.tobytes() == b.weights_.tobytes())


class Kills:
    """Kill some processes during some iterations, and wait until that is done."""

    def __init__(self, pids: Mapping[int, Callable[[], list[int]]]) -> None:
        self.pids, self.killed = pids, 0
        self.begun: list[threading.Timer] = []

    def __call__(self, progress: Any) -> None:
        while self.begun:
            self.begun.pop().join()
        for pid in self.pids.get(progress.iteration, list)():
            self.begun.append(threading.Timer(0.001, self.kill, (pid,)))
            self.begun[-1].start()

    def kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # if it has ended already, it does not count
            os.kill(pid, signal.SIGKILL)
            self.killed += 1
