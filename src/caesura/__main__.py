"""``python -m caesura`` is the command line."""

import os
import signal
import sys
from typing import Any

__all__: list[str] = []


def main() -> None:
    """Run the program; an interruption at any time exits with code 130 and no traceback."""
    _open_streams()
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else SIGINT is ignored
    try:
        if heard:
            signal.signal(signal.SIGINT, _at_once)  # there is nothing to clean up yet
        from caesura.cli import main as run

        signal.signal(signal.SIGTERM, _orderly)
        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _open_streams() -> None:
    """Replace standard streams that the caller has closed."""
    for name in ("stdin", "stdout", "stderr"):  # descriptors 0, 1, 2: open() takes the lowest
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _at_once(*_: Any) -> None:
    os._exit(130)


def _orderly(*_: Any) -> None:
    sys.exit(143)  # so that temporary files are removed and a checkpoint is written


if __name__ == "__main__":
    main()
