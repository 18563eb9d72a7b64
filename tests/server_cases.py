"""Models and servers for the tests of HTTP."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import caesura
from caesura.demo import citations
from caesura.server import Models, application

TEXTS = [str(document.text) for document in citations(12, 7)]


def semi() -> Any:
    return caesura.SemiCRF(n_threads=1).fit(citations(60, 1))


def chain() -> Any:
    return caesura.ChainCRF(n_threads=1).fit(citations(40, 2))


def served(model: Any, **options: Any) -> Any:
    """Return an application with a model."""
    return application(Models({"a": "a.model"}, lambda path: model), **options)


class Server(NamedTuple):
    """A server that runs in a process of its own."""

    process: "subprocess.Popen[str]"
    url: str
    log: Path

    def kill(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextlib.contextmanager
def running(folder: Path, *arguments: object) -> Iterator[Server]:
    """Run a command that serves on a free port, and wait until it says where."""
    log = folder / f"log-{len(list(folder.glob('log-*')))}"
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "caesura", *map(str, arguments), "--port", "0"],
            stderr=file,
            stdout=file,
            text=True,
            cwd=folder,
            env=os.environ | {"NO_COLOR": "1"},
        )
    try:
        found = None
        while found is None:
            found = re.search(r"(http://\S+):(\d+)/", log.read_text())
            if process.poll() is not None:
                raise RuntimeError(log.read_text())
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        yield Server(process, f"{found[1]}:{found[2]}", log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
