"""``python -m caesura`` is the command line."""

import os
import signal
import sys
from typing import Any

__all__: list[str] = []


def main() -> None:
    """Run the program; an interruption ends it with 130 and without a traceback, at any time."""
    try:
        before = signal.signal(signal.SIGINT, _end)  # nothing is there yet that must be put away
        from caesura.cli import main as run

        signal.signal(signal.SIGINT, before)
        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _end(*_: Any) -> None:
    os._exit(130)


if __name__ == "__main__":
    main()
